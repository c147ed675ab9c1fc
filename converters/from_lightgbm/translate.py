"""A LightGBM model as ONNX."""

from __future__ import annotations

import numpy as np

from ...symbolic.builder import GraphBuilder
from ...symbolic.errors import MissingOp, UnsupportedOps
from ...symbolic.ml.dtypes import double
from ...symbolic.ml.leaves import sum_linear
from ...symbolic.ml.packing import sum_trees
from ...symbolic.objectives import links
from ...symbolic.objectives.lgb import DIALECT
from ...symbolic.registry import registry
from ...symbolic.value import Value
from .model import ZERO, LgbModel

_CLASSIFIERS = ("binary", "multiclass", "multiclassova", "cross_entropy")


def require(model: LgbModel, opset: int, classifier: bool) -> None:
    """Looks the objective up before anything is built.

    Raises:
        UnsupportedOps: It has no symbolic function, or gives a classifier no probabilities.
    """
    registry.require(DIALECT, [(model.objective, "objective of the booster")], opset)
    if classifier and model.objective not in _CLASSIFIERS:
        reason = "LGBMClassifier has no probabilities with it: convert its booster_"
        raise UnsupportedOps([MissingOp(DIALECT, model.objective or "custom", 1, ("the booster",), reason)])


def raw_score(g: GraphBuilder, x: Value, model: LgbModel) -> Value:
    """The raw scores, double [batch, outputs]: sums over the trees, of a random forest too."""
    rows = _rows(g, x, model)
    if model.linear is not None:
        return sum_linear(g, rows, x, model.table, model.linear)
    return sum_trees(g, rows, model.table)


def _rows(g: GraphBuilder, x: Value, model: LgbModel) -> Value:
    """The rows as the splits take them."""
    kind = x.element.numpy()
    if kind.kind != "f":
        x = double(g, x)
        kind = x.element.numpy()
    columns = np.arange(model.features)
    if len(model.categorical):
        # a category is the whole number towards zero
        whole = g.Where(g.Less(x, kind.type(0)), g.Ceil(x), g.Floor(x)) + kind.type(0)
        x = g.Where(np.isin(columns, model.categorical).reshape(1, -1), whole, x)
    if len(model.zero_missing):
        # the greatest number of the dtype that is no more than the bound
        bound = kind.type(ZERO)
        zero = g.Not(g.Greater(g.Abs(x), bound))
        chosen = g.And(zero, np.isin(columns, model.zero_missing).reshape(1, -1))
        x = g.Where(chosen, kind.type(np.nan), x)
    return x


def predict(g: GraphBuilder, raw: Value, model: LgbModel) -> Value:
    """``Booster.predict``: the objective's conversion of the raw scores."""
    found = registry.lookup(DIALECT, model.objective, g.opset)
    assert found is not None
    with g.at(model.objective or "no objective"):
        mean = g.Div(raw, np.float64(model.iterations)) if model.average else raw
        value: Value = found.function(g, mean, **model.parameters)
    return value


def classify(g: GraphBuilder, raw: Value, model: LgbModel) -> tuple[Value, Value]:
    """``LGBMClassifier.predict`` and ``predict_proba``: class indices and probabilities."""
    shares = predict(g, raw, model)
    if model.outputs == 1:
        second = g.Unsqueeze(shares, [1])
        shares = g.Concat(g.Sub(np.float64(1), second), second, axis=1)
    return links.first_greatest(g, shares), shares
