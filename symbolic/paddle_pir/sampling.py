"""Resizing, padding, and sampling of images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from .common import DataType, as_value, cast, ints, known_number, merged, refused, scalar_of, size_at, size_list, sizes
from .convolution import back, first


@symbolic("paddle_pir", "linear_interp", "bilinear_interp", "trilinear_interp", "nearest_interp", "bicubic_interp")
def interpolate(
    g: GraphBuilder, x: Value, out_size: Value | None = None, size_tensor: Sequence[Value] | None = None,
    scale_tensor: Value | None = None, data_format: str = "NCHW", out_d: int = 0, out_h: int = 0, out_w: int = 0,
    scale: Sequence[float] = (), interp_method: str = "bilinear", align_corners: bool = True, align_mode: int = 1,
) -> Value:  # fmt: skip
    """bilinear_interp(Tensor x, Tensor? out_size, Tensor[]? size_tensor, Tensor? scale_tensor, str data_format, int
    out_d, int out_h, int out_w, double[] scale, str interp_method, bool align_corners, int align_mode) -> Tensor"""
    source = first(g, x, data_format)
    axes = source.rank - 2
    wanted, scales = _wanted(g, source, out_size, size_tensor, scale_tensor, [out_d, out_h, out_w][3 - axes :], scale)
    mode = {"nearest": "nearest", "bicubic": "cubic"}.get(interp_method, "linear")
    attributes: dict[str, Any] = {"mode": mode}
    if align_corners:
        attributes["coordinate_transformation_mode"] = "align_corners"
    elif mode == "nearest" or (mode == "linear" and align_mode == 1):
        attributes["coordinate_transformation_mode"] = "asymmetric"
    else:
        attributes["coordinate_transformation_mode"] = "half_pixel"
    if mode == "nearest":
        picks = _nearest(source, wanted, scales, align_corners)
        if picks is not None:
            for i, pick in enumerate(picks):
                source = g.Gather(source, g.constant(pick), axis=2 + i)
            return back(g, source, data_format)
        attributes["nearest_mode"] = "round_prefer_ceil" if align_corners else "floor"
    if mode == "cubic":
        attributes["cubic_coeff_a"] = -0.75
    if scales is not None:
        y = g.Resize(source, None, g.constant(np.array([1.0, 1.0, *scales], np.float32)), None, **attributes)
    else:
        y = g.Resize(source, None, None, g.shape_vector([*sizes(g, source)[:2], *wanted]), **attributes)
    return back(g, y, data_format)


def _nearest(
    x: Value, wanted: Sequence[Any], scales: Sequence[float] | None, align_corners: bool
) -> list[np.ndarray] | None:
    """Which element each sample takes, where ONNX's Resize would round to another one; else None."""
    picks: list[np.ndarray] = []
    differ = False
    single = np.float32
    for i, size in enumerate((x.sizes or ())[2:]):
        if not isinstance(size, int):
            return None
        count = int(size * scales[i]) if scales is not None else wanted[i]
        if not isinstance(count, int) or count <= 0:
            return None
        places = np.arange(count).astype(single)
        if align_corners:  # both compute the same ratio
            ratio = single((size - 1) / (count - 1)) if count > 1 else single(0)
            own, other = np.floor(ratio * places + single(0.5)), np.floor(places * ratio + single(0.5))
        else:
            ratio = single(1 / scales[i]) if scales is not None else single(size / count)
            factor = single(scales[i]) if scales is not None else single(count / size)
            own, other = np.floor(ratio * places), np.floor(places / factor)
        picks.append(np.minimum(own, size - 1).astype(np.int64))
        differ = differ or bool(np.any(np.minimum(other, size - 1) != picks[-1]))
    return picks if differ else None


