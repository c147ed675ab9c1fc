"""Resampling: upsample_* and the windows of im2col and grid_sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..nn.sizes import as_value, times
from ..registry import symbolic
from ..value import Value
from .precision import rounded_once
from .promotion import DataType, cast, unsupported
from .resampling import along, filter_matrix, resample_bytes
from .shape import size_at, sizes


def _resized(
    g: GraphBuilder, x: Value, output_size: Sequence[Any] | None, scales: Sequence[float | None] | None, **how: Any
) -> Value:
    """Resize of the spatial axes: to sizes, or by factors where torch computes positions from these."""
    count = x.rank - 2
    factors = list(scales or [])
    by_factor = len(factors) == count and all(f is not None for f in factors)
    fixed = [isinstance(o, int) and not isinstance(x.dim(i), int) for i, o in enumerate(output_size or (), start=2)]
    if by_factor and any(fixed):
        raise unsupported("resampling of open sizes to fixed ones, by factors that may not fit", g)
    if by_factor and (output_size is None or how.get("coordinate_transformation_mode") != "align_corners"):
        wanted = np.array([1.0, 1.0, *(float(f) for f in factors if f is not None)])
        single = wanted.astype(np.float32)
        # rounded up: 20 * 0.9 are 18, but 17.99... in single precision
        single = np.where(single < wanted, np.nextafter(single, np.float32(np.inf)), single)
        return g.Resize(x, None, g.constant(single), None, **how)
    if output_size is None:
        raise unsupported("resampling without sizes or factors", g)
    lead = [size_at(g, x, i) for i in range(2)]
    return g.Resize(x, None, None, g.shape_vector([*lead, *output_size]), **how)


_NEAREST = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
_NEAREST_EXACT = {
    "mode": "nearest",
    "coordinate_transformation_mode": "half_pixel",
    "nearest_mode": "round_prefer_ceil",
}


def _register_nearest(suffix: str, exact: bool) -> None:
    name = ("_upsample_nearest_exact" if exact else "upsample_nearest") + suffix

    def from_list(
        g: GraphBuilder, input: Value, output_size: Sequence[Any] | None, scale_factors: Sequence[float] | None
    ) -> Value:
        return _resized(g, input, output_size, scale_factors, **(_NEAREST_EXACT if exact else _NEAREST))

    def from_sizes(g: GraphBuilder, self: Value, output_size: Sequence[Any], *scales: float | None) -> Value:
        return _resized(g, self, output_size, scales, **(_NEAREST_EXACT if exact else _NEAREST))

    from_list.__doc__ = f"aten::{name}.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor"
    from_sizes.__doc__ = f"aten::{name}(Tensor self, SymInt[] output_size, float? scales=None ...) -> Tensor"
    symbolic("aten", f"{name}.vec")(from_list)
    symbolic("aten", f"{name}.default")(from_sizes)


for _suffix in ("1d", "2d", "3d"):
    for _exact in (False, True):
        _register_nearest(_suffix, _exact)


def _smooth(g: GraphBuilder, x: Value, output_size: Sequence[Any] | None, align_corners: bool,
            scales: Sequence[float | None] | None, mode: str, antialias: bool) -> Value:  # fmt: skip
    if x.dtype == DataType.UINT8:
        factors = _factors(x, scales)
        return resample_bytes(g, x, _wanted(g, x, output_size, factors), factors, mode, align_corners, antialias)
    if antialias and (align_corners or _disagree(x, output_size, scales)):
        return _filtered(g, x, output_size, align_corners, scales, mode)
    how: dict[str, Any] = {
        "mode": mode,
        "coordinate_transformation_mode": "align_corners" if align_corners else "half_pixel",
    }
    if mode == "cubic":
        # torch takes -0.5 where it antialiases
        how["cubic_coeff_a"] = -0.5 if antialias else -0.75
    if antialias:
        how.update(antialias=1, exclude_outside=1)  # torch's filter ends at the border
    return _resized(g, x, output_size, scales, **how)


def _disagree(x: Value, output_size: Sequence[Any] | None, scales: Sequence[float | None] | None) -> bool:
    """Whether sizes and factors are given that don't fit each other."""
    if output_size is None or not scales or None in scales:
        return False
    pairs = zip((x.sizes or ())[2:], output_size, scales, strict=True)
    return any(isinstance(s, int) and isinstance(out, int) and int(s * f) != out for s, out, f in pairs if f)


@rounded_once
def _filtered(
    g: GraphBuilder, x: Value, output_size: Sequence[Any] | None, align_corners: bool,
    scales: Sequence[float | None] | None, mode: str,
) -> Value:  # fmt: skip
    """Antialiased resampling by one matrix for each axis, where torch places the filter other than Resize."""
    factors = _factors(x, scales)
    wanted = _wanted(g, x, output_size, factors)
    for axis, (size, out, factor) in enumerate(zip(sizes(g, x)[2:], wanted, factors, strict=True), start=2):
        matrix = filter_matrix(g, size, out, factor, mode, align_corners, True)
        x = along(g, x, axis, cast(g, matrix, x.element))
    return x


def _factors(x: Value, scales: Sequence[float | None] | None) -> list[float | None]:
    return list(scales) if scales else [None] * (x.rank - 2)


