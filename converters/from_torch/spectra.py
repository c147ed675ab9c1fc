"""Result shapes of Fourier transforms, by which the capture keeps them whole over open sizes (see `shapes`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def overloads() -> dict[Any, Callable[..., Any]]:
    """Shape function of every transform."""
    import torch

    aten = torch.ops.aten
    found: dict[Any, Callable[..., Any]] = {aten.stft.default: _stft, aten.istft.default: _istft}
    for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
        found[getattr(aten, f"fft_{name}").default] = _one_axis(name)
        found[getattr(aten, f"fft_{name}2").default] = _several_axes(name, (-2, -1))
        found[getattr(aten, f"fft_{name}n").default] = _several_axes(name, None)
    return found


def _one_axis(name: str) -> Callable[..., Any]:
    function = _several_axes(name, None)

    def shape(self: Any, n: Any = None, dim: int = -1, norm: str | None = None) -> Any:
        return function(self, None if n is None else [n], [dim], norm)

    return shape


def _several_axes(name: str, usual: tuple[int, ...] | None) -> Callable[..., Any]:
    def shape(self: Any, s: Any = None, dim: Any = usual, norm: str | None = None) -> Any:
        rank = self.dim()
        count = rank if s is None else len(s)
        axes = [a % rank for a in (range(rank - count, rank) if dim is None else dim)]
        lengths = [self.shape[a] if n == -1 else n for a, n in zip(axes, s or [-1] * len(axes), strict=True)]
        sizes = list(self.shape)
        for axis, length in zip(axes, lengths, strict=True):
            sizes[axis] = length
        if axes and name in ("rfft", "ihfft"):
            sizes[axes[-1]] = lengths[-1] // 2 + 1
        elif axes and name in ("irfft", "hfft") and (s is None or s[-1] == -1):
            sizes[axes[-1]] = 2 * (self.shape[axes[-1]] - 1)
        return self.new_empty(sizes, dtype=_dtype(self, real=name in ("irfft", "hfft")))

    return shape


def _dtype(x: Any, *, real: bool) -> Any:
    import torch

    double = x.dtype in (torch.float64, torch.complex128)
    return (torch.float64 if double else torch.float32) if real else (torch.complex128 if double else torch.complex64)


def _stft(
    self: Any, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Any = None,
    normalized: bool = False, onesided: bool | None = None, return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Any:  # fmt: skip
    if onesided is None:
        onesided = not (self.is_complex() or (window is not None and window.is_complex()))
    frame = (win_length or n_fft) if align_to_window else n_fft
    count = (self.shape[-1] - frame) // (hop_length or n_fft // 4) + 1
    sizes = [*self.shape[:-1], n_fft // 2 + 1 if onesided else n_fft, count]
    if return_complex is not False:
        return self.new_empty(sizes, dtype=_dtype(self, real=False))
    return self.new_empty([*sizes, 2], dtype=_dtype(self, real=True))


def _istft(
    self: Any, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Any = None,
    center: bool = True, normalized: bool = False, onesided: bool | None = None, length: int | None = None,
    return_complex: bool = False,
) -> Any:  # fmt: skip
    whole = n_fft + (hop_length or n_fft // 4) * (self.shape[-1] - 1)
    size = whole - 2 * (n_fft // 2) * center if length is None else length
    return self.new_empty([*self.shape[:-2], size], dtype=_dtype(self, real=not return_complex))
