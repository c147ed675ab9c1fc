"""Fourier transforms of older opsets, frames of signals and filter banks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from ..complex import fourier
from ..complex.arithmetic import each
from ..complex.number import Complex, from_pair, to_pair
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
    return _transform(g, input, index, dft_length, inverse=bool(inverse), onesided=bool(onesided))


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


def _transform(g: GraphBuilder, x: Value, axis: int, length: Value | None, *, inverse: bool, onesided: bool) -> Any:
    """The transform along an axis; the last one holds real and imaginary parts."""
    parts = x.dim(-1)
    if parts not in (1, 2):
        refuse(g, "DFT", "input of unknown number of parts", 17)
    z = from_pair(g, x) if parts == 2 else g.Squeeze(x, [-1])
    size: Any = None
    if length is not None:
        size = g.Cast(length if length.sizes == () else g.Squeeze(length), to=ir.DataType.INT64)
    if inverse and onesided:
        if size is None and x.dim(axis) == 1:
            size = 1
        return g.Unsqueeze(fourier.half_inverse(g, z, axis, size), [-1])
    if onesided and not isinstance(z, Complex):
        return to_pair(g, fourier.half_transform(g, z, axis, size))
    spectrum = fourier.transform(g, z, axis, size, inverse=inverse, power=1.0 if inverse else 0.0)
    if onesided:
        half = g.Add(g.Div(g.Shape(spectrum.real, start=axis, end=axis + 1), 2), 1)
        spectrum = each(spectrum, lambda part: g.Slice(part, [0], half, [axis]))
    return to_pair(g, spectrum)


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
