"""Streaming models: variables as inputs and outputs, compared with the interpreter from its first state and others."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

from anyonnx.converters.api import to_onnx
from anyonnx.symbolic.errors import UnsupportedOps

pytestmark = pytest.mark.skipif(importlib.util.find_spec("tensorflow") is None, reason="TensorFlow isn't installed")
STEPS = 6


def session_of(made: Any, *, optimised: bool) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    if not optimised:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(made.proto().SerializeToString(), options, providers=["CPUExecutionProvider"])


def follow(made: Any, path: Path, *, tolerance: float, optimised: bool) -> None:
    """Steps of the interpreter, unchanged and with its own state, and of the ONNX model with the state handed on."""
    import tensorflow as tf

    kinds = tf.lite.experimental.OpResolverType
    interpreter = tf.lite.Interpreter(
        str(path), experimental_op_resolver_type=kinds.BUILTIN_REF, experimental_preserve_all_tensors=True
    )
    interpreter.allocate_tensors()
    (given,), (told,) = interpreter.get_input_details(), interpreter.get_output_details()
    session = session_of(made, optimised=optimised)
    pairs = json.loads(session.get_modelmeta().custom_metadata_map["anyonnx.state"])
    inputs = {i.name: i for i in session.get_inputs()}
    own = next(name for name in inputs if name not in pairs)
    kinds_of = {"tensor(int8)": np.int8, "tensor(float)": np.float32}
    state = {n: np.full(inputs[n].shape, p["initial"], kinds_of[inputs[n].type]) for n, p in pairs.items()}
    generator = np.random.default_rng(7)
    seen = []
    for _ in range(STEPS):
        x = generator.normal(0, 1, given["shape"]).astype(np.float32)
        if given["dtype"] is np.int8:
            x = generator.integers(-128, 128, given["shape"]).astype(np.int8)
        interpreter.set_tensor(given["index"], x)
        interpreter.invoke()
        found = dict(zip([o.name for o in session.get_outputs()], session.run(None, {own: x, **state}), strict=True))
        for name, index in zip(made.source.output_names, [told["index"], *made.source.tensors[1:]], strict=True):
            np.testing.assert_allclose(found[name], interpreter.get_tensor(index), rtol=tolerance, atol=tolerance)
        state = {name: found[pair["next"]] for name, pair in pairs.items()}
        seen.append(b"".join(array.tobytes() for array in found.values()))
    assert len(set(seen)) == STEPS


def streaming(path: Path) -> Path:
    """Keeps the last four frames, and a count of calls; the converter makes a constant of the gain."""
    import tensorflow as tf

    class Streaming(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.frames = tf.Variable(np.full((1, 4, 3), 0.5, np.float32), name="frames")
            self.calls = tf.Variable(np.array([2.0], np.float32), name="calls")
            self.gain = tf.Variable(np.array([1.5, 2.0, 0.25], np.float32), name="gain")

        @tf.function(input_signature=[tf.TensorSpec([1, 2, 3], tf.float32, name="audio")])
        def __call__(self, x: Any) -> Any:
            frames = tf.concat([self.frames, x], 1)[:, 2:]
            self.frames.assign(frames)
            self.calls.assign(self.calls + 1.0)
            return tf.reduce_sum(frames, 1) * self.calls * self.gain

    module = Streaming()
    converter = tf.lite.TFLiteConverter.from_concrete_functions([module.__call__.get_concrete_function()], module)
    converter.experimental_enable_resource_variables = True
    path.write_bytes(converter.convert())
    return path


def test_variables_become_inputs_and_outputs(tmp_path: Path) -> None:
    path = streaming(tmp_path / "m.tflite")
    made = to_onnx(path, opset=18)
    assert made.parity.passed
    states = sorted(made.source.state)
    assert [s.name for s in made.source.specs][1:] == list(made.source.state) and len(states) == 2
    assert made.source.output_names[1:] == [f"{name}_next" for name in made.source.state]
    for optimised in (False, True):
        follow(made, path, tolerance=1e-6, optimised=optimised)


def test_a_state_may_be_given(tmp_path: Path) -> None:
    path = streaming(tmp_path / "m.tflite")
    audio = np.ones((1, 2, 3), np.float32)
    made = to_onnx(path, [audio], opset=18)
    assert made.parity.passed
    name = made.source.specs[1].name
    given = np.full(made.source.specs[1].shape, 7.0, np.float32)
    other = to_onnx(path, {made.source.specs[0].name: audio, name: given}, opset=18)
    assert other.parity.passed
    np.testing.assert_array_equal(other.source.samples[name], given)


def test_the_reference_starts_from_the_given_state(tmp_path: Path) -> None:
    source = to_onnx(streaming(tmp_path / "m.tflite"), compare=False).source
    drawn = source.make_samples(1, {})
    assert drawn is not None
    frames = next(n for n, v in source.state.items() if v.initial.ndim == 3)
    calls = next(n for n, v in source.state.items() if v.initial.ndim == 1)
    found = source.run(drawn)
    expected = np.concatenate([drawn[frames], drawn[source.specs[0].name]], 1)[:, 2:]
    np.testing.assert_array_equal(found[f"{frames}_next"], expected)
    np.testing.assert_allclose(found[f"{calls}_next"], drawn[calls] + 1)


def test_a_variable_that_nothing_sets_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from anyonnx.converters.from_tflite import load

    read = load.read_model

    def without(path: Path) -> Any:
        model = read(path)
        model.operators[:] = [o for o in model.operators if o.name != "CALL_ONCE"]
        return model

    monkeypatch.setattr(load, "read_model", without)
    with pytest.raises(UnsupportedOps, match="VAR_HANDLE"):
        to_onnx(streaming(tmp_path / "m.tflite"), compare=False)


def test_a_variable_that_no_call_changes_is_an_initializer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from anyonnx.converters.from_tflite import load
    from anyonnx.converters.from_tflite.variables import handles

    read = load.read_model

    def unchanged(path: Path) -> Any:
        model = read(path)
        places = handles(model)
        calls = [o for o in model.operators if o.name == "ASSIGN_VARIABLE" and places[o.inputs[0]][1] == "calls"]
        model.operators.remove(calls[0])
        return model

    monkeypatch.setattr(load, "read_model", unchanged)
    made = to_onnx(streaming(tmp_path / "m.tflite"), compare=False)
    session = session_of(made, optimised=False)
    assert [i.name for i in session.get_inputs()] == ["audio", "frames"]
    frames, audio = np.ones((1, 4, 3), np.float32), np.ones((1, 2, 3), np.float32)
    result = session.run(None, {"audio": audio, "frames": frames})[0]
    np.testing.assert_allclose(result, [[4 * 2 * 1.5, 4 * 2 * 2.0, 4 * 2 * 0.25]], rtol=1e-6)


def package_models(package: str) -> list[Path]:
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        return []
    return sorted((Path(found.origin).parent / "models").glob("*.tflite"))


@pytest.mark.slow
def test_micro_wakeword_models_bit_by_bit() -> None:
    paths = package_models("pymicro_wakeword")
    if not paths:
        pytest.skip("pymicro-wakeword isn't installed")
    for path in paths:
        made = to_onnx(path, opset=18)
        assert made.parity.passed
        assert list(made.source.labels) == made.source.output_names, "integers are compared for equality"
        for optimised in (False, True):
            follow(made, path, tolerance=0, optimised=optimised)


@pytest.mark.slow
def test_open_wakeword_models() -> None:
    paths = package_models("pyopen_wakeword")
    if not paths:
        pytest.skip("pyopen-wakeword isn't installed")
    for path in paths:
        assert to_onnx(path, opset=18).parity.passed, path.name
