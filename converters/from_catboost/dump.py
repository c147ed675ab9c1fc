"""Reads CatBoost's JSON files, which say the same as its binary ones."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...symbolic.errors import CaptureError
from .ctr import Ctr, Element, OneHot, Table
from .info import describe
from .model import CATEGORY, EMBEDDING, FLOAT, TEXT, CatModel, Splits, free_form, oblivious, refuse_kinds

_GROUPS = {
    "float_features": FLOAT,
    "categorical_features": CATEGORY,
    "text_features": TEXT,
    "embedding_features": EMBEDDING,
}


def read_json(data: bytes) -> CatModel:
    """The model in a file.

    Raises:
        CaptureError: It is damaged, or of an unknown release.
    """
    try:
        return _model(json.loads(data))
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise CaptureError(f"the CatBoost model is damaged or of an unknown release: {error!r}") from error


def _model(document: Mapping[str, Any]) -> CatModel:
    scale, bias = document.get("scale_and_bias", [1, [0]])
    features = document["features_info"]
    found_features: dict[int, tuple[str, str]] = {}
    for group, kind in _GROUPS.items():
        for item in features.get(group, ()):
            found_features[int(item["flat_feature_index"])] = item.get("feature_id") or "", kind
    ordered = [found_features.get(i, ("", FLOAT)) for i in range(max(found_features, default=-1) + 1)]
    refuse_kinds([kind for _, kind in ordered])
    bias = np.atleast_1d(np.asarray(bias, np.float64))
    questions = _Questions(features, document.get("ctr_data") or {}, len(ordered))
    if "oblivious_trees" in document:
        trees = document["oblivious_trees"]
        asked = [questions.numbers(tree["splits"] or []) for tree in trees]
        flat = np.concatenate([np.asarray(tree["leaf_values"], np.float64) for tree in trees] or [np.zeros(0)])
        leaves = sum(2 ** len(a) for a in asked)
        outputs = len(flat) // leaves if leaves else len(bias)
        table = oblivious(asked, flat.reshape(-1, outputs), questions.splits)
    else:
        nodes = _Nodes(questions)
        roots = np.array([nodes.add(tree) for tree in document["trees"]], np.int64)
        outputs = len(nodes.values[0]) if nodes.values else len(bias)
        values = np.array(nodes.values, np.float64).reshape(-1, outputs)
        asked_by, yes, no = (np.array(a, np.int64) for a in (nodes.asked, nodes.yes, nodes.no))
        table = free_form(asked_by, yes, no, roots, values, questions.splits)
    info = document.get("model_info", {})
    found = describe(info, outputs, float(scale), np.resize(bias, outputs), [name for name, _ in ordered])
    found.table, found.columns, found.kinds = table, questions.splits.columns, [kind for _, kind in ordered]
    for item in features.get("cat_features_hash", ()):
        found.texts.setdefault(int(item["hash"]) & 0xFFFFFFFF, []).append(str(item["value"]))
    return found


class _Questions:
    """Numbers the questions as they come."""

    def __init__(self, features: Mapping[str, Any], counts: Mapping[str, Any], width: int):
        self.splits = Splits(width)
        floats = features.get("float_features", ())
        self.flat = {int(f["feature_index"]): int(f["flat_feature_index"]) for f in floats}
        self.as_true = {int(f["feature_index"]): f.get("nan_value_treatment") == "AsTrue" for f in floats}
        self.one_hot = {
            int(f["feature_index"]): OneHot(int(f["feature_index"]), np.array(f["values"], np.int64) & 0xFFFFFFFF)
            for f in features.get("categorical_features", ())
            if "values" in f
        }
        self.statistics: list[tuple[Ctr, np.ndarray]] = []
        for item in features.get("ctrs", ()):
            found = _statistic(item, _counts(counts[item["identifier"]]), self.as_true)
            self.statistics += [(found, np.asarray(item["borders"], np.float32))] * len(item["borders"])
        # questions are numbered: borders of numbers, categories, statistics
        self.first = sum(len(f.get("borders") or ()) for f in floats) + sum(
            len(c.hashes) for c in self.one_hot.values()
        )

    def number(self, split: Mapping[str, Any]) -> int:
        """The number of one question."""
        kind = split["split_type"]
        if kind == "FloatFeature":
            index = int(split["float_feature_index"])
            self.splits.above(self.flat[index], [float(np.float32(split["border"]))], self.as_true[index])
        elif kind == "OneHotFeature":
            choice = self.one_hot[int(split["cat_feature_index"])]
            self.splits.one_hot(choice, [int(split["value"]) & 0xFFFFFFFF])
        elif kind == "OnlineCtr":
            border = np.float32(split["border"])
            column, borders = self.statistics[int(split["split_index"]) - self.first]
            if border not in borders:
                raise CaptureError(
                    "a question about categories has another number than its border: the model is damaged"
                )
            self.splits.statistic(column, [float(border)])
        else:
            self.splits.refused(f"{kind} (of texts or embeddings)", 1)
        return len(self.splits.rows) - 1

    def numbers(self, splits: Sequence[Mapping[str, Any]]) -> np.ndarray:
        """The numbers of several questions."""
        return np.array([self.number(s) for s in splits], np.int64)


def _statistic(item: Mapping[str, Any], table: Table, as_true: Mapping[int, bool]) -> Ctr:
    return Ctr(
        tuple(_element(e, as_true) for e in item["elements"]),
        str(item["ctr_type"]),
        border=int(item.get("target_border_idx", 0)),
        prior=(float(item["prior_numerator"]), float(item["prior_denomerator"])),
        shift=float(item["shift"]),
        scale=float(item["scale"]),
        table=table,
    )


def _element(part: Mapping[str, Any], as_true: Mapping[int, bool]) -> Element:
    kind = part["combination_element"]
    if kind == "cat_feature_value":
        return Element("category", int(part["cat_feature_index"]))
    if kind == "cat_feature_exact_value":
        return Element("equal", int(part["cat_feature_index"]), int(part["value"]) & 0xFFFFFFFF)
    if kind == "float_feature":
        feature = int(part["float_feature_index"])
        return Element("above", feature, float(np.float32(part["border"])), as_true.get(feature, False))
    raise CaptureError(f"the part {kind!r} of a statistic of categories is not known")


def _counts(value: Mapping[str, Any]) -> Table:
    """A table: the hash and the counts of each combination, one after the other."""
    stride = int(value["hash_stride"])
    flat = value["hash_map"]
    hashes = np.array([int(h) for h in flat[::stride]], np.uint64)
    counts = np.array([flat[i::stride] for i in range(1, stride)], np.float64).T.reshape(len(hashes), stride - 1)
    return Table.of(hashes, counts, int(value.get("counter_denominator", 0)))


class _Nodes:
    """Nodes of nested trees as flat lists."""

    def __init__(self, questions: _Questions):
        self.questions = questions
        self.asked: list[int] = []
        self.yes: list[int] = []
        self.no: list[int] = []
        self.values: list[list[float]] = []

    def add(self, node: Mapping[str, Any]) -> int:
        """Adds a tree; gives the child number of its root."""
        if "value" in node:
            value = node["value"]
            self.values.append(value if isinstance(value, list) else [value])
            return ~(len(self.values) - 1)
        at = len(self.asked)
        self.asked.append(self.questions.number(node["split"]))
        self.yes.append(0)
        self.no.append(0)
        self.no[at] = self.add(node["left"])
        self.yes[at] = self.add(node["right"])
        return at
