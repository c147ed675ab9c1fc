"""Operators of ai.onnx.ml: LabelEncoder with tensors (version 4), TreeEnsemble (version 5)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from ..registry import symbolic
from ..schemas import ML_DOMAIN
from .common import refuse

if TYPE_CHECKING:
    from ..builder import GraphBuilder
    from ..value import Value

_LISTS = {ir.DataType.INT64: "int64s", ir.DataType.FLOAT: "floats", ir.DataType.STRING: "strings"}
_INTEGERS = {ir.DataType.INT16, ir.DataType.INT32, ir.DataType.INT64}


@symbolic("onnx", "ai.onnx.ml.LabelEncoder", until=19)
def label_encoder(
    g: GraphBuilder,
    X: Value,
    keys_tensor: ir.TensorProtocol | None = None,
    values_tensor: ir.TensorProtocol | None = None,
    default_tensor: ir.TensorProtocol | None = None,
    **lists: Any,
) -> Any:
    """(X, keys, values, default) -> values of the keys; below ai.onnx.ml 4 lists only"""
    if keys_tensor is not None:
        kind = ir.DataType.INT64 if keys_tensor.dtype in _INTEGERS else keys_tensor.dtype
        if kind not in _LISTS:
            refuse(g, "ai.onnx.ml.LabelEncoder", f"keys of type {kind.name}", 20)
        lists[f"keys_{_LISTS[kind]}"] = _entries(keys_tensor)
        X = X if X.element == kind else g.Cast(X, to=kind)
    result_type = None
    for name, tensor in (("values", values_tensor), ("default", default_tensor)):
        if tensor is None:
            continue
        kind = ir.DataType.INT64 if tensor.dtype in _INTEGERS else tensor.dtype
        if kind not in _LISTS:
            refuse(g, "ai.onnx.ml.LabelEncoder", f"{name} of type {kind.name}", 20)
        result_type = tensor.dtype
        entries = _entries(tensor)
        if name == "values":
            lists[f"values_{_LISTS[kind]}"] = entries
        else:
            lists[f"default_{_LISTS[kind][:-1]}"] = entries[0]
    y = g.raw("LabelEncoder", X, domain=ML_DOMAIN, **lists)
    return y if result_type in (None, y.element) else g.Cast(y, to=result_type)


def _entries(tensor: ir.TensorProtocol) -> list[Any]:
    values = tensor.numpy().reshape(-1).tolist()
    return [v.decode() if isinstance(v, bytes) else v for v in values]


@symbolic("onnx", "ai.onnx.ml.Normalizer")
def normalizer(g: GraphBuilder, X: Value, norm: str = "MAX") -> Any:
    """(X, norm) -> rows divided by their norm; rows of zeros stay

    onnxruntime's L2 loses the signs where it writes over its operand, which it does once sizes are known: written out.
    """
    if norm != "L2":
        return NotImplemented
    x = X if X.element is ir.DataType.FLOAT else g.Cast(X, to=ir.DataType.FLOAT)
    square = g.ReduceSumSquare(x, [-1])
    return g.Div(x, g.Sqrt(g.Where(g.Equal(square, 0.0), 1.0, square)))


# --- trees -----------------------------------------------------------------------------------------------------------

_MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
_MEMBER = 6
_MOST_COPIES = 4096


@dataclass
class _Trees:
    """The columns of TreeEnsembleRegressor."""

    nodes: list[tuple[int, int, int, float, str, int, int, int]] = field(default_factory=list)
    leaves: list[tuple[int, int, int]] = field(default_factory=list)  # tree, node, leaf of the source
    tree: int = -1
    count: int = 0

    def start(self) -> None:
        self.tree, self.count = self.tree + 1, 0

    def number(self) -> int:
        self.count += 1
        return self.count - 1


@symbolic("onnx", "ai.onnx.ml.TreeEnsemble", until=20)
def tree_ensemble(
    g: GraphBuilder,
    X: Value,
    n_targets: int = 1,
    aggregate_function: int = 1,
    post_transform: int = 0,
    **columns: Any,
) -> Any:
    """(X, ...) -> sums of leaves; below ai.onnx.ml 5 as TreeEnsembleRegressor, which compares and adds in float"""
    name = "ai.onnx.ml.TreeEnsemble"
    if post_transform:
        refuse(g, name, "attribute post_transform", 21)
    weights = columns["leaf_weights"].numpy().astype(np.float64)
    wide = X.element is ir.DataType.DOUBLE
    if X.element is not ir.DataType.FLOAT and not wide:
        refuse(g, name, f"X of type {X.element.name}", 21)
    roots = list(columns["tree_roots"])
    if wide and g.ml_opset < 3:
        refuse(g, name, "X of type DOUBLE", 16)
    gathered = wide and not _adds_in_float(weights, len(roots), aggregate_function)
    trees = _Trees()
    members = _member_sets(columns)
    for root in roots:
        trees.start()
        _copy(g, trees, columns, members, root)
    if gathered:
        if aggregate_function > 1:
            refuse(g, name, "attribute aggregate_function of DOUBLE leaves", 21)
        found = _gathered(g, X, trees, weights, columns["leaf_targetids"], n_targets)
        return found if aggregate_function else g.Div(found, float(len(roots)))
    leaves = [(t, n, columns["leaf_targetids"][leaf], float(weights[leaf])) for t, n, leaf in trees.leaves]
    y = _regressor(g, X, trees, leaves, n_targets, aggregate_function)
    return g.Cast(y, to=X.element) if wide else y


def _gathered(g: GraphBuilder, x: Value, trees: _Trees, weights: np.ndarray, targets: list[int], n_targets: int) -> Any:
    """The trees tell the number of the leaf, which float holds exactly; the double weights are looked up by it."""
    leaves = [(t, n, t, float(leaf)) for t, n, leaf in trees.leaves]
    numbers = g.Cast(_regressor(g, x, trees, leaves, trees.tree + 1, 1), to=ir.DataType.INT64)
    weight = g.Unsqueeze(g.Gather(weights, numbers, axis=0), [2])
    target = g.Unsqueeze(g.Gather(np.array(targets, np.int64), numbers, axis=0), [2])
    hits = g.Equal(target, np.arange(n_targets, dtype=np.int64))
    return g.ReduceSum(g.Where(hits, weight, np.zeros((), np.float64)), [1], keepdims=0)


def _adds_in_float(weights: np.ndarray, trees: int, aggregate: int) -> bool:
    """Whether float holds the leaves' sums (or whatever they are aggregated to) exactly."""
    if aggregate in (2, 3) or trees == 1:  # minimum, maximum
        return bool(np.all(weights == weights.astype(np.float32)))
    whole = bool(np.all(weights == np.rint(weights)))
    return aggregate == 1 and whole and float(np.abs(weights).max(initial=0)) * trees < 2**24


