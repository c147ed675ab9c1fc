"""Symbolic functions of PyTorch (dialect ``aten``), one module per op family."""
