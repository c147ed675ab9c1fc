"""Symbolic functions of torch's quantized_decomposed operators, which quantised programs are made of."""
