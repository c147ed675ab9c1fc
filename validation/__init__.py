"""Proof that an ONNX model is valid, and that it computes what its source computes."""
