"""The symbolic core: one registry of symbolic functions, one graph builder, opset lowering."""

from __future__ import annotations

from .builder import GraphBuilder, as_dtype, gc_paused
from .dims import Dim
from .opsets import AUTHORING_OPSET, DEFAULT_OPSET, MIN_OPSET
from .registry import registry, symbolic
from .spec import TensorSpec, parse_spec
from .value import Value

__all__ = [
    "AUTHORING_OPSET",
    "DEFAULT_OPSET",
    "MIN_OPSET",
    "Dim",
    "GraphBuilder",
    "TensorSpec",
    "Value",
    "as_dtype",
    "gc_paused",
    "parse_spec",
    "registry",
    "symbolic",
]
