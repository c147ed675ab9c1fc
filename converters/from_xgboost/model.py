"""An XGBoost model as its file says it: parameters, and trees as one table."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from ...symbolic.errors import CaptureError
from ...symbolic.ml.trees import Mode, TreeTable, broken_links, from_nodes
from .ubj import UbjError, read_ubj

_LAST_CATEGORY = 2**24
#: Arrays of a tree that only training looks at.
_UNUSED = frozenset({"loss_changes", "parents"})


@dataclass
class XgbModel:
    """What predicts.

    Attributes:
        booster: gbtree, dart or gblinear.
        objective: Name of the objective.
        parameters: The objective's own parameters.
        start: What the sum of each output starts from, float32.
        features: Number of features.
        outputs: Number of outputs.
        table: The trees; None for gblinear.
        weights: gblinear: [features + 1, outputs], the biases last.
        names: Names of the features, where there are some.
        categorical: Features that hold category codes.
        wrapper: ``classifier``, ``regressor`` or ``ranker`` where a scikit-learn wrapper saved the file; else empty.
        classes: Number of classes of a classifier.
        rounds: First and end of the boosting rounds whose trees are in the table.
        version: Release that wrote it.
        labels: Labels of the categories of each feature that held some in the DataFrame of the fit (from release 3.1).
    """

    booster: str
    objective: str
    parameters: dict[str, Any]
    start: np.ndarray
    features: int
    outputs: int
    table: TreeTable | None = None
    weights: np.ndarray | None = None
    names: list[str] | None = None
    categorical: list[int] = field(default_factory=list)
    wrapper: str = ""
    classes: int = 0
    rounds: tuple[int, int] = (0, 0)
    version: str = ""
    labels: dict[int, list[Any]] = field(default_factory=dict)


def parse(data: bytes | bytearray) -> dict[str, Any]:
    """The document of a ``.json`` or ``.ubj`` file.

    Raises:
        CaptureError: It is damaged, or no XGBoost model.
    """
    try:
        found = json.loads(data) if re.match(rb'\s*\{\s*"', data) else read_ubj(data, _UNUSED)
    except (UbjError, ValueError) as error:
        raise CaptureError(f"the XGBoost model can't be read: {error}") from error
    if not isinstance(found, dict) or "learner" not in found:
        raise CaptureError("the document is no XGBoost model: it has no learner")
    return found


def read_model(document: Mapping[str, Any], rounds: tuple[int, int] | None = None) -> XgbModel:
    """The model in a document.

    Args:
        document: What `parse` gave.
        rounds: Use the trees of these rounds only, first and end; None: as whoever loads the file predicts (a
            scikit-learn wrapper stops at the best round of early stopping, a plain booster takes all).

    Raises:
        CaptureError: A part is missing or doesn't fit the others.
    """
    try:
        return _model(document, rounds)
    except (KeyError, IndexError, TypeError) as error:
        raise CaptureError(f"the XGBoost model is damaged or of an unknown release: {error!r}") from error


def _model(document: Mapping[str, Any], rounds: tuple[int, int] | None) -> XgbModel:
    learner = document["learner"]
    shape = learner["learner_model_param"]
    objective = dict(learner["objective"])
    booster = learner["gradient_booster"]
    classes, targets = int(shape["num_class"]), int(shape.get("num_target", 1))
    outputs = max(classes, targets, 1)
    attributes = learner.get("attributes", {})
    name = objective.pop("name")
    parameters = {k: v for group in objective.values() if isinstance(group, Mapping) for k, v in group.items()}
    found = XgbModel(
        booster=booster["name"],
        objective=name,
        parameters=parameters,
        start=_start(str(shape["base_score"]), name, outputs),
        features=int(shape["num_feature"]),
        outputs=outputs,
        names=list(learner.get("feature_names") or []) or None,
        categorical=[i for i, t in enumerate(learner.get("feature_types") or []) if t == "c"],
        wrapper=_wrapper(attributes),
        classes=max(classes, 2),
        version=".".join(str(v) for v in document.get("version", ())),
    )
    if rounds is None and found.wrapper and found.booster != "gblinear" and "best_iteration" in attributes:
        rounds = 0, int(attributes["best_iteration"]) + 1
    if found.booster == "gblinear":
        weights = np.asarray(booster["model"]["weights"], np.float32)
        found.weights = weights.reshape(found.features + 1, outputs)
    elif found.booster in ("gbtree", "dart"):
        _read_trees(found, booster, rounds)
        found.labels = _labels((booster["gbtree"] if found.booster == "dart" else booster)["model"].get("cats", {}))
    else:
        raise CaptureError(f"the booster {found.booster!r} of XGBoost is not known")
    return found


def _labels(container: Mapping[str, Any]) -> dict[int, list[Any]]:
    """The labels of each feature's categories."""
    found: dict[int, list[Any]] = {}
    for feature, encoded in enumerate(container.get("enc", ())):
        values, offsets = encoded["values"], encoded.get("offsets")
        if offsets is None:
            found[feature] = np.asarray(values).tolist()
        elif len(offsets):
            text = np.asarray(values).astype(np.uint8).tobytes()
            ends = [int(o) for o in offsets]
            found[feature] = [text[a:b].decode("utf-8", "replace") for a, b in pairwise(ends)]
    return {feature: labels for feature, labels in found.items() if labels}