def _wanted(
    g: GraphBuilder, x: Value, out_size: Value | None, size_tensor: Sequence[Value] | None, scale_tensor: Value | None,
    given: Sequence[int], scale: Sequence[float],
) -> tuple[list[Any], list[float] | None]:  # fmt: skip
    """The sizes of the result; and the factors where these, not the sizes, place the samples."""
    axes = x.rank - 2
    if size_tensor:
        return [cast(g, scalar_of(g, s), DataType.INT64) for s in size_tensor], None
    if scale_tensor is not None:
        if scale_tensor.array is None:
            raise refused(g, "interpolate", "a scale factor computed by the model isn't supported")
        scale = [float(s) for s in scale_tensor.array.reshape(-1)]
    factors = [float(s) for s in scale] * (axes if len(scale) == 1 else 1)
    by_factor = bool(factors) and all(f > 0 for f in factors)
    if out_size is not None:
        if by_factor:
            raise refused(g, "interpolate", "a size together with a scale factor isn't supported")
        return size_list(g, out_size, "interpolate"), None
    if by_factor:
        return [], factors
    return list(given), None


@symbolic("paddle_pir")
def grid_sample(
    g: GraphBuilder, x: Value, grid: Value, mode: str = "bilinear", padding_mode: str = "zeros",
    align_corners: bool = True,
) -> Value:  # fmt: skip
    """grid_sample(Tensor x, Tensor grid, str mode, str padding_mode, bool align_corners) -> Tensor"""
    modes = {"bilinear": "linear", "trilinear": "linear", "nearest": "nearest", "bicubic": "cubic"}
    if mode not in modes:
        raise refused(g, "grid_sample", f"mode {mode!r} isn't supported")
    return g.GridSample(x, grid, mode=modes[mode], padding_mode=padding_mode, align_corners=int(align_corners))


@symbolic("paddle_pir")
def affine_grid(g: GraphBuilder, input: Value, output_shape: Any, align_corners: bool = True) -> Value:
    """affine_grid(Tensor input, int[] output_shape, bool align_corners) -> Tensor"""
    size = g.shape_vector(size_list(g, output_shape, "affine_grid"))
    return g.AffineGrid(input, size, align_corners=int(align_corners))


_PAD_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@symbolic("paddle_pir")
def pad3d(
    g: GraphBuilder, x: Value, paddings: Any, mode: str = "constant", pad_value: float = 0.0,
    data_format: str = "NCDHW",
) -> Value:  # fmt: skip
    """pad3d(Tensor x, int[] paddings, str mode, double pad_value, str data_format) -> Tensor"""
    pads = size_list(g, paddings, "pad3d")
    count = len(pads) // 2
    last = data_format.endswith("C")
    spatial = list(range(x.rank - 1 - last, x.rank - 1 - last - count, -1))  # pairs count from the last axis
    full = [[0, 0] for _ in range(x.rank)]
    for pair, axis in enumerate(spatial):
        full[axis] = [pads[2 * pair], pads[2 * pair + 1]]  # type: ignore[list-item]
    flat = [p[0] for p in full] + [p[1] for p in full]
    fill = None if mode != "constant" else g.constant(np.asarray(pad_value).astype(x.element.numpy()))
    return g.Pad(x, g.shape_vector(flat), fill, mode=_PAD_MODES[mode])


@symbolic("paddle_pir")
def pad(g: GraphBuilder, x: Value, pad_value: Any, paddings: Sequence[int]) -> Value:
    """pad(Tensor x, Scalar pad_value, int[] paddings) -> Tensor"""
    known = known_number(pad_value)
    fill = cast(g, scalar_of(g, pad_value), x.element) if known is None else g.constant(
        np.asarray(known).astype(x.element.numpy()))  # fmt: skip
    return g.Pad(x, [*paddings[0::2], *paddings[1::2]], fill)


