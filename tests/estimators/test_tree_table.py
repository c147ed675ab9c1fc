"""The tree table and its packers, against a plain walk over the trees."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from estimator_check import OPSETS, sessions

from anyonnx.symbolic import GraphBuilder
from anyonnx.symbolic.ml import turning
from anyonnx.symbolic.ml.packing import leaf_numbers, ranked, sum_trees
from anyonnx.symbolic.ml.trees import Mode, TreeTable, ceil32, floor32, with_constant, with_split_roots

FEATURES = 4


def random_table(
    seed: int, *, modes: bool, narrow: bool, outputs: int, votes: bool = False, whole: bool = False
) -> TreeTable:
    """Trees of many shapes (single leaves among them) on few thresholds, so that rows can lie on them."""
    generator = np.random.default_rng(seed)
    points = generator.integers(-3, 4, 6).astype(float) if whole else generator.normal(size=6)
    columns: dict[str, list] = {k: [] for k in ("feature", "threshold", "mode", "yes", "no", "missing", "tree")}
    leaf_tree, roots, members = [], [], {}

    def grow(tree: int, depth: int) -> int:
        if depth == 0 or generator.random() < 0.25:
            leaf_tree.append(tree)
            return ~(len(leaf_tree) - 1)
        at = len(columns["feature"])
        mode = int(generator.choice(7)) if modes else int(Mode.LEQ)
        row = (int(generator.integers(FEATURES)), float(generator.choice(points)), mode, 0, 0)
        for key, value in zip(columns, (*row, bool(generator.random() < 0.5), tree), strict=True):
            columns[key].append(value)
        if mode == Mode.MEMBER:
            members[at] = np.unique(generator.choice(np.float64(np.float32(points)), int(generator.integers(0, 4))))
        columns["yes"][at] = grow(tree, depth - 1)
        columns["no"][at] = grow(tree, depth - 1)
        return at

    trees = 7
    roots = [grow(t, 4) for t in range(trees)]
    values = generator.normal(size=(len(leaf_tree), outputs if votes else 1))
    return TreeTable(
        features=FEATURES,
        narrow=narrow,
        feature=np.array(columns["feature"]),
        threshold=np.array(columns["threshold"]),
        mode=np.array(columns["mode"], np.uint8),
        yes=np.array(columns["yes"]),
        no=np.array(columns["no"]),
        missing_yes=np.array(columns["missing"]),
        split_tree=np.array(columns["tree"]),
        leaf_tree=np.array(leaf_tree),
        roots=np.array(roots),
        values=values,
        targets=outputs,
        target=None if votes else np.array([t % outputs for t in leaf_tree]),
        members=members,
    )


def walk(table: TreeTable, row: np.ndarray, tree: int) -> int:
    at = int(table.roots[tree])
    while at >= 0:
        x = row[table.feature[at]]
        t = table.threshold[at]
        if np.isnan(x):
            holds = table.missing_yes[at]
        else:
            tests = [x <= t, x < t, x >= t, x > t, x == t, x != t, x in table.members.get(at, ())]
            holds = tests[table.mode[at]]
        at = int(table.yes[at] if holds else table.no[at])
    return ~at


def rows_for(table: TreeTable, dtype: str) -> np.ndarray:
    generator = np.random.default_rng(3)
    with np.errstate(over="ignore"):
        points = np.concatenate([table.threshold, *table.members.values()]).astype(dtype)
        around = np.concatenate([points, np.nextafter(points, np.inf), np.nextafter(points, -np.inf)])
    rows = generator.choice(around, (200, FEATURES)).astype(dtype)
    rows[generator.random(rows.shape) < 0.1] = np.nan
    return rows


def run(build, rows: np.ndarray, opset: int) -> list[np.ndarray]:
    g = GraphBuilder(opset)
    g.output(build(g, g.input("X", rows.dtype.name, ("batch", FEATURES))), "Y")
    proto = ir.to_proto(g.build())
    onnx.checker.check_model(proto, full_check=True)
    return [s.run(None, {"X": rows})[0] for s in sessions(proto)]


# NaN meets NEQ in the runtime as "not equal" whatever the missing direction says, so NEQ is left to tests without NaN
@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("narrow", [True, False])
@pytest.mark.parametrize(("modes", "whole"), [(False, False), (True, False), (True, True)])
def test_leaf_numbers(opset, dtype, narrow, modes, whole):
    table = random_table(5, modes=modes, narrow=narrow, outputs=1, whole=whole)
    rows = rows_for(table, dtype)
    if modes:
        rows = np.nan_to_num(rows, nan=0.25)
        rows[::3] += rows.dtype.type(0.5)
    seen = (rows.astype(np.float32) if narrow else rows).astype(np.float64)
    expected = np.array([[walk(table, row, t) for row in seen] for t in range(table.trees)])
    for found in run(lambda g, x: leaf_numbers(g, x, table), rows, opset):
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("votes", [True, False])
def test_sums(opset, outputs, votes):
    table = random_table(8, modes=False, narrow=False, outputs=outputs, votes=votes)
    if not votes:
        table = with_constant(table, np.linspace(-1, 1, outputs))
    rows = rows_for(table, "float64")
    expected = np.zeros((len(rows), outputs))
    for t in range(table.trees):
        for i, row in enumerate(rows):
            leaf = walk(table, row, t)
            if table.target is None:
                expected[i] += table.values[leaf]
            else:
                expected[i, table.target[leaf]] += table.values[leaf, 0]
    for found in run(lambda g, x: sum_trees(g, x, table), rows, opset):
        if votes and outputs > 1:  # in the order of the trees, so bit for bit
            assert np.array_equal(found, expected)
        else:
            assert np.abs(found - expected).max() < 1e-14


_FAR = [0.1, -0.1, 1.0, -1.0, 3.0, 0.0, 1e-40, -1e-300, 1e300, -1e300, 3.4028235e38, np.inf, -np.inf, 16777217.0]
_ODD = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, -1e-45, 3.4028235e38, -3.4028235e38]


def likely_table(kind: str, missing: str, narrow: bool) -> TreeTable:
    """Trees with counts: `kind` is a mode, or "all"; `missing` says where NaN goes."""
    table = with_split_roots(random_table(5, modes=kind == "all", narrow=narrow, outputs=1))
    generator = np.random.default_rng(1)
    count = len(table.feature)
    threshold = generator.choice(_FAR, count)
    if kind != "all":
        table.mode[:] = Mode[kind]
        table.threshold = threshold
    ways = {
        "no": np.zeros(count, bool),
        "any": generator.random(count) < 0.5,
        "as zero": np.where(table.mode < Mode.GTE, table.threshold > 0, table.threshold < 0),
    }
    likely = generator.random(count) < 0.5
    return replace(table, likely_yes=likely, missing_yes=ways.get(missing, likely))


@pytest.mark.parametrize("opset", (11, 17, 21))
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("narrow", [True, False])
@pytest.mark.parametrize(
    ("kind", "missing"),
    [(m, way) for m in ("LEQ", "LT", "GTE", "GT") for way in ("no", "any", "as zero", "likely")] + [("all", "any")],
)
def test_turned_splits_answer_alike(monkeypatch, opset, dtype, narrow, kind, missing):
    monkeypatch.setattr(turning, "_WORTH", 0)
    monkeypatch.setattr(turning, "_PER_FEATURE", 0)
    table = likely_table(kind, missing, narrow)
    rows = rows_for(table, dtype)
    generator = np.random.default_rng(4)
    rows = np.where(generator.random(rows.shape) < 0.2, generator.choice(_ODD, rows.shape), rows).astype(dtype)
    if kind == "all":
        rows = np.nan_to_num(rows, nan=0.25)
    with np.errstate(over="ignore"):
        seen = (rows.astype(np.float32) if narrow else rows).astype(np.float64)
    expected = np.array([[walk(table, row, t) for row in seen] for t in range(table.trees)])
    for found in run(lambda g, x: leaf_numbers(g, x, table), rows, opset):
        assert np.array_equal(found, expected)


def test_big_forests_are_turned():
    def table_of(trees: int, missing: str) -> TreeTable:
        table = likely_table("LEQ", missing, narrow=True)
        table.threshold[:] = np.linspace(-1, 1, len(table.threshold))
        tiled = ("feature", "threshold", "mode", "yes", "no", "missing_yes", "split_tree", "roots", "likely_yes")
        return replace(table, **{k: np.tile(getattr(table, k), trees) for k in tiled})  # only what decides

    def nodes(table: TreeTable, dtype: str) -> tuple[list[str], TreeTable]:
        g = GraphBuilder(21)
        _, found = turning.turned(g, g.input("X", dtype, ("batch", FEATURES)), table)
        return [n.op_type for n in g.nodes], found

    assert nodes(table_of(1, "no"), "float32")[0] == []
    ops, found = nodes(table_of(100, "likely"), "float32")
    assert ops == ["Neg", "Concat"] and not found.missing_yes.any()  # NaN goes the likely way, which is the false one
    ops, found = nodes(table_of(100, "no"), "float32")
    assert ops == ["Imputer", "Neg", "Concat"] and not found.missing_yes.any()
    for given in (replace(table_of(100, "any"), likely_yes=None), table_of(100, "any")):
        ops, found = nodes(given, "float64")
        assert ops == ["Neg", "Concat"] and not found.missing_yes.any()
    assert nodes(replace(table_of(100, "no"), likely_yes=None), "float32")[0] == []


def test_roots_that_are_leaves_get_a_split():
    table = random_table(8, modes=True, narrow=True, outputs=1)
    assert (table.roots < 0).any()
    rooted = with_split_roots(table)
    assert (rooted.roots >= 0).all() and (np.diff(rooted.split_tree) >= 0).all()
    rows = np.nan_to_num(rows_for(table, "float64"), nan=0.5)
    for tree in range(table.trees):
        assert [walk(table, r, tree) for r in rows] == [walk(rooted, r, tree) for r in rows]


def test_float32_bounds():
    values = np.array([0.1, -0.1, 1.0, 1e-50, -1e-50, 1e300, -1e300, np.inf, -np.inf, 16777217.0])
    down, up = floor32(values), ceil32(values)
    assert (down.astype(np.float64) <= values).all() and (up.astype(np.float64) >= values).all()
    exact = down == up
    assert (np.nextafter(down, np.float32(np.inf)) == up)[~exact].all()


def test_ranks_are_small_whole_numbers():
    table = random_table(5, modes=True, narrow=False, outputs=1)
    g = GraphBuilder(11)
    rows, found = ranked(g, g.input("X", "float64", ("batch", FEATURES)), table)
    assert rows.dtype == ir.DataType.FLOAT
    for numbers in (found.threshold[table.mode != Mode.MEMBER], *found.members.values()):
        assert ((numbers >= 0) & (numbers <= 24) & (numbers == np.rint(numbers))).all()