def _wanted(g: GraphBuilder, x: Value, output_size: Sequence[Any] | None, factors: Sequence[float | None]) -> list[Any]:
    """Sizes of the result."""
    if output_size is not None:
        return list(output_size)
    spatial = [s for s in (x.sizes or ())[2:] if isinstance(s, int)]
    if len(spatial) != x.rank - 2:
        raise unsupported("resampling of open sizes by factors, of bytes or antialiased with aligned corners", g)
    return [int(s * (f or 1)) for s, f in zip(spatial, factors, strict=True)]


def _register_smooth(name: str, mode: str, antialias: bool = False) -> None:
    def from_list(
        g: GraphBuilder,
        input: Value,
        output_size: Sequence[Any] | None,
        align_corners: bool,
        scale_factors: Sequence[float] | None,
    ) -> Value:
        if output_size is None and align_corners and scale_factors is not None:
            spatial = sizes(g, input)[2:]
            if not all(isinstance(s, int) for s in spatial):
                return _smooth(g, input, None, True, scale_factors, mode, antialias)
            output_size = [int(np.floor(s * f)) for s, f in zip(spatial, scale_factors, strict=True)]
        return _smooth(g, input, output_size, align_corners, scale_factors, mode, antialias)

    def from_sizes(
        g: GraphBuilder, self: Value, output_size: Sequence[Any], align_corners: bool, *scales: float | None
    ) -> Value:
        return _smooth(g, self, output_size, align_corners, scales, mode, antialias)

    from_list.__doc__ = f"aten::{name}.vec(Tensor input, SymInt[]? output_size, bool align_corners, ...) -> Tensor"
    from_sizes.__doc__ = f"aten::{name}(Tensor self, SymInt[] output_size, bool align_corners, ...) -> Tensor"
    symbolic("aten", f"{name}.vec")(from_list)
    symbolic("aten", f"{name}.default")(from_sizes)


_register_smooth("upsample_linear1d", "linear")
_register_smooth("upsample_bilinear2d", "linear")
_register_smooth("upsample_trilinear3d", "linear")
_register_smooth("upsample_bicubic2d", "cubic")
_register_smooth("_upsample_bilinear2d_aa", "linear", True)
_register_smooth("_upsample_bicubic2d_aa", "cubic", True)


@symbolic("aten", "grid_sampler", "grid_sampler_2d", "grid_sampler_3d")
def grid_sampler(
    g: GraphBuilder, input: Value, grid: Value, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Value:
    """aten::grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool ...) -> Tensor"""
    return g.GridSample(
        input,
        grid,
        mode=("linear", "nearest", "cubic")[interpolation_mode],
        padding_mode=("zeros", "border", "reflection")[padding_mode],
        align_corners=int(align_corners),
    )


@symbolic("aten", "affine_grid_generator")
def affine_grid_generator(g: GraphBuilder, theta: Value, size: Sequence[Any], align_corners: bool) -> Value:
    """aten::affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor"""
    return g.AffineGrid(theta, g.shape_vector(size), align_corners=int(align_corners))


def _windows(g: GraphBuilder, size: Any, kernel: int, dilation: int, padding: int, stride: int) -> tuple[Value, Any]:
    """Positions (kernel, count) of the elements of all windows of an axis, and how many windows there are."""
    reach = 2 * padding - dilation * (kernel - 1) - 1
    count = g.Add(g.Div(g.Add(size, reach), stride), 1) if isinstance(size, Value) else (size + reach) // stride + 1
    begins = g.Mul(g.Range(0, as_value(g, count), 1), stride)
    return g.Add(g.constant(np.arange(kernel)[:, None] * dilation), begins), count


@symbolic("aten", "im2col")
def im2col(
    g: GraphBuilder, self: Value, kernel_size: Sequence[int], dilation: Sequence[int], padding: Sequence[int],
    stride: Sequence[int],
) -> Value:  # fmt: skip
    """aten::im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor"""
    x = self if self.rank == 4 else g.Unsqueeze(self, [0])
    n, c, h, w = sizes(g, x)
    rows, down = _windows(g, h, kernel_size[0], dilation[0], padding[0], stride[0])
    columns, across = _windows(g, w, kernel_size[1], dilation[1], padding[1], stride[1])
    if any(padding):
        x = g.Pad(x, [0, 0, *padding, 0, 0, *padding], None, None, mode="constant")
    x = g.Gather(x, rows, axis=2)  # n c kh oh w
    x = g.Gather(x, columns, axis=4)  # n c kh oh kw ow
    x = g.Transpose(x, perm=[0, 1, 2, 4, 3, 5])
    x = g.reshape(x, [n, times(g, [c, *kernel_size]), times(g, [down, across])])
    return x if self.rank == 4 else g.Squeeze(x, [0])


@symbolic("aten", "col2im")
def col2im(
    g: GraphBuilder, self: Value, output_size: Sequence[int], kernel_size: Sequence[int], dilation: Sequence[int],
    padding: Sequence[int], stride: Sequence[int],
) -> Value:  # fmt: skip
    """aten::col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, ...) -> Tensor"""
    x = self if self.rank == 3 else g.Unsqueeze(self, [0])
    y = g.Col2Im(
        x,
        g.shape_vector(list(output_size)),
        g.shape_vector(list(kernel_size)),
        dilations=list(dilation),
        pads=[*padding, *padding],
        strides=list(stride),
    )
    return y if self.rank == 3 else g.Squeeze(y, [0])
