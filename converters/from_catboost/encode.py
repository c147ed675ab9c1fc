"""Columns of numbers made of categories, as ONNX: what CatBoost's trees compare besides the float features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from ...symbolic.builder import GraphBuilder
from ...symbolic.errors import MissingOp, UnsupportedOps
from ...symbolic.ml.dtypes import cast
from ...symbolic.schemas import ML_DOMAIN
from ...symbolic.value import Value
from .ctr import Cells, Ctr, Element, Known, OneHot, find_cells, unknown
from .hashing import is_whole
from .model import CATEGORY, FLOAT, CatModel


def tree_rows(g: GraphBuilder, columns: Sequence[Value], model: CatModel, known: Known) -> tuple[Value, np.ndarray]:
    """The rows that the trees take, and the feature of the table that each column is.

    Args:
        g: Builder.
        columns: One column for each feature, [batch, 1].
        model: The model.
        known: The known categories.
    """
    floats, own = model.of_kind(FLOAT), model.of_kind(CATEGORY)
    numbers = [cast(g, columns[f], ir.DataType.FLOAT) for f in floats]
    encoder = _Encoder(g, [columns[f] for f in own], numbers, known, [_name(model, f) for f in own])
    made, order = encoder.columns(model.columns)
    return g.Concat(*numbers, *made, axis=1), np.array([*floats, *(model.features + order)], np.int64)


def _name(model: CatModel, feature: int) -> str:
    return model.names[feature] if model.names else f"feature {feature}"


class _Encoder:
    """Makes the columns; a category is looked up once, however many columns ask for it."""

    def __init__(
        self, g: GraphBuilder, texts: Sequence[Value], numbers: Sequence[Value], known: Known, names: Sequence[str]
    ):
        self.g, self.texts, self.numbers, self.known, self.names = g, texts, numbers, known, names

    def columns(self, wanted: Sequence[OneHot | Ctr]) -> tuple[list[Value], np.ndarray]:
        """The columns in groups of one combination, and which of the wanted ones each is."""
        groups: dict[tuple[Element, ...], list[int]] = {}
        for i, column in enumerate(wanted):
            elements = (Element("category", column.feature),) if isinstance(column, OneHot) else column.elements
            groups.setdefault(elements, []).append(i)
        cells = {elements: self._cells(elements, [wanted[i] for i in own]) for elements, own in groups.items()}
        self.needed = self._needed(cells)
        self.codes: dict[int, Value] = {}
        made, order = [], []
        for elements, own in groups.items():
            found, hashes = cells[elements]
            table = _values([wanted[i] for i in own], found, hashes)
            if len(elements) == 1:  # of a category alone, the code is the row
                needed = self.needed[elements[0].feature]
                by_code = np.repeat(table[-1:], len(needed) + 1, axis=0)
                by_code[np.searchsorted(needed, found.values[0].astype(np.uint32))] = table[:-1]
                row, table = self.g.Squeeze(self._code(elements[0].feature), [1]), by_code
            else:
                row = self._row(elements, found)
            made.append(self.g.Gather(self.g.constant(table), row, axis=0))
            order += own
        return made, np.array(order, np.int64)

    def _cells(self, elements: tuple[Element, ...], columns: Sequence[OneHot | Ctr]) -> tuple[Cells, np.ndarray]:
        """The combinations that some column tells from others, and the hashes that their rows stand for."""
        chosen = [c.hashes.astype(np.uint32) for c in columns if isinstance(c, OneHot)]
        tables = [c.table.hashes for c in columns if isinstance(c, Ctr)]
        hashes = np.unique(np.concatenate(tables)) if tables else np.zeros(0, np.uint64)
        found = find_cells(elements, hashes, self.known, self.names)
        if not chosen:
            return found, hashes
        wanted = np.unique(np.concatenate(chosen))
        find_known(wanted, self.known.of(elements[0].feature), self.names[elements[0].feature])
        extra = np.setdiff1d(wanted, found.values[0])
        values = np.concatenate([found.values[0].astype(np.uint32), extra])
        return Cells([values], np.concatenate([found.row, np.full(len(extra), -1)])), hashes

    def _needed(self, cells: dict[tuple[Element, ...], tuple[Cells, np.ndarray]]) -> dict[int, np.ndarray]:
        """The hashes of each feature that make a difference, sorted."""
        found: dict[int, list[np.ndarray]] = {}
        for elements, (own, _) in cells.items():
            for element, values in zip(elements, own.values, strict=True):
                if element.kind == "category":
                    found.setdefault(element.feature, []).append(values.astype(np.uint32))
                elif element.kind == "equal":
                    wanted = np.array([int(element.value)], np.uint32)
                    find_known(wanted, self.known.of(element.feature), self.names[element.feature])
                    found.setdefault(element.feature, []).append(wanted)
        return {f: np.unique(np.concatenate(parts)) for f, parts in found.items()}

    def _code(self, feature: int) -> Value:
        """Place of a row's category among the needed hashes, int64[batch, 1]; their number for any other."""
        found = self.codes.get(feature)
        if found is not None:
            return found
        needed, texts = self.needed[feature], self.known.texts[feature]
        places = {t: place for place, h in enumerate(needed.tolist()) for t in texts[h]}
        x, other = self.texts[feature], len(needed)
        if x.dtype is ir.DataType.STRING:
            found = _lookup(self.g, x, keys_strings=list(places), values=list(places.values()), default=other)
        else:
            whole = {int(t): p for t, p in places.items() if is_whole(t)}
            x = cast(self.g, x, ir.DataType.INT64)
            found = _lookup(self.g, x, keys_int64s=list(whole), values=list(whole.values()), default=other)
        self.codes[feature] = found
        return found

    def _row(self, elements: tuple[Element, ...], cells: Cells) -> Value:
        """Number of a row's combination among the cells, int64[batch]; their number for any other."""
        g, count = self.g, len(cells.row)
        keys, total, stride = np.zeros(count, np.int64), None, 1
        for element, values in zip(elements, cells.values, strict=True):
            part, own, size = self._part(element, values)
            if stride * size >= 2**62:
                reason = "statistics of categories together, which have more combinations than 64 bits count"
                raise UnsupportedOps([MissingOp("catboost", reason, 1, ("the trees",))])
            keys = keys + own * stride
            scaled = part if stride == 1 else g.Mul(part, np.int64(stride))
            total = scaled if total is None else g.Add(total, scaled)
            stride *= size
        assert total is not None
        found = _lookup(g, total, keys_int64s=keys.tolist(), values=list(range(count)), default=count)
        return g.Squeeze(found, [1])

    def _part(self, element: Element, values: np.ndarray) -> tuple[Value, np.ndarray, int]:
        """A row's value of an element as a number, the numbers of given values, and how many there are."""
        g = self.g
        if element.kind == "above":
            own = self.numbers[element.feature]
            above = g.Greater(own, np.float32(element.value))
            if element.missing:
                above = g.Or(above, g.IsNaN(own))
            return g.Cast(above, to=ir.DataType.INT64), values.astype(np.int64), 2
        needed = self.needed[element.feature]
        code = self._code(element.feature)
        if element.kind == "equal":
            place = int(np.searchsorted(needed, np.uint32(int(element.value))))
            return g.Cast(g.Equal(code, np.int64(place)), to=ir.DataType.INT64), values.astype(np.int64), 2
        return code, np.searchsorted(needed, values.astype(np.uint32)).astype(np.int64), len(needed) + 1


