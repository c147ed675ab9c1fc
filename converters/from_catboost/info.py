"""What a CatBoost file says about its model besides the trees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...symbolic.ml.trees import TreeTable
from .model import CatModel

#: Loss functions of classifiers.
CLASSIFICATION = frozenset({"Logloss", "CrossEntropy", "MultiClass", "MultiClassOneVsAll", "Focal"})
MULTILABEL = frozenset({"MultiLogloss", "MultiCrossEntropy"})
_NOTHING = np.zeros(0, np.int64)
_EMPTY = TreeTable(
    features=0,
    narrow=True,
    feature=_NOTHING,
    threshold=np.zeros(0),
    mode=_NOTHING,
    yes=_NOTHING,
    no=_NOTHING,
    missing_yes=np.zeros(0, bool),
    split_tree=_NOTHING,
    leaf_tree=_NOTHING,
    roots=_NOTHING,
    values=np.zeros((0, 1)),
    targets=1,
)


def describe(info: Mapping[str, Any], outputs: int, scale: float, bias: np.ndarray, names: Sequence[str]) -> CatModel:
    """The model without its trees.

    Args:
        info: The file's own dictionary.
        outputs: Number of raw scores.
        scale: Factor on the sum of the leaves.
        bias: Constant of each raw score.
        names: Names of all features.
    """
    params = info.get("params") or {}
    loss = str((params.get("loss_function") or {}).get("type", "")) if isinstance(params, Mapping) else ""
    classes = info.get("class_params") or {}
    found = CatModel(
        loss=loss,
        outputs=outputs,
        scale=scale,
        bias=np.asarray(bias, np.float64),
        features=len(names),
        table=_EMPTY,
        threshold=float(info.get("binclass_probability_threshold", 0.5)),
        names=list(names) if all(names) else None,
    )
    if loss in CLASSIFICATION:
        found.classes = _labels(classes, outputs)
    return found


def _labels(classes: Mapping[str, Any], outputs: int) -> np.ndarray:
    """The class labels, in the dtype in which the training data had them."""
    names = classes.get("class_names") or []
    kind = classes.get("class_label_type", "Integer")
    if not names:
        names = list(range(max(outputs, 2)))
    if len(names) != max(outputs, 2):
        ends = classes.get("class_to_label") or names
        names = [names[int(i)] for i in ends] if len(ends) == max(outputs, 2) else names
    if kind == "String" or any(isinstance(n, str) for n in names):
        return np.array([str(n) for n in names], object)
    if kind == "Boolean":
        return np.array([bool(n) for n in names])
    if kind == "Float" and not all(float(n).is_integer() for n in names):
        return np.array(names, np.float64)
    return np.array(names, np.int64 if kind != "Float" else np.float64)
