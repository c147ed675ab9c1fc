"""Options of the boosting libraries, one case each: trained small, converted live and from files, compared.

``python tests/support/booster_sweep.py [--library xgboost] [--only NAME]`` prints OK, refused (why) or WRONG for each.
Data and predictions are the library's own; rows lie on thresholds, beside them, and where values are missing or unseen.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir
import onnxruntime as ort

from anyonnx.converters.api import make_frontend
from anyonnx.converters.base import Options, Source
from anyonnx.symbolic import GraphBuilder
from anyonnx.symbolic.errors import AnyonnxError

#: Largest error of a result, relative to the largest value of its output.
LIMIT = 1e-5
ROWS = 257
Predict = Callable[[Any, Any], list[Any]]


@dataclass
class Trained:
    """What a case gives.

    Attributes:
        model: The live model.
        predict: ``predict(model, x)``: what each output of the converted live model must be.
        files: File suffix -> function that writes the model and, for the file, what its outputs must be.
        x: X to convert with; None: the model alone says its input.
        extra: Options of the frontend.
        file_extra: Options of the frontend for files, besides.
        finite: The library refuses infinite values.
    """

    model: Any
    predict: Predict
    files: dict[str, tuple[Callable[[Path], Any], Predict]] = field(default_factory=dict)
    x: Any = None
    extra: dict[str, Any] = field(default_factory=dict)
    file_extra: dict[str, Any] = field(default_factory=dict)
    finite: bool = False


@dataclass
class Verdict:
    """What came of a case: ``OK``, ``refused`` or ``WRONG``, and why."""

    status: str
    detail: str = ""


def judge(library: str, case: Callable[[], Trained], opsets: tuple[int, ...] = (21,)) -> Verdict:
    """Trains, converts and compares one case."""
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        trained = case()
        ways: list[tuple[str, Any, Predict, dict[str, Any]]] = [("live", trained.model, trained.predict, trained.extra)]
        for suffix, (save, predict) in trained.files.items():
            path = Path(folder) / f"model.{suffix}"
            save(path)
            ways.append((suffix, path, predict, trained.extra | trained.file_extra))
        for way, model, predict, extra in ways:
            for opset in opsets:
                try:
                    problem = _compare(library, model, trained, predict, extra, opset)
                except AnyonnxError as error:
                    return Verdict("refused", f"{way}: {' '.join(str(error).split())[:160]}")
                if problem:
                    return Verdict("WRONG", f"{way}, opset {opset}: {problem}")
    return Verdict("OK")


def _compare(library: str, model: Any, trained: Trained, predict: Predict, extra: dict[str, Any], opset: int) -> str:
    dtypes = ["float32", "float64"] if trained.x is None and "dtype" not in extra else [None]
    for dtype in dtypes:
        options = Options(opset, extra=extra if dtype is None else {**extra, "dtype": dtype})
        source = make_frontend(library).load(model, trained.x, options)
        inputs = source.make_samples(3, {"batch": ROWS})
        assert inputs is not None
        if trained.finite:
            inputs = {k: np.where(np.isinf(v), v.dtype.type(3e38), v) for k, v in inputs.items()}
        expected = predict(trained.model, rows_of(source, inputs))
        for level in (ort.GraphOptimizationLevel.ORT_DISABLE_ALL, ort.GraphOptimizationLevel.ORT_ENABLE_ALL):
            found = run(source, inputs, opset, level)
            if len(found) != len(expected):
                return f"{len(found)} outputs, the library gives {len(expected)}"
            for name, result, right in zip(source.output_names, found, expected, strict=True):
                problem = difference(result, np.asarray(right), name in source.labels)
                if problem:
                    return f"{dtype or 'X'}: {name}: {problem}"
    return ""


def rows_of(source: Source, inputs: dict[str, np.ndarray]) -> Any:
    """The rows as the library takes them."""
    if len(source.specs) == 1:
        return inputs[source.specs[0].name]
    return source.frame(inputs)  # type: ignore[attr-defined]


def run(source: Source, inputs: dict[str, np.ndarray], opset: int, level: Any) -> list[np.ndarray]:
    """The converted model's outputs."""
    g = GraphBuilder(opset)
    source.translate(g)
    options = ort.SessionOptions()
    options.graph_optimization_level = level
    options.log_severity_level, options.intra_op_num_threads = 3, 1
    data = ir.to_proto(g.build()).SerializeToString()
    session = ort.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    return list(session.run(source.output_names, inputs))


