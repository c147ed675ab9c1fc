"""Inferred types and sizes hold for what really comes out, with every input size open too."""

import functools
import warnings

import numpy as np
import onnx_ir as ir
import pytest
from onnx.backend.test.case.node import collect_testcases

from anyonnx.symbolic import Dim, GraphBuilder
from anyonnx.symbolic.errors import AnyonnxError
from anyonnx.symbolic.infer import broadcast
from anyonnx.symbolic.replay import Replay


@functools.cache
def cases():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = collect_testcases(None)
    return [c for c in found if {o.domain for o in c.model.opset_import} <= {"", "ai.onnx.ml"} and c.data_sets]


def build(case, open_sizes: bool):
    """The case's graph with all input sizes open (True) or fixed, and what the dims stand for."""
    model = ir.from_proto(case.model)
    arrays = case.data_sets[0][0]
    numbers: dict[str, int] = {}
    g = GraphBuilder(25)
    env = {}
    for value, array in zip(model.graph.inputs, arrays, strict=False):
        shape = getattr(array, "shape", None)
        if value.type is None or not isinstance(value.type, ir.TensorType) or not isinstance(array, np.ndarray):
            return None
        sizes = []
        for axis, size in enumerate(shape):
            # vectors of an operand may be axes or pads: their length is a fixed part of the graph
            if open_sizes and array.ndim > 1:
                numbers[f"{value.name}_{axis}"] = size
                sizes.append(Dim(f"{value.name}_{axis}"))
            else:
                sizes.append(size)
        env[value] = g.input(value.name, value.type, sizes)
    Replay(dict(model.opset_imports)).nodes(g, model.graph, env)
    return [env[o] for o in model.graph.outputs], numbers


@pytest.mark.parametrize("open_sizes", [False, True])
@pytest.mark.parametrize("part", range(4))
def test_inferred_sizes_hold(part, open_sizes):
    wrong, compared = [], 0
    for case in cases()[part::4]:
        try:
            built = build(case, open_sizes)
        except AnyonnxError:
            continue  # the sweep in tests/lowering tells which cases must work
        if built is None:
            continue
        values, numbers = built
        for value, array in zip(values, case.data_sets[0][1], strict=False):
            if value is None or not isinstance(array, np.ndarray):
                continue
            compared += 1
            if value.dtype is not None and array.dtype != object and value.dtype.numpy() != array.dtype:
                wrong.append(f"{case.name}: dtype {value.dtype.name}, really {array.dtype}")
            if value.sizes is None:
                continue
            said = [s.evaluate(numbers) if isinstance(s, Dim) else s for s in value.sizes]
            if len(said) != array.ndim or any(s not in (None, r) for s, r in zip(said, array.shape, strict=True)):
                wrong.append(f"{case.name}: {value.sizes} = {said}, really {array.shape}")
    assert compared > 150
    assert not wrong, "\n".join(wrong)


def test_broadcasting():
    a = Dim("a")
    assert broadcast((a, 1, 3), (4, 1)) == (a, 4, 3)
    assert broadcast((2, 1), ()) == (2, 1) and broadcast((), ()) == ()
    assert broadcast((a,), (Dim("b"),)) == (None,) and broadcast((a,), (7,)) == (7,)
    assert broadcast((2,), None) is None
    with pytest.raises(ValueError, match="2 and 3"):
        broadcast((2,), (3,))