@symbolic("paddle_pir")
def unfold(
    g: GraphBuilder, x: Value, kernel_sizes: Sequence[int], strides: Sequence[int], paddings: Sequence[int],
    dilations: Sequence[int],
) -> Value:  # fmt: skip
    """unfold(Tensor x, int[] kernel_sizes, int[] strides, int[] paddings, int[] dilations) -> Tensor"""
    top, left, bottom, right = paddings if len(paddings) == 4 else [*paddings, *paddings]
    padded = g.Pad(x, [0, 0, top, left, 0, 0, bottom, right]) if any(paddings) else x
    counts: list[Any] = []
    for i in (0, 1):
        size = size_at(g, padded, 2 + 2 * i)
        span = dilations[i] * (kernel_sizes[i] - 1) + 1
        if isinstance(size, Value):
            raise refused(g, "unfold", "sizes known only at run time aren't supported")
        counts.append((size - span) // strides[i] + 1)
        places = _window_places(g, counts[-1], kernel_sizes[i], strides[i], dilations[i])
        padded = g.Gather(padded, places, axis=2 + 2 * i)  # (N, C, kh, oh, W), then (N, C, kh, oh, kw, ow)
    moved = g.Transpose(padded, perm=[0, 1, 2, 4, 3, 5])
    batch, channels = sizes(g, x)[:2]
    rows = merged(g, [channels, kernel_sizes[0] * kernel_sizes[1]])
    return g.reshape(moved, [batch, rows, merged(g, counts)])


def _window_places(g: GraphBuilder, count: Any, kernel: int, stride: int, dilation: int) -> Value:
    """Where the elements of every window lie on an axis: (kernel, windows)."""
    offsets = g.constant((np.arange(kernel) * dilation)[:, None])
    if isinstance(count, int):
        return offsets + g.constant(np.arange(count)[None, :] * stride)
    return offsets + g.Unsqueeze(g.Range(np.int64(0), as_value(g, count), np.int64(1)) * stride, [0])


@symbolic("paddle_pir")
def fold(
    g: GraphBuilder, x: Value, output_sizes: Sequence[int], kernel_sizes: Sequence[int], strides: Sequence[int],
    paddings: Sequence[int], dilations: Sequence[int],
) -> Value:  # fmt: skip
    """fold(Tensor x, int[] output_sizes, int[] kernel_sizes, int[] strides, int[] paddings, int[] dilations)
    -> Tensor"""
    pads = list(paddings) if len(paddings) == 4 else [*paddings, *paddings]
    return g.Col2Im(
        x, list(output_sizes), list(kernel_sizes), strides=list(strides), pads=pads, dilations=list(dilations)
    )


@symbolic("paddle_pir")
def frame(g: GraphBuilder, x: Value, frame_length: int, hop_length: int, axis: int = -1) -> Value:
    """frame(Tensor x, int frame_length, int hop_length, int axis) -> Tensor"""
    at = x.rank - 1 if axis in (-1, x.rank - 1) and axis != 0 else 0
    size = size_at(g, x, at)
    if isinstance(size, Value):
        raise refused(g, "frame", "sizes known only at run time aren't supported")
    places = _window_places(g, (size - frame_length) // hop_length + 1, frame_length, hop_length, 1)
    return g.Gather(x, places if at else g.Transpose(places, perm=[1, 0]), axis=at)


@symbolic("paddle_pir")
def unpool(
    g: GraphBuilder, x: Value, indices: Value, output_size: Any, ksize: Sequence[int] = (), strides: Sequence[int] = (),
    padding: Sequence[int] = (), data_format: str = "NCHW",
) -> Value:  # fmt: skip
    """unpool(Tensor x, Tensor indices, int[] output_size, int[] ksize, int[] strides, int[] padding, str data_format)
    -> Tensor"""
    height, width = ints(g, output_size, "unpool", "an output_size")
    batch, channels = sizes(g, x)[:2]
    plane = height * width
    empty = g.expand(g.constant(np.zeros(1, x.element.numpy())), [batch, channels, plane])
    flat = [g.reshape(v, [batch, channels, -1]) for v in (cast(g, indices, DataType.INT64), x)]
    return g.reshape(g.ScatterElements(empty, *flat, axis=2), [batch, channels, height, width])
