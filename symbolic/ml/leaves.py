"""Trees whose leaves hold linear models."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import onnx_ir as ir

from ..builder import GraphBuilder
from ..dims import Size
from ..value import Value
from .dtypes import double
from .packing import leaf_numbers, sum_of_terms, sum_trees
from .trees import TreeTable


@dataclass
class LinearLeaves:
    """A linear model for each leaf of a table.

    Attributes:
        constant: Constant of each leaf.
        counts: Number of features that each leaf's model has.
        features: Those features, leaf after leaf.
        coefficients: Their coefficients.
        otherwise: Value of each leaf where one of its features is missing.
    """

    constant: np.ndarray
    counts: np.ndarray
    features: np.ndarray
    coefficients: np.ndarray
    otherwise: np.ndarray


def sum_linear(g: GraphBuilder, rows: Value, raw: Value, table: TreeTable, leaves: LinearLeaves) -> Value:
    """Sum of what the linear models give in the leaves that rows reach, double [batch, targets].

    Args:
        rows: What the splits compare, [batch, features].
        raw: What the linear models take, [batch, features].
        table: The trees; each contributes to one output.
        leaves: The models.
    """
    width = int(leaves.counts.max(initial=0))
    if not width:
        return sum_trees(g, rows, replace(table, values=leaves.constant.reshape(-1, 1)))
    taken = np.arange(width) < leaves.counts[:, None]
    features, coefficients = np.zeros(taken.shape, np.int64), np.zeros(taken.shape)
    features[taken], coefficients[taken] = leaves.features, leaves.coefficients
    batch: Size = rows.dim(0)  # type: ignore[assignment]
    reached = g.Transpose(leaf_numbers(g, rows, table), perm=[1, 0])  # [batch, trees]
    at = g.reshape(g.Gather(g.constant(features), reached, axis=0), [batch, table.trees * width])
    values = g.reshape(g.GatherElements(double(g, raw), at, axis=1), [batch, table.trees, width])
    used = g.Gather(g.constant(taken), reached, axis=0)
    nan = g.IsNaN(g.Cast(values, to=ir.DataType.FLOAT))
    holes = g.ReduceSum(g.Cast(g.And(used, nan), to=ir.DataType.DOUBLE), [2], keepdims=0)
    known = g.Where(g.And(used, g.Not(nan)), values, np.float64(0))
    slopes = g.ReduceSum(g.Mul(g.Gather(g.constant(coefficients), reached, axis=0), known), [2], keepdims=0)
    linear = g.Add(g.Gather(g.constant(leaves.constant), reached, axis=0), slopes)
    otherwise = g.Gather(g.constant(leaves.otherwise), reached, axis=0)
    terms = g.Where(g.Greater(holes, np.float64(0)), otherwise, linear)
    return sum_of_terms(g, g.Transpose(terms, perm=[1, 0]), table)
