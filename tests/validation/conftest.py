from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

Build = Callable[..., onnx.ModelProto]


def build_model(
    nodes: Sequence[onnx.NodeProto],
    inputs: dict[str, tuple[int, list]],
    outputs: dict[str, tuple[int, list]],
    weights: dict[str, np.ndarray] | None = None,
    *,
    opset: int = 21,
    ml: int | None = None,
    ir_version: int = 10,
    functions: Sequence[onnx.FunctionProto] = (),
    imports: dict[str, int] | None = None,
) -> onnx.ModelProto:
    graph = helper.make_graph(
        list(nodes),
        "main",
        [helper.make_tensor_value_info(name, *kind) for name, kind in inputs.items()],
        [helper.make_tensor_value_info(name, *kind) for name, kind in outputs.items()],
        [numpy_helper.from_array(array, name) for name, array in (weights or {}).items()],
    )
    domains = {"": opset, **({"ai.onnx.ml": ml} if ml else {}), **(imports or {})}
    opsets = [helper.make_opsetid(domain, version) for domain, version in domains.items()]
    return helper.make_model(graph, opset_imports=opsets, ir_version=ir_version, functions=list(functions))


@pytest.fixture
def build() -> Build:
    return build_model
