from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from anyonnx.validation import metrics
from anyonnx.validation.metrics import is_float, measure


def normal(*shape, seed=0, dtype=np.float32):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def test_equal_arrays():
    a = normal(4, 5)
    m = measure(a, a.copy())
    assert (m.unequal, m.max_abs, m.sc, m.one_minus_cos, m.sqnr_db) == (0, 0, 0, 0, math.inf)


@pytest.mark.parametrize("scale", [1e-30, 1e-8, 1.0, 1e30])
def test_relative_to_the_tensor_at_every_scale(scale):
    a = normal(1000) * np.float32(scale)
    m = measure(a, a * np.float32(1.01))
    assert m.sc == pytest.approx(0.01, rel=1e-4)
    assert m.sqnr_db == pytest.approx(40, abs=0.01)
    assert m.one_minus_cos < 1e-13  # only scaled: the angle doesn't see it, sc does


def test_cosine_agrees_with_a_long_double_computation():
    a, b = normal(2000, dtype=np.float64), normal(2000, seed=1, dtype=np.float64)
    for size in (1.0, 1e-3, 1e-7, 1e-12):
        x, y = a.astype(np.longdouble), (a + size * b).astype(np.longdouble)
        unit = x / np.sqrt(x @ x) - y / np.sqrt(y @ y)
        expected = float(unit @ unit / 2)
        assert measure(a, a + size * b).one_minus_cos == pytest.approx(expected, rel=1e-3)


def test_blocks_do_not_change_the_result(monkeypatch):
    a, b = normal(1000), normal(1000, seed=1)
    whole = measure(a, b)
    monkeypatch.setattr(metrics, "_BLOCK", 7)
    parts = measure(a, b)
    assert parts.unequal == whole.unequal
    for name in ("max_abs", "max_ref", "sc", "one_minus_cos", "sqnr_db"):
        assert getattr(parts, name) == pytest.approx(getattr(whole, name), rel=1e-9)


def test_zero_reference():
    zero = np.zeros(4, np.float32)
    assert measure(zero, zero).sc == 0
    m = measure(zero, np.array([0, 0, 1e-9, 0], np.float32))
    assert m.sc == math.inf
    assert m.one_minus_cos == 1
    assert m.sqnr_db == -math.inf


def test_flushed_denormals_are_small_errors():
    m = measure(np.array([1e-40], np.float32), np.array([0], np.float32))
    assert m.sc < 0.01


def test_nan_and_infinity_by_place():
    a = np.array([1, np.nan, np.inf, -np.inf, 2])
    assert measure(a, a.copy()).nonfinite_unequal == 0
    for place, value in ((1, 0.0), (2, -np.inf), (3, np.nan), (4, np.inf), (0, np.nan)):
        b = a.copy()
        b[place] = value
        m = measure(a, b)
        assert m.nonfinite_unequal == m.unequal == 1
        assert math.isfinite(m.sc)


def test_extreme_float64_values():
    a = np.array([1e300, -1e300])
    assert measure(a, a * (1 + 1e-13)).sc == pytest.approx(1e-13, rel=0.01)
    a *= 1.5e8
    assert measure(a, -a).max_abs == math.inf
    assert not measure(a, -a).sc <= 1


def test_neighbouring_big_integers_differ():
    a = np.array([2**62, 5], np.int64)
    m = measure(a, a + np.array([1, 0], np.int64))
    assert m.unequal == 1


def test_booleans_and_strings():
    assert measure(np.array([True, False]), np.array([True, True])).unequal == 1
    assert measure(np.array(["a", "b"]), np.array(["a", "c"], dtype=object)).unequal == 1
    assert measure(np.array(["a", "b"]), np.array(["a", "b"], dtype=object)).unequal == 0


def test_complex():
    a = normal(50) + 1j * normal(50, seed=1)
    m = measure(a, a * np.exp(1e-3j))
    assert m.one_minus_cos == pytest.approx(5e-7, rel=0.01)


def test_bfloat16():
    a = normal(100).astype(ml_dtypes.bfloat16)
    assert is_float(a)
    b = a.copy()
    b[3] = b[3] * 2
    assert measure(a, b).unequal == 1


def test_argmax_agreement():
    a = np.array([[1, 2], [3, 4]], np.float32)
    assert measure(a, a, rows=True).argmax_agreement == 1
    assert measure(a, a[:, ::-1].copy(), rows=True).argmax_agreement == 0
    assert measure(a[0], a[0], rows=True).argmax_agreement is None


def test_empty_and_wrong_shape():
    assert measure(np.zeros((0, 3)), np.zeros((0, 3))).elements == 0
    with pytest.raises(ValueError, match="shapes"):
        measure(np.zeros(3), np.zeros((3, 1)))
