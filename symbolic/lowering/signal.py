"""Fourier transforms as products with matrices of cosines and sines; windows and filter banks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from ..registry import symbolic
from .common import known_rank, refuse

if TYPE_CHECKING:
    from ..builder import GraphBuilder
    from ..value import Value


@symbolic("onnx", "DFT", until=19)
def dft(
    g: GraphBuilder,
    input: Value,
    dft_length: Value | None = None,
    axis: Value | None = None,
    inverse: int = 0,
    onesided: int = 0,
) -> Any:
    """(input, dft_length?, axis?, inverse, onesided) -> spectrum; the axis is an attribute from 17 to 19"""
    rank = known_rank(g, input, "DFT", 20)
    if axis is not None and axis.array is None:
        return _axis_at_run_time(g, input, dft_length, axis, rank, {"inverse": inverse, "onesided": onesided})
    index = -2 if axis is None or axis.array is None else int(axis.array)
    index %= rank
    if g.opset >= 17 and not (inverse and onesided):
        return g.raw("DFT", input, dft_length, axis=index, inverse=inverse, onesided=onesided)
    order = [i for i in range(rank) if i not in (index, rank - 1)] + [index, rank - 1]
    x = g.Transpose(input, perm=order)
    spectrum = _transform(g, x, dft_length, inverse=bool(inverse), onesided=bool(onesided))
    return g.Transpose(spectrum, perm=[order.index(i) for i in range(rank)])


def _axis_at_run_time(
    g: GraphBuilder, x: Value, length: Value | None, axis: Value, rank: int, attributes: dict[str, int]
) -> Any:
    """One branch for each axis that it may be."""
    number = g.Mod(g.Cast(g.Squeeze(axis) if axis.sizes != () else axis, to=ir.DataType.INT64), rank)

    def branch(b: GraphBuilder, index: int) -> Any:
        if index == rank - 2:
            return b.DFT(x, length, index, **attributes)
        this, others = b.subgraph(f"axis_{index}"), b.subgraph(f"after_{index}")
        this.output(this.DFT(x, length, index, **attributes))
        others.output(branch(others, index + 1))
        return b.If(b.Equal(number, index), then_branch=this, else_branch=others)

    return branch(g, 0)


def _transform(g: GraphBuilder, x: Value, length: Value | None, *, inverse: bool, onesided: bool) -> Any:
    """The transform on the axis before the last, which holds real and imaginary parts."""
    parts = x.dim(-1)
    if parts not in (1, 2):
        refuse(g, "DFT", "input of unknown number of parts", 17)
    signal = g.Gather(g.Shape(x), x.rank - 2, axis=0)
    if length is None:
        size = g.Max(g.Mul(g.Sub(signal, 1), 2), 1) if inverse and onesided else signal
    else:
        size = g.Cast(length if length.sizes == () else g.Squeeze(length), to=ir.DataType.INT64)
    half = g.Add(g.Div(size, 2), 1)
    taken = g.Min(signal, half if inverse and onesided else size)  # the rest is cut off, what lacks counts as zero
    x = g.Slice(x, [0], g.Unsqueeze(taken, [0]), [x.rank - 2])
    rows = g.Range(0, taken, 1)
    columns = g.Range(0, half if onesided and not inverse else size, 1)
    cosine, sine = _waves(g, rows, columns, size, x.element)
    real = g.Squeeze(g.Slice(x, [0], [1], [-1]), [-1])
    imaginary = g.Squeeze(g.Slice(x, [1], [2], [-1]), [-1]) if parts == 2 else None
    if inverse and onesided:
        return _real_inverse(g, real, imaginary, rows, size, cosine, sine)
    if not inverse:
        sine = g.Neg(sine)
    re, im = _last(g, real, cosine), _last(g, real, sine)
    if imaginary is not None:
        re, im = g.Sub(re, _last(g, imaginary, sine)), g.Add(im, _last(g, imaginary, cosine))
    spectrum = g.Concat(g.Unsqueeze(re, [-1]), g.Unsqueeze(im, [-1]), axis=-1)
    return g.Div(spectrum, g.Cast(size, to=x.element)) if inverse else spectrum


def _last(g: GraphBuilder, x: Value, matrix: Value) -> Any:
    return g.MatMul(x, matrix)


def _waves(g: GraphBuilder, rows: Value, columns: Value, size: Value, dtype: ir.DataType) -> tuple[Value, Value]:
    """cos and sin of 2 pi row column / size. The product is reduced in whole numbers, so long signals stay exact."""
    turns = g.Mod(g.Mul(g.Unsqueeze(rows, [1]), columns), size)
    if turns.array is not None and size.array is not None:
        angles = turns.array * (2 * np.pi / max(int(size.array), 1))
        return g.constant(np.cos(angles), dtype), g.constant(np.sin(angles), dtype)
    wide = ir.DataType.FLOAT if dtype.itemsize < 4 else dtype  # sine kernels of double are rare, but valid
    angle = g.Mul(g.Div(g.Cast(turns, to=wide), g.Cast(size, to=wide)), 2 * np.pi)
    cosine, sine = (w if wide == dtype else g.Cast(w, to=dtype) for w in (g.Cos(angle), g.Sin(angle)))
    return cosine, sine


def _real_inverse(
    g: GraphBuilder, real: Value, imaginary: Value | None, rows: Value, size: Value, cosine: Value, sine: Value
) -> Any:
    """Real signal from the non-negative half of its spectrum; all but the outer frequencies stand for two."""
    outer = g.Or(g.Equal(rows, 0), g.Equal(g.Mul(rows, 2), size))
    weight = g.Where(outer, g.constant(1.0, real.element), g.constant(2.0, real.element))
    signal = _last(g, g.Mul(real, weight), cosine)
    if imaginary is not None:
        signal = g.Sub(signal, _last(g, g.Mul(imaginary, weight), sine))
    return g.Unsqueeze(g.Div(signal, g.Cast(size, to=real.element)), [-1])


@symbolic("onnx", "STFT", until=16)
def stft(
    g: GraphBuilder,
    signal: Value,
    frame_step: Value,
    window: Value | None = None,
    frame_length: Value | None = None,
    onesided: int = 1,
) -> Any:
    """(signal, frame_step, window?, frame_length?, onesided) -> frames of the signal, each transformed"""
    if signal.sizes is None or signal.dim(2) not in (1, 2):
        refuse(g, "STFT", "input signal of unknown shape", 17)
    step = g.Cast(g.Squeeze(frame_step) if frame_step.sizes != () else frame_step, to=ir.DataType.INT64)
    if frame_length is not None:
        length = g.Cast(g.Squeeze(frame_length) if frame_length.sizes != () else frame_length, to=ir.DataType.INT64)
    else:
        length = g.Gather(g.Shape(signal if window is None else window), 1 if window is None else 0, axis=0)
    whole = g.Gather(g.Shape(signal), 1, axis=0)
    count = g.Add(g.Div(g.Sub(whole, length), step), 1)
    starts = g.Unsqueeze(g.Mul(g.Range(0, count, 1), step), [1])
    frames = g.Gather(signal, g.Add(starts, g.Range(0, length, 1)), axis=1)
    if window is not None:
        frames = g.Mul(frames, g.Unsqueeze(window, [1]))
    return g.DFT(frames, None, 2, onesided=onesided)


@symbolic("onnx", "MelWeightMatrix", until=16)
def mel_weight_matrix(
    g: GraphBuilder, num_mel_bins: Value, dft_length: Value, sample_rate: Value, lower_edge_hertz: Value,
    upper_edge_hertz: Value, output_datatype: int = 1,
) -> Any:  # fmt: skip
    """(num_mel_bins, dft_length, sample_rate, lower, upper) -> filter bank; a constant, so all have to be known"""
    given = [v.array for v in (num_mel_bins, dft_length, sample_rate, lower_edge_hertz, upper_edge_hertz)]
    if any(v is None for v in given):
        refuse(g, "MelWeightMatrix", "inputs computed at run time", 17)
    bins, length, rate, lower, upper = (float(v) for v in given if v is not None)
    low_mel, high_mel = (2595 * float(np.log10(1 + f / 700)) for f in (lower, upper))
    edges = np.linspace(low_mel, high_mel, int(bins) + 2)
    places = np.floor((length + 1) * (700 * (10 ** (edges / 2595) - 1)) / rate).astype(int)
    matrix = np.zeros((int(length) // 2 + 1, int(bins)))
    for i in range(int(bins)):
        low, centre, high = places[i : i + 3]
        if low == centre:
            matrix[centre, i] = 1
        else:
            matrix[low : centre + 1, i] = np.arange(centre - low + 1) / (centre - low)
        if high > centre:
            matrix[centre:high, i] = (high - np.arange(centre, high)) / (high - centre)
    return g.constant(matrix, ir.DataType(output_datatype))
