"""Reads CatBoost's binary files (.cbm): a flatbuffer, by the field numbers of CatBoost's own schema."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ...symbolic.errors import CaptureError
from ..flatbuffer import FlatbufferError, Table
from .ctr import Ctr, Element, OneHot
from .ctr import Table as Counts
from .info import describe
from .model import CATEGORY, EMBEDDING, FLOAT, TEXT, CatModel, Splits, free_form, oblivious, refuse_kinds

_MAGIC = b"CBM1"
#: Fields of TModelTrees.
_DIMENSION, _SPLITS, _SIZES = 0, 1, 2
_CATEGORICAL, _FLOAT, _ONE_HOT, _CTR, _LEAVES = 4, 5, 6, 7, 8
_STEPS, _NODE_LEAF, _TEXT, _ESTIMATED = 10, 11, 12, 13
_SCALE, _BIAS, _BIASES, _EMBEDDING = 14, 15, 16, 18
_AS_TRUE = 2


def read_cbm(data: bytes) -> CatModel:
    """The model in a file.

    Raises:
        CaptureError: It is damaged, or of an unknown release.
    """
    try:
        return _model(data)
    except (FlatbufferError, UnicodeDecodeError, KeyError, ValueError, IndexError) as error:
        raise CaptureError(f"the CatBoost model is damaged or of an unknown release: {error!r}") from error


def _model(data: bytes) -> CatModel:
    if not data.startswith(_MAGIC):
        raise CaptureError("the file is no CatBoost model")
    size = int.from_bytes(data[4:8], "little")
    if 8 + size > len(data):
        raise CaptureError("the CatBoost model is truncated")
    core = Table.root(data[8 : 8 + size])
    version = core.text(0)
    if version != "FlabuffersModel_v1":
        raise CaptureError(f"the CatBoost model is of the format {version!r}, not FlabuffersModel_v1")
    trees = core.table(1)
    if trees is None:
        raise CaptureError("the CatBoost model has no trees")
    info = {pair.text(0): _json(pair.text(1)) for pair in core.tables(2)}
    outputs = int(trees.number(_DIMENSION, "i", 1))
    biases = trees.array(_BIASES, "<f8")
    bias = biases if len(biases) else np.full(outputs, trees.number(_BIAS, "d", 0.0))
    names, kinds = _features(trees)
    refuse_kinds(kinds)
    splits = _questions(trees, len(names), data[8 + size :], core)
    found = describe(info, outputs, trees.number(_SCALE, "d", 1.0), np.resize(bias, outputs), names)
    found.kinds, found.columns = kinds, splits.columns
    found.table = _read_trees(trees, splits, outputs)
    return found


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _features(trees: Table) -> tuple[list[str], list[str]]:
    """Names and kinds of all features."""
    found: dict[int, tuple[str, str]] = {}
    fields = ((FLOAT, _FLOAT, 2, 4), (CATEGORY, _CATEGORICAL, 1, 2), (TEXT, _TEXT, 1, 2), (EMBEDDING, _EMBEDDING, 1, 2))
    for kind, own, at, name in fields:
        for item in trees.tables(own):
            found[int(item.number(at, "i", -1))] = item.text(name), kind
    ordered = [found.get(i, ("", FLOAT)) for i in range(max(found, default=-1) + 1)]
    return [n for n, _ in ordered], [k for _, k in ordered]


def _questions(trees: Table, features: int, rest: bytes, core: Table) -> Splits:
    """The numbered questions: borders of the float features, then of the others."""
    splits = Splits(features)
    as_true: set[int] = set()
    for item in trees.tables(_FLOAT):
        missing = int(item.number(5, "b", 0)) == _AS_TRUE
        if missing:
            as_true.add(int(item.number(1, "i", 0)))
        splits.above(int(item.number(2, "i", -1)), item.array(3, "<f4").tolist(), missing)
    for item in trees.tables(_ESTIMATED):
        splits.refused("estimated features (of texts or embeddings)", len(item.array(3, "<f4")))
    for item in trees.tables(_ONE_HOT):
        hashes = item.array(1, "<i4").view("<u4")
        splits.one_hot(OneHot(int(item.number(0, "i", -1)), hashes), hashes.tolist())
    counts = _counts(rest, core, as_true)
    for item in trees.tables(_CTR):
        borders = item.array(1, "<f4").tolist()
        ctr, base = item.table(0), None
        if ctr is not None:
            base = ctr.table(0)
        if ctr is None or base is None or _base(base, as_true) not in counts:
            raise CaptureError("the CatBoost model lacks the counts of a statistic of its categories")
        key = _base(base, as_true)
        splits.statistic(
            Ctr(
                key[0],
                key[1],
                border=int(ctr.number(1, "i", 0)),
                prior=(ctr.number(2, "f", 0.0), ctr.number(3, "f", 1.0)),
                shift=ctr.number(4, "f", 0.0),
                scale=ctr.number(5, "f", 1.0),
                table=counts[key],
            ),
            borders,
        )
    return splits


_CTR_KINDS = ("Borders", "Buckets", "BinarizedTargetMeanValue", "FloatTargetMeanValue", "Counter", "FeatureFreq")
_SPLIT = np.dtype([("feature", "<i4"), ("border", "<f4")])
_CHOICE = np.dtype([("feature", "<i4"), ("hash", "<u4")])
_BUCKET = np.dtype([("hash", "<u8"), ("row", "<u4")])


def _base(base: Table, as_true: set[int]) -> tuple[tuple[Element, ...], str, int]:
    """What a statistic counts: the combination, its kind, and the number of its division of the target."""
    parts = base.table(0)
    elements: list[Element] = []
    if parts is not None:
        elements += [Element("category", int(f)) for f in parts.array(0, "<i4")]
        elements += [Element("above", int(f), float(b), f in as_true) for f, b in _structs(parts, 1, _SPLIT)]
        elements += [Element("equal", int(f), int(h)) for f, h in _structs(parts, 2, _CHOICE)]
    kind = int(base.number(1, "b", 0))
    name = _CTR_KINDS[kind] if 0 <= kind < len(_CTR_KINDS) else f"statistic {kind}"
    return tuple(elements), name, int(base.number(2, "i", 0))


def _structs(table: Table, field: int, dtype: np.dtype[Any]) -> list[tuple[int, float]]:
    words: list[tuple[int, float]] = table.array(field, "<u8").view(dtype).tolist()
    return words


def _counts(data: bytes, core: Table, as_true: set[int]) -> dict[Any, Counts]:
    """The counts that follow the trees, by what they count."""
    found: dict[Any, Counts] = {}
    parts = core.texts(3)
    if parts[:1] != ["static_provider_v1"]:
        return found
    number, at = int.from_bytes(data[:4], "little"), 4
    for _ in range(number):
        size = int.from_bytes(data[at : at + 4], "little")
        if at + 4 + size > len(data):
            raise CaptureError("the CatBoost model is truncated in the counts of its categories")
        item = Table.root(data[at + 4 : at + 4 + size])
        at += 4 + size
        base = item.table(0)
        if base is None:
            raise CaptureError("the CatBoost model has counts of nothing")
        key = _base(base, as_true)
        buckets = np.frombuffer(item.array(1, "u1").tobytes(), _BUCKET)
        blob = item.array(2, "u1").tobytes()
        if "Mean" in key[1]:
            pairs = np.frombuffer(blob, np.dtype([("sum", "<f4"), ("count", "<i4")]))
            counts = np.stack([pairs["sum"].astype(np.float64), pairs["count"]], axis=1)
        else:
            width = 1 if key[1] in ("Counter", "FeatureFreq") else int(item.number(4, "i", 0))
            counts = np.frombuffer(blob, "<i4").reshape(-1, max(width, 1)).astype(np.int64)
        rows = np.where(buckets["row"] < len(counts), buckets["row"], 0)
        found[key] = Counts.of(buckets["hash"].copy(), counts[rows], int(item.number(3, "i", 0)))
    return found


def _read_trees(trees: Table, splits: Splits, outputs: int) -> Any:
    asked, sizes = trees.array(_SPLITS, "<i4").astype(np.int64), trees.array(_SIZES, "<i4").astype(np.int64)
    values = trees.array(_LEAVES, "<f8").reshape(-1, outputs)
    starts = np.cumsum(sizes) - sizes
    steps = trees.array(_STEPS, "<u4").view("<u2").astype(np.int64).reshape(-1, 2)  # structs of two numbers
    if not len(steps):
        return oblivious([asked[s : s + n] for s, n in zip(starts, sizes, strict=True)], values, splits)
    leaf = trees.array(_NODE_LEAF, "<u4").astype(np.int64) // outputs
    at = np.arange(len(steps))
    # a step of 0 ends at the node's own leaf
    no = np.where(steps[:, 0] == 0, ~leaf, at + steps[:, 0])
    yes = np.where(steps[:, 1] == 0, ~leaf, at + steps[:, 1])
    end = (steps == 0).all(axis=1)
    yes, no = _through(yes, end, leaf), _through(no, end, leaf)
    roots = np.where(end[starts], ~leaf[starts], starts)
    return free_form(asked, yes, no, roots, values, splits)


def _through(children: np.ndarray, end: np.ndarray, leaf: np.ndarray) -> np.ndarray:
    """Children that are nodes without steps, as the leaves that they are."""
    node = np.minimum(np.maximum(children, 0), len(end) - 1)
    found: np.ndarray = np.where((children >= 0) & end[node], ~leaf[node], children)
    return found
