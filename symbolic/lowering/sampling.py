"""Sampling between pixels: GridSample and DeformConv as gathers and weighted sums."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from ..registry import symbolic
from .common import FLOATS, NARROW_FLOATS, known_rank, refuse

if TYPE_CHECKING:
    from ..builder import GraphBuilder
    from ..value import Value


def _extent(g: GraphBuilder, x: Value, axis: int) -> Value:
    return g.Gather(g.Shape(x), axis, axis=0)


class Sampler:
    """Reads an image at fractional places.

    Args:
        g: Builder.
        image: [N, C, D1, D2 ...].
        dtype: Float type of the places.
        padding: zeros, border or reflection.
        align_corners: Whether the borders are the centres of the outer pixels.
    """

    def __init__(self, g: GraphBuilder, image: Value, dtype: ir.DataType, padding: str, align_corners: bool):
        self.g, self.dtype, self.padding, self.align = g, dtype, padding, align_corners
        spatial = list(range(2, image.rank))
        self.sizes = [_extent(g, image, axis) for axis in spatial]
        self.floats = [g.Cast(size, to=dtype) for size in self.sizes]
        channels = g.Shape(image, start=1, end=2)
        self.rows = g.Reshape(g.Transpose(image, perm=[0, *spatial, 1]), g.Concat([-1], channels, axis=0))
        area = self.sizes[0]
        for size in self.sizes[1:]:
            area = g.Mul(area, size)
        self.batch = g.Unsqueeze(g.Mul(g.Range(0, _extent(g, image, 0), 1), area), [1])

    def read(self, places: list[Value], mode: str) -> Value:
        """Values at places (one [N, P] tensor for each axis), as [N, P, C]; mode nearest, linear or cubic."""
        g = self.g
        if mode == "nearest":
            places = [g.Round(p) for p in places]
        if mode == "nearest":
            return self._pixel(places)
        taps = [_taps(g, p, mode) for p in places]
        total: Value | None = None
        for choice in itertools.product(*taps):
            weight = choice[0][1]
            for _, other in choice[1:]:
                weight = g.Mul(weight, other)
            pixel = self._pixel([place for place, _ in choice])
            part = g.Mul(pixel, g.Unsqueeze(g.Cast(weight, to=pixel.element), [2]))
            total = part if total is None else g.Add(total, part)
        assert total is not None
        return total

    def _borders(self, axis: int) -> tuple[Value, Value]:
        g, size = self.g, self.floats[axis]
        low = g.constant(np.array(0.0 if self.align else -0.5), self.dtype)
        return low, g.Sub(size, 1.0 if self.align else 0.5)

    def _clamped(self, place: Value, axis: int) -> Value:
        g = self.g
        return g.Min(g.Max(place, 0.0), g.Sub(self.floats[axis], 1.0))

    def _reflected(self, place: Value, axis: int) -> Value:
        """A triangle wave between the borders; places between them stay."""
        g = self.g
        low, high = self._borders(axis)
        span = g.Sub(high, low)
        once = g.Mod(g.Sub(place, low), g.Mul(g.Max(span, 1e-6), 2.0))
        folded = g.Add(low, g.Min(once, g.Sub(g.Mul(span, 2.0), once)))
        outside = g.Or(g.Less(place, low), g.Greater(place, high))
        return g.Where(outside, folded, place)

    def _pixel(self, places: list[Value]) -> Value:
        """Pixels at whole places."""
        g = self.g
        known: Value | None = None
        index: Value | None = None
        for axis, place in enumerate(places):
            if self.padding == "zeros":
                valid = g.And(g.GreaterOrEqual(place, 0.0), g.Less(place, self.floats[axis]))
                known = valid if known is None else g.And(known, valid)
            elif self.padding == "reflection":
                place = self._reflected(place, axis)
            whole = g.Cast(self._clamped(place, axis), to=ir.DataType.INT64)
            index = whole if index is None else g.Add(g.Mul(index, self.sizes[axis]), whole)
        assert index is not None
        pixel: Value = g.Gather(self.rows, g.Add(index, self.batch), axis=0)
        if known is None:
            return pixel
        return g.Where(g.Unsqueeze(known, [2]), pixel, np.zeros((), pixel.element.numpy()))


def _taps(g: GraphBuilder, place: Value, mode: str) -> list[tuple[Value, Value]]:
    """Neighbours on one axis, each with its weight."""
    first = g.Floor(place)
    t = g.Sub(place, first)
    if mode == "linear":
        return [(first, g.Sub(1.0, t)), (g.Add(first, 1.0), t)]
    a = -0.75

    def near(d: Value) -> Any:  # within one pixel
        return g.Add(g.Mul(g.Mul(g.Sub(g.Mul(d, a + 2), a + 3), d), d), 1.0)

    def far(d: Value) -> Any:  # within two
        return g.Sub(g.Mul(g.Add(g.Mul(g.Sub(g.Mul(d, a), 5 * a), d), 8 * a), d), 4 * a)

    weights = [far(g.Add(t, 1.0)), near(t), near(g.Sub(1.0, t)), far(g.Sub(2.0, t))]
    return [(g.Add(first, float(i - 1)) if i != 1 else first, w) for i, w in enumerate(weights)]


@symbolic("onnx", "GridSample", until=19)
def grid_sample(
    g: GraphBuilder,
    X: Value,
    grid: Value,
    align_corners: int = 0,
    mode: str = "linear",
    padding_mode: str = "zeros",
) -> Any:
    """(X, grid, align_corners, mode, padding_mode) -> sampled; from 16 on for images, under older names of modes"""
    rank = known_rank(g, X, "GridSample", 20)
    if g.opset >= 16 and rank == 4:
        older = {"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode)
        return g.raw("GridSample", X, grid, align_corners=align_corners, mode=older, padding_mode=padding_mode)
    if X.element in NARROW_FLOATS or grid.element in NARROW_FLOATS:
        wide = [g.Cast(v, to=ir.DataType.FLOAT) if v.element in NARROW_FLOATS else v for v in (X, grid)]
        sampled = g.GridSample(*wide, align_corners=align_corners, mode=mode, padding_mode=padding_mode)
        return g.CastLike(sampled, X)
    if mode != "nearest" and X.element not in FLOATS:
        refuse(g, "GridSample", f"mode {mode} of {X.element.name}", 16)
    sampler = Sampler(g, X, grid.element, padding_mode, bool(align_corners))
    count = rank - 2
    shape = g.Shape(grid)
    flat = g.Reshape(grid, g.Concat(g.Slice(shape, [0], [1]), [-1, count], axis=0))
    places = []
    for axis in range(count):  # the last axis of the image comes first in the grid
        unit = g.Squeeze(g.Slice(flat, [count - 1 - axis], [count - axis], [2]), [2])
        size = sampler.floats[axis]
        if align_corners:
            places.append(g.Mul(g.Mul(g.Add(unit, 1.0), 0.5), g.Sub(size, 1.0)))
        else:
            places.append(g.Mul(g.Sub(g.Mul(g.Add(unit, 1.0), size), 1.0), 0.5))
    result = g.Transpose(sampler.read(places, mode), perm=[0, 2, 1])
    return g.Reshape(result, g.Concat(g.Shape(X, start=0, end=2), g.Slice(shape, [1], [rank - 1]), axis=0))


@symbolic("onnx", "DeformConv", until=18)
def deform_conv(
    g: GraphBuilder, X: Value, W: Value, offset: Value, B: Value | None = None, mask: Value | None = None,
    dilations: list[int] | None = None, group: int = 1, kernel_shape: list[int] | None = None,
    offset_group: int = 1, pads: list[int] | None = None, strides: list[int] | None = None,
) -> Any:  # fmt: skip
    """(X, W, offset, B?, mask?, ...) -> convolution whose kernel taps are moved by offsets"""
    rank = known_rank(g, X, "DeformConv", 19)
    kernel = kernel_shape or [size for size in (W.sizes or ())[2:] if isinstance(size, int)]
    if rank != 4 or len(kernel) != 2:
        refuse(g, "DeformConv", "kernels of unknown sizes or other than images", 19)
    strides, dilations, pads = strides or [1, 1], dilations or [1, 1], pads or [0, 0, 0, 0]
    taps = int(np.prod(kernel))
    area = [_extent(g, offset, 2), _extent(g, offset, 3)]
    channels = g.Shape(X, start=1, end=2)
    groups = g.Reshape(X, g.Concat([-1], g.Div(channels, [offset_group]), g.Shape(X, start=2, end=4), axis=0))
    moves = g.Reshape(offset, g.Concat([-1, taps, 2], g.Shape(offset, start=2, end=4), axis=0))
    sampler = Sampler(g, groups, X.element, "zeros", True)
    places = []
    for axis in range(2):
        tap = np.arange(taps) // kernel[1] if axis == 0 else np.arange(taps) % kernel[1]
        base = g.constant((tap * dilations[axis] - pads[axis]).astype(np.float64).reshape(1, taps, 1, 1), X.element)
        steps = g.Cast(g.Mul(g.Range(0, area[axis], 1), strides[axis]), to=X.element)
        steps = g.Unsqueeze(steps, [1]) if axis == 0 else steps
        move = g.Squeeze(g.Slice(moves, [axis], [axis + 1], [2]), [2])
        place = g.Add(g.Add(move, base), steps)
        places.append(g.Reshape(place, g.Concat(g.Shape(place, start=0, end=1), [-1], axis=0)))
    read = sampler.read(places, "linear")  # [N * offset groups, taps * area, C / offset groups]
    patches = g.Transpose(read, perm=[0, 2, 1])
    patches = g.Reshape(patches, g.Concat(g.Shape(patches, start=0, end=2), [taps, -1], axis=0))
    if mask is not None:
        strength = g.Reshape(mask, g.Concat(g.Shape(patches, start=0, end=1), [1, taps, -1], axis=0))
        patches = g.Mul(patches, strength)
    inner = g.Mul(g.Div(channels, [group]), [taps])
    columns = g.Reshape(patches, g.Concat(g.Shape(X, start=0, end=1), [group], inner, [-1], axis=0))
    weights = g.Reshape(W, g.Concat([group, -1], inner, axis=0))
    product = g.MatMul(weights, columns)
    result = g.Reshape(
        product,
        g.Concat(g.Shape(X, start=0, end=1), g.Shape(W, start=0, end=1), g.Shape(offset, start=2, end=4), axis=0),
    )
    return result if B is None else g.Add(result, g.Unsqueeze(B, [1, 2]))


@symbolic("onnx", "AffineGrid", until=19)
def affine_grid(g: GraphBuilder, theta: Value, size: Value, align_corners: int = 0) -> Any:
    """(theta, size, align_corners) -> places that the matrices send the pixels of an image to, x first"""
    count = size.sizes[0] if size.sizes else None
    if not isinstance(count, int) or count not in (4, 5):
        refuse(g, "AffineGrid", "input size of unknown length", 20)
    spatial = count - 2
    extents = g.Slice(size, [2], [count], [0])
    axes = []
    for axis in range(spatial):
        whole = g.Squeeze(g.Slice(extents, [axis], [axis + 1], [0]), [0])
        number = g.Cast(g.Range(0, whole, 1), to=theta.element)
        length = g.Cast(whole, to=theta.element)
        if align_corners:
            unit = g.Sub(g.Div(g.Mul(number, 2.0), g.Max(g.Sub(length, 1.0), 1.0)), 1.0)
            # the corners of a single pixel are left open by the standard: the runtime's kernel takes the end
            unit = g.Where(g.Less(length, 2.0), g.constant(1.0, theta.element), unit)
        else:
            unit = g.Sub(g.Div(g.Add(g.Mul(number, 2.0), 1.0), length), 1.0)
        unit = g.Unsqueeze(unit, [i for i in range(spatial + 1) if i != axis])
        axes.append(g.Expand(unit, g.Concat(extents, [1], axis=0)))
    ones = g.Expand(g.constant(1.0, theta.element), g.Concat(extents, [1], axis=0))
    places = g.Reshape(g.Concat(*axes[::-1], ones, axis=-1), [1, -1, spatial + 1])
    moved = g.MatMul(places, g.Transpose(theta, perm=[0, 2, 1]))
    return g.Reshape(moved, g.Concat(g.Slice(size, [0], [1], [0]), extents, [spatial], axis=0))
