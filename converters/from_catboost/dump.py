"""Reads CatBoost's JSON files, which say the same as its binary ones."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...symbolic.errors import CaptureError
from .info import describe
from .model import CatModel, Splits, free_form, oblivious

_KINDS = {"OneHotFeature": "one-hot splits", "OnlineCtr": "target statistics (CTR)"}


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
    names: dict[int, str] = {}
    for group in document["features_info"].values():
        for item in group:
            if "flat_feature_index" in item:
                names[int(item["flat_feature_index"])] = item.get("feature_id") or ""
    width = max(names, default=-1) + 1
    bias = np.atleast_1d(np.asarray(bias, np.float64))
    questions = _Questions(document["features_info"].get("float_features", []))
    if "oblivious_trees" in document:
        trees = document["oblivious_trees"]
        asked = [questions.numbers(tree["splits"] or []) for tree in trees]
        flat = np.concatenate([np.asarray(tree["leaf_values"], np.float64) for tree in trees] or [np.zeros(0)])
        leaves = sum(2 ** len(a) for a in asked)
        outputs = len(flat) // leaves if leaves else len(bias)
        splits = questions.splits()
        table = oblivious(asked, flat.reshape(-1, outputs), splits, width)
    else:
        nodes = _Nodes(questions)
        roots = np.array([nodes.add(tree) for tree in document["trees"]], np.int64)
        outputs = len(nodes.values[0]) if nodes.values else len(bias)
        values = np.array(nodes.values, np.float64).reshape(-1, outputs)
        asked_by, yes, no = (np.array(a, np.int64) for a in (nodes.asked, nodes.yes, nodes.no))
        table = free_form(asked_by, yes, no, roots, values, questions.splits(), width)
    info = document.get("model_info", {})
    found = describe(info, outputs, float(scale), np.resize(bias, outputs), [names.get(i, "") for i in range(width)])
    found.table = table
    return found


class _Questions:
    """Numbers the questions as they come."""

    def __init__(self, features: Sequence[Mapping[str, Any]]):
        self.flat = {int(f["feature_index"]): int(f["flat_feature_index"]) for f in features}
        self.as_true = {int(f["feature_index"]): f.get("nan_value_treatment") == "AsTrue" for f in features}
        self.rows: list[tuple[int, float, bool, str]] = []

    def number(self, split: Mapping[str, Any]) -> int:
        """The number of one question."""
        kind = split["split_type"]
        if kind == "FloatFeature":
            index = int(split["float_feature_index"])
            row = (self.flat[index], float(np.float32(split["border"])), self.as_true[index], "")
        else:
            row = (0, 0.0, False, _KINDS.get(kind, kind) + " of categorical features")
        self.rows.append(row)
        return len(self.rows) - 1

    def numbers(self, splits: Sequence[Mapping[str, Any]]) -> np.ndarray:
        """The numbers of several questions."""
        return np.array([self.number(s) for s in splits], np.int64)

    def splits(self) -> Splits:
        """All questions so far."""
        feature, threshold, missing, problem = zip(*self.rows, strict=True) if self.rows else ((), (), (), ())
        return Splits(np.array(feature, np.int64), np.array(threshold), np.array(missing, bool), list(problem))


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
