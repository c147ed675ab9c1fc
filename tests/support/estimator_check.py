"""Converts an estimator and compares it with scikit-learn in onnxruntime, optimisations off and on."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime as ort

from anyonnx.converters.base import Options
from anyonnx.converters.from_sklearn import SklearnFrontend, SklearnSource
from anyonnx.symbolic import GraphBuilder

OPSETS = (11, 13, 17, 21, 25)
LEVELS = (ort.GraphOptimizationLevel.ORT_DISABLE_ALL, ort.GraphOptimizationLevel.ORT_ENABLE_ALL)
#: Limits of max|err| / max|ref|: sources that compute in double, and in float32.
DOUBLE, SINGLE = 1e-14, 1e-6


@cache
def data(name: str, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """X and y of a data set of scikit-learn; ``wine-nan`` has holes, ``-scaled`` is standardised."""
    from sklearn import datasets

    base, _, variant = name.partition("-")
    x, y = getattr(datasets, f"load_{base}")(return_X_y=True)
    generator = np.random.default_rng(0)
    if variant == "nan":
        x = x.copy()
        x[generator.random(x.shape) < 0.1] = np.nan
    if variant == "scaled":
        x = (x - x.mean(axis=0)) / x.std(axis=0)
    return x.astype(dtype), y


def load(est: Any, x: Any, opset: int = 21, **extra: Any) -> SklearnSource:
    return SklearnFrontend().load(est, x, Options(opset, extra=extra))


def build(source: SklearnSource, opset: int) -> onnx.ModelProto:
    """The checked model; it has exactly the asked opset and no foreign domain."""
    g = GraphBuilder(opset)
    source.translate(g)
    proto = ir.to_proto(g.build())
    onnx.checker.check_model(proto, full_check=True)
    versions = {o.domain: o.version for o in proto.opset_import}
    assert versions.pop("") == opset
    assert set(versions) <= {"ai.onnx.ml"}
    return proto


def sessions(proto: onnx.ModelProto) -> list[ort.InferenceSession]:
    found = []
    for level in LEVELS:
        options = ort.SessionOptions()
        options.graph_optimization_level = level
        options.log_severity_level = 3
        found.append(ort.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"]))
    return found


def assert_same(
    est: Any,
    x: Any = None,
    opsets: Sequence[int] = OPSETS,
    *,
    limit: float | None = None,
    batches: Sequence[int] = (64, 257),
    **extra: Any,
) -> onnx.ModelProto:
    """Labels equal on every row, dtypes and shapes as scikit-learn's, numbers within the limit of their dtype."""
    rows = {}
    for opset in opsets:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            source = load(est, x, opset, **extra)
            proto = build(source, opset)
            for batch in batches:
                if batch not in rows:
                    inputs = source.make_samples(batch, {"batch": batch})
                    rows[batch] = inputs, source.run(inputs)
        for session in sessions(proto):
            for inputs, expected in rows.values():
                compare(expected, dict(zip(source.output_names, session.run(None, inputs), strict=True)), limit)
    return proto


def compare(expected: dict[str, np.ndarray], found: dict[str, np.ndarray], limit: float | None = None) -> None:
    for name, right in expected.items():
        result = found[name]
        assert result.shape == right.shape, name
        assert result.dtype == right.dtype, name
        if name == "label" or right.dtype.kind not in "f":
            assert np.array_equal(result, right), f"{name}: {(result != right).sum()} of {right.size} differ"
            continue
        missing = np.isnan(right)
        assert np.array_equal(missing, np.isnan(result)), name
        error = np.abs(result - right)[~missing].max(initial=0.0)
        scale = max(float(np.abs(right)[~missing].max(initial=0.0)), 1e-300)
        allowed = limit or (DOUBLE if right.dtype == np.float64 else SINGLE)
        assert error <= allowed * scale, f"{name}: {error / scale:.3g} > {allowed}"
