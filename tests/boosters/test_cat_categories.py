"""CatBoost's categorical features against CatBoost: one-hot questions and statistics of the target."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from booster_check import OPSETS, same
from estimator_check import build, sessions

from anyonnx import to_onnx
from anyonnx.converters.base import Options
from anyonnx.converters.from_catboost import CatboostFrontend
from anyonnx.converters.from_catboost.ctr import Ctr
from anyonnx.converters.from_catboost.hashing import category_hash
from anyonnx.symbolic.builder import GraphBuilder
from anyonnx.symbolic.errors import InputSpecError, UnsupportedOps

cb = pytest.importorskip("catboost")
K = {"iterations": 25, "depth": 5, "verbose": 0, "thread_count": 1, "allow_writing_files": False, "model_size_reg": 0}
CATEGORIES = [1, 2, 3]
KNOWN = {1: list("pqrstuvw"), "x2": range(-2, 12), 3: ["yes", "nö"]}


@cache
def mixed() -> tuple[np.ndarray, np.ndarray]:
    r = np.random.default_rng(3)
    x = np.empty((400, 5), object)
    words, numbers, two = r.choice(list("pqrstuvw"), 400), r.integers(-2, 12, 400), r.choice(["yes", "nö"], 400)
    x[:, 0], x[:, 4] = r.normal(size=400).tolist(), r.normal(size=400).tolist()
    x[:, 1], x[:, 2], x[:, 3] = words, numbers.tolist(), two
    y = (np.isin(words, list("pqr")) ^ (numbers % 3 == 1) ^ (two == "yes")).astype(int) + (x[:, 0] > 0)
    return x, y


def fit(cls: str = "CatBoostClassifier", **options: Any) -> Any:
    x, y = mixed()
    return getattr(cb, cls)(**{**K, "cat_features": CATEGORIES, **options}).fit(x, y)


def check(model: Any, x: Any, opsets: Any = (11, 21), **extra: Any) -> Any:
    for opset in opsets:
        source = CatboostFrontend().load(model, x, Options(opset, extra=extra))
        inputs = source.make_samples(1, {"batch": 301})
        expected = source.run(inputs)
        for session in sessions(build(source, opset)):
            found = dict(zip(source.output_names, session.run(None, inputs), strict=True))
            same(expected, found, source.labels)
    return source


OPTIONS: dict[str, dict[str, Any]] = {
    "one-hot": {"one_hot_max_size": 50},
    "single statistics": {"one_hot_max_size": 0, "max_ctr_complexity": 1},
    "several": {"max_ctr_complexity": 4},
    "buckets": {"simple_ctr": ["Buckets:Prior=0.5", "Counter"], "combinations_ctr": ["Buckets", "Counter"]},
    "any shape": {"grow_policy": "Lossguide", "one_hot_max_size": 2},
    "means": {"cls": "CatBoostRegressor", "simple_ctr": "BinarizedTargetMeanValue", "one_hot_max_size": 0},
}


@pytest.mark.parametrize("case", OPTIONS)
def test_options(case: str, tmp_path: Path) -> None:
    model = fit(**OPTIONS[case])
    source = check(model, mixed()[0])
    assert source.model.columns
    for form in ("cbm", "json"):
        path = tmp_path / f"model.{form}"
        model.save_model(str(path), format=form)
        check(path, mixed()[0], opsets=[21])


def test_every_opset_and_combinations() -> None:
    source = check(fit(max_ctr_complexity=4, depth=6, boosting_type="Plain", iterations=40), mixed()[0], OPSETS)
    kinds = {e.kind for c in source.model.columns if isinstance(c, Ctr) for e in c.elements}
    assert kinds == {"category", "above", "equal"}


@pytest.mark.parametrize("mode", ["Min", "Max"])
def test_missing_numbers_beside_categories(mode: str, tmp_path: Path) -> None:
    x, y = mixed()
    x = x.copy()
    x[::5, 0], x[::7, 4] = np.nan, np.nan
    y = y + 2 * np.array([v != v for v in x[:, 0]])
    options = {**K, "depth": 6, "boosting_type": "Plain", "iterations": 40, "nan_mode": mode, "max_ctr_complexity": 3}
    model = cb.CatBoostClassifier(**options, cat_features=CATEGORIES).fit(x, y)
    source = check(model, x)
    above = {e.missing for c in source.model.columns if isinstance(c, Ctr) for e in c.elements if e.kind == "above"}
    assert above == {mode == "Max"}
    path = tmp_path / "model.json"
    model.save_model(str(path), format="json")
    check(path, x, opsets=[21])


def test_categories_from_an_option_or_the_file(tmp_path: Path) -> None:
    model = fit()
    source = check(model, None, categories=KNOWN)
    assert [str(s.dtype) for s in source.specs] == ["float32", "string", "string", "string", "float32"]
    path = tmp_path / "model.json"
    x, y = mixed()
    model.save_model(str(path), format="json", pool=cb.Pool(x, y, cat_features=CATEGORIES))
    check(path, None, dtype="float64")
    specs = ["float64[batch,1]", "string[batch,1]", "int64[batch,1]", "string[batch,1]", "float32[batch,1]"]
    assert check(path, [f"x{i}:{s}" for i, s in enumerate(specs)]).specs[2].dtype == "int64"


def test_whole_numbers_and_frames() -> None:
    import pandas as pd

    r = np.random.default_rng(1)
    x = r.integers(0, 20, (300, 3))
    y = (x[:, 0] % 3 == 1) * 1.0 + x[:, 1] % 4 + x[:, 2] * 0.1
    check(cb.CatBoostRegressor(**K, cat_features=[0, 1]).fit(x, y), x)
    rows, target = mixed()
    frame = pd.DataFrame(rows, columns=["a", "word", "number", "yes", "b"]).astype(
        {"a": float, "b": float, "number": int}
    )
    frame["word"] = frame["word"].astype("category")
    model = cb.CatBoostClassifier(**K, cat_features=["word", "number", "yes"]).fit(frame, target)
    result = to_onnx(model, frame[["b", "yes", "number", "word", "a"]])
    assert result.parity is not None and result.parity.passed
    assert [s.name for s in result.source.specs] == list(frame.columns)


def test_what_nobody_knows_is_refused(tmp_path: Path) -> None:
    model = fit()
    for given, extra in ((None, {}), (mixed()[0][:12], {}), (None, {"categories": {**KNOWN, 1: list("pqr")}})):
        source = CatboostFrontend().load(model, given, Options(21, extra=extra))
        with pytest.raises(InputSpecError, match="no known text"):
            source.translate(GraphBuilder(21))
    with pytest.raises(InputSpecError, match="columns"):
        CatboostFrontend().load(model, mixed()[0][:, :3], Options(21))
    with pytest.raises(InputSpecError, match="categories"):
        CatboostFrontend().load(model, [f"x{i}:float32[batch,1]" for i in range(5)], Options(21))


def test_text_features_are_refused_by_name() -> None:
    r = np.random.default_rng(0)
    x = np.array([[" ".join(r.choice(["one", "two", "three"], 5)), float(i % 7)] for i in range(200)], object)
    y = np.array(["one two" in t for t in x[:, 0]]).astype(int)
    with pytest.raises(UnsupportedOps, match="text features"):
        CatboostFrontend().load(cb.CatBoostClassifier(**K, text_features=[0]).fit(x, y), x, Options(21))


def test_hashes_of_texts_of_any_length(tmp_path: Path) -> None:
    r = np.random.default_rng(0)
    letters = np.array(list("abcdefghijXYZ0189 -éß漢"))
    words = sorted({"".join(r.choice(letters, n)) for n in [*range(90), 127, 128, 129, 500] for _ in range(2)})
    x = np.array([[w] for w in words * 2], object)
    model = cb.CatBoostRegressor(**{**K, "iterations": 2}, cat_features=[0]).fit(x, r.normal(size=len(x)))
    path = tmp_path / "m.json"
    model.save_model(str(path), format="json", pool=cb.Pool(x, cat_features=[0]))
    told = json.loads(path.read_text())["features_info"]["cat_features_hash"]
    assert len(told) == len(words)
    assert all(category_hash(item["value"]) == item["hash"] for item in told)


def test_a_file_needs_no_catboost(tmp_path: Path) -> None:
    path = tmp_path / "model.cbm"
    fit().save_model(str(path))
    script = f"""
