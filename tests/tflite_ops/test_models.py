"""TensorFlow Lite models: floats within tolerance, int8 equal to the interpreter's reference kernels, bit by bit."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

from anyonnx.converters.api import to_onnx
from anyonnx.symbolic.errors import CaptureError, UnsupportedOps

FIXTURES = Path(__file__).parents[2] / "fixtures"
installed = importlib.util.find_spec("tensorflow") is not None
needs_tensorflow = pytest.mark.skipif(not installed, reason="TensorFlow isn't installed")
draw = np.random.default_rng(0).normal


@pytest.mark.parametrize("opset", [11, 13, 17, 21, 25])
@pytest.mark.parametrize("name", ["digits", "digits_int8"])
@pytest.mark.parametrize("optimised", [False, True])
def test_a_file_gives_its_reference_outputs(name: str, opset: int, optimised: bool) -> None:
    model = to_onnx(FIXTURES / f"{name}.tflite", opset=opset, compare=False).proto()
    options = onnxruntime.SessionOptions()
    if not optimised:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    known = np.load(FIXTURES / f"{name}.npz")
    feed = session.get_inputs()[0].name
    found = np.concatenate([session.run(None, {feed: image[None]})[0] for image in known["image"]])
    if name == "digits_int8":
        assert found.dtype == np.int8
        np.testing.assert_array_equal(found, known["digit"])
    else:
        np.testing.assert_allclose(found, known["digit"], rtol=1e-5, atol=1e-6)


def test_reading_files_imports_no_framework() -> None:
    code = (
        "import sys; from anyonnx.converters.api import to_onnx\n"
        f"to_onnx({str(FIXTURES / 'digits_int8.tflite')!r}, compare=False)\n"
        "print(sorted(set(sys.modules) & {'tensorflow', 'keras', 'torch', 'flatbuffers', 'jax'}))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    whole = (FIXTURES / "digits.tflite").read_bytes()
    for cut in (len(whole) // 3, len(whole) - 200):
        (tmp_path / "cut.tflite").write_bytes(whole[:cut])
        with pytest.raises(CaptureError):
            to_onnx(tmp_path / "cut.tflite", compare=False)


def weights(*shape: int) -> np.ndarray:
    return draw(0, 0.4, shape).astype(np.float32)


def network(x: Any) -> Any:
    import tensorflow as tf

    y = tf.nn.relu(tf.nn.conv2d(x, weights(3, 3, 4, 6), [1, 2, 2, 1], "SAME") + weights(6))
    z = tf.nn.relu6(tf.nn.depthwise_conv2d(y, weights(3, 3, 6, 2), [1, 1, 1, 1], "SAME"))
    z = tf.nn.conv2d(z, weights(1, 1, 12, 6), 1, "VALID")
    return tf.nn.avg_pool2d(y + z, 2, 2, "VALID")


def head(x: Any) -> Any:
    import tensorflow as tf

    y = tf.pad(tf.nn.max_pool2d(x, 2, 2, "SAME"), [[0, 0], [1, 0], [0, 1], [0, 0]])
    y = tf.concat([y, y * 1.0], -1)
    y = tf.reshape(y[:, 1:], [1, -1])
    return tf.nn.softmax(y @ weights(160, 7) + weights(7))


def differences(x: Any) -> Any:
    import tensorflow as tf

    return tf.nn.relu((x - 0.5) * tf.transpose(x, [0, 2, 1, 3]))


def curves(x: Any) -> Any:
    import tensorflow as tf

    y = tf.nn.leaky_relu(tf.sigmoid(x) - tf.tanh(x), 0.17) + tf.abs(x)
    return tf.reduce_mean(y, [1, 2]), tf.reduce_mean(y, [3], keepdims=True), tf.nn.gelu(x), tf.exp(x), tf.maximum(x, y)


def elu(x: Any) -> Any:
    import tensorflow as tf

    return tf.nn.elu(x)


SHAPE = (1, 8, 8, 4)
NETWORKS: dict[str, Callable[[Any], Any]] = {
    "network": network, "head": head, "differences": differences, "curves": curves, "elu": elu,
}  # fmt: skip


def lite(call: Callable[[Any], Any], path: Path, *, quantised: bool) -> Path:
    """A TFLite file of a function."""
    import tensorflow as tf

    function = tf.function(call, input_signature=[tf.TensorSpec(SHAPE, tf.float32, name="x")])
    converter = tf.lite.TFLiteConverter.from_concrete_functions([function.get_concrete_function()])
    if quantised:
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        samples = [draw(size=SHAPE).astype(np.float32) for _ in range(20)]
        converter.representative_dataset = lambda: ([s] for s in samples)
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        converter.inference_input_type = converter.inference_output_type = tf.int8
    path.write_bytes(converter.convert())
    return path


@needs_tensorflow
@pytest.mark.parametrize("quantised", [False, True])
@pytest.mark.parametrize("name", NETWORKS)
def test_networks(name: str, quantised: bool, tmp_path: Path) -> None:
    made = to_onnx(lite(NETWORKS[name], tmp_path / "m.tflite", quantised=quantised), opset=18)
    assert made.parity.passed
    if quantised:  # as labels: equal, not near
        assert list(made.source.labels) == made.source.output_names


def floats(x: Any) -> Any:
    import tensorflow as tf

    y = tf.reduce_sum(tf.nn.gelu(x), [1, 2])
    return (
        tf.image.resize(x, [16, 5]), tf.nn.leaky_relu(x), tf.nn.elu(x), tf.sigmoid(x) * tf.tanh(x),
        tf.argmax(x, -1),
        tf.reduce_mean(x, [1, 2]), tf.split(x, 2, -1)[1], tf.stack([x, x]),
        tf.math.rsqrt(tf.abs(x) + 1.0), y, tf.exp(x),
        tf.nn.conv2d_transpose(x, weights(3, 3, 2, 4), [1, 16, 16, 2], 2), tf.gather(x, [2, 0], axis=3), x > 0.0,
        tf.where(x > 0.0, x, 1.0), tf.math.top_k(y, 2)[0], tf.nn.l2_normalize(y, -1), tf.nn.log_softmax(y),
    )  # fmt: skip


@needs_tensorflow
def test_operators_of_floats(tmp_path: Path) -> None:
    assert to_onnx(lite(floats, tmp_path / "m.tflite", quantised=False), opset=18).parity.passed


@needs_tensorflow
def test_branches(tmp_path: Path) -> None:
    import tensorflow as tf

    def branches(x: Any) -> Any:
        total = tf.reduce_sum(x)
        weight = weights(4, 4)
        return tf.cond(total > 0.0, lambda: (tf.nn.relu(x) @ weight, total), lambda: (x - 1.0, total * 2.0))

    made = to_onnx(lite(branches, tmp_path / "m.tflite", quantised=False), opset=18)
    assert made.parity.passed
    name = made.source.specs[0].name
    session = onnxruntime.InferenceSession(made.proto().SerializeToString(), providers=["CPUExecutionProvider"])
    for x in (np.ones(SHAPE, np.float32), -np.ones(SHAPE, np.float32)):
        for found, told in zip(session.run(None, {name: x}), made.source.run({name: x}).values(), strict=True):
            np.testing.assert_allclose(found, told, rtol=1e-5, atol=1e-5)


@needs_tensorflow
def test_scores_near_zero_keep_their_digits(tmp_path: Path) -> None:
    import tensorflow as tf

    def scores(x: Any) -> Any:
        return tf.sigmoid(tf.reduce_mean(x, [1, 2]) - tf.constant([5.0, 10.0, 12.0, 15.0]))

    assert to_onnx(lite(scores, tmp_path / "m.tflite", quantised=False), opset=18).parity.passed


@needs_tensorflow
def test_what_isnt_known_is_refused_at_once(tmp_path: Path) -> None:
    import tensorflow as tf

    def odd(x: Any) -> Any:
        return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2.0), [0, x])[1]

    with pytest.raises(UnsupportedOps, match="WHILE"):
        to_onnx(lite(odd, tmp_path / "m.tflite", quantised=False))


@needs_tensorflow
def test_sums_of_quantised_integers_are_refused(tmp_path: Path) -> None:
    import tensorflow as tf

    def sums(x: Any) -> Any:
        return tf.reduce_sum(x, [1, 2])

    with pytest.raises(UnsupportedOps, match="SUM"):
        to_onnx(lite(sums, tmp_path / "m.tflite", quantised=True), compare=False)