def is_ascii(labels: Sequence[Any]) -> bool:
    """Whether no label has characters outside ASCII."""
    return all(not isinstance(v, str) or v.isascii() for v in labels)


def as_kept(labels: Sequence[str]) -> list[str]:
    """Labels as XGBoost keeps them: release 3.2 cuts their UTF-8 bytes where their characters would end."""
    data = "".join(labels).encode("utf-8")
    ends = [0, *np.cumsum([len(label) for label in labels]).tolist()]
    return [data[a:b].decode("utf-8", "replace") for a, b in pairwise(ends)]


def _wrapper(attributes: Mapping[str, str]) -> str:
    """The kind of scikit-learn estimator that saved the file."""
    text = attributes.get("scikit_learn", "")
    return str(json.loads(text).get("_estimator_type") or "regressor") if text else ""


def _start(text: str, objective: str, outputs: int) -> np.ndarray:
    """``ProbToMargin`` of the intercept, in float32."""
    score = np.array([float(t) for t in text.strip("[] ").split(",")], np.float32)
    one = np.float32(1)
    if objective in ("binary:logistic", "reg:logistic"):
        near = np.float32(1e-6)  # a probability of 0 or 1 (of a y with one class) is moved by this much
        score = np.clip(score, near, one - near)
        score = -np.log(one / score - one)
    elif objective in ("count:poisson", "reg:gamma", "reg:tweedie", "survival:cox", "survival:aft"):
        with np.errstate(divide="ignore"):
            score = np.log(score.astype(np.float64)).astype(np.float32)
    if len(score) not in (1, outputs):
        raise CaptureError(f"the model has {len(score)} intercepts for {outputs} outputs")
    return np.broadcast_to(score, outputs).astype(np.float32)


def _read_trees(found: XgbModel, booster: Mapping[str, Any], rounds: tuple[int, int] | None) -> None:
    own = booster["gbtree"] if found.booster == "dart" else booster
    model = own["model"]
    trees: Sequence[Mapping[str, Any]] = model["trees"]
    groups = np.asarray(model["tree_info"], np.int64)
    weights = np.asarray(booster.get("weight_drop", ()), np.float32)
    found.rounds, used = _rounds(found, model, rounds)
    trees, groups = trees[used], groups[used]
    found.table = _table(found, trees, groups)
    if len(weights):
        # the product of a leaf and its tree's weight is rounded to float32
        values = found.table.values.astype(np.float32) * weights[used][found.table.leaf_tree, None]
        found.table.values = values.astype(np.float64)


def _rounds(found: XgbModel, model: Mapping[str, Any], rounds: tuple[int, int] | None) -> tuple[tuple[int, int], slice]:
    """The rounds that there are of those, and the trees in them."""
    count = len(model["trees"])
    if "iteration_indptr" in model:
        ends = [int(e) for e in model["iteration_indptr"]]
    else:  # before release 2.0
        each = found.outputs * max(1, int(model["gbtree_model_param"].get("num_parallel_tree", 1)))
        ends = list(range(0, count + 1, each))
    first, end = (min(r, len(ends) - 1) for r in rounds or (0, len(ends) - 1))
    return (first, end), slice(ends[first], ends[end])


def _joined(trees: Sequence[Mapping[str, Any]], key: str, dtype: Any) -> np.ndarray:
    if not trees:
        return np.zeros(0, dtype)
    return np.concatenate([np.asarray(t[key], dtype) for t in trees])


