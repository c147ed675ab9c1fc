"""Rules of inference for large operators that the standard infers weakly where sizes are open."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import onnx_ir as ir

from .dims import Dim, exact_quotient
from .value import tensor_type

if TYPE_CHECKING:
    from .infer import Args, Attributes, Inferred, OneSize

Rule = Callable[["Args", "Attributes", int], "Inferred | None"]


def _part(size: OneSize, count: int | None) -> OneSize:
    """One head's share of a size."""
    return None if size is None or not count else exact_quotient(size, count)


def _sum(a: OneSize, b: OneSize) -> OneSize:
    return None if a is None or b is None else a + b


def _attention(args: Args, attributes: Attributes, outputs: int) -> Inferred | None:
    query, key, value = args[:3]
    past = args[4] if len(args) > 4 else None
    assert query is not None and key is not None and value is not None
    if query.sizes is None or key.sizes is None or value.sizes is None or (past is not None and past.sizes is None):
        return None
    flat = len(query.sizes) == 3
    given: tuple[OneSize, OneSize] = (attributes.get("q_num_heads"), attributes.get("kv_num_heads"))
    heads, kv_heads = given if flat else (query.sizes[1], key.sizes[1])
    length, keys = query.sizes[1 if flat else 2], key.sizes[1 if flat else 2]
    widths = [
        _part(x.sizes[2], attributes.get("kv_num_heads")) if flat else x.sizes[3]  # type: ignore[index]
        for x in (key, value)
    ]
    total = keys if past is None or past.sizes is None else _sum(keys, past.sizes[2])
    batch = query.sizes[0]
    if flat:
        width = None if widths[1] is None or heads is None else heads * widths[1]
        y: tuple[OneSize, ...] = (batch, length, width)
    else:
        y = (batch, heads, length, widths[1])
    results: Inferred = [
        (query.type, y),
        (key.type, (batch, kv_heads, total, widths[0])),
        (value.type, (batch, kv_heads, total, widths[1])),
        (query.type, (batch, heads, length, total)),
    ]
    return results[:outputs]


def _one(args: Args, index: int) -> OneSize:
    """A size given by an operand."""
    value = args[index] if index < len(args) else None
    return value.dims[0] if value is not None and value.dims else None


def _stft(args: Args, attributes: Attributes, _: int) -> Inferred | None:
    signal = args[0]
    window = args[2] if len(args) > 2 else None
    assert signal is not None
    if signal.sizes is None:
        return None
    step, length = _one(args, 1), _one(args, 3)
    if length is None and window is not None and window.sizes:
        length = window.sizes[0]
    whole = signal.sizes[1]
    frames: OneSize = None
    if whole is not None and step is not None and length is not None:
        frames = (whole - length) // step + 1
    bins = length // 2 + 1 if attributes.get("onesided", 1) and length is not None else length
    return [(signal.type, (signal.sizes[0], frames, bins, 2))]


def _dft(args: Args, attributes: Attributes, _: int) -> Inferred | None:
    x = args[0]
    assert x is not None
    if x.sizes is None:
        return None
    given = args[2] if len(args) > 2 else None
    axis = -2 if given is None else _one(args, 2)
    sizes: list[OneSize] = list(x.sizes)
    one_sided, inverse = bool(attributes.get("onesided", 0)), bool(attributes.get("inverse", 0))
    sizes[-1] = 1 if one_sided and inverse else 2
    if isinstance(axis, Dim) or axis is None:
        return [(x.type, (*(None for _ in sizes[:-1]), sizes[-1]))]
    length = _one(args, 1) if len(args) > 1 and args[1] is not None else sizes[axis]
    if one_sided and length is not None:
        if inverse:
            length = length if len(args) > 1 and args[1] is not None else (length - 1) * 2
        else:
            length = length // 2 + 1
    sizes[axis] = length
    return [(x.type, tuple(sizes))]


def _grid_sample(args: Args, _: Attributes, __: int) -> Inferred | None:
    x, grid = args
    assert x is not None and grid is not None
    if x.sizes is None or grid.sizes is None:
        return None
    return [(x.type, (*x.sizes[:2], *grid.sizes[1:-1]))]


def _filter_window(args: Args, attributes: Attributes, _: int) -> Inferred | None:
    kind = ir.DataType(attributes.get("output_datatype", ir.DataType.FLOAT))
    return [(tensor_type(kind), (_one(args, 0),))]


def _same(args: Args, _: Attributes, __: int) -> Inferred | None:
    x = args[0]
    return None if x is None else [(x.type, x.sizes)]


def _float_same(args: Args, _: Attributes, __: int) -> Inferred | None:
    x = args[0]
    return None if x is None else [(tensor_type(ir.DataType.FLOAT), x.sizes)]


def _rows(width: Callable[[Args, Attributes], OneSize]) -> Rule:
    """Float rows: one for each row of the operand."""

    def rule(args: Args, attributes: Attributes, _: int) -> Inferred | None:
        x = args[0]
        rows = x.sizes[0] if x is not None and x.sizes else None
        return [(tensor_type(ir.DataType.FLOAT), (rows, width(args, attributes)))]

    return rule


#: Operators of ai.onnx.ml that the standard has no inference for.
ML_RULES: Mapping[str, Rule] = {
    "Imputer": _same,
    "Scaler": _float_same,
    "Normalizer": _float_same,
    "LinearRegressor": _rows(lambda _, attributes: attributes.get("targets", 1)),
    "SVMRegressor": _rows(lambda _, __: 1),
    "FeatureVectorizer": _rows(lambda _, attributes: sum(attributes["inputdimensions"])),
}

RULES: Mapping[str, Rule] = {
    "Attention": _attention,
    "STFT": _stft,
    "DFT": _dft,
    "GridSample": _grid_sample,
    "HannWindow": _filter_window,
    "HammingWindow": _filter_window,
    "BlackmanWindow": _filter_window,
    "RotaryEmbedding": _same,
    "TensorScatter": _same,
    "MeanVarianceNormalization": _same,
}