def find_known(wanted: np.ndarray, known: np.ndarray, name: str) -> None:
    """Refuses hashes of categories without a known text."""
    missing = int((~np.isin(wanted, known)).sum())
    if missing:
        raise unknown(name, missing, len(wanted))


def _values(columns: Sequence[OneHot | Ctr], cells: Cells, hashes: np.ndarray) -> np.ndarray:
    """What each column holds for each cell, and last for what is no cell: float32[cells + 1, columns]."""
    found = np.zeros((len(cells.row) + 1, len(columns)), np.float32)
    for k, column in enumerate(columns):
        if isinstance(column, OneHot):
            place = {int(h): i + 1 for i, h in enumerate(column.hashes)}
            found[:-1, k] = [place.get(int(v), 0) for v in cells.values[0]]
            continue
        values, nothing = column.values()
        own = np.full(len(hashes) + 1, nothing, np.float32)
        own[np.searchsorted(hashes, column.table.hashes)] = values
        found[:-1, k] = own[cells.row]  # a row of -1 is none of the table: the last
        found[-1, k] = nothing
    return found


def _lookup(g: GraphBuilder, x: Value, *, values: list[int], default: int, **keys: Any) -> Value:
    """LabelEncoder to whole numbers; nothing to look up is a constant."""
    if not values:
        return g.expand(g.constant(np.full((1, 1), default, np.int64)), [x.dim(0), 1])
    return g.call(  # type: ignore[no-any-return]
        "LabelEncoder", x, domain=ML_DOMAIN, values_int64s=values, default_int64=default, **keys
    )
