"""Lowerings shared by the neural-network frameworks: layouts, convolution, pooling, recurrent layers, attention."""
