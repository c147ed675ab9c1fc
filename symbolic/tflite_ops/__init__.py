"""Symbolic functions of TensorFlow Lite's builtin operators, by their names in its schema."""