def difference(found: np.ndarray, right: np.ndarray, label: bool) -> str:
    """What differs, or an empty string."""
    if found.shape != right.shape:
        return f"shape {found.shape}, not {right.shape}"
    if label or right.dtype.kind in "OUb":
        return f"{(found != right).sum()} of {right.size} labels differ" if np.any(found != right) else ""
    found, right = found.astype(np.float64), right.astype(np.float64)
    if not np.array_equal(np.isfinite(found), np.isfinite(right)):
        return "finite at other places"
    finite = np.isfinite(right)
    error = np.abs(found - right)[finite].max(initial=0) / max(np.abs(right[finite]).max(initial=0), 1e-300)
    return f"relative error {error:.3g}" if error > LIMIT else ""


# --- data ----------------------------------------------------------------------------------------------------------


class Data:
    """300 rows of seven features: numbers with ties, a small whole number, one with holes; targets of all kinds."""

    def __init__(self) -> None:
        r = np.random.default_rng(7)
        x = r.normal(size=(300, 7)).astype(np.float32)
        x[:, 1] = np.round(x[:, 1], 1)
        x[:, 2] = r.integers(0, 9, 300)
        x[:, 3] = np.exp(x[:, 3])
        x[r.random(300) < 0.4, 4] = 0
        self.x = x
        score = x[:, 0] + 0.5 * np.sin(3 * x[:, 1]) + 0.3 * x[:, 2] - 0.2 * x[:, 3] * x[:, 4]
        self.y = score.astype(np.float64)
        self.binary = (score > np.median(score)).astype(int)
        self.three = np.digitize(score, np.quantile(score, [0.3, 0.6]))
        self.count = np.floor(np.exp(score / 2)).astype(float)
        self.positive = np.exp(score / 2) + 0.1
        self.share = 1 / (1 + np.exp(-score))
        self.two = np.stack([score, np.cos(score) + x[:, 5]], 1)
        self.labels = np.stack([score > 0, x[:, 0] > 0, x[:, 5] > 0.5], 1).astype(int)
        self.words = np.array(["low", "mid", "high"])[self.three]
        self.holes = x.copy()
        self.holes[r.random(x.shape) < 0.15] = np.nan
        self.codes = x.copy()
        self.codes[:, 2] = r.integers(0, 40, 300)
        self.codes[:, 5] = r.integers(0, 5, 300)
        self.code_target = np.sin(self.codes[:, 2] * 7) + 0.5 * (self.codes[:, 5] == 2) + 0.1 * x[:, 0]
        self.code_class = (self.code_target > 0).astype(int)
        self.groups = [100, 80, 120]

    def frame(self, categories: bool = False) -> Any:
        """The features as a DataFrame whose columns have names; some are categories."""
        import pandas as pd

        found = pd.DataFrame(self.codes if categories else self.holes, columns=[f"col {i}" for i in range(7)])
        if categories:
            found["col 2"] = pd.Categorical([f"v{int(c)}" for c in self.codes[:, 2]])
            found["col 5"] = pd.Categorical(self.codes[:, 5].astype(int))
        return found


# --- running -------------------------------------------------------------------------------------------------------


def cases(library: str) -> dict[str, Callable[[], Trained]]:
    """The cases of one library by name."""
    if library == "xgboost":
        from booster_xgb_cases import CASES
    elif library == "lightgbm":
        from booster_lgb_cases import CASES
    else:
        from booster_cat_cases import CASES
    return CASES


def sweep(libraries: list[str], only: str = "") -> Iterator[tuple[str, str, Verdict]]:
    """Judges all cases: library, case, verdict."""
    for library in libraries:
        for name, case in cases(library).items():
            if only not in name:
                continue
            try:
                yield library, name, judge(library, case)
            except Exception as error:  # noqa: BLE001  the sweep goes on, and the crash is counted
                traceback.print_exc()
                yield library, name, Verdict("WRONG", f"{type(error).__name__}: {error}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--library", choices=["xgboost", "lightgbm", "catboost"], action="append")
    parser.add_argument("--only", default="", help="part of the names of the cases to run")
    options = parser.parse_args()
    counts: dict[str, dict[str, int]] = {}
    for library, name, verdict in sweep(options.library or ["xgboost", "lightgbm", "catboost"], options.only):
        own = counts.setdefault(library, {"OK": 0, "refused": 0, "WRONG": 0})
        own[verdict.status] += 1
        print(f"{library:9} {name:32} {verdict.status} {verdict.detail}", flush=True)
    for library, own in counts.items():
        print(f"{library}: " + ", ".join(f"{n} {status}" for status, n in own.items()) + f" of {sum(own.values())}")
    sys.exit(any(own["WRONG"] for own in counts.values()))


if __name__ == "__main__":
    main()
