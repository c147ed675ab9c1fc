"""Tree tables as ONNX: TreeEnsemble from ai.onnx.ml 5 on, TreeEnsembleRegressor below.

Every comparison gives the source's answer on every row. Sums are taken in double: votes in the order of the trees, as
ties hang on it; single values (boosting, regression) in the order that the runtime's threads take.


* the source compares float32: thresholds are moved to the float32 below (or above) them, which changes no answer;
* the source compares doubles: TreeEnsemble compares doubles too; TreeEnsembleRegressor can from ai.onnx.ml 3 on; before
  that, rows and thresholds are replaced by their ranks among a feature's thresholds, which are small whole numbers;
* TreeEnsembleRegressor gives float32 only, and a leaf has one value only in TreeEnsemble: where that is not enough, the
  trees give the numbers of the leaves, which float32 holds exactly, and the leaves' values are gathered by them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx_ir as ir

from ..builder import GraphBuilder
from ..dims import Size
from ..errors import OpsetError
from ..schemas import ML_DOMAIN
from ..value import Value, tensor_type
from .numbers import floats, ints
from .trees import Mode, TreeTable, narrowed, with_constant, with_split_roots
from .turning import turned

_EXACT_IN_FLOAT = 2**24


def sum_trees(g: GraphBuilder, x: Value, table: TreeTable) -> Value:
    """Sum of what the trees give, in double: [batch, targets].

    Args:
        x: Rows, [batch, features].
        table: The trees.
    """
    if g.float_trees:
        return _sum_single(g, x, table)
    single = _one_target_each(table)
    if single is not None and _whole(single):
        if _shares_of_two(table):
            return _both_shares(g, x, table)
        return g.Cast(_ensemble(g, x, single), to=ir.DataType.DOUBLE)
    if single is not None and single.target is not None and g.ml_opset >= 5 and table.values.shape[1] == 1:
        return _ensemble(g, x, single, wide_values=True)
    return _sum_gathered(g, x, table)


def _sum_single(g: GraphBuilder, x: Value, table: TreeTable) -> Value:
    """`sum_trees` in float32, given as double."""
    table = replace(table, narrow=True)
    if _shares_of_two(table):
        return _both_shares(g, x, table)
    single = _one_target_each(table)
    if single is not None:
        return g.Cast(_ensemble(g, x, single), to=ir.DataType.DOUBLE)
    terms = g.Gather(g.constant(table.values.astype(np.float32)), leaf_numbers(g, x, table), axis=0)
    return g.Cast(in_order(g, terms, table.values.shape[1]), to=ir.DataType.DOUBLE)


def sum_in_float(g: GraphBuilder, x: Value, table: TreeTable, start: np.ndarray, *, ordered: bool = False) -> Value:
    """Start and trees added up in float32, tree after tree, as XGBoost does: [batch, targets].

    onnxruntime keeps the order with one thread; several threads share the trees out, and the last bits may differ.

    Args:
        x: Rows, [batch, features].
        table: The trees; they compare float32.
        start: What the sum of each output starts from.
        ordered: Keep the order with any number of threads, which takes half as long again.
    """
    single = _one_target_each(table)
    if single is not None and single.target is not None and single.values.shape[1] == 1:
        whole = with_constant(single, start)
        if not ordered:
            return g.Cast(_ensemble(g, x, whole), to=ir.DataType.FLOAT)
        single_values = g.constant(whole.values[:, 0].astype(np.float32))
        return sum_of_terms(g, g.Gather(single_values, leaf_numbers(g, x, whole), axis=0), whole)
    leaves = leaf_numbers(g, x, table)
    values = table.values.astype(np.float32)
    terms = g.Gather(g.constant(values), leaves, axis=0)  # [trees, batch, targets]
    batch: Size = x.dim(0)  # type: ignore[assignment]
    first = g.expand(g.constant(start.astype(np.float32).reshape(1, 1, -1)), [1, batch, table.targets])
    return in_order(g, g.Concat(first, terms, axis=0), values.shape[1])


def leaf_numbers(g: GraphBuilder, x: Value, table: TreeTable) -> Value:
    """The leaf that each row reaches in each tree, numbered through all trees: int32[trees, batch]."""
    first = np.searchsorted(table.leaf_tree, np.arange(table.trees))
    small = table.leaves <= _EXACT_IN_FLOAT
    number = np.arange(table.leaves) - (0 if small else first[table.leaf_tree])
    if number.max(initial=0) > _EXACT_IN_FLOAT:
        raise OpsetError("TreeEnsemble", detail="a tree of more than 2**24 leaves", location=g.location)
    numbered = replace(
        table, values=number.astype(np.float64).reshape(-1, 1), target=table.leaf_tree, targets=table.trees
    )
    by_tree = g.Transpose(_ensemble(g, x, numbered), perm=[1, 0])
    found = g.Cast(by_tree, to=ir.DataType.INT32)
    return found if small else found + first.astype(np.int32).reshape(-1, 1)


def _sum_gathered(g: GraphBuilder, x: Value, table: TreeTable) -> Value:
    leaves = leaf_numbers(g, x, table)
    if table.trees == 1 and table.target is None:
        return g.Gather(g.constant(table.values), g.reshape(leaves, [x.dim(0)]), axis=0)
    if table.target is None:
        return in_order(g, g.Gather(g.constant(table.values), leaves, axis=0), table.values.shape[1])
    return sum_of_terms(g, g.Gather(g.constant(table.values[:, 0].copy()), leaves, axis=0), table)


def sum_of_terms(g: GraphBuilder, terms: Value, table: TreeTable) -> Value:
    """Sum of one term of each tree for the output that it contributes to: [trees, batch] -> [batch, targets]."""
    assert table.target is not None
    tree_target = table.target[np.searchsorted(table.leaf_tree, np.arange(table.trees))]
    rounds, rest = divmod(table.trees, table.targets)
    if rest or not np.array_equal(tree_target, np.tile(np.arange(table.targets), rounds)):
        columns = []
        for k in range(table.targets):  # trees of an output anywhere among the others
            own = g.Gather(terms, np.flatnonzero(tree_target == k), axis=0)
            columns.append(in_order(g, g.Unsqueeze(own, [2]), 1))
        return g.Concat(*columns, axis=1)
    batch: Size = terms.dim(1)  # type: ignore[assignment]
    by_target = g.Transpose(g.reshape(terms, [rounds, table.targets, batch]), perm=[0, 2, 1])
    return in_order(g, by_target, table.targets)


def in_order(g: GraphBuilder, terms: Value, width: int) -> Value:
    """Sum over the first of three axes, term after term.

    The order matters where votes tie. onnxruntime adds whole rows one after the other when it reduces the first axis,
    but not where a row is a single number.
    """
    if width > 1:
        return g.ReduceSum(terms, [0], keepdims=0)
    sums = g.CumSum(terms, np.array(0, np.int64))
    return g.Gather(sums, np.array(-1, np.int64), axis=0)


def _shares_of_two(table: TreeTable) -> bool:
    """Whether the two values of every leaf are shares of one, so that the second tells the first."""
    two = table.target is None and table.values.shape[1] == 2
    return two and bool(np.all(np.abs(table.values.sum(axis=1) - 1) < 1e-12))


def _both_shares(g: GraphBuilder, x: Value, table: TreeTable) -> Value:
    second = replace(table, values=table.values[:, 1:], target=np.zeros(table.leaves, np.int64), targets=1)
    total = g.Cast(_ensemble(g, x, second), to=ir.DataType.DOUBLE)
    return g.Concat(g.Sub(np.float64(table.trees), total), total, axis=1)


# --- which form ----------------------------------------------------------------------------------------------------


def _one_target_each(table: TreeTable) -> TreeTable | None:
    """The same sum with one output for each leaf; None where leaves contribute to several."""
    if table.target is not None:
        return table
    if table.values.shape[1] == 1:
        return replace(table, target=np.zeros(table.leaves, np.int64))
    if np.any(np.count_nonzero(table.values, axis=1) > 1):
        return None
    target = np.argmax(table.values != 0, axis=1)
    return replace(table, target=target, values=np.take_along_axis(table.values, target[:, None], axis=1))


def _whole(table: TreeTable) -> bool:
    """Whether all values are whole numbers so small that float32 sums of them are exact in any order."""
    values = table.values
    return bool(np.all(values == np.rint(values)) and np.abs(values).max(initial=0) * table.trees < _EXACT_IN_FLOAT)


def _ensemble(g: GraphBuilder, x: Value, table: TreeTable, *, wide_values: bool = False) -> Value:
    """The operator: sums of one value per leaf, [batch, targets], double if `wide_values` else maybe float."""
    table = without_empty_sets(table)
    if g.ml_opset >= 5:
        table = with_split_roots(table)
        if any(np.any(np.abs(m) >= 2**31) or np.any(m != np.rint(m)) for m in table.members.values()):
            x, table = ranked(g, _rounded(g, x, table), table)  # onnxruntime keeps sets of whole numbers only
        wide = wide_values or not table.narrow
        rows, table = turned(g, _rounded(g, x, table), table)
        return _tree_ensemble(g, g.Cast(rows, to=ir.DataType.DOUBLE) if wide else rows, table, wide)
    table = without_members(table)
    if table.narrow or x.dtype is ir.DataType.FLOAT:
        rows, table = turned(g, _rounded(g, x, table), table)
        return _tree_regressor(g, rows, table, narrowed(table))
    wide_rows = g.Cast(x, to=ir.DataType.DOUBLE)
    if g.ml_opset >= 3:
        rows, table = turned(g, wide_rows, table)
        return _tree_regressor(g, rows, table, table.threshold)
    rows, table = ranked(g, wide_rows, table)
    return _tree_regressor(g, rows, table, table.threshold.astype(np.float32))


def _rounded(g: GraphBuilder, x: Value, table: TreeTable) -> Value:
    return g.Cast(x, to=ir.DataType.FLOAT) if table.narrow else x


def ranked(g: GraphBuilder, x: Value, table: TreeTable) -> tuple[Value, TreeTable]:
    """Rows and trees with every number replaced by its rank among the numbers its feature is compared with.

    The rank of a number is how many of them lie below it: small whole numbers, which float32 holds and category sets
    take; every answer stays. Where a split tells a number from those below it, the double before it counts as one too.
    """
    sets = [(table.feature[i], members) for i, members in table.members.items()]
    plain = table.mode != Mode.MEMBER
    feature = np.concatenate([table.feature[plain], *(np.full(len(m), f) for f, m in sets)])
    at = np.concatenate([table.threshold[plain], *(m for _, m in sets)])
    below = ~np.isin(table.mode[plain], (Mode.LEQ, Mode.GT))
    below = np.concatenate([below, np.ones(len(at) - len(below), bool)])
    known = ~np.isnan(at)  # NaN, which nothing is equal to, stays
    uniques = []
    for f in range(table.features):
        own = known & (feature == f)
        uniques.append(np.unique(np.concatenate([at[own], np.nextafter(at[own & below], -np.inf)])))
    bounds = np.full((table.features, max(1, *(len(u) for u in uniques))), np.inf)
    for f, unique in enumerate(uniques):
        bounds[f, : len(unique)] = unique

    def rank(numbers: np.ndarray, features: np.ndarray) -> np.ndarray:
        found = np.full(len(numbers), np.nan)
        for f, unique in enumerate(uniques):
            own = (features == f) & ~np.isnan(numbers)
            found[own] = np.searchsorted(unique, numbers[own])
        return found

    wide = g.Cast(x, to=ir.DataType.DOUBLE)
    above = g.Cast(g.Greater(g.Unsqueeze(wide, [2]), bounds), to=ir.DataType.FLOAT)
    rows = g.Where(g.IsNaN(g.Cast(x, to=ir.DataType.FLOAT)), np.float32(np.nan), g.ReduceSum(above, [2], keepdims=0))
    return rows, replace(
        table,
        narrow=True,
        threshold=rank(table.threshold, table.feature),
        members={i: rank(m, np.full(len(m), table.feature[i])) for i, m in table.members.items()},
    )


def without_empty_sets(table: TreeTable) -> TreeTable:
    """The same trees, where an empty category set is EQ to what nothing is equal to."""
    empty = [i for i, members in table.members.items() if not len(members)]
    if not empty:
        return table
    mode, threshold = table.mode.copy(), table.threshold.copy()
    mode[empty], threshold[empty] = Mode.EQ, np.nan
    return replace(table, mode=mode, threshold=threshold, members={i: m for i, m in table.members.items() if len(m)})


def without_members(table: TreeTable) -> TreeTable:
    """The same trees with each category set written as a chain of EQ splits.

    TreeEnsembleRegressor has no set membership. No set may be empty.
    """
    at = np.flatnonzero(table.mode == Mode.MEMBER)
    if not len(at):
        return table
    length = np.ones(len(table.feature), np.int64)
    length[at] = [len(table.members[int(i)]) for i in at]
    first = np.concatenate([[0], np.cumsum(length)[:-1]])
    old = np.repeat(np.arange(len(length)), length)

    def moved(children: np.ndarray) -> np.ndarray:
        return np.where(children < 0, children, first[np.maximum(children, 0)])

    threshold, mode, no = table.threshold[old], table.mode[old], moved(table.no)[old]
    for i in at.tolist():
        start, count = int(first[i]), int(length[i])
        threshold[start : start + count] = table.members[i]
        mode[start : start + count] = Mode.EQ
        no[start : start + count - 1] = np.arange(start + 1, start + count)
    return replace(
        table,
        feature=table.feature[old],
        threshold=threshold,
        mode=mode,
        yes=moved(table.yes)[old],
        no=no,
        missing_yes=table.missing_yes[old],
        split_tree=table.split_tree[old],
        roots=moved(table.roots),
        members={},
        likely_yes=None if table.likely_yes is None else table.likely_yes[old],
    )


# --- the operators -------------------------------------------------------------------------------------------------


def _result(
    g: GraphBuilder, op: str, x: Value, attributes: list[ir.Attr], table: TreeTable, dtype: ir.DataType
) -> Value:
    # emitted as it stands: inference by the standard would serialise the whole forest
    sizes = (x.dim(0), table.targets)
    found = g.emit(ML_DOMAIN, op, [x], {a.name: a for a in attributes}, 1, [(tensor_type(dtype), sizes)])
    return found[0]


def _tree_ensemble(g: GraphBuilder, x: Value, table: TreeTable, wide: bool) -> Value:
    """ai.onnx.ml 5: rows, thresholds and values are all float or all double."""
    kind = np.float64 if wide else np.float32
    thresholds = table.threshold if wide else narrowed(table)
    assert table.target is not None
    attributes = [
        ints("tree_roots", table.roots),
        ints("nodes_featureids", table.feature),
        ir.AttrTensor("nodes_splits", ir.Tensor(thresholds)),
        ir.AttrTensor("nodes_modes", ir.Tensor(table.mode)),
        ints("nodes_truenodeids", np.where(table.yes < 0, ~table.yes, table.yes)),
        ints("nodes_trueleafs", (table.yes < 0).astype(np.int64)),
        ints("nodes_falsenodeids", np.where(table.no < 0, ~table.no, table.no)),
        ints("nodes_falseleafs", (table.no < 0).astype(np.int64)),
        ints("leaf_targetids", table.target),
        ir.AttrTensor("leaf_weights", ir.Tensor(table.values[:, 0].astype(kind))),
        ir.AttrInt64("n_targets", table.targets),
        ir.AttrInt64("aggregate_function", 1),
        ir.AttrInt64("post_transform", 0),
    ]
    if table.missing_yes.any():
        attributes.append(ints("nodes_missing_value_tracks_true", table.missing_yes.astype(np.int64)))
    if table.members:
        sets = [np.append(table.members[i], np.nan) for i in sorted(table.members)]
        attributes.append(ir.AttrTensor("membership_values", ir.Tensor(np.concatenate(sets).astype(kind))))
    return _result(g, "TreeEnsemble", x, attributes, table, ir.DataType.DOUBLE if wide else ir.DataType.FLOAT)


_MODE_NAMES = np.array(["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"], object)


def _tree_regressor(g: GraphBuilder, x: Value, table: TreeTable, thresholds: np.ndarray) -> Value:
    """ai.onnx.ml 1 to 4: splits and leaves of a tree share one numbering, splits first; the result is float."""
    assert table.target is not None
    trees = np.arange(table.trees)
    first_split = np.searchsorted(table.split_tree, trees)
    first_leaf = np.searchsorted(table.leaf_tree, trees)
    splits = np.bincount(table.split_tree, minlength=table.trees)

    def local(children: np.ndarray) -> np.ndarray:
        leaf = ~children - first_leaf[table.split_tree] + splits[table.split_tree]
        found: np.ndarray = np.where(children < 0, leaf, children - first_split[table.split_tree])
        return found

    leaf_node = np.arange(table.leaves) - first_leaf[table.leaf_tree] + splits[table.leaf_tree]
    order = np.argsort(np.concatenate([table.split_tree, table.leaf_tree]), kind="stable")
    nothing = np.zeros(table.leaves, np.int64)

    def both(at_splits: np.ndarray, at_leaves: np.ndarray) -> np.ndarray:
        found: np.ndarray = np.concatenate([at_splits, at_leaves])[order]
        return found

    node_tree = both(table.split_tree, table.leaf_tree)
    values = both(thresholds, nothing.astype(thresholds.dtype))
    attributes = [
        ints("nodes_treeids", node_tree),
        ints("nodes_nodeids", both(np.arange(len(table.feature)) - first_split[table.split_tree], leaf_node)),
        ints("nodes_featureids", both(table.feature, nothing)),
        ir.AttrStrings("nodes_modes", both(_MODE_NAMES[table.mode], np.full(table.leaves, "LEAF", object)).tolist()),
        ints("nodes_truenodeids", both(local(table.yes), nothing)),
        ints("nodes_falsenodeids", both(local(table.no), nothing)),
        ints("nodes_missing_value_tracks_true", both(table.missing_yes.astype(np.int64), nothing)),
        ints("target_treeids", table.leaf_tree),
        ints("target_nodeids", leaf_node),
        ints("target_ids", table.target),
        ir.AttrInt64("n_targets", table.targets),
    ]
    weights = table.values[:, 0]
    if thresholds.dtype == np.float64:
        attributes.append(ir.AttrTensor("nodes_values_as_tensor", ir.Tensor(values)))
        attributes.append(ir.AttrTensor("target_weights_as_tensor", ir.Tensor(np.ascontiguousarray(weights))))
    else:
        attributes += [floats("nodes_values", values), floats("target_weights", weights)]
    return _result(g, "TreeEnsembleRegressor", x, attributes, table, ir.DataType.FLOAT)
