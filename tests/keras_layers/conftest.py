import os

os.environ.setdefault("KERAS_BACKEND", "jax")  # imports faster than TensorFlow; a chosen backend is kept
