"""An example of a plugin (``--plugin category_encoders_plugin``): the most used encoders of category_encoders.

Each function reads the fitted encoder's ``mapping`` and gives a frame: encoded columns in the place of the given ones.
"""

from __future__ import annotations

import numpy as np

from anyonnx.symbolic import symbolic
from anyonnx.symbolic.estimators.calling import Frame, unsupported
from anyonnx.symbolic.ml.categories import codes


def encoded(g, x, est, encode):
    """The frame with each encoded column replaced by what `encode(column, name)` gives: names and columns."""
    if not isinstance(x, Frame):
        raise unsupported(g, est, "it is given no DataFrame")
    names, columns = [], []
    for name, column in zip(x.names, x.columns, strict=True):
        made = encode(column, name) if name in est.cols else {name: column}
        names += made
        columns += made.values()
    return Frame(tuple(names), tuple(columns))


def ordinals(g, column, name, ordinal_encoder):
    """The number of each value's category as category_encoders counts them, -1 for an unknown one: int64[batch, 1]."""
    (mapping,) = (m["mapping"] for m in ordinal_encoder.mapping if m["col"] == name)
    known = mapping[mapping.index.notna()]  # category -> number
    kind = object if any(isinstance(c, str) for c in known.index) else None
    return codes(g, column, np.array(known.index.to_list(), kind), known.to_numpy(), -1)


def looked_up(g, numbers, table):
    """Rows of a table (a Series or DataFrame by category number), [batch, columns]."""
    order = np.array(table.index.to_list())
    place = {number: i for i, number in enumerate(order)}
    rows = np.array([place.get(n, place.get(-1, 0)) for n in range(order.min(), order.max() + 1)], np.int64)
    at = g.Gather(rows, g.Sub(g.Squeeze(numbers, [1]), np.int64(order.min())), axis=0)
    values = table.to_numpy()
    return g.Gather(values.reshape(len(values), -1), at, axis=0)


@symbolic("estimators", "category_encoders.ordinal.OrdinalEncoder")
def ordinal_encoder(g, x, est):
    """OrdinalEncoder.transform(X): the number of each category, -1 for an unknown one"""
    return encoded(g, x, est, lambda column, name: {name: ordinals(g, column, name, est)})


@symbolic(
    "estimators",
    *(
        f"category_encoders.{name}"
        for name in (
            "target_encoder.TargetEncoder", "james_stein.JamesSteinEncoder", "m_estimate.MEstimateEncoder",
            "woe.WOEEncoder",
        )
    ),
)  # fmt: skip
def target_encoder(g, x, est):
    """TargetEncoder.transform(X): the (smoothed) mean of y for each category, that of all for an unknown one"""

    def encode(column, name):
        return {name: looked_up(g, ordinals(g, column, name, est.ordinal_encoder), est.mapping[name])}

    return encoded(g, x, est, encode)


@symbolic("estimators", "category_encoders.one_hot.OneHotEncoder", "category_encoders.binary.BinaryEncoder")
def one_hot_encoder(g, x, est):
    """OneHotEncoder.transform(X): a column for each category; BinaryEncoder: for each bit of its number"""

    def encode(column, name):
        (table,) = (m["mapping"] for m in est.mapping if m["col"] == name)
        rows = looked_up(g, ordinals(g, column, name, est.ordinal_encoder), table)
        count = table.shape[1]
        parts = g.Split(rows, [1] * count, axis=1, outputs=count) if count > 1 else [rows]
        return dict(zip(table.columns, parts, strict=True))

    return encoded(g, x, est, encode)


@symbolic("estimators", "category_encoders.count.CountEncoder")
def count_encoder(g, x, est):
    """CountEncoder.transform(X): how often each category was seen, 0 for an unknown one"""

    def encode(column, name):
        known = est.mapping[name]
        kind = object if any(isinstance(c, str) for c in known.index) else None
        return {name: codes(g, column, np.array(known.index.to_list(), kind), known.to_numpy(), 0)}

    return encoded(g, x, est, encode)