def _table(found: XgbModel, trees: Sequence[Mapping[str, Any]], groups: np.ndarray) -> TreeTable:
    counts = [len(t["left_children"]) for t in trees]
    left, right = _joined(trees, "left_children", np.int32), _joined(trees, "right_children", np.int32)
    condition = _joined(trees, "split_conditions", np.float32)
    by_set = _by_category(trees, len(left))
    is_leaf = left == -1
    width = int(trees[0]["tree_param"].get("size_leaf_vector", 1) or 1) if trees else 1
    vector = width > 1
    # a category split sends what is in the set to the right child
    yes, no = (np.where(by_set, right, left), np.where(by_set, left, right)) if by_set.any() else (left, right)
    feature = _joined(trees, "split_indices", np.int32)
    default_left = _joined(trees, "default_left", bool)
    _check(counts, left, right, feature, condition, default_left)
    table = from_nodes(
        counts,
        features=found.features,
        narrow=True,
        left=yes,
        right=no,
        is_leaf=is_leaf,
        feature=feature,
        threshold=condition,
        missing_left=default_left ^ by_set,
        values=_vectors(trees, width) if vector else condition.reshape(-1, 1),
        targets=found.outputs,
        tree_target=None if vector else groups,
        mode=np.where(by_set, np.uint8(Mode.MEMBER), np.uint8(Mode.LT)),
        members=_sets(trees, counts),
        rows=_weights(trees, counts),
    )
    problem = broken_links(table)
    if problem:
        raise CaptureError(f"the XGBoost model is damaged: {problem}")
    return table


def _weights(trees: Sequence[Mapping[str, Any]], counts: list[int]) -> np.ndarray | None:
    """The weight of the training rows at each node; None where the file doesn't tell it."""
    told = all(len(t.get("sum_hessian", ())) == count for t, count in zip(trees, counts, strict=True))
    return _joined(trees, "sum_hessian", np.float32) if told else None


def _check(counts: list[int], left: np.ndarray, *others: np.ndarray) -> None:
    """Refuses nodes that point outside their tree, and arrays of different lengths."""
    if any(len(o) != len(left) for o in others):
        raise CaptureError("the XGBoost model is damaged: the arrays of its trees have different lengths")
    sizes, split = np.repeat(np.asarray(counts, np.int32), counts), left != -1
    for child in (left, others[0]):
        outside = ((child <= 0) | (child >= sizes)) & split
        if outside.any():
            raise CaptureError(f"{int(outside.sum())} nodes of the trees point nowhere: the model is damaged")


def _by_category(trees: Sequence[Mapping[str, Any]], nodes: int) -> np.ndarray:
    if not trees or "split_type" not in trees[0]:
        return np.zeros(nodes, bool)
    found: np.ndarray = _joined(trees, "split_type", np.int8) == 1
    found &= _joined(trees, "left_children", np.int32) != -1
    return found


def _sets(trees: Sequence[Mapping[str, Any]], counts: list[int]) -> dict[int, np.ndarray]:
    """The categories that go right at each category split, by node number through all trees."""
    found: dict[int, np.ndarray] = {}
    first = 0
    for tree, count in zip(trees, counts, strict=True):
        nodes = np.asarray(tree.get("categories_nodes", ()), np.int64)
        if len(nodes):
            categories = np.asarray(tree["categories"], np.int64)
            starts, sizes = tree["categories_segments"], tree["categories_sizes"]
            for node, start, size in zip(nodes, starts, sizes, strict=True):
                own = categories[int(start) : int(start) + int(size)]
                found[first + int(node)] = own[own < _LAST_CATEGORY].astype(np.float64)
        first += count
    return found


def _vectors(trees: Sequence[Mapping[str, Any]], width: int) -> np.ndarray:
    """Values of trees whose leaves hold one for each output: [nodes, outputs]."""
    parts = []
    for tree in trees:
        left, right = np.asarray(tree["left_children"], np.int64), np.asarray(tree["right_children"], np.int64)
        if "leaf_weights" not in tree:  # before release 3.2
            parts.append(np.asarray(tree["base_weights"], np.float32).reshape(len(left), width))
            continue
        own = np.asarray(tree["leaf_weights"], np.float32).reshape(-1, width)
        values = np.zeros((len(left), width), np.float32)
        leaf = np.flatnonzero(left == -1)
        # a leaf keeps the number of its vector in place of its right child
        values[leaf] = own[right[leaf]] if len(own) > 1 or len(leaf) > 1 else own
        parts.append(values)
    return np.concatenate(parts)
