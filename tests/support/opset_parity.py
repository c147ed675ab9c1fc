"""Compares what one function of a builder gives at several opsets, in onnxruntime with optimisations off and on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import sweep

from anyonnx.symbolic import GraphBuilder
from anyonnx.symbolic.opsets import AUTHORING_OPSET, ir_version
from anyonnx.symbolic.value import Value

Function = Callable[..., Any]


def build(function: Function, inputs: Mapping[str, tuple[str, Sequence[int | str]]], opset: int) -> onnx.ModelProto:
    """The model of ``function(g, *inputs)`` at an opset, checked.

    Args:
        function: Calls operators on the builder.
        inputs: Dtype and sizes by name; strings are open dims.
        opset: Opset to write.
    """
    g = GraphBuilder(opset)
    results = function(g, *(g.input(name, dtype, shape) for name, (dtype, shape) in inputs.items()))
    for i, result in enumerate(results if isinstance(results, (list, tuple)) else [results]):
        assert isinstance(result, Value)
        g.output(result, f"y{i}")
    model = ir.to_proto(g.build())
    onnx.checker.check_model(model, full_check=True)
    assert model.opset_import[0].version == opset and model.ir_version == ir_version(opset)
    return model


def operators(model: onnx.ModelProto) -> list[str]:
    """Operators of the main graph, in order."""
    return [node.op_type for node in model.graph.node]


def assert_same(
    function: Function,
    feeds: Mapping[str, np.ndarray],
    targets: Sequence[int],
    *,
    open_axes: Mapping[str, Mapping[int, str]] | None = None,
    truth: int = AUTHORING_OPSET,
    expected: Sequence[np.ndarray] | None = None,
) -> None:
    """Asserts that all targets give what the operator gives at its own opset.

    Args:
        function: Calls operators on the builder.
        feeds: Input arrays.
        targets: Opsets to compare.
        open_axes: Names of open dims by input and axis.
        truth: Opset at which the runtime's own kernel does the work.
        expected: What has to come out, where no kernel is to be trusted.
    """
    inputs = {
        name: (array.dtype.name, [(open_axes or {}).get(name, {}).get(i, s) for i, s in enumerate(array.shape)])
        for name, array in feeds.items()
    }
    wanted = expected or sweep.run_onnxruntime(build(function, inputs, truth), dict(feeds), optimize=False)
    for target in targets:
        model = build(function, inputs, target)
        for optimize in (False, True):
            got = sweep.run_onnxruntime(model, dict(feeds), optimize=optimize)
            for i, (a, b) in enumerate(zip(got, wanted, strict=True)):
                found = sweep.difference(a, np.asarray(b), sweep.CLOSE)
                assert not found, f"output {i} at opset {target}, optimised {optimize}: {found}"
