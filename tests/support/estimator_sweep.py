"""Every estimator of scikit-learn that answers about new rows: converted and compared, float32 and float64.

``python tests/support/estimator_sweep.py [--mixed] [names ...]`` prints one line for each class: whole, partial,
refused, WRONG. With ``--mixed`` the rows have another dtype than those of the fit. Each class runs in a forked child,
with a time limit.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import sys
import time
import traceback
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx_ir as ir
import onnxruntime as ort

from anyonnx.converters.base import Options
from anyonnx.converters.from_sklearn import SklearnFrontend, SklearnSource
from anyonnx.converters.from_sklearn.methods import available
from anyonnx.symbolic import GraphBuilder
from anyonnx.symbolic.errors import AnyonnxError

METHODS = (
    "predict", "transform", "predict_proba", "decision_function", "score_samples", "kneighbors", "mahalanobis",
)  # fmt: skip
#: Largest max|err| / max|ref|.
LIMITS = {"float32": 1e-4, "float64": 1e-7}
#: Dtypes of the fit and of the rows.
SAME = (("float32", "float32"), ("float64", "float64"))
MIXED = (("float64", "float32"), ("float64", "int64"), ("float32", "float64"), ("float32", "int64"))
SECONDS = 120
OPSET = 21
#: They transform y, not rows.
LABELS_ONLY = ("LabelBinarizer", "LabelEncoder", "MultiLabelBinarizer")

#: Methods that draw random numbers.
RANDOM = [("BernoulliRBM", "score_samples")]

TEXTS = ["One two, two three", "don't stop", "a b c", "Été à la mer", "", "three THREE", "new words here", "one"]
WORDS = np.array(["red", "green", "blue", "amber"], object)


def classes() -> list[tuple[str, type]]:
    """Every class with inference on new rows."""
    from sklearn.utils import all_estimators

    found = [(n, c) for n, c in all_estimators() if any(hasattr(c, m) for m in METHODS) or n == "FrozenEstimator"]
    return [(n, c) for n, c in found if n not in LABELS_ONLY]


def make(cls: type, regression: bool) -> Any:
    """An unfitted estimator, small and with fixed randomness."""
    import inspect

    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.preprocessing import MinMaxScaler, StandardScaler
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    linear: Any = Ridge() if regression else LogisticRegression()
    tree: Any = (DecisionTreeRegressor if regression else DecisionTreeClassifier)(max_depth=3, random_state=0)
    dictionary = np.random.default_rng(3).normal(size=(3, 5))
    needed = {
        "estimator": linear,
        "base_estimator": linear,
        "estimators": [("a", linear), ("b", tree)],
        "transformers": [("s", StandardScaler(), [0, 2]), ("m", MinMaxScaler(), [1, 3, 4])],
        "transformer_list": [("s", StandardScaler()), ("m", MinMaxScaler())],
        "steps": [("s", StandardScaler()), ("l", linear)],
        "param_grid": {"alpha" if regression else "C": [0.1, 1.0]},
        "param_distributions": {"alpha" if regression else "C": [0.1, 1.0]},
        "dictionary": dictionary / np.linalg.norm(dictionary, axis=1, keepdims=True),
    }
    parameters = inspect.signature(cls.__init__).parameters
    given = {k: needed[k] for k, p in parameters.items() if k in needed and p.default is inspect.Parameter.empty}
    small = {
        "random_state": 0, "n_estimators": 6, "n_components": 2, "n_clusters": 3, "n_features_to_select": 2,
        "n_iter": 2,
    }  # fmt: skip
    given.update({name: value for name, value in small.items() if name in parameters})
    if "RandomizedSearch" in cls.__name__ or "HalvingRandom" in cls.__name__:
        given.pop("n_estimators", None)
    elif given.get("n_iter") and "Search" not in cls.__name__:
        del given["n_iter"]
    if cls.__name__ in ("ClassifierChain", "RegressorChain", "SelfTrainingClassifier"):
        given["estimator"] = linear
    special = {
        "GaussianRandomProjection": {"n_components": 3},
        "SparseRandomProjection": {"n_components": 3},
        "PLSSVD": {"n_components": 1},
        "PLSCanonical": {"n_components": 1},
        "CCA": {"n_components": 1},
        "LinearDiscriminantAnalysis": {"n_components": 1},
        "LocalOutlierFactor": {"novelty": True},
        "RadiusNeighborsClassifier": {"radius": 2.5, "outlier_label": "most_frequent"},
        "RadiusNeighborsRegressor": {"radius": 2.5},
        "RadiusNeighborsTransformer": {"radius": 2.5},
        "PolynomialCountSketch": {"n_components": 8},
        "PatchExtractor": {},
    }.get(cls.__name__, {})
    return cls(**{**given, **special})


def rows(kind: str, count: int, seed: int) -> Any:
    """X of a kind."""
    generator = np.random.default_rng(seed)
    if kind == "texts":
        return [TEXTS[i] for i in generator.integers(0, len(TEXTS), count)]
    if kind == "words":
        return WORDS[generator.integers(0, 3, (count, 3))]
    if kind == "square":
        found = generator.normal(size=(count, 5))
        base = np.random.default_rng(0).normal(size=(120, 5))
        return found @ base.T
    x = generator.normal(size=(count, 1 if kind == "column" else 5))
    if kind == "positive":
        return np.abs(x)
    if kind == "counts":
        return generator.poisson(2.0, x.shape).astype(np.float64)
    return x


def targets(kind: str, count: int) -> Any:
    """y of a kind, which depends on the rows of seed 0."""
    x = np.random.default_rng(0).normal(size=(count, 5))
    noise = np.random.default_rng(9).normal(size=(count, 3)) * 0.3
    scores = x @ np.random.default_rng(8).normal(size=(5, 3)) + noise
    best = scores.argmax(axis=1)
    return {
        "binary": (scores[:, 0] > 0).astype(int),
        "three": best + 1,
        "strings": np.array(["low", "mid", "top"])[best],
        "multilabel": (scores > 0).astype(int),
        "multioutput": np.stack([best + 1, (scores[:, 0] > 0).astype(int)], axis=1),
        "single": scores[:, 0],
        "single positive": np.exp(scores[:, 0] / 3),
        "multi": scores[:, :2],
        "none": None,
    }[kind]


CLASSIFIER = ("binary", "three", "strings", "multilabel", "multioutput")
REGRESSOR = ("single", "multi")
X_KINDS = ("normal", "positive", "counts", "column", "texts", "words")


def fitted(cls: type) -> Iterator[tuple[str, str, str, Any]]:
    """(kind of y, kind of X, dtype, fitted estimator) for every kind that the estimator takes."""
    from sklearn.base import is_classifier, is_regressor

    first = make(cls, regression=False)
    if is_classifier(first):
        kinds: tuple[str, ...] = CLASSIFIER
    elif is_regressor(make(cls, regression=True)):
        kinds = REGRESSOR
    else:
        kinds = ("none",)
    works = {
        "KernelCenterer": "square",
        "OneHotEncoder": "words",
        "OrdinalEncoder": "words",
        "SkewedChi2Sampler": "positive",
    }.get(cls.__name__)
    for kind in kinds:
        for dtype in LIMITS:
            for x_kind in X_KINDS if works is None else (works,):
                for y_kind in (kind, "single positive") if kind == "single" else (kind,):
                    est = _fit(cls, kind in REGRESSOR, x_kind, y_kind, dtype)
                    if est is not None:
                        break
                if est is not None:
                    works = x_kind
                    yield kind, x_kind, dtype, est
                    break


def _fit(cls: type, regression: bool, x_kind: str, y_kind: str, dtype: str) -> Any:
    x, y = rows(x_kind, 120, 0), targets(y_kind, 120)
    if isinstance(x, np.ndarray) and x.dtype != object:
        x = x.astype(dtype)
    if cls.__name__ == "SelfTrainingClassifier" and y_kind in ("binary", "three"):
        y = np.where(np.arange(120) % 3 == 0, -1, y)
    tries = (y,) if y is not None else (None, targets("three", 120), targets("single", 120), targets("multi", 120))
    for target in tries:
        try:
            est = make(cls, regression)
            if cls.__name__ == "FrozenEstimator":
                est.estimator.fit(x, targets("three", 120))
            return est.fit(x) if target is None else est.fit(x, target)
        except (ValueError, TypeError, AttributeError, KeyError, IndexError, NotImplementedError):
            continue
    return None


@dataclass
class Verdict:
    """What became of one class."""

    name: str
    module: str
    whole: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    wrong: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def status(self) -> str:
        """whole, partial, refused, WRONG or unfit."""
        if self.wrong:
            return "WRONG"
        if self.refused:
            return "partial" if self.whole else "refused"
        return "whole" if self.whole else "unfit"

    def __str__(self) -> str:
        notes = [f"{case}: {text}" for case, text in {**self.wrong, **self.refused}.items()]
        return f"{self.status:8}{self.module}.{self.name} ({len(self.whole)} whole) {' | '.join(notes)}"


def judge(name: str, cls: type, dtypes: Sequence[tuple[str, str]] = SAME) -> Verdict:
    """Converts and compares all kinds of one class, for dtypes of the fit and of the rows."""
    started = time.perf_counter()
    verdict = Verdict(name, cls.__module__.split(".")[1])
    for kind, x_kind, own, est in fitted(cls):
        for dtype in [rows for fit, rows in dtypes if fit == own]:
            _judge(verdict, f"{kind} {own}" + ("" if dtype == own else f" on {dtype}"), est, x_kind, own, dtype)
    verdict.seconds = time.perf_counter() - started
    return verdict


def _judge(verdict: Verdict, case: str, est: Any, x_kind: str, own: str, dtype: str) -> None:
    """One case of a class."""
    try:
        problem = compare(est, x_kind, dtype, LIMITS["float32" if "float32" in (own, dtype) else "float64"])
    except AnyonnxError as error:
        verdict.refused[case] = str(error).replace("\n", " ")[:300]
        return
    except Exception as error:  # noqa: BLE001 - the sweep reports what comes, of any kind
        where = traceback.extract_tb(error.__traceback__)[-1]
        text = str(error).split("\n")[0]
        problem = f"{type(error).__name__}: {text} ({where.name}:{where.lineno})"
    if problem:
        verdict.wrong[case] = problem[:300]
    else:
        verdict.whole.append(case)


def compare(est: Any, x_kind: str, dtype: str, limit: float) -> str:
    """What is wrong with the model of an estimator, or an empty string."""
    given = rows(x_kind, 120, 0), rows(x_kind, 80, 1)
    if x_kind == "texts":
        x: Any = given[1]
    elif x_kind == "words":
        x = np.concatenate(given)
    else:
        x = np.concatenate(given)
        x = np.rint(2 * x).astype(dtype) if dtype == "int64" else x.astype(dtype)
    methods = [m for m in available(est) if m in METHODS and (type(est).__name__, m) not in RANDOM]
    source = SklearnFrontend().load(est, x, Options(OPSET, extra={"methods": methods} if methods else {}))
    g = GraphBuilder(OPSET)
    source.translate(g)
    proto = ir.to_proto(g.build()).SerializeToString()
    inputs = [source.samples] if _runs(source, source.samples) else []
    hard = source.make_samples(0, {"batch": 100})
    if _runs(source, hard):
        inputs.append(hard)
    for level in (ort.GraphOptimizationLevel.ORT_DISABLE_ALL, ort.GraphOptimizationLevel.ORT_ENABLE_ALL):
        options = ort.SessionOptions()
        options.graph_optimization_level = level
        options.log_severity_level = 4
        options.intra_op_num_threads = 1
        session = ort.InferenceSession(proto, options, providers=["CPUExecutionProvider"])
        for feed in inputs:
            found = dict(zip(source.output_names, session.run(None, feed), strict=True))
            for name, right in source.run(feed).items():
                problem = differs(right, found[name], limit, name in source.labels)
                if problem:
                    return f"{name} {problem}"
    return ""


def _runs(source: SklearnSource, inputs: Any) -> bool:
    try:
        source.run(inputs)
    except (ValueError, TypeError, IndexError):
        return False
    return True


def differs(right: np.ndarray, found: np.ndarray, limit: float, labels: bool) -> str:
    """How a result differs from scikit-learn's."""
    if found.shape != right.shape or found.dtype != right.dtype:
        return f"is {found.dtype}{list(found.shape)}, not {right.dtype}{list(right.shape)}"
    if labels or right.dtype.kind != "f":
        wrong = int((found != right).sum())
        return f"has {wrong} of {right.size} labels wrong" if wrong else ""
    known = np.isfinite(right)
    if not np.array_equal(right[~known], found[~known], equal_nan=True):
        return "has other NaN or infinities"
    error = float(np.abs(found - right)[known].max(initial=0.0))
    scale = float(np.abs(right)[known].max(initial=0.0))
    return "" if error <= limit * max(scale, 1e-300) else f"relative error {error / max(scale, 1e-300):.2g}"