import sys
sys.modules["catboost"] = None
from anyonnx import to_onnx
result = to_onnx({str(path)!r}, categories={{1: "pqrstuvw", 2: range(-2, 12), 3: ["yes", "nö"]}})
print([m for m in ("pandas", "sklearn", "scipy") if sys.modules.get(m)], result.not_compared != "")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] True"


def test_truth_values_as_categories() -> None:
    import pandas as pd

    r = np.random.default_rng(0)
    frame = pd.DataFrame({"a": r.normal(size=300), "flag": r.random(300) < 0.5, "word": r.choice(["p", "q"], 300)})
    y = (frame["a"] > 0) ^ frame["flag"] ^ (frame["word"] == "p")
    model = cb.CatBoostClassifier(**{**K, "cat_features": ["flag", "word"], "one_hot_max_size": 0}).fit(
        frame, y.astype(int)
    )
    source = check(model, frame)
    assert [s.dtype for s in source.specs] == ["float64", "int64", "string"]  # CatBoost takes them for 0 and 1
    inputs = {n: frame[n].to_numpy(object if n == "word" else None).reshape(-1, 1) for n in frame}
    inputs["flag"] = inputs["flag"].astype(np.int64)
    (session, _) = sessions(build(source, 21))
    assert np.array_equal(session.run(None, inputs)[0], model.predict(frame))
