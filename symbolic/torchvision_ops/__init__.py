"""Symbolic functions of torchvision's own operators."""
