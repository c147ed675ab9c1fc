"""Symbolic functions of TensorFlow's graph operations, by the name of the op."""
