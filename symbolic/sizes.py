"""Sizes as values: each size expression is computed once, and reshapes use as little arithmetic as they can."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from .dims import Dim, Size
from .errors import TranslationError
from .value import Operand, Value

if TYPE_CHECKING:
    from .builder_ops import OnnxOperators
else:
    OnnxOperators = object


class SizeArithmetic(OnnxOperators):
    """The part of the builder that turns sizes into values.

    Attributes:
        parent: Builder of the enclosing graph.
        location: Source location of what is being made.
    """

    parent: SizeArithmetic | None
    location: str
    _shared: dict[Any, Any]
    _size_sources: dict[str, tuple[Value, int]]
    _symbols: dict[str, Dim]

    if TYPE_CHECKING:

        def constant(self, array: Any, dtype: Any = None) -> Value:
            """See `GraphBuilder`."""

        def call(self, op: str, *inputs: Operand | None, **attributes: Any) -> Any:
            """See `GraphBuilder`."""

    def learn_sizes(self, value: Value) -> None:
        """Remembers where the dims of a value's sizes can be read from at run time."""
        for axis, size in enumerate(value.sizes or ()):
            if not isinstance(size, Dim):
                continue
            self._symbols[str(size)] = size
            name = size.name
            if name is not None and self._find_source(name) is None:
                self._size_sources[name] = (value, axis)
            elif name is None and len(size.symbols()) == 1:
                self._learn_linear(size, value, axis)

    def learn_size(self, size: Size, value: Value) -> None:
        """Notes that an integer scalar holds a size which can't be read from a shape (the source took it from data)."""
        if isinstance(size, Dim) and self._find_shared(("size", size)) is None:
            vector = self.Reshape(self.Cast(value, to=ir.DataType.INT64), [1])
            vector.dims = (size,)
            self._shared["size", size] = vector

    def _learn_linear(self, size: Dim, value: Value, axis: int) -> None:
        # 2*n + 1 on an axis tells n, even where no axis is just n
        (name,) = size.symbols()
        coefficients = dict(size.terms)
        slope = coefficients.pop((name,), 0)
        offset = coefficients.pop((), 0)
        if self._find_source(name) is None and slope and not coefficients:
            whole = self.Shape(value, start=axis, end=axis + 1)
            self._shared["size", Dim(name)] = self.Div(self.Sub(whole, [offset]), [slope])

    def _find_source(self, name: str) -> tuple[Value, int] | None:
        builder: SizeArithmetic | None = self
        while builder is not None:
            found = builder._size_sources.get(name)
            if found is not None:
                return found
            builder = builder.parent
        return None

    def _find_shared(self, key: Any) -> Value | None:
        builder: SizeArithmetic | None = self
        while builder is not None:
            found: Value | None = builder._shared.get(key)
            if found is not None:
                return found
            builder = builder.parent
        return None

    def size(self, size: Size) -> Value:
        """A size as an int64 scalar; each expression is computed once."""
        return self.Squeeze(self.size_vector(size), [0])

    def size_vector(self, size: Size) -> Value:
        """A size as an int64 vector of one element.

        Raises:
            TranslationError: No value is known that has the dim.
        """
        if isinstance(size, int):
            return self.constant(np.array([size], np.int64))
        key = ("size", size)
        found = self._find_shared(key)
        if found is None:
            found = self._compute_size(size)
            found.dims = (size,)
            self._shared[key] = found
        return found

    def _compute_size(self, size: Dim) -> Value:
        name = size.name
        if name is not None:
            source = self._find_source(name)
            if source is None:
                raise TranslationError(f"no value is known whose size is {name}", location=self.location)
            value, axis = source
            return self.Shape(value, start=axis, end=axis + 1)
        total: Value | None = None
        for monomial, coefficient in size.terms:
            factor: Value | None = None
            for atom in monomial:
                part = self.size_vector(Dim(atom)) if isinstance(atom, str) else self._compute_call(*atom)
                factor = part if factor is None else factor * part
            if factor is None:
                factor = self.size_vector(coefficient)
            elif coefficient != 1:
                factor = factor * coefficient
            total = factor if total is None else total + factor
        assert total is not None
        return total

    def _compute_call(self, function: str, a: Size, b: Size) -> Value:
        op = {"floordiv": "Div", "mod": "Mod", "max": "Max", "min": "Min"}[function]
        result: Value = self.call(op, self.size_vector(a), self.size_vector(b))
        return result

    def shape_vector(self, sizes: Sequence[Any]) -> Value:
        """Sizes (ints, Dims, int64 scalars or one-element vectors) as one int64 vector."""
        if all(isinstance(s, (int, np.integer)) for s in sizes):
            return self.constant(np.array([int(s) for s in sizes], np.int64))
        parts: list[Any] = []
        for size in sizes:
            if isinstance(size, Value):
                size = size.dims[0] if size.dims and isinstance(size.dims[0], int) else size
            if isinstance(size, (int, np.integer)):
                if parts and isinstance(parts[-1], list):
                    parts[-1].append(int(size))
                else:
                    parts.append([int(size)])
            elif isinstance(size, Dim):
                parts.append(self.size_vector(size))
            else:
                wide = size if size.element is ir.DataType.INT64 else self.Cast(size, to=ir.DataType.INT64)
                parts.append(self.Reshape(wide, [1]) if wide.sizes != (1,) else wide)
        vectors = [self.constant(np.array(p, np.int64)) if isinstance(p, list) else p for p in parts]
        return vectors[0] if len(vectors) == 1 else self.Concat(*vectors, axis=0)

    def reshape(self, x: Value, sizes: Sequence[Any]) -> Value:
        """Reshape with as little shape arithmetic as the sizes allow: axes that stay are copied, one is inferred.

        Args:
            x: Tensor.
            sizes: ints, Dims or int64 scalars, one for each axis of the result.
        """
        sizes = [s.dims[0] if isinstance(s, Value) and s.dims and s.dims[0] is not None else s for s in sizes]
        if x.sizes is not None and tuple(sizes) == x.sizes and None not in x.sizes:
            return x
        if 0 in [s for s in sizes if isinstance(s, int)]:
            return self.Reshape(x, self.shape_vector(sizes), allowzero=1)
        plan = list(sizes)
        for i, size in enumerate(plan):
            if isinstance(size, Dim) and x.sizes is not None and i < len(x.sizes) and x.sizes[i] == size:
                plan[i] = 0
        open_axes = [i for i, s in enumerate(plan) if not isinstance(s, int)]
        if open_axes and -1 not in plan:
            # one size is left to Reshape itself: the one that would take most work to compute
            plan[max(open_axes, key=lambda i: len(str(plan[i])) if isinstance(plan[i], Dim) else 1000)] = -1
        result: Value = self.Reshape(x, self.shape_vector(plan))
        if all(isinstance(s, (int, Dim)) for s in sizes) and -1 not in sizes:
            result.sizes = tuple(sizes)
        return result

    def expand(self, x: Value, sizes: Sequence[Any]) -> Value:
        """Expand to sizes (ints, Dims or int64 scalars); axes that x has already need no shape arithmetic."""
        sizes = [s.dims[0] if isinstance(s, Value) and s.dims and s.dims[0] is not None else s for s in sizes]
        if x.sizes is not None and tuple(sizes) == x.sizes and None not in x.sizes:
            return x
        plan = list(sizes)
        lead = len(plan) - len(x.sizes) if x.sizes is not None else len(plan)
        for i, size in enumerate(plan):
            if i >= lead and x.sizes is not None and not isinstance(size, Value) and x.sizes[i - lead] == size:
                plan[i] = 1
        result: Value = self.Expand(x, self.shape_vector(plan))
        if all(isinstance(s, (int, Dim)) for s in sizes):
            result.sizes = tuple(sizes)
        return result
