"""Reads CatBoost's binary files (.cbm): a flatbuffer, by the field numbers of CatBoost's own schema."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ...symbolic.errors import CaptureError
from ..flatbuffer import FlatbufferError, Table
from .info import describe
from .model import CatModel, Splits, free_form, oblivious

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
    splits, names = _questions(trees)
    found = describe(info, outputs, trees.number(_SCALE, "d", 1.0), np.resize(bias, outputs), names)
    found.table = _read_trees(trees, splits, outputs, len(names))
    return found


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _questions(trees: Table) -> tuple[Splits, list[str]]:
    """The numbered questions: borders of the float features, then of the others; and the names of all features."""
    feature, threshold, missing, problem = [], [], [], []
    names: dict[int, str] = {}
    for item in trees.tables(_FLOAT):
        index = int(item.number(2, "i", -1))
        borders = item.array(3, "<f4").astype(np.float64)
        names[index] = item.text(4)
        feature += [index] * len(borders)
        threshold += borders.tolist()
        missing += [int(item.number(5, "b", 0)) == _AS_TRUE] * len(borders)
        problem += [""] * len(borders)
    for kind, fields, at in (("categorical", _CATEGORICAL, 1), ("text", _TEXT, 1), ("embedding", _EMBEDDING, 1)):
        for item in trees.tables(fields):
            names[int(item.number(at, "i", -1))] = item.text(2) or f"{kind} feature"
    others = [
        ("estimated features (of texts or embeddings)", _ESTIMATED, 3, "<f4"),
        ("one-hot splits of categorical features", _ONE_HOT, 1, "<i4"),
        ("target statistics (CTR) of categorical features", _CTR, 1, "<f4"),
    ]
    for reason, fields, at, dtype in others:
        for item in trees.tables(fields):
            count = len(item.array(at, dtype))
            feature += [0] * count
            threshold += [0.0] * count
            missing += [False] * count
            problem += [reason] * count
    width = max(names, default=-1) + 1
    splits = Splits(np.array(feature, np.int64), np.array(threshold), np.array(missing, bool), problem)
    return splits, [names.get(i, "") for i in range(width)]


def _read_trees(trees: Table, splits: Splits, outputs: int, features: int) -> Any:
    asked, sizes = trees.array(_SPLITS, "<i4").astype(np.int64), trees.array(_SIZES, "<i4").astype(np.int64)
    values = trees.array(_LEAVES, "<f8").reshape(-1, outputs)
    starts = np.cumsum(sizes) - sizes
    steps = trees.array(_STEPS, "<u4").view("<u2").astype(np.int64).reshape(-1, 2)  # structs of two numbers
    if not len(steps):
        return oblivious([asked[s : s + n] for s, n in zip(starts, sizes, strict=True)], values, splits, features)
    leaf = trees.array(_NODE_LEAF, "<u4").astype(np.int64) // outputs
    at = np.arange(len(steps))
    # a step of 0 ends at the node's own leaf
    no = np.where(steps[:, 0] == 0, ~leaf, at + steps[:, 0])
    yes = np.where(steps[:, 1] == 0, ~leaf, at + steps[:, 1])
    end = (steps == 0).all(axis=1)
    yes, no = _through(yes, end, leaf), _through(no, end, leaf)
    roots = np.where(end[starts], ~leaf[starts], starts)
    return free_form(asked, yes, no, roots, values, splits, features)


def _through(children: np.ndarray, end: np.ndarray, leaf: np.ndarray) -> np.ndarray:
    """Children that are nodes without steps, as the leaves that they are."""
    node = np.minimum(np.maximum(children, 0), len(end) - 1)
    found: np.ndarray = np.where((children >= 0) & end[node], ~leaf[node], children)
    return found