def in_child(name: str, cls: type, dtypes: Sequence[tuple[str, str]] = SAME) -> Verdict:
    """The verdict of a forked child; a child that dies or takes too long is WRONG."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def work() -> None:
        warnings.simplefilter("ignore")
        sender.send(judge(name, cls, dtypes))

    child = context.Process(target=work)
    child.start()
    sender.close()
    verdict = Verdict(name, cls.__module__.split(".")[1], wrong={"all": "the process died or took too long"})
    if receiver.poll(SECONDS):
        with contextlib.suppress(EOFError):
            verdict = receiver.recv()
    if child.is_alive() and verdict.wrong.get("all"):
        child.terminate()
    child.join()
    return verdict


def sweep(names: Sequence[str] = (), dtypes: Sequence[tuple[str, str]] = SAME) -> list[Verdict]:
    """Verdicts on all classes, or on those named (or in the modules named)."""
    chosen = [(n, c) for n, c in classes() if not names or n in names or c.__module__.split(".")[1] in names]
    found = []
    for name, cls in chosen:
        found.append(in_child(name, cls, dtypes))
        print(found[-1], flush=True)
    counts = {s: sum(v.status == s for v in found) for s in ("whole", "partial", "refused", "WRONG", "unfit")}
    print(f"{len(found)} classes: " + ", ".join(f"{n} {s}" for s, n in counts.items()))
    return found


if __name__ == "__main__":
    mixed = "--mixed" in sys.argv
    sweep([a for a in sys.argv[1:] if a != "--mixed"], MIXED if mixed else SAME)
