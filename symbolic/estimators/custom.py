"""Functions and classes of the user's own: a registered function, or their numpy code, traced."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import onnx_ir as ir

from ..builder import GraphBuilder
from ..registry import registry, symbolic
from ..traced import TracedArray, traced, untraced
from ..traced.frame import TracedFrame
from ..traced.namespace import retargeted
from ..value import Value
from . import calling
from .calling import DIALECT, Features, Frame, Maker, Methods, Result, Sparse, matrix, read, unsupported

#: What numpy code raises when it is given an array that isn't one.
_FAILURES = (TypeError, ValueError, AttributeError, IndexError, KeyError, NotImplementedError)
_METHODS = ("transform", "predict", "predict_proba", "decision_function", "score_samples")
#: Libraries whose own code is not traced: it checks and converts real arrays.
_LIBRARIES = ("sklearn", "imblearn", "xgboost", "lightgbm", "catboost")


@symbolic(DIALECT, "sklearn.preprocessing.FunctionTransformer")
def function_transformer(g: GraphBuilder, x: Features, est: Any) -> Features:
    """FunctionTransformer.transform(X): func, registered by name or traced, on X; X where it is None"""
    params = read(
        g, est, "func", "kw_args", "validate",
        ignore=("inverse_func", "accept_sparse", "check_inverse", "feature_names_out", "inv_kw_args"),
    )  # fmt: skip
    if params.func is None:
        return x
    return run(g, est, params.func, matrix(g, x) if params.validate else x, params.kw_args or {})


@symbolic(DIALECT, "sklearn.preprocessing.FunctionTransformer.inverse_transform")
def function_transformer_inverse(g: GraphBuilder, x: Value, est: Any) -> Value:
    """FunctionTransformer.inverse_transform(X): inverse_func(X), X where it is None"""
    if est.inverse_func is None:
        return x
    return matrix(g, run(g, est, est.inverse_func, x, est.inv_kw_args or {}))


def run(g: GraphBuilder, est: Any, function: Callable[..., Any], x: Features, options: dict[str, Any]) -> Features:
    """What a function gives: by a symbolic function registered under its name, or by its numpy code."""
    name = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', '')}"
    found = registry.lookup(DIALECT, name, g.opset)
    if found is not None:
        result: Features = found.function(g, x, **options)
        return result
    label = str(getattr(function, "__qualname__", None) or getattr(function, "__name__", repr(function)))
    return _traced_call(g, est, label, retargeted(g, function), x, options)


def _traced_call(
    g: GraphBuilder, est: Any, label: str, function: Callable[..., Any], x: Features, options: dict[str, Any]
) -> Features:
    try:
        with np.errstate(all="ignore"):
            return _features(g, function(_given(g, x), **options))
    except _FAILURES as error:
        text = str(error).split("\n")[0]
        reason = f"its code {label} can't be traced ({type(error).__name__}: {text}); register a symbolic function"
        raise unsupported(g, est, reason) from error


def _given(g: GraphBuilder, x: Features) -> Any:
    """Features as numpy code gets them; the code must not write to them."""
    if isinstance(x, Frame):
        columns = {n: TracedArray(g, g.reshape(c, [c.dim(0)])) for n, c in zip(x.names, x.columns, strict=True)}
        for column in columns.values():
            column.read_only = True
        return TracedFrame(g, columns, read_only=True)
    if isinstance(x, Sparse):
        return _SparseMatrix(g, x.value)
    given = TracedArray(g, x)
    given.read_only = True
    return given


class _SparseMatrix:
    """A sparse matrix, of which only the dense one can be taken."""

    def __init__(self, g: GraphBuilder, value: Value):
        self._array = TracedArray(g, value)
        self.shape, self.dtype = self._array.shape, self._array.dtype

    def toarray(self) -> TracedArray:
        """The dense array."""
        return self._array.copy()  # type: ignore[no-any-return]

    todense = toarray


def _features(g: GraphBuilder, found: Any) -> Features:
    if isinstance(found, TracedFrame):
        columns = tuple(g.Unsqueeze(found[n].value, [1]) for n in found.columns)
        return Frame(tuple(found.columns), columns)
    if isinstance(found, _SparseMatrix):
        return Sparse(found.toarray().value)
    value: Value = untraced(traced(g, found))
    return value


# --- classes ---------------------------------------------------------------------------------------------------------


def methods_of(est: Any) -> dict[str, Callable[..., Any]]:
    """Methods that answer about new rows and are written in the user's own code."""
    found: dict[str, Callable[..., Any]] = {}
    for name in _METHODS:
        method = getattr(type(est), name, None)
        plain = inspect.unwrap(method) if callable(method) else None
        if isinstance(plain, types.FunctionType) and plain.__module__.split(".")[0] not in _LIBRARIES:
            found[name] = plain
    return found


