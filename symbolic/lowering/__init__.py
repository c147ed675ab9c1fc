"""Dialect ``onnx``: authoring-opset operators written at older opsets, once for all frameworks."""
