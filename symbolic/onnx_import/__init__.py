"""Dialect ``onnx_import``: ONNX operators of other opsets raised to the authoring signatures."""
