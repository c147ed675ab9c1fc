"""The option ``float32``: trees in single precision, what is judged and what is told."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from estimator_check import LEVELS

from anyonnx import to_onnx
from anyonnx.symbolic.errors import InputSpecError

lgb = pytest.importorskip("lightgbm")


@cache
def data() -> tuple[np.ndarray, np.ndarray]:
    r = np.random.default_rng(0)
    x = r.normal(size=(500, 6))
    return x, np.digitize(x[:, 0] + np.sin(3 * x[:, 1]), [-0.5, 0.5])


def models() -> dict[str, Any]:
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor

    return {
        "lightgbm": lgb.LGBMClassifier(n_estimators=20, num_leaves=15, n_jobs=1, verbose=-1),
        "histogram": HistGradientBoostingClassifier(max_iter=10, random_state=0),
        "forest": RandomForestClassifier(10, max_depth=4, random_state=0),
        "regression": RandomForestRegressor(10, max_depth=5, random_state=0),
    }


@pytest.mark.parametrize("opset", [13, 21])
@pytest.mark.parametrize("name", ["lightgbm", "histogram", "forest", "regression"])
def test_numbers_are_judged_and_hard_rows_are_told(name: str, opset: int) -> None:
    x, y = data()
    model = models()[name].fit(x, y)
    for spec in (x, f"X:float32[batch,{x.shape[1]}]"):
        result = to_onnx(model, spec, opset=opset, float32=True)
        assert result.parity is not None and result.parity.passed
        told = [n for n in result.parity.notes if n.startswith("float32 trees")]
        assert len(told) == len(result.source.output_names)
        assert any("agrees on" in n for n in told) == bool(result.source.labels)
        held = {a.t.data_type for n in result.proto().graph.node if n.op_type == "TreeEnsemble" for a in n.attribute}
        assert onnx.TensorProto.DOUBLE not in held


def test_a_row_of_doubles_may_go_the_other_way_which_is_told() -> None:
    x, y = data()
    model = models()["lightgbm"].fit(x, y)
    result = to_onnx(model, x, float32=True)
    assert result.parity is not None
    (line,) = (n for n in result.parity.notes if "label agrees on" in n)
    assert "100.00" not in line  # thresholds of doubles are no float32
    exact = to_onnx(model, x)
    assert exact.parity is not None and exact.parity.passed
    assert not any("float32 trees" in n for n in exact.parity.notes)


def test_only_for_trees() -> None:
    import jax.numpy as jnp

    with pytest.raises(InputSpecError, match="tree ensembles"):
        to_onnx(jnp.sin, ["x:float32[2]"], framework="jax", float32=True)
    x, y = data()
    with pytest.raises(InputSpecError, match="not of skl2onnx"):
        to_onnx(models()["forest"].fit(x, y), x, float32=True, via="skl2onnx")


def test_saved_numbers_are_packed_and_read_as_they_are(tmp_path: Path) -> None:
    x, y = data()
    model = models()["lightgbm"].set_params(n_estimators=100).fit(x, y)
    for opset in (11, 21):
        path = tmp_path / f"model{opset}.onnx"
        result = to_onnx(model, "X:float64[batch,6]", opset=opset, compare=False, output=path)
        whole = result.proto()
        loaded = onnx.load(path)
        assert list(loaded.graph.node) == list(whole.graph.node)
        assert len(loaded.graph.initializer) == len(whole.graph.initializer)
        assert path.stat().st_size < (0.85 if opset == 21 else 0.95) * whole.ByteSize()
        onnx.checker.check_model(path, full_check=True)
        for level in LEVELS:
            options = ort.SessionOptions()
            options.graph_optimization_level = level
            found = ort.InferenceSession(path, options).run(None, {"X": x})
            assert np.array_equal(found[0], model.predict(x))
            assert np.abs(found[1] - model.predict_proba(x)).max() < 1e-14
