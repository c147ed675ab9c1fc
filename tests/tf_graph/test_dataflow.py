"""Branches and loops as TensorFlow 1 writes them, and as freezing lowers them: Switch, Merge, Enter, Exit."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
tf = pytest.importorskip("tensorflow")

from anyonnx.converters.api import to_onnx  # noqa: E402
from anyonnx.symbolic.errors import UnsupportedOps  # noqa: E402

NUMBERS = (-5, -1, 0, 1, 2, 3, 5)


def case(i: Any, x: Any) -> Any:
    chosen = tf.switch_case(i, [lambda: x * 2.0, lambda: x + 1.0, lambda: tf.concat([x, x], 0)])
    return tf.cond(i > 0, lambda: (chosen, x), lambda: (chosen - 1.0, x * 3.0))


def one_condition_again_and_again(i: Any, x: Any) -> Any:
    positive = i > 0
    a = tf.cond(positive, lambda: tf.cond(tf.reduce_sum(x) > 3.0, lambda: x * 5.0, lambda: x - 9.0), lambda: x + 1.0)
    b = tf.cond(positive, lambda: a * 2.0, lambda: tf.cond(i < -3, lambda: a, lambda: x + a))
    return b, tf.cond(positive, lambda: 1.0, lambda: tf.reduce_sum(b))


def loops(i: Any, x: Any) -> Any:
    def turned() -> Any:
        def body(k: Any, y: Any) -> Any:
            return k + 1, tf.while_loop(lambda j, _: j < k, lambda j, z: (j + 1, z + x[0]), [0, y])[1]

        return tf.while_loop(lambda k, _: k < 3, body, [0, y])[1]

    def step(k: Any, y: Any) -> Any:
        return k + 1, tf.cond(k % 2 > 0, lambda: y * 2.0, lambda: y + x)

    count, y = tf.while_loop(lambda k, _: k < i, step, [0, x])
    return tf.cond(i > 1, turned, lambda: x), count


def lowered(call: Callable[..., Any]) -> tuple[Any, list[str]]:
    """A frozen graph with the control flow lowered, and the names of its results."""
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    specs = [tf.TensorSpec([], tf.int32, name="i"), tf.TensorSpec([None], tf.float32, name="x")]
    frozen = convert_variables_to_constants_v2(tf.function(call).get_concrete_function(*specs), lower_control_flow=True)
    return frozen.graph.as_graph_def(), [o.name.split(":")[0] for o in frozen.outputs]


def tensorflow_1() -> tuple[Any, list[str]]:
    """A graph of TensorFlow 1's own conditionals and loops."""
    v1 = tf.compat.v1
    was_on = v1.control_flow_v2_enabled()
    v1.disable_control_flow_v2()
    try:
        graph = tf.Graph()
        with graph.as_default():
            i, x = v1.placeholder(tf.int32, [], "i"), v1.placeholder(tf.float32, [None], "x")
            a = v1.cond(i > 0, lambda: v1.cond(i > 2, lambda: x * 2.0, lambda: tf.zeros_like(x) + 1.0), lambda: x)
            b = v1.case([(i < 0, lambda: a), (tf.equal(i, 1), lambda: a * 3.0)], default=lambda: a - 7.0)

            def step(k: Any, y: Any) -> Any:
                return k + 1, v1.cond(k > 1, lambda: y * 2.0, lambda: y + b)

            def goes_on(k: Any, y: Any) -> Any:
                return tf.logical_and(k < i, tf.reduce_sum(y) < 100.0)

            count, c = v1.while_loop(goes_on, step, [tf.constant(0), b])

            def body(k: Any, y: Any) -> Any:
                inner = v1.while_loop(lambda j, _: j < k, lambda j, z: (j + 1, z + x[0]), [tf.constant(0), y])
                return k + 1, inner[1]

            d = v1.cond(i > 1, lambda: v1.while_loop(lambda k, _: k < 3, body, [tf.constant(0), c])[1], lambda: c)
            names = [tf.identity(t, name=n).op.name for n, t in zip("abcdk", (a, b, c, d, count), strict=True)]
        return graph.as_graph_def(), names
    finally:
        if was_on:
            v1.enable_control_flow_v2()


def same_in_tensorflow(path: Path, graph: Any, outputs: Sequence[str], opset: int) -> None:
    path.write_bytes(graph.SerializeToString())
    model = to_onnx(path, outputs=list(outputs), opset=opset, compare=False).proto()
    session = onnxruntime.InferenceSession(model.SerializeToString())
    with tf.compat.v1.Session(graph=tf.Graph()) as running:
        tf.import_graph_def(graph, name="")
        for number in NUMBERS:
            feeds = {"i": np.array(number, np.int32), "x": np.arange(1, 4, dtype=np.float32)}
            wanted = running.run([f"{o}:0" for o in outputs], {f"{n}:0": v for n, v in feeds.items()})
            found = session.run(None, {i.name: feeds[i.name] for i in session.get_inputs()})
            for ours, theirs in zip(found, wanted, strict=True):
                assert ours.shape == theirs.shape
                np.testing.assert_allclose(ours, theirs, rtol=1e-6)


@pytest.mark.parametrize("opset", [11, 18, 25])
@pytest.mark.parametrize("call", [case, one_condition_again_and_again, loops])
def test_what_freezing_lowers(call: Callable[..., Any], opset: int, tmp_path: Path) -> None:
    graph, outputs = lowered(call)
    assert {"Merge"} <= {n.op for n in graph.node}
    same_in_tensorflow(tmp_path / "frozen.pb", graph, outputs, opset)


@pytest.mark.parametrize("opset", [11, 18, 25])
def test_graphs_of_tensorflow_1(opset: int, tmp_path: Path) -> None:
    graph, outputs = tensorflow_1()
    assert {"Enter", "Switch"} <= {n.op for n in graph.node}
    same_in_tensorflow(tmp_path / "graph.pb", graph, outputs, opset)


def test_a_merge_of_two_conditions_is_refused(tmp_path: Path) -> None:
    graph, outputs = lowered(lambda i, x: tf.cond(i > 0, lambda: x * 2.0, lambda: x))
    (merge,) = (n for n in graph.node if n.op == "Merge")
    other = graph.node.add(name="other", op="Switch", input=["x", "another"])
    other.attr["T"].type = 1
    unrelated = graph.node.add(name="another", op="Less", input=["i", "i"])
    unrelated.attr["T"].type = 3
    merge.input[1] = "other"
    (tmp_path / "graph.pb").write_bytes(graph.SerializeToString())
    with pytest.raises(UnsupportedOps, match="does not join the branches"):
        to_onnx(tmp_path / "graph.pb", outputs=outputs)
