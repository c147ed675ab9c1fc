"""Resize along one axis as a matrix, for what older opsets can't say: antialiasing, symmetric half pixels."""

from __future__ import annotations

import numpy as np


def _triangle(d: np.ndarray, _: float) -> np.ndarray:
    return np.asarray(np.maximum(1 - np.abs(d), 0))


def _cubic(d: np.ndarray, a: float) -> np.ndarray:
    d = np.abs(d)
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d < 1, near, np.where(d < 2, far, 0.0))


def source_places(size: int, new_size: int, scale: float, mode: str) -> np.ndarray:
    """Where the centres of the new pixels lie in the old image."""
    x = np.arange(new_size, dtype=np.float64)
    if mode == "align_corners":
        return x * (size - 1) / (new_size - 1) if new_size > 1 else np.zeros(1)
    if mode == "asymmetric":
        return x / scale
    if mode == "pytorch_half_pixel" and new_size == 1:
        return np.zeros(1)
    places = (x + 0.5) / scale - 0.5
    if mode == "half_pixel_symmetric":  # the grid is moved so that what overhangs does so on both sides alike
        adjustment = new_size / (size * scale)
        places += size / 2 * (1 - adjustment)
    return places


def resize_matrix(
    size: int, new_size: int, scale: float, *, kind: str, mode: str, antialias: bool, exclude_outside: bool,
    cubic_coeff_a: float,
) -> np.ndarray:  # fmt: skip
    """Weights of the old pixels in each new one: [new_size, size].

    Args:
        size: Old size.
        new_size: New size.
        scale: Their ratio, as asked for (the new size is rounded).
        kind: linear or cubic.
        mode: coordinate_transformation_mode.
        antialias: Widen the filter where the image shrinks.
        exclude_outside: Pixels outside of the image don't count; else they are like the nearest one inside.
        cubic_coeff_a: Parameter of the cubic filter.
    """
    shape, reach = (_triangle, 1.0) if kind == "linear" else (_cubic, 2.0)
    shrink = min(scale, 1.0) if antialias else 1.0
    places = source_places(size, new_size, scale, mode)
    matrix = np.zeros((new_size, size))
    for row, place in enumerate(places):
        first, last = int(np.floor(place - reach / shrink)), int(np.ceil(place + reach / shrink))
        taps = np.arange(first, last + 1)
        if exclude_outside:
            taps = taps[(taps >= 0) & (taps < size)]
        weights = shape((taps - place) * shrink, cubic_coeff_a)
        if antialias or exclude_outside:
            weights = weights / weights.sum()
        np.add.at(matrix[row], np.clip(taps, 0, size - 1), weights)
    return matrix
