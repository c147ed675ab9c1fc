"""A DataFrame as one input for each column, where the model knows categories by codes and people by their labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..symbolic.builder import GraphBuilder
from ..symbolic.errors import InputSpecError
from ..symbolic.ml.categories import label_codes
from ..symbolic.ml.dtypes import concat
from ..symbolic.spec import TensorSpec
from ..symbolic.value import Value
from .base import Arrays, Options, renamed

#: Feature -> the labels of its categories, in the order of their codes.
Labels = Mapping[int, Sequence[Any]]
#: The labels of the features at these places, whose columns hold categories.
Known = Callable[[list[int]], Labels]


@dataclass
class LabelRows:
    """The inputs of a model: one [batch, 1] for each column of a DataFrame.

    Attributes:
        specs: The inputs.
        columns: The columns' names.
        labels: The labels of those that hold categories.
        samples: Some rows.
    """

    specs: list[TensorSpec]
    columns: list[Any]
    labels: Labels
    samples: Arrays

    def frame(self, inputs: Mapping[str, np.ndarray]) -> Any:
        """The rows as the library takes them; a value that is no label is missing."""
        import pandas as pd

        found = {}
        for i, (name, spec) in enumerate(zip(self.columns, self.specs, strict=True)):
            column = np.asarray(inputs[spec.name]).reshape(-1)
            if i in self.labels:
                labels = list(self.labels[i])
                own = set(labels)
                items = column if column.dtype != object else [v if v in own else None for v in column.tolist()]
                found[name] = pd.Series(pd.Categorical(items, categories=labels))
            else:
                found[name] = pd.Series(column)
        return pd.DataFrame(found)

    def decoded(self, rows: np.ndarray) -> Arrays:
        """Rows of numbers and codes as inputs."""
        found: Arrays = {}
        for i, spec in enumerate(self.specs):
            column = rows[:, i]
            if i in self.labels:
                column = _decoded(column, list(self.labels[i]), spec)
            elif np.dtype(spec.dtype).kind != "f":
                column = np.rint(np.nan_to_num(column, posinf=3, neginf=-3)).clip(-100, 100)
            with np.errstate(over="ignore"):
                found[spec.name] = column.astype(object if spec.dtype == "string" else spec.dtype).reshape(-1, 1)
        return found

    def matrix(self, g: GraphBuilder) -> Value:
        """The rows of numbers and codes, [batch, features]."""
        return coded(g, [g.input(s.name, s.dtype, s.shape) for s in self.specs], self.labels)


def _decoded(codes: np.ndarray, labels: list[Any], spec: TensorSpec) -> np.ndarray:
    known = np.isin(codes, np.arange(len(labels)))
    picked = [labels[int(c)] if k else None for c, k in zip(codes, known, strict=True)]
    if spec.dtype == "string":
        return np.array(["nan" if v is None else v for v in picked], object)
    # of whole numbers the greatest label and one stands for none
    none = np.nan if np.dtype(spec.dtype).kind == "f" else max(labels) + 1
    return np.array([none if v is None else v for v in picked])


def coded(g: GraphBuilder, columns: Sequence[Value], labels: Labels) -> Value:
    """Columns side by side, labels as their codes; a value that is no label is NaN."""
    parts = [label_codes(g, c, labels[i]) if i in labels else c for i, c in enumerate(columns)]
    return concat(g, parts)


def read_labelled(frame: Any, known: Known, options: Options) -> LabelRows:
    """The inputs that a DataFrame says, its columns in the model's order.

    Raises:
        InputSpecError: A column holds something else than numbers and categories.
    """
    at = [i for i, dtype in enumerate(frame.dtypes) if dtype.name == "category"]
    labels = known(at)
    arrays: Arrays = {}
    for i, name in enumerate(frame.columns):
        series = frame.iloc[:, i]
        arrays[str(name)] = (_words(series) if i in labels else _numbers(str(name), series)).reshape(-1, 1)
    if len(arrays) < len(frame.columns):
        raise InputSpecError("X has several columns of the same name")
    names = renamed(list(arrays), options.input_names, "input")
    specs = [
        TensorSpec(n, "string" if a.dtype == object else str(a.dtype), ("batch", 1))
        for n, a in zip(names, arrays.values(), strict=True)
    ]
    samples = dict(zip(names, arrays.values(), strict=True))
    return LabelRows(specs, list(frame.columns), labels, samples)


def _words(series: Any) -> np.ndarray:
    """Labels as ONNX holds them, missing ones as the string ``nan`` or as NaN."""
    kind = series.cat.categories.dtype.kind if series.dtype.name == "category" else series.dtype.kind
    if kind in "biuf" and not (kind != "f" and series.isna().any()):
        return np.asarray(series.astype(series.cat.categories.dtype) if series.dtype.name == "category" else series)
    if kind in "biuf":
        return np.asarray(series.astype(object).astype(np.float64))
    return np.array(["nan" if v is None or v != v else str(v) for v in series.astype(object)], object)


def _numbers(name: str, series: Any) -> np.ndarray:
    array = np.asarray(series)
    if array.dtype.kind in "biuf" and array.dtype != np.float16:
        return array
    try:
        return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))
    except (TypeError, ValueError) as error:
        raise InputSpecError(f"the column {name} holds neither numbers nor categories ({error})") from error
