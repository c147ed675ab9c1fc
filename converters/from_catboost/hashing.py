"""Hashes by which CatBoost knows categories: CityHash64 (version 1) of the text, of which 32 bits are kept."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

import numpy as np

_MASK = 2**64 - 1
# constants of the published hash functions
_K0, _K1, _K2, _K3 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F, 0xC949D7C7509E6557
_FOLD = 0x9DDFEA08EB382D69
_WHOLE = re.compile(r"0|-?[1-9][0-9]*", re.ASCII)
#: Multiplier by which CatBoost hashes a combination of values.
COMBINE = 0x4906BA494954CB65


def category_hash(text: str) -> int:
    """The hash of a category, 32 bits."""
    return city_hash(text.encode("utf-8")) & 0xFFFFFFFF


def is_whole(text: str) -> bool:
    """Whether a text is what CatBoost makes of a 64-bit whole number."""
    return _WHOLE.fullmatch(text) is not None and -(2**63) <= int(text) < 2**63


def signed(hashes: np.ndarray) -> np.ndarray:
    """32-bit hashes as the 64-bit numbers that enter a combination."""
    return np.asarray(hashes, np.uint32).view(np.int32).astype(np.int64).view(np.uint64)


def powers(count: int) -> list[int]:
    """Factor of each of so many values in the hash of their combination, which is their weighted sum."""
    return [pow(COMBINE, count - i + 1, 2**64) for i in range(count)]


def combined(values: Sequence[np.ndarray]) -> np.ndarray:
    """Hashes of combinations: one array of 64-bit numbers for each of their values."""
    total: np.ndarray = np.zeros(np.shape(values[0]), np.uint64)
    for factor, value in zip(powers(len(values)), values, strict=True):
        total = total + np.uint64(factor) * value
    return total


@cache
def inverse(factor: int) -> int:
    """What undoes a multiplication by an odd factor."""
    return pow(factor, -1, 2**64)


def city_hash(data: bytes) -> int:
    """CityHash64 in its first version."""
    size = len(data)
    if size <= 16:
        return _up_to_16(data)
    if size <= 32:
        return _up_to_32(data)
    return _up_to_64(data) if size <= 64 else _longer(data)


def _word(data: bytes, at: int, size: int = 8) -> int:
    at = at if at >= 0 else len(data) + at
    return int.from_bytes(data[at : at + size], "little")


def _turned(value: int, by: int) -> int:
    value &= _MASK
    return ((value >> by) | (value << (64 - by))) & _MASK


def _mixed(value: int) -> int:
    value &= _MASK
    return value ^ (value >> 47)


def _folded(low: int, high: int) -> int:
    """Two words as one."""
    first = _mixed(((low ^ high) & _MASK) * _FOLD)
    return _mixed(((high & _MASK) ^ first) * _FOLD) * _FOLD & _MASK


def _up_to_16(data: bytes) -> int:
    size = len(data)
    if size > 8:
        last = _word(data, -8)
        return _folded(_word(data, 0), _turned(last + size, size)) ^ last
    if size >= 4:
        return _folded(size + (_word(data, 0, 4) << 3), _word(data, -4, 4))
    if size:
        front = data[0] + (data[size >> 1] << 8)
        back = size + (data[-1] << 2)
        return _mixed(front * _K2 ^ back * _K3) * _K2 & _MASK
    return _K2


def _up_to_32(data: bytes) -> int:
    a, b = _word(data, 0) * _K1, _word(data, 8)
    c, d = _word(data, -8) * _K2, _word(data, -16) * _K0
    return _folded(_turned(a - b, 43) + _turned(c, 30) + d, a + _turned(b ^ _K3, 20) - c + len(data))


def _up_to_64(data: bytes) -> int:
    size = len(data)

    def half(a: int, z: int, x: int, y: int) -> tuple[int, int]:
        b, c = _turned(a + z, 52), _turned(a, 37)
        a += x
        c += _turned(a, 7)
        a += y
        return a + z, b + _turned(a, 31) + c

    first = _word(data, 0) + (size + _word(data, -16)) * _K0
    low, high = half(first, _word(data, 24), _word(data, 8), _word(data, 16))
    second = _word(data, 16) + _word(data, -32)
    other, top = half(second, _word(data, -8), _word(data, -24), _word(data, -16))
    rest = _mixed((low + top) * _K2 + (other + high) * _K0)
    return _mixed(rest * _K0 + high) * _K2 & _MASK


def _weak(data: bytes, at: int, a: int, b: int) -> tuple[int, int]:
    """32 bytes and two seeds as two words."""
    w, x, y, z = (_word(data, at + 8 * i) for i in range(4))
    a += w
    b = _turned(b + a + z, 21)
    c = a
    a += x + y
    return (a + z) & _MASK, (b + _turned(a, 44) + c) & _MASK


def _longer(data: bytes) -> int:
    size = len(data)
    x, y, z = _word(data, 0), _word(data, -16) ^ _K1, _word(data, -56) ^ _K0
    v = _weak(data, size - 64, size, y)
    w = _weak(data, size - 32, size * _K1, _K0)
    z += _mixed(v[1]) * _K1
    x = _turned(z + x, 39) * _K1
    y = _turned(y, 33) * _K1
    for at in range(0, (size - 1) & ~63, 64):
        x = _turned(x + y + v[0] + _word(data, at + 16), 37) * _K1 & _MASK
        y = _turned(y + v[1] + _word(data, at + 48), 42) * _K1 & _MASK
        x ^= w[1]
        y ^= v[0]
        z = _turned(z ^ w[0], 33)
        v = _weak(data, at, v[1] * _K1, x + w[0])
        w = _weak(data, at + 32, z + w[1], y)
        z, x = x, z
    return _folded(_folded(v[0], w[0]) + _mixed(y) * _K1 + z, _folded(v[1], w[1]) + x)