def _member_sets(columns: dict[str, Any]) -> dict[int, list[float]]:
    """Values of each MEMBER node: they lie one after the other, NaN between."""
    modes = columns["nodes_modes"].numpy().reshape(-1)
    nodes = [i for i, mode in enumerate(modes) if mode == _MEMBER]
    if not nodes:
        return {}
    sets: list[list[float]] = [[]]
    for value in columns["membership_values"].numpy().reshape(-1).tolist():
        if np.isnan(value):
            sets.append([])
        else:
            sets[-1].append(value)
    return dict(zip(nodes, sets, strict=False))


def _copy(g: GraphBuilder, trees: _Trees, columns: dict[str, Any], members: dict[int, list[float]], root: int) -> None:
    """Copies one tree; a node that tests membership becomes a chain of equalities."""
    splits, modes = (columns[k].numpy().reshape(-1) for k in ("nodes_splits", "nodes_modes"))
    tracks = columns.get("nodes_missing_value_tracks_true") or [0] * len(modes)
    features = columns["nodes_featureids"]
    is_single_leaf = (
        columns["nodes_trueleafs"][root]
        and columns["nodes_falseleafs"][root]
        and (columns["nodes_truenodeids"][root] == columns["nodes_falsenodeids"][root])
    )
    todo: list[tuple[int, bool, int]] = [(root, False, trees.number())]
    if is_single_leaf:
        todo = [(columns["nodes_truenodeids"][root], True, 0)]
    while todo:
        source, is_leaf, number = todo.pop()
        if is_leaf:
            trees.nodes.append((trees.tree, number, 0, 0.0, "LEAF", 0, 0, 0))
            trees.leaves.append((trees.tree, number, source))
            continue
        true = (columns["nodes_truenodeids"][source], bool(columns["nodes_trueleafs"][source]))
        false = (columns["nodes_falsenodeids"][source], bool(columns["nodes_falseleafs"][source]))
        mode = int(modes[source])
        tests = members.get(source, []) if mode == _MEMBER else [float(splits[source])]
        text = "BRANCH_EQ" if mode == _MEMBER else _MODES[mode]
        if trees.count > _MOST_COPIES * (1 + len(modes)) or not tests:
            refuse(g, "ai.onnx.ml.TreeEnsemble", "sets of this size in nodes_modes MEMBER", 21)
        for i, value in enumerate(tests):
            yes, no = trees.number(), trees.number()
            trees.nodes.append((trees.tree, number, features[source], value, text, yes, no, tracks[source]))
            todo.append((*true, yes))
            number = no
            if i == len(tests) - 1:
                todo.append((*false, no))


def _regressor(
    g: GraphBuilder, x: Value, trees: _Trees, leaves: list[tuple[int, int, int, float]], n_targets: int, aggregate: int
) -> Value:
    tree, number, feature, value, mode, true, false, missing = map(list, zip(*trees.nodes, strict=True))
    leaf_tree, leaf_node, target, weight = map(list, zip(*leaves, strict=True))
    if x.element is ir.DataType.DOUBLE:
        numbers: dict[str, Any] = {
            "nodes_values_as_tensor": ir.tensor(np.array(value, np.float64)),
            "target_weights_as_tensor": ir.tensor(np.array(weight, np.float64)),
        }
    else:
        numbers = {"nodes_values": value, "target_weights": weight}
    y: Value = g.raw(
        "TreeEnsembleRegressor", x, domain=ML_DOMAIN, n_targets=n_targets, nodes_treeids=tree, nodes_nodeids=number,
        nodes_featureids=feature, nodes_modes=mode, nodes_truenodeids=true, nodes_falsenodeids=false,
        nodes_missing_value_tracks_true=missing, target_treeids=leaf_tree, target_nodeids=leaf_node, target_ids=target,
        aggregate_function=("AVERAGE", "SUM", "MIN", "MAX")[aggregate], **numbers,
    )  # fmt: skip
    return y
