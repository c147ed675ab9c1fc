"""Hand-made models of old opsets, written at other opsets and compared with themselves in onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper

from anyonnx.converters.api import Conversion, to_onnx
from anyonnx.validation.checker import check_model
from anyonnx.validation.models import load_model
from anyonnx.validation.providers.ort import Session

TARGETS = (11, 13, 21, 25)
#: Oldest IR version of each opset: from 4 on, initializers needn't be inputs.
_IR = {7: 4, 8: 4, 9: 4, 10: 5, 11: 6, 12: 7, 13: 7, 14: 7, 15: 8, 16: 8, 17: 8, 18: 8, 19: 9, 20: 9, 21: 10, 22: 10}


def value_info(name: str, array: Any, open_dims: bool) -> onnx.ValueInfoProto:
    """Declares an array's type; with open dims, each axis gets a name of its own."""
    array = np.asarray(array)
    kind = onnx.TensorProto.STRING if array.dtype.kind in "OU" else helper.np_dtype_to_tensor_dtype(array.dtype)
    shape = [f"{name}_{i}" if open_dims else s for i, s in enumerate(array.shape)]
    return helper.make_tensor_value_info(name, kind, shape)


def make_model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, Any],
    outputs: Sequence[str],
    opset: int,
    *,
    weights: Mapping[str, Any] | None = None,
    open_dims: bool = False,
    ml: int | None = None,
    **graph: Any,
) -> onnx.ModelProto:
    """A model whose outputs have the types that the standard infers."""
    body = helper.make_graph(
        list(nodes),
        "main",
        [value_info(n, a, open_dims) for n, a in inputs.items()],
        [onnx.ValueInfoProto(name=n) for n in outputs],
        [onnx.numpy_helper.from_array(np.asarray(a), n) for n, a in (weights or {}).items()],
        **graph,
    )
    imports = [helper.make_opsetid("", opset)] + ([helper.make_opsetid("ai.onnx.ml", ml)] if ml else [])
    model = helper.make_model(body, opset_imports=imports, ir_version=_IR.get(opset, 13))
    inferred = onnx.shape_inference.infer_shapes(model)
    for output, known in zip(model.graph.output, inferred.graph.output, strict=True):
        output.type.CopyFrom(known.type)
    return model


def same_everywhere(
    model: onnx.ModelProto,
    input_sets: Sequence[Mapping[str, Any]],
    targets: Sequence[int] = TARGETS,
    *,
    limit: float = 1e-6,
) -> dict[int, Conversion]:
    """Converts to every target and compares all outputs, onnxruntime's optimisations off and on."""
    source = Session(load_model(model), optimize=False)
    expected = [source.run(inputs) for inputs in input_sets]
    found = {}
    for target in targets:
        found[target] = to_onnx(model, opset=target, optimize=False, check=False, compare=False)
        check_model(found[target].model, opset=target)
        for level in (False, True):
            session = Session(load_model(found[target].model), optimize=level)
            for inputs, right in zip(input_sets, expected, strict=True):
                assert_same(session.run(inputs), right, limit, f"at {target}")
    return found


def assert_same(got: Mapping[str, Any], right: Mapping[str, Any], limit: float, where: str) -> None:
    """Asserts that outputs (arrays, or lists of them) have the same names, types and values."""
    assert list(got) == list(right), where
    for name, wanted in right.items():
        pairs = zip(got[name], wanted, strict=True) if isinstance(wanted, list) else [(got[name], wanted)]
        for a, b in pairs:
            a, b = np.asarray(a), np.asarray(b)
            assert (a.dtype, a.shape) == (b.dtype, b.shape), f"{name} {where}: {a.dtype}{a.shape}, {b.dtype}{b.shape}"
            if b.dtype.kind == "f" and b.size:
                assert np.array_equal(np.isnan(a), np.isnan(b)), f"{name} {where}"
                scale = max(float(np.nanmax(np.abs(b.astype(np.float64)))), 1e-30)
                error = float(np.nanmax(np.abs(a.astype(np.float64) - b)))
                assert error <= limit * scale, f"{name} {where}: {error} of {scale}"
            else:
                assert np.array_equal(a, b), f"{name} {where}"
