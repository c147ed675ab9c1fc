"""The converter for an op_db run: torch's own samples of every operator, each converted and compared in onnxruntime.

    PYTHONPATH=tests/support python opdb_harness.py --convert opdb_convert:convert --n 0 --samples 1 --out results.jsonl

The harness is no part of this project; any that calls ``convert(module, tensors) -> bytes`` will do. The opset is
taken from the environment variable ``OPDB_OPSET`` (21 where it isn't set).
"""

from __future__ import annotations

import os

import torch

from anyonnx.converters.api import to_onnx


def convert(module: torch.nn.Module, tensors: tuple[torch.Tensor, ...]) -> bytes:
    """The module as a serialised ONNX model; neither checked nor compared here, the harness does both."""
    opset = int(os.environ.get("OPDB_OPSET", "21"))
    conversion = to_onnx(module, tuple(tensors), compare=False, check=False, opset=opset)
    return conversion.proto().SerializeToString()