def trace_class(g: GraphBuilder, x: Features, est: Any) -> Result:
    """What an estimator of a class of the user's own gives: its methods, traced.

    ``super().transform(X)`` calls the symbolic function of the base class.
    """
    methods = methods_of(est)
    stand_in = _stand_in(g, est)

    def maker(name: str, function: Callable[..., Any]) -> Maker:
        def make() -> Value | tuple[Value, ...]:
            def bound(given: Any) -> Any:
                return retargeted(g, function)(stand_in, given)

            found = matrix(g, _traced_call(g, est, f"{type(est).__name__}.{name}", bound, x, {}))
            return _label(g, found) if name == "predict" else found

        return make

    if set(methods) == {"transform"}:
        bound = retargeted(g, methods["transform"])
        return _traced_call(g, est, f"{type(est).__name__}.transform", lambda given: bound(stand_in, given), x, {})
    made = {name: maker(name, function) for name, function in methods.items()}
    return Methods({**_inherited(g, x, est, set(methods)), **made})


def _inherited(g: GraphBuilder, x: Features, est: Any, own: set[str]) -> dict[str, Maker]:
    """The methods of the registered base of a class that brings a `predict` of its own, which they don't call."""
    bases = type(est).__mro__
    at = next((i for i, b in enumerate(bases) if i and _own_function(b, g.opset) is not None), None)
    if at is None or own != {"predict"}:
        return {}
    changed = {name for i in range(at) for name in calling.own_code(bases[i], bases[i + 1 :])}
    row = _own_function(bases[at], g.opset)
    if changed != {"predict"} or row is None:
        return {}
    base = cache(lambda: row.function(g, x, est))

    def maker(name: str) -> Maker:
        return lambda: calling.values(g, est, base(), name)

    return {name: maker(name) for name in _METHODS if name != "predict" and hasattr(est, name)}


def _label(g: GraphBuilder, value: Value) -> Value:
    """Whole numbers of one axis are int64, as every prediction is here."""
    whole = value.element.is_integer() and value.rank == 1
    return g.Cast(value, to=ir.DataType.INT64) if whole else value


def _stand_in(g: GraphBuilder, est: Any) -> Any:
    """The estimator, with its arrays as constants of the graph and its registered bases as symbolic functions."""
    cls = type(est)
    base = next((b for b in cls.__mro__[1:] if _own_function(b, g.opset) is not None), None)
    bases: tuple[type, ...] = (cls,)
    if base is not None:
        row = _own_function(base, g.opset)
        assert row is not None
        calls = {m: _base_method(g, est, row, m) for m in _METHODS if hasattr(base, m)}
        bases = (cls, type(f"{base.__name__}InGraph", (base,), calls))

    def read_attribute(self: Any, name: str) -> Any:
        value = object.__getattribute__(self, name)
        if isinstance(value, np.ndarray) and not name.startswith("__"):
            return TracedArray(g, traced(g, value).value) if value.dtype != object else value
        if isinstance(value, types.MethodType) and isinstance(value.__func__, types.FunctionType):
            plain = inspect.unwrap(value.__func__)
            if plain.__module__.split(".")[0] not in _LIBRARIES:
                return types.MethodType(retargeted(g, plain), self)
        return value

    stand_in_class = type(cls.__name__, bases, {"__getattribute__": read_attribute})
    made: Any = object.__new__(stand_in_class)
    object.__getattribute__(made, "__dict__").update(vars(est))
    return made


def _own_function(cls: type, opset: int) -> Any:
    rows = (registry.lookup(DIALECT, name, opset) for name in calling.names_of(cls))
    return next((row for row in rows if row is not None), None)


def _base_method(g: GraphBuilder, est: Any, row: Any, method: str) -> Callable[..., Any]:
    def call(self: Any, x: Any, *_: Any, **__: Any) -> TracedArray:
        result = row.function(g, _features(g, x), est)
        return TracedArray(g, calling.one(g, est, result, method))

    return call
