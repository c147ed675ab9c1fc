"""Sparse codes: rows as sums of few atoms of a dictionary."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from ..builder import GraphBuilder
from ..linalg.solve import solve
from ..ml.dtypes import FLOATS, cast, double, numbers
from ..ml.linear import affine
from ..registry import symbolic
from ..value import Value
from .calling import DIALECT, Features, Methods, matrix, read, unsupported

_MODULE = "sklearn.decomposition."


@symbolic(DIALECT, _MODULE + "SparsePCA", _MODULE + "MiniBatchSparsePCA")
def sparse_pca(g: GraphBuilder, x: Features, est: Any) -> Value:
    """SparsePCA.transform(X): ridge regression of X - mean_ on components_"""
    params = read(
        g, est, "ridge_alpha",
        ignore=("n_components", "method", "U_init", "V_init", "callback", "max_no_improvement"),
    )  # fmt: skip
    rows = matrix(g, x)
    centred = cast(g, numbers(g, "Sub", rows, est.mean_), ir.DataType.from_numpy(est.components_.dtype))
    components = np.asarray(est.components_, np.float64)
    gram = components @ components.T + params.ridge_alpha * np.eye(len(components))
    map_ = np.linalg.solve(gram, components).astype(est.components_.dtype)
    return affine(g, centred, map_, 0.0)


@symbolic(DIALECT, *(_MODULE + n for n in ("DictionaryLearning", "MiniBatchDictionaryLearning", "SparseCoder")))
def sparse_code(g: GraphBuilder, x: Features, est: Any) -> Methods:
    """SparseCoder.transform(X): codes of the rows by orthogonal matching pursuit or a threshold"""
    params = read(
        g, est, "transform_algorithm", "transform_n_nonzero_coefs", "transform_alpha", "split_sign", "positive_code",
        ignore=("dictionary", "n_components", "fit_algorithm", "code_init", "dict_init", "callback",
                "transform_max_iter", "positive_dict", "max_no_improvement"),
    )  # fmt: skip
    atoms = np.asarray(est.dictionary if type(est).__name__ == "SparseCoder" else est.components_)

    def transform() -> Value:
        rows = matrix(g, x)
        projected = affine(g, rows, atoms, 0.0)
        kind = projected.element.numpy().type
        if params.transform_algorithm == "omp":
            if rows.dtype not in FLOATS:
                raise unsupported(g, est, "rows of whole numbers, to which scikit-learn rounds the atoms' products")
            count = params.transform_n_nonzero_coefs
            if count is None:
                count = min(max(atoms.shape[1] / 10, 1), len(atoms))
            own = rows.element  # scikit-learn keeps the products of the atoms, and the codes, in the dtype of X
            gram = (atoms @ atoms.T).astype(own.numpy())
            code = cast(g, _pursuit(g, projected, gram, int(count)), own)
        elif params.transform_algorithm == "threshold":
            alpha = params.transform_alpha
            alpha = getattr(est, "alpha", None) if alpha is None else alpha
            level = kind(1.0 if alpha is None else alpha)
            code = g.Mul(g.Sign(projected), g.Max(g.Sub(g.Abs(projected), level), kind(0)))
            code = g.Max(code, kind(0)) if params.positive_code else code
        else:
            raise unsupported(
                g, est, f"transform_algorithm={params.transform_algorithm!r} (omp and threshold are done)"
            )
        if not params.split_sign:
            return code
        kind = code.element.numpy().type
        return double(g, g.Concat(g.Max(code, kind(0)), g.Neg(g.Min(code, kind(0))), axis=1))

    return Methods({"transform": transform})


def _pursuit(g: GraphBuilder, products: Value, gram: np.ndarray, count: int) -> Value:
    """Orthogonal matching pursuit: `count` times the atom that the rest has most of, all weights solved for anew.

    A row stops where its rest has (nearly) nothing of any atom, or where the atom depends on those it has.

    Args:
        products: Products of the rows with the atoms, [batch, atoms].
        gram: Products of the atoms.
        count: Number of atoms.
    """
    tiny = np.finfo(gram.dtype).eps
    gram = gram.astype(products.element.numpy())
    atoms, kind = len(gram), gram.dtype.type
    tiny = kind(tiny)
    taken = g.constant(np.eye(atoms, dtype=gram.dtype))
    chosen: list[Value] = []
    rest, code = products, g.Mul(products, kind(0))
    used = code  # 1 where an atom is chosen
    active = g.expand(g.constant(np.ones((1, 1), bool)), [products.dim(0), 1])
    for step in range(count):
        best = g.ArgMax(g.Abs(rest), axis=1, keepdims=1)
        most = g.GatherElements(rest, best, axis=1)
        fresh = g.Equal(g.GatherElements(used, best, axis=1), kind(0))
        active = g.And(active, g.And(fresh, g.GreaterOrEqual(g.Mul(most, most), tiny)))
        chosen.append(best)
        at = g.Concat(*chosen, axis=1) if step else best  # [batch, step + 1]
        own = g.Gather(taken, at, axis=0)  # [batch, step + 1, atoms]
        right = g.Unsqueeze(g.GatherElements(products, at, axis=1), [2])
        inner = g.MatMul(g.MatMul(own, gram), g.Transpose(own, perm=[0, 2, 1]))
        if step:
            # rows that have stopped get a system that can be solved
            inner = g.Where(g.Unsqueeze(active, [2]), inner, np.eye(step + 1, dtype=gram.dtype))
            weights = solve(g, inner, right)
        else:
            weights = g.Div(right, inner)
        new = g.Squeeze(g.MatMul(g.Transpose(weights, perm=[0, 2, 1]), own), [1])
        code = g.Where(active, new, code)
        used = g.Where(active, g.ReduceSum(own, [1], keepdims=0), used)
        rest = g.Sub(products, g.MatMul(code, gram))
    return code
