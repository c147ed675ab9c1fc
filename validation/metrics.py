"""How far two arrays are apart: measures that see a small relative error, wherever the values lie."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, Any]

# Elements converted to float64 at a time: measuring needs a few MB, however big the arrays are.
_BLOCK = 1 << 19


@dataclass(frozen=True)
class Metrics:
    """Distance of a result from its reference, over all elements.

    Attributes:
        elements: Number of elements.
        unequal: Elements that differ in any way (NaN equals NaN).
        nonfinite_unequal: Places where only one side is NaN, or the infinities differ.
        max_abs: Largest absolute error over the finite elements.
        max_ref: Largest absolute reference value over the finite elements.
        sc: ``max_abs / max_ref``: the error on the scale of the tensor. Infinite where the reference is all zero
            and the result isn't.
        one_minus_cos: 1 - cosine of the angle between the two, accurate far below the rounding of float64.
        sqnr_db: Signal to noise ratio, ``10 log10(sum ref^2 / sum err^2)``; infinite for equal arrays.
        argmax_agreement: Share of rows (last axis) with the same largest element; None where it has no meaning.
    """

    elements: int
    unequal: int
    nonfinite_unequal: int = 0
    max_abs: float = 0.0
    max_ref: float = 0.0
    sc: float = 0.0
    one_minus_cos: float = 0.0
    sqnr_db: float = math.inf
    argmax_agreement: float | None = None

    def to_dict(self) -> dict[str, float | int | None]:
        """The measures by name."""
        return asdict(self)


def is_text(array: Array) -> bool:
    """Whether the array holds strings."""
    return array.dtype.kind in "OUS"


def is_float(array: Array) -> bool:
    """Whether the array holds real or complex floating-point numbers (``bfloat16`` and smaller ones too)."""
    return array.dtype.kind in "fc" or array.dtype.name in _SMALL_FLOATS


_SMALL_FLOATS = frozenset(name for name in dir(ml_dtypes) if name.startswith(("bfloat", "float")))


def measure(reference: Array, result: Array, *, rows: bool = False) -> Metrics:
    """Measures the distance of two arrays of the same shape.

    Args:
        reference: What is right, any dtype.
        result: What is measured, same shape; the dtype may differ.
        rows: Also count the rows of the last axis whose largest element is at the same place.

    Raises:
        ValueError: The shapes differ.
    """
    if reference.shape != result.shape:
        raise ValueError(f"shapes differ: {reference.shape} and {result.shape}")
    if is_text(reference) or is_text(result):
        differing = sum(str(a) != str(b) for a, b in zip(reference.flat, result.flat, strict=True))
        return Metrics(reference.size, differing)
    agreement = None
    if rows and is_float(reference) and reference.ndim >= 2 and reference.shape[-1] >= 2 and reference.size:
        agreement = float(np.mean(reference.argmax(-1) == result.argmax(-1)))
    unequal, nonfinite, max_abs, max_ref, max_any = _extremes(reference, result)
    tiny = float(np.finfo(reference.dtype).tiny) if reference.dtype.kind in "fc" else 2.0**-126
    if max_abs == 0.0:
        return Metrics(reference.size, unequal, nonfinite, 0.0, max_ref, argmax_agreement=agreement)
    # Below the smallest normal number a ratio has no meaning: runtimes flush such values to zero.
    if max_ref < tiny:
        ratio = max_abs / tiny if max_abs <= tiny else math.inf
    else:
        ratio = max_abs / max_ref
    cosine, sqnr = _angle(reference, result, max_any)
    return Metrics(reference.size, unequal, nonfinite, max_abs, max_ref, ratio, cosine, sqnr, agreement)


def _blocks(reference: Array, result: Array) -> Iterator[tuple[Array, Array]]:
    """Blocks of both arrays in float64, complex numbers as pairs of real ones."""
    left, right = reference.reshape(-1), result.reshape(-1)
    for start in range(0, left.size, _BLOCK):
        pair = [_real(side[start : start + _BLOCK]) for side in (left, right)]
        yield pair[0], pair[1]


def _real(block: Array) -> Array:
    if block.dtype.kind == "c":
        return np.ascontiguousarray(block.astype(np.complex128)).view(np.float64)
    return block.astype(np.float64)


def _extremes(reference: Array, result: Array) -> tuple[int, int, float, float, float]:
    unequal = nonfinite = 0
    max_abs = max_ref = max_any = 0.0
    exact = reference.dtype.kind in "iub" and result.dtype.kind in "iub"
    for start in range(0, reference.size, _BLOCK):
        left, right = (side.reshape(-1)[start : start + _BLOCK] for side in (reference, result))
        if exact:  # float64 can't tell neighbouring big integers apart
            unequal += int(np.count_nonzero(left != right))
        a, b = _real(left), _real(right)
        good = np.isfinite(a) & np.isfinite(b)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        nonfinite += int(np.count_nonzero(~same & ~good))
        if not exact:
            unequal += int(np.count_nonzero(~same))
        if not good.any():
            continue
        a, b = np.where(good, a, 0.0), np.where(good, b, 0.0)
        with np.errstate(over="ignore"):
            max_abs = max(max_abs, float(np.abs(a - b).max()))
        max_ref = max(max_ref, float(np.abs(a).max()))
        max_any = max(max_any, max_ref, float(np.abs(b).max()))
    return unequal, nonfinite, max_abs, max_ref, max_any


def _angle(reference: Array, result: Array, scale: float) -> tuple[float, float]:
    """1 - cosine and SQNR in dB, over the places where both sides are finite."""
    ref2 = res2 = err2 = growth = 0.0
    for left, right in _blocks(reference, result):
        good = np.isfinite(left) & np.isfinite(right)
        # Scaled first: squares of the largest and smallest float64 leave its range.
        a, b = np.where(good, left, 0.0) / scale, np.where(good, right, 0.0) / scale
        d = b - a
        ref2, res2, err2 = ref2 + float(a @ a), res2 + float(b @ b), err2 + float(d @ d)
        growth += float(d @ (a + b))
    sqnr = 10 * math.log10(ref2 / err2) if ref2 and err2 else (math.inf if not err2 else -math.inf)
    if not ref2 or not res2:
        return float(bool(ref2) != bool(res2)), sqnr
    # |d|^2 = |a|^2 + |b|^2 - 2ab, so 1 - cos = (|d|^2 - (|b| - |a|)^2) / (2|a||b|): no subtraction from 1,
    # whose rounding (1e-16) would hide small angles. |b| - |a| comes from d too, for the same reason.
    norm, other = math.sqrt(ref2), math.sqrt(res2)
    lengths = growth / (norm + other)
    return max(0.0, (err2 - lengths * lengths) / (2 * norm * other)), sqnr
