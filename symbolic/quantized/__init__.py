"""Dialects ``quantized`` (torch's operators on quantised tensors) and ``aten.quantized`` (ATen's on such operands)."""
