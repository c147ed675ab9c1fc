"""Converts a model of a boosting library and compares it with the library in onnxruntime, optimisations off and on."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from estimator_check import OPSETS, build, sessions

from anyonnx.converters.api import make_frontend
from anyonnx.converters.base import Options

#: Limits of max|err| / max|ref|, for results in double and in float32.
DOUBLE, SINGLE = 2e-15, 1e-6


def assert_exact(
    framework: str,
    model: Any,
    x: Any = None,
    *,
    opsets: Sequence[int] = (11, 21),
    dtypes: Sequence[str | None] = ("float32", "float64"),
    batches: Sequence[int] = (96, 257),
    native: Any = None,
    **extra: Any,
) -> Any:
    """Labels equal on every row, dtypes and shapes as the library's, numbers within the limit of their dtype.

    Args:
        framework: Name of the frontend.
        model: Live model or path.
        x: X; adversarial rows alone where None.
        opsets: Opsets to convert to.
        dtypes: Dtypes of X; None: its own.
        batches: Batch sizes to compare.
        native: Makes rows legal for the library, where it refuses some.
        **extra: Options of the frontend.
    """
    for dtype in dtypes:
        given = {"dtype": dtype} if x is None and framework != "sklearn" else {}
        rows: dict[int, tuple[dict[str, np.ndarray], dict[str, np.ndarray]]] = {}
        for opset in opsets:
            options = Options(opset, extra={**given, **extra})
            source = make_frontend(framework).load(model, x if x is None or dtype is None else x.astype(dtype), options)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for batch in batches:
                    if batch not in rows:
                        inputs = source.make_samples(batch, {"batch": batch})
                        assert inputs is not None
                        inputs = inputs if native is None else {k: native(v) for k, v in inputs.items()}
                        rows[batch] = inputs, source.run(inputs)
            for session in sessions(build(source, opset)):
                for inputs, expected in rows.values():
                    found = dict(zip(source.output_names, session.run(None, inputs), strict=True))
                    same(expected, found, source.labels, SINGLE if source.precision else DOUBLE)
    return source


def same(
    expected: dict[str, np.ndarray], found: dict[str, np.ndarray], labels: Sequence[str], double: float = DOUBLE
) -> None:
    for name, right in expected.items():
        result = found[name]
        assert result.shape == right.shape, (name, result.shape, right.shape)
        assert result.dtype == right.dtype, (name, result.dtype, right.dtype)
        if name in labels or right.dtype.kind != "f":
            assert np.array_equal(result, right), f"{name}: {(result != right).sum()} of {right.size} differ"
            continue
        finite = np.isfinite(right)
        assert np.array_equal(right[~finite], result[~finite], equal_nan=True), name
        if not finite.any():
            continue
        error = np.abs(result.astype(np.float64) - right)[finite].max()
        scale = max(float(np.abs(right[finite]).max()), 1e-300)
        allowed = double if right.dtype == np.float64 else SINGLE
        assert error <= allowed * scale, f"{name}: {error / scale:.3g} > {allowed}"


def fixture(name: str) -> Path:
    return Path(__file__).parents[2] / "fixtures" / name


__all__ = ["OPSETS", "assert_exact", "fixture", "same"]
