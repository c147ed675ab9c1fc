"""PaddlePaddle ops of the PIR dialect (pd_op), one module per family."""
