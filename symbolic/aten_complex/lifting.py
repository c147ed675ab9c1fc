"""Operators that complex numbers pass through part by part: the function of real tensors, called for each part.

What only moves elements, and what is linear in its tensors, does to both parts what it does to a real tensor. What is
linear in each of several tensors (products, convolutions) multiplies the parts out.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..aten.promotion import DataType, value_of
from ..builder import GraphBuilder
from ..complex.arithmetic import add, each
from ..complex.number import PARTS, Complex, Number, as_complex, filled, multilinear, real_part
from ..registry import Symbolic, registry, symbolic
from ..value import Value
from .operands import DIALECT, component, is_complex, number, part_type, refused

#: Operators that move elements, or are linear in the tensors named in `_DATA` taken together.
STRUCTURAL = frozenset(
    {
        "_local_scalar_dense", "_reshape_alias", "_unsafe_index", "_unsafe_index_put", "_unsafe_view", "alias",
        "alias_copy", "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_tensors",
        "broadcast_to", "cartesian_prod", "cat", "channel_shuffle", "chunk", "clone", "column_stack",
        "combinations", "concat", "concatenate", "constant_pad_nd", "contiguous", "cumsum", "detach",
        "detach_copy", "diag", "diag_embed", "diagflat", "diagonal", "diagonal_copy", "diagonal_scatter",
        "diff", "dropout", "dsplit", "dstack", "empty", "empty_like", "empty_permuted", "expand", "expand_as",
        "expand_copy", "feature_dropout", "fft_fftshift", "fft_ifftshift", "fill", "flatten", "flip", "fliplr",
        "flipud", "full", "full_like", "gather", "hsplit", "hstack", "index", "index_add", "index_copy",
        "index_fill", "index_put", "index_select", "item", "lift", "lift_fresh", "lift_fresh_copy",
        "linalg_diagonal", "mT", "masked_fill", "masked_scatter", "masked_select", "mean", "meshgrid",
        "moveaxis", "movedim", "narrow", "narrow_copy", "native_dropout", "new_empty", "new_full", "new_zeros",
        "numpy_T", "pad", "permute", "permute_copy", "pixel_shuffle", "pixel_unshuffle", "positive", "put",
        "ravel", "reflection_pad1d", "reflection_pad2d", "reflection_pad3d", "repeat", "repeat_interleave",
        "replication_pad1d", "replication_pad2d", "replication_pad3d", "reshape", "reshape_as", "resolve_conj",
        "resolve_neg", "roll", "rot90", "scalar_tensor", "scatter", "scatter_add", "select", "select_copy",
        "select_scatter", "slice", "slice_copy", "slice_scatter", "split", "split_copy", "split_with_sizes",
        "split_with_sizes_copy", "squeeze", "squeeze_copy", "stack", "sum", "sum_to_size", "swapaxes",
        "swapdims", "t", "t_copy", "take", "take_along_dim", "tensor_split", "tile", "trace", "transpose",
        "transpose_copy", "tril", "triu", "unbind", "unbind_copy", "unflatten", "unfold", "unfold_copy",
        "unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes", "unsqueeze", "unsqueeze_copy", "view",
        "view_as", "view_copy", "vsplit", "vstack", "where", "zero", "zeros", "zeros_like",
    }
)  # fmt: skip
#: Operators that are linear in each of their tensors.
PRODUCTS = frozenset(
    {
        "__matmul__", "bmm", "chain_matmul", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
        "conv_transpose3d", "convolution", "cross", "dot", "einsum", "ger", "inner", "kron", "linalg_cross",
        "linalg_matmul", "linalg_multi_dot", "linear", "matmul", "mm", "mv", "outer", "tensordot",
    }
)  # fmt: skip
#: Operators that ask only which elements are other than zero.
TRUTH = frozenset({"all", "any", "argwhere", "count_nonzero", "logical_and", "logical_not", "logical_or",
                   "logical_xor", "nonzero", "nonzero_numpy", "nonzero_static"})  # fmt: skip
#: Operators that make real numbers, whatever dtype holds them.
MADE = frozenset({"arange", "eye", "logspace", "new_ones", "ones", "ones_like"})
#: Parameters that hold what is moved; the others are indices, masks and numbers.
_DATA = frozenset({"self", "input", "tensors", "other", "src", "source", "values", "value", "fill_value", "s", "tensor",
                   "prepend", "append"})  # fmt: skip


def _imaginary(argument: Any, g: GraphBuilder) -> Any:
    """The imaginary part of an argument."""
    if isinstance(argument, (list, tuple)):
        return [_imaginary(a, g) for a in argument]
    if isinstance(argument, Complex):
        return argument.imag
    if isinstance(argument, Value):
        return filled(g, 0.0, argument)
    if isinstance(argument, (complex, np.complexfloating)):
        return float(argument.imag)
    return argument if argument is None else 0.0


def _real(argument: Any) -> Any:
    if isinstance(argument, (list, tuple)):
        return [_real(a) for a in argument]
    if isinstance(argument, (complex, np.complexfloating)):
        return float(argument.real)
    return real_part(argument) if isinstance(argument, Complex) else argument


def _joined(real: Any, imaginary: Any) -> Any:
    if isinstance(real, (list, tuple)):
        return [_joined(a, b) for a, b in zip(real, imaginary, strict=True)]
    if real.element not in PARTS.values():  # the mask of a dropout
        return real
    return Complex(real, imaginary)


def structural(row: Symbolic) -> Callable[..., Any]:
    """The complex form of an operator that moves elements."""
    parameters = list(inspect.signature(row.function).parameters)[1:]

    def moved(name: str, value: Any) -> bool:
        if name == "other" and row.name.split(".")[0].endswith("_as"):
            return False  # only its shape counts
        return name in _DATA and (name != "source" or isinstance(value, (Complex, Value)))

    def function(g: GraphBuilder, *args: Any, **attributes: Any) -> Any:
        given = {**dict(zip(parameters, args, strict=False)), **attributes}
        dtypes = [v for v in given.values() if isinstance(v, DataType)]
        for name, value in given.items():
            if is_complex(value) and name not in _DATA:
                raise refused(g, row.name, f"the argument {name} is complex")

        def call(part: Callable[[Any], Any]) -> Any:
            chosen = {n: part(v) if moved(n, v) else _real(v) for n, v in given.items()}
            chosen = {n: component(v) if isinstance(v, DataType) else v for n, v in chosen.items()}
            positional = parameters[: len(args)]
            keywords = {n: v for n, v in chosen.items() if n not in positional}
            return row.function(g, *(chosen[n] for n in positional), **keywords)

        real = call(_real)
        # a real dtype drops the imaginary part
        whole = all(d in PARTS for d in dtypes) and (
            dtypes or any(moved(n, v) and is_complex(v) for n, v in given.items())
        )
        return _joined(real, call(lambda a: _imaginary(a, g))) if whole else real

    return function


@dataclass(frozen=True)
class _Place:
    """Stands for a tensor among the arguments."""

    index: int


def product(row: Symbolic) -> Callable[..., Any]:
    """The complex form of an operator that is linear in each of its tensors, but for the bias that it adds."""
    parameters = list(inspect.signature(row.function).parameters)[1:]

    def function(g: GraphBuilder, *args: Any, **attributes: Any) -> Number:
        given = {**dict(zip(parameters, args, strict=False)), **attributes}
        bias = given.pop("bias", None)
        tensors: list[Number] = []

        def taken(argument: Any) -> Any:
            if isinstance(argument, (list, tuple)):
                return [taken(a) for a in argument]
            if not isinstance(argument, (Complex, Value)):
                return argument
            tensors.append(argument)
            return _Place(len(tensors) - 1)

        shaped = {name: taken(value) for name, value in given.items()}
        part = part_type(*tensors, bias)

        def real(*parts: Value) -> Value:
            def put(argument: Any) -> Any:
                if isinstance(argument, list):
                    return [put(a) for a in argument]
                return parts[argument.index] if isinstance(argument, _Place) else argument

            result: Value = row.function(g, **{name: put(value) for name, value in shaped.items()})
            return result

        result = as_complex(g, multilinear(g, real, [number(g, x, part) for x in tensors]))
        if bias is None:
            return result
        trailing = 0 if row.name.startswith("linear") else given["weight"].rank - 2
        column = each(number(g, bias, part), lambda p: g.reshape(p, [*(p.sizes or ()), *[1] * trailing]))
        return add(g, result, column)

    return function


def made(row: Symbolic) -> Callable[..., Any]:
    """The complex form of an operator that makes real numbers."""

    def function(g: GraphBuilder, *args: Any, **attributes: Any) -> Number:
        def plain(argument: Any) -> Any:
            return component(argument) if isinstance(argument, DataType) else _real(argument)

        real: Value = row.function(g, *map(plain, args), **{n: plain(a) for n, a in attributes.items()})
        dtypes = [a for a in (*args, *attributes.values()) if isinstance(a, DataType)]
        return as_complex(g, real) if all(d in PARTS for d in dtypes) else real

    return function


def truth(row: Symbolic) -> Callable[..., Any]:
    """The complex form of an operator that asks for what is other than zero."""

    def function(g: GraphBuilder, *args: Any, **attributes: Any) -> Any:
        def flags(argument: Any) -> Any:
            if not isinstance(argument, Complex):
                return argument
            zero = value_of(g, 0.0, argument.element)
            return g.Not(g.And(g.Equal(argument.real, zero), g.Equal(argument.imag, zero)))

        return row.function(g, *map(flags, args), **{n: flags(a) for n, a in attributes.items()})

    return function


def _register(names: frozenset[str], lift: Callable[[Symbolic], Callable[..., Any]]) -> None:
    for row in registry.rows("aten"):
        # a reduction may multiply
        if row.name.split(".")[0] in names and "reduce" not in row.name:
            lifted = lift(row)
            lifted.__doc__ = row.function.__doc__
            lifted.__name__ = lifted.__qualname__ = row.function.__name__
            symbolic(DIALECT, row.name, since=row.since, until=row.until)(lifted)


_register(STRUCTURAL, structural)
_register(PRODUCTS, product)
_register(TRUTH, truth)
_register(MADE, made)
