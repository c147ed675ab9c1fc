"""Short-time Fourier transforms."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..aten.padding import pad as pad_signal
from ..aten.promotion import as_float
from ..aten.shape import move, size_at, sizes, unfold
from ..builder import GraphBuilder
from ..complex import arithmetic, fourier
from ..complex.number import Complex, Number, cast, real_part, to_pair
from ..registry import symbolic
from ..value import Value
from .operands import DIALECT, numbers


def _window(g: GraphBuilder, window: Number | None, length: int, size: int, like: Value) -> Number:
    """The window in the middle of a frame; ones where there is none."""
    if window is None:
        window = g.constant(np.ones(length, like.element.numpy()))
    lacking = size - length
    if not lacking:
        return window
    left = lacking // 2
    return arithmetic.each(window, lambda p: g.Pad(p, g.constant([left, lacking - left])))


def _swapped(g: GraphBuilder, x: Value) -> Value:
    order = list(range(x.rank))
    order[-2:] = order[-1], order[-2]
    return move(g, x, order)


@symbolic(DIALECT, "stft.default")
def stft(
    g: GraphBuilder, self: Number, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
    window: Number | None = None, normalized: bool = False, onesided: bool | None = None,
    return_complex: bool | None = None, align_to_window: bool | None = None,
) -> Number:  # fmt: skip
    """aten::stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, ...) -> Tensor"""
    hop, length = hop_length or n_fft // 4, win_length or n_fft
    shape = _window(g, window, length, n_fft, real_part(self))
    if onesided is None:
        onesided = not isinstance(self, Complex) and not isinstance(shape, Complex)
    signal = self if isinstance(self, Complex) else as_float(g, self)
    if align_to_window and length < n_fft:
        left = (n_fft - length) // 2
        signal = arithmetic.each(signal, lambda p: pad_signal(g, p, [left, n_fft - length - left]))
    frames = arithmetic.each(signal, lambda p: unfold(g, p, -1, n_fft, hop))
    windowed = arithmetic.mul(g, *numbers(g, frames, shape))
    power, axis = 0.5 if normalized else 0.0, windowed.rank - 1
    if onesided and isinstance(windowed, Value):
        spectrum = fourier.half_transform(g, windowed, axis, power=power)
    else:
        spectrum = fourier.transform(g, windowed, axis, power=power)
    spectrum = arithmetic.each(spectrum, lambda p: _swapped(g, p))
    return spectrum if return_complex is not False else to_pair(g, spectrum)


@symbolic(DIALECT, "stft.center")
def stft_center(
    g: GraphBuilder, self: Number, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
    window: Number | None = None, center: bool = True, pad_mode: str = "reflect", normalized: bool = False,
    onesided: bool | None = None, return_complex: bool | None = None, align_to_window: bool | None = None,
) -> Number:  # fmt: skip
    """aten::stft.center(Tensor self, int n_fft, ..., bool center=True, str pad_mode="reflect", ...) -> Tensor"""
    signal = self
    if center:
        signal = arithmetic.each(self, lambda p: pad_signal(g, p, [n_fft // 2, n_fft // 2], pad_mode))
    return stft(g, signal, n_fft, hop_length, win_length, window, normalized, onesided, return_complex, align_to_window)


def overlap_add(g: GraphBuilder, frames: Value, hop: int) -> Value:
    """The signal of which frames (..., count, size) were taken every `hop` elements, overlapping parts summed."""
    *lead, count, size = sizes(g, frames)
    parts = -(-size // hop)
    rank = frames.rank
    blocks = pad_signal(g, frames, [0, parts * hop - size])
    blocks = g.reshape(blocks, [*lead, count, parts, hop])
    total: Value | None = None
    for i in reversed(range(parts)):  # the earliest frame first, as torch adds them up
        part = g.Gather(blocks, i, axis=rank - 1)  # (..., count, hop), `i` hops late
        moved = pad_signal(g, part, [0, 0, i, parts - 1 - i])
        total = moved if total is None else g.Add(total, moved)
    assert total is not None
    length = -1 if isinstance(count, Value) else (count + parts - 1) * hop
    whole = g.reshape(total, [*lead, length])
    surplus = parts * hop - size
    return g.Slice(whole, [0], [-surplus], [-1]) if surplus else whole


@symbolic(DIALECT, "istft")
def istft(
    g: GraphBuilder, self: Complex, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
    window: Number | None = None, center: bool = True, normalized: bool = False, onesided: bool | None = None,
    length: Any = None, return_complex: bool = False,
) -> Number:  # fmt: skip
    """aten::istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, ...) -> Tensor"""
    hop = hop_length or n_fft // 4
    shape = _window(g, window, win_length or n_fft, n_fft, self.real)
    if onesided is None:
        onesided = self.dim(-2) != n_fft
    spectrum = arithmetic.each(self, lambda p: _swapped(g, p))
    power, axis = 0.5 if normalized else 1.0, self.rank - 1
    frames: Number
    if return_complex:
        frames = fourier.transform(g, spectrum, axis, inverse=True, power=power)
    elif onesided:
        frames = fourier.half_inverse(g, spectrum, axis, n_fft, power=power)
    else:
        half = arithmetic.each(spectrum, lambda p: g.Slice(p, [0], [n_fft // 2 + 1], [-1]))
        frames = fourier.half_inverse(g, half, axis, n_fft, power=power)
    signal = arithmetic.each(
        arithmetic.mul(g, *numbers(g, frames, shape)), lambda p: overlap_add(g, p, hop)
    )  # fmt: skip
    square = arithmetic.mul(g, shape, shape)  # torch adds up its squares in the window's own precision
    count = size_at(g, self.real, -1)
    envelope = arithmetic.each(
        square, lambda p: overlap_add(g, g.expand(g.Unsqueeze(p, [0]), [count, n_fft]), hop)
    )  # fmt: skip
    kept, weight = (arithmetic.each(x, lambda p: _signal(g, p, n_fft, center, length)) for x in (signal, envelope))
    weight = cast(g, weight, self.element)
    return _padded(g, arithmetic.div(g, kept, weight), length)


def _signal(g: GraphBuilder, x: Value, n_fft: int, center: bool, length: Any) -> Value:
    """What is wanted of the overlapping frames: half a frame is left out at both ends where the first is centred."""
    start = n_fft // 2 if center else 0
    if length is not None:
        return g.Slice(x, [start], g.shape_vector([start + length]), [-1])
    return g.Slice(x, [start], [-start], [-1]) if start else x


def _padded(g: GraphBuilder, x: Number, length: Any) -> Number:
    """The signal with zeros up to the length that is asked for."""
    have = real_part(x).dim(-1)
    if length is None or have == length:
        return x
    lacking: Any = None
    if isinstance(have, int) and isinstance(length, int):
        lacking = length - have
    else:
        size = size_at(g, real_part(x), -1)
        wanted, own = (s if isinstance(s, Value) else g.size(s) for s in (length, size))
        lacking = g.Sub(wanted, own)
    rank = x.rank
    pads = g.shape_vector([0] * (2 * rank - 1) + [lacking])
    return arithmetic.each(x, lambda p: g.Pad(p, pads))
