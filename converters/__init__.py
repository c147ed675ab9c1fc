"""Frontends, and the public to_onnx."""
