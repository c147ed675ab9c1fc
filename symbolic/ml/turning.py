"""Trees laid out so that onnxruntime follows them fast.

onnxruntime keeps the false child of a split right behind it, so a row that goes that way stays in the cache line and
on the branch that the processor expects; and where any split sends NaN to its true child, it asks every row about NaN
at every split. So splits whose true child is the likelier one, or the one for NaN, are turned: ``x <= t`` becomes
``-x <= -u``, where u is the next number above t, with the children exchanged, on rows that hold each feature and its
negative. The answers stay the same for every number.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx_ir as ir

from ..builder import GraphBuilder
from ..schemas import ML_DOMAIN
from ..value import Value
from .trees import Mode, TreeTable

#: From so many splits on the way of a row, were the trees balanced, the rows' two more nodes are worth their time.
_WORTH = 800
#: With fewer splits for each feature the rows would weigh more than the trees.
_PER_FEATURE = 16
#: Thresholds below are left alone: a runtime may flush what lies beside them to zero.
_TINY = 1e-37


def turned(g: GraphBuilder, x: Value, table: TreeTable) -> tuple[Value, TreeTable]:
    """Rows and trees where the false child of most splits is the likelier one, and the one for NaN.

    Args:
        g: Builder.
        x: Rows as the trees compare them, or as float32 where they compare doubles: [batch, features].
        table: The trees.
    """
    if not _worth_while(table):
        return x, table
    size = np.abs(table.threshold)
    free = (size > _TINY) & (size < np.inf) & (table.mode < Mode.EQ)
    swap, numbers = free & table.missing_yes, None
    if table.likely_yes is not None:
        likely = free & table.likely_yes
        to_true = table.missing_yes ^ likely
        numbers = _stand_in(table, table.feature[to_true]) if x.dtype is ir.DataType.FLOAT else None
        if numbers is not None or not to_true.any():
            swap = likely
    if not swap.any():
        return x, table
    if numbers is not None:
        x = _imputed(g, x, numbers)
    below = np.isin(table.mode, (Mode.LEQ, Mode.GT))
    with np.errstate(over="ignore"):
        beside = np.nextafter(table.threshold, np.where(below, np.inf, -np.inf))
    return g.Concat(x, g.Neg(x), axis=1), replace(
        table,
        features=2 * table.features,
        feature=np.where(swap, table.feature + table.features, table.feature),
        threshold=np.where(swap, -beside, table.threshold),
        yes=np.where(swap, table.no, table.yes),
        no=np.where(swap, table.yes, table.no),
        missing_yes=table.missing_yes ^ swap if numbers is None else np.zeros_like(swap),
    )


def _worth_while(table: TreeTable) -> bool:
    splits = len(table.feature)
    passed = table.trees * np.log2(1 + splits / max(table.trees, 1))
    return bool(passed >= _WORTH and splits >= _PER_FEATURE * table.features)


def _stand_in(table: TreeTable, features: np.ndarray) -> np.ndarray | None:
    """For each of some features a number that all its splits send where they send NaN, and NaN for the others.

    None where one of them has no such number, or there are none.
    """
    found = np.full(table.features, np.nan)
    asked = np.zeros(table.features, bool)
    asked[features] = True
    if not asked.any() or np.any(table.mode >= Mode.EQ):
        return None
    tests = (np.less_equal, np.less, np.greater_equal, np.greater)
    for number in (0.0, np.inf, -np.inf):
        answer = np.select([table.mode == m for m in range(4)], [t(number, table.threshold) for t in tests])
        other = table.feature[(answer != table.missing_yes) & (table.yes != table.no)]
        serves = np.bincount(other, minlength=table.features) == 0
        found = np.where(asked & np.isnan(found) & serves, number, found)
    return None if np.isnan(found[asked]).any() else found


def _imputed(g: GraphBuilder, x: Value, numbers: np.ndarray) -> Value:
    """Rows with NaN replaced by a number for each feature, in one node: [batch, features] of float32."""
    found: Value = g.call(
        "Imputer", x, domain=ML_DOMAIN, imputed_value_floats=numbers.tolist(), replaced_value_float=float("nan")
    )
    return found
