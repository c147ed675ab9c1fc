"""Input sets: seeded values for named tensor specs, and two different sizes for every open dim."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from ..symbolic.errors import InputSpecError
from ..symbolic.spec import TensorSpec

Array = np.ndarray[Any, Any]

_FIRST_SIZES = (2, 3, 5, 7, 11, 13)
_WORDS = ("alpha", "beta", "gamma", "delta", "a", "B", "10", "")
_MASK = re.compile(r"mask", re.IGNORECASE)
_BINARY = re.compile(r"mask|token_type|segment", re.IGNORECASE)
# Vocabularies and class counts are unknown here, so indices must stay small.
_INT_LIMIT = 8


class InputSet(dict[str, Array]):
    """Inputs by name, with what is needed to make them again.

    Attributes:
        seed: Seed of the random generator; None where the values came from elsewhere.
        sizes: Size of every open dim.
    """

    def __init__(self, values: Mapping[str, Array], *, seed: int | None = None, sizes: Mapping[str, int] | None = None):
        super().__init__(values)
        self.seed, self.sizes = seed, dict(sizes or {})

    def digest(self) -> str:
        """SHA-256 over names, dtypes, shapes and values, in the order of the names."""
        return digest(self)


def digest(inputs: Mapping[str, Array]) -> str:
    """SHA-256 over names, dtypes, shapes and values of inputs, in the order of the names."""
    state = hashlib.sha256()
    for name in sorted(inputs):
        array = np.asarray(inputs[name])
        state.update(f"{name}|{array.dtype.name}|{array.shape}|".encode())
        if array.dtype.kind in "OUS":
            for item in array.reshape(-1).tolist():
                state.update(f"{len(str(item))}:{item}".encode())
        else:
            state.update(np.ascontiguousarray(array).view(np.uint8).data if array.size else b"")
    return state.hexdigest()


def as_pairs(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Arrays as ONNX models take and give them: complex numbers as pairs of real ones along a new last axis."""
    return {
        name: np.stack([array.real, array.imag], axis=-1) if np.iscomplexobj(array) else array
        for name, array in arrays.items()
    }


def make_inputs(specs: Sequence[TensorSpec], *, seed: int = 0, sizes: Mapping[str, int] | None = None) -> InputSet:
    """Makes one array for each spec; the same seed and sizes make the same arrays.

    Floats and complex numbers are drawn from N(0, 1). Integers are small and not negative, because they may be
    indices (``uint8`` covers its whole range: it holds pixels). Names with ``mask``, ``token_type`` or ``segment``
    get zeros and ones; a mask starts with a one, so that no row is masked completely.

    Args:
        specs: Name, dtype and shape of every input.
        seed: Seed of the generator.
        sizes: Size of every open dim; ``choose_sizes(specs, 0)`` where it isn't given.

    Raises:
        InputSpecError: An open dim has no size.
    """
    if sizes is None:
        sizes = choose_sizes(specs, 0)
    missing = [s for spec in specs for s in spec.symbols if s not in sizes]
    if missing:
        raise InputSpecError(f"no size given for the open dim(s) {', '.join(dict.fromkeys(missing))}")
    generator = np.random.default_rng(seed)
    return InputSet({spec.name: _values(spec, spec.sized(sizes), generator) for spec in specs}, seed=seed, sizes=sizes)


def choose_sizes(specs: Sequence[TensorSpec], which: int = 0, base: Mapping[str, int] | None = None) -> dict[str, int]:
    """Chooses a size for every open dim; the same symbol has the same size in all inputs.

    Different symbols get different sizes where we may choose, so that swapped axes are seen.
    The second size keeps the powers of two (up to 32) of the first one, as strides and windows often need them.

    Args:
        specs: Input specs.
        which: 0 for the first set of sizes (``base`` where it has the symbol), 1 for another size of every symbol.
        base: Sizes known to work, for instance those of the sample inputs.

    Raises:
        InputSpecError: ``which`` is neither 0 nor 1.
    """
    if which not in (0, 1):
        raise InputSpecError(f"which={which}: there are two sets of sizes, 0 and 1")
    symbols = list(dict.fromkeys(s for spec in specs for s in spec.symbols))
    first: dict[str, int] = {s: base[s] for s in symbols if base and s in base}
    spare = (size for size in [*_FIRST_SIZES, *range(17, 17 + len(symbols))] if size not in first.values())
    for symbol in symbols:
        if symbol not in first:
            first[symbol] = next(spare)
    first = {symbol: first[symbol] for symbol in symbols}
    if which == 0:
        return first
    second: dict[str, int] = {}
    for symbol, size in first.items():
        step = min(size & -size, 32) if size >= 8 else 1
        other = size + step
        while other in second.values() or other in first.values():
            other += step
        second[symbol] = other
    return second


def _values(spec: TensorSpec, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
    kind = spec.dtype
    if kind == "string":
        picks = generator.integers(0, len(_WORDS), shape)
        return np.array(_WORDS, dtype=object)[picks]
    if kind == "bfloat16":
        return np.asarray(generator.standard_normal(shape), dtype=ml_dtypes.bfloat16)
    dtype = np.dtype(kind)
    if dtype.kind == "f":
        return np.asarray(generator.standard_normal(shape), dtype=dtype)
    if dtype.kind == "c":
        real, imaginary = generator.standard_normal(shape), generator.standard_normal(shape)
        return np.asarray(real + 1j * imaginary, dtype=dtype)
    if dtype.kind == "b" or _BINARY.search(spec.name):
        values = np.asarray(generator.integers(0, 2, shape), dtype=dtype)
        if _MASK.search(spec.name) and values.ndim and values.size:
            values[..., 0] = True
        return values
    return np.asarray(generator.integers(0, 256 if dtype == np.uint8 else _INT_LIMIT, shape), dtype=dtype)
