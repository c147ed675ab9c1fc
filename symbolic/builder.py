"""The graph builder: symbolic functions call ONNX operators on it, at the signatures of the authoring opset.

A call coerces literals, folds constants, keeps track of types, sizes and small contents, and writes the operator the
way the asked opset wants it (dialect ``onnx`` of the registry, see `adapt`).
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import onnx_ir as ir

from . import opsets
from .adapt import Adapter
from .contents import contents, of_array
from .dims import Dim, Size, Sizes, exact_quotient
from .errors import AnyonnxError, OpsetError, TranslationError
from .fold import FOLD_LIMIT, fold
from .infer import Inferred, infer
from .literals import attribute, literal
from .schemas import ML_DOMAIN, Signature, signature
from .value import MARK, Operand, Value, tensor_type

#: How many results are wanted: a number, or one flag per result.
Wanted = int | Sequence[bool]


@contextmanager
def gc_paused() -> Iterator[None]:
    """Switches the cycle collector off: graphs are cyclic, and collecting them takes most of the build time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class GraphBuilder:
    """Builds one graph; child builders build the bodies of If, Loop and Scan.

    Args:
        opset: Opset to write.
        name: Name of the graph.
        parent: Builder of the enclosing graph; its values can be used here.

    Raises:
        OpsetError: The opset lies outside the range.
    """

    def __init__(self, opset: int = opsets.DEFAULT_OPSET, *, name: str = "main", parent: GraphBuilder | None = None):
        self.opset = opsets.check_opset(opset)
        self.ml_opset = opsets.ml_opset(opset)
        self.name = name
        self.parent = parent
        self.root: GraphBuilder = parent.root if parent else self
        self.inputs: list[Value] = []
        self.outputs: list[Value] = []
        self.nodes: list[ir.Node] = []
        self.location = parent.location if parent else ""
        self._adapter: Adapter = parent._adapter if parent else Adapter(self.opset, self.ml_opset)
        self._constants: dict[Any, Value] = parent.root._constants if parent else {}
        self._shared: dict[Any, Any] = {}
        self._size_sources: dict[str, tuple[Value, int]] = {}
        self._symbols: dict[str, Dim] = parent.root._symbols if parent else {}

    # --- inputs, outputs, constants --------------------------------------------------------------------------------

    def input(
        self,
        name: str,
        dtype: ir.DataType | str | ir.TypeProtocol,
        shape: Sequence[int | str | Dim | None] | None = None,
    ) -> Value:
        """Adds a graph input.

        Args:
            name: Its name in the model.
            dtype: ONNX dtype, numpy dtype name, or a type such as ``ir.SequenceType``.
            shape: One entry for each axis: size, dim name, Dim, or None; None where the rank is unknown.
        """
        type_ = dtype if isinstance(dtype, ir.TypeProtocol) else tensor_type(as_dtype(dtype))
        sizes = None if shape is None else tuple(Dim(s) if isinstance(s, str) else s for s in shape)
        value = Value(self, type_, sizes, name=name, location=f"input {name}")
        self.inputs.append(value)
        self.learn_sizes(value)
        return value

    def output(self, value: Value, name: str | None = None) -> Value:
        """Declares a graph output; a value that can't be one itself (an input, a constant ...) gets an Identity."""
        taken = any(value is o for o in self.outputs) or value.producer() is None or value.builder is not self
        if taken:
            value = self.emit("", "Identity", [value], {}, 1, [(value.type, value.sizes)])[0]
        if name is not None:
            value.name = name
        self.outputs.append(value)
        return value

    def constant(self, array: np.ndarray | np.generic | Any, dtype: ir.DataType | str | None = None) -> Value:
        """A constant tensor; equal small ones are shared.

        Args:
            array: Array, or what numpy makes one of (Python ints become int64, floats float32).
            dtype: Dtype to give it.
        """
        if not isinstance(array, (np.ndarray, np.generic)):
            array = literal(array, None if dtype is None else as_dtype(dtype))
        array = np.asarray(array)
        if dtype is not None and array.dtype != as_dtype(dtype).numpy():
            array = array.astype(as_dtype(dtype).numpy())
        if array.nbytes > 1024 or array.dtype == object:
            return self._new_constant(array)
        key = (
            array.dtype.str if array.dtype.kind != "V" else array.dtype.name,
            array.dtype.name,
            array.shape,
            array.tobytes(),
        )
        found = self._constants.get(key)
        if found is None:
            found = self._constants[key] = self._new_constant(array)
        return found

    def _new_constant(self, array: np.ndarray) -> Value:
        if array.dtype.kind in "US":
            array = array.astype(object)
        tensor: ir.TensorProtocol
        if array.dtype == object:
            encoded = [s if isinstance(s, bytes) else str(s).encode() for s in array.reshape(-1)]
            tensor = ir.StringTensor(encoded, shape=ir.Shape(array.shape))
        else:
            tensor = ir.Tensor(array)
        value = Value(self.root, tensor_type(tensor.dtype), tuple(int(s) for s in array.shape))
        value.const_value = tensor
        value._array = array
        value.dims = of_array(array)
        return value

    def initializer(self, name: str, tensor: ir.TensorProtocol | np.ndarray) -> Value:
        """A named weight. It is neither copied nor compared with others.

        Args:
            name: Its name in the model.
            tensor: Array, or any ``ir.TensorProtocol`` (lazy and external ones too).
        """
        if isinstance(tensor, np.ndarray):
            tensor = ir.Tensor(tensor, name=name)
        sizes = tuple(int(s) for s in tensor.shape)  # type: ignore[arg-type]
        value = Value(self.root, tensor_type(tensor.dtype), sizes, name=name)
        value.const_value = tensor
        if len(sizes) < 2 and tensor.size <= 64 and tensor.dtype in (ir.DataType.INT64, ir.DataType.INT32):
            value.dims = of_array(tensor.numpy())
        return value

    # --- operators ---------------------------------------------------------------------------------------------------

    def __getattr__(self, op: str) -> Any:
        if not op[:1].isupper() or signature(op, opsets.AUTHORING_OPSET) is None:
            raise AttributeError(f"GraphBuilder has no attribute or ONNX operator {op!r}")

        def method(*inputs: Operand | None, outputs: Wanted = 1, **attributes: Any) -> Any:
            return self.call(op, *inputs, outputs=outputs, **attributes)

        self.__dict__[op] = method
        return method

    def call(self, op: str, *inputs: Operand | None, outputs: Wanted = 1, domain: str = "", **attributes: Any) -> Any:
        """Calls an operator at its authoring signature.

        Args:
            op: Operator name.
            *inputs: Operands: values, literals (they take the dtype of the operand they meet), lists of sizes, None.
            outputs: How many results are wanted, or one flag per result (False: left out).
            domain: ``""`` or ``ai.onnx.ml``.
            **attributes: Attributes; None stands for "not given". Bodies are child builders.

        Returns:
            The result, or a tuple of them where `outputs` isn't 1; None in place of one that is left out.

        Raises:
            OpsetError: The asked opset has no way to write it.
            TranslationError: Operands or attributes don't fit the operator.
        """
        version = opsets.AUTHORING_ML_OPSET if domain == ML_DOMAIN else opsets.AUTHORING_OPSET
        found = signature(op, version, domain)
        if found is None:
            raise TranslationError(f"no such operator at opset {version}", op=op, location=self.location)
        given = {k: v for k, v in attributes.items() if v is not None}
        try:
            args = self._operands(found, inputs)
            results = self._call(found, args, given, outputs)
        except (ValueError, TypeError) as error:
            raise TranslationError(str(error), op=op, location=self.location) from error
        return results[0] if len(results) == 1 and (outputs == 1) else tuple(results)

    def _call(
        self, found: Signature, args: list[Value | None], attributes: dict[str, Any], outputs: Wanted
    ) -> Sequence[Value | None]:
        op, count = found.op, outputs if isinstance(outputs, int) else len(outputs)
        known: Sizes | None = None
        inferred: Inferred | None = None
        if not found.domain:
            if args and all(a is None or (a._const_value is not None and (a.size or 0) <= FOLD_LIMIT) for a in args):
                folded = fold(op, [None if a is None else a.array for a in args], attributes, count)
                if folded is not None:
                    return [self.constant(f) for f in folded]
            if op == "Identity" and args[0] is not None:
                return [args[0]]
            inferred = infer(op, args, attributes, count)
            known = contents(op, args, attributes)
        key = None
        if known is not None and count == 1 and inferred is not None and inferred[0][1] is not None:
            type_, sizes = inferred[0]
            if all(isinstance(d, int) for d in known) and type_ is not None and type_.dtype is not None:
                whole = np.array(known, type_.dtype.numpy()).reshape([int(s) for s in sizes])  # type: ignore[arg-type]
                return [self.constant(whole)]
            key = (op, tuple(map(id, args)), tuple(sorted((k, repr(v)) for k, v in attributes.items())))
            shared = self._find_shared(key)
            if shared is not None:
                return [shared]
        results = self._adapter.write(self, found, args, attributes, outputs, inferred)
        if known is not None and results[0] is not None and results[0].dims is None:
            results[0].dims = known
        if key is not None:
            self._shared[key] = results[0]
        return results

    def raw(self, op: str, *inputs: Operand | None, outputs: Wanted = 1, domain: str = "", **attributes: Any) -> Any:
        """Writes an operator at the signature of the *asked* opset; lowerings use it.

        Raises:
            OpsetError: The asked opset's version lacks the operator, an attribute, an input or a dtype.
        """
        found = self._adapter.target_signature(op, domain, self.location)
        given = {k: v for k, v in attributes.items() if v is not None}
        try:
            args = self._operands(found, inputs)
            results = self._adapter.write_target(self, found, args, given, outputs)
        except (ValueError, TypeError) as error:
            raise TranslationError(str(error), op=op, location=self.location) from error
        return results[0] if outputs == 1 else tuple(results)

    def emit(
        self,
        domain: str,
        op: str,
        args: Sequence[Value | None],
        attributes: Mapping[str, Any],
        outputs: Wanted,
        inferred: Inferred,
    ) -> list[Value]:
        """Appends a node as it stands, with the given result types; the lowest level, nothing is checked here."""
        wanted = [True] * outputs if isinstance(outputs, int) else list(outputs)
        location = self.location
        results = []
        for keep, (type_, sizes) in zip(wanted, inferred, strict=True):
            value = Value(self, type_, sizes, location=location)
            if not keep:
                value.name = ""
            results.append(value)
        found = signature(op, self.ml_opset if domain == ML_DOMAIN else self.opset, domain)
        kinds = found.attributes if found else {}
        node = ir.Node(
            domain, op, args, [attribute(k, v, kinds[k].type if k in kinds else None) for k, v in attributes.items()],
            outputs=results,
        )  # fmt: skip
        self.nodes.append(node)
        return results

    def _operands(self, found: Signature, inputs: Sequence[Operand | None]) -> list[Value | None]:
        if len(inputs) > found.max_inputs:
            raise ValueError(f"{len(inputs)} operands, at most {found.max_inputs} are taken")
        args: list[Value | None] = []
        bound: dict[str, ir.DataType] = {}
        pending = False
        for i, operand in enumerate(inputs):
            if isinstance(operand, Value):
                dtype = operand.dtype
                if dtype is not None:
                    param = found.param(i)
                    if param.homogeneous:
                        first = bound.setdefault(param.variable, dtype)
                        if first is not dtype:
                            raise ValueError(f"operand {param.name} is {dtype.name}, the others are {first.name}")
                args.append(operand)
            else:
                pending = pending or operand is not None
                args.append(None)
        if pending:
            for i, operand in enumerate(inputs):
                if operand is not None and not isinstance(operand, Value):
                    args[i] = self._coerce(operand, found, i, bound)
        while args and args[-1] is None:
            args.pop()
        if len(args) < found.min_inputs:
            raise ValueError(f"{len(args)} operands, at least {found.min_inputs} are needed")
        return args

    def _coerce(self, operand: Operand, found: Signature, index: int, bound: dict[str, ir.DataType]) -> Value:
        param = found.param(index)
        if isinstance(operand, Dim):
            return self.size(operand)
        if isinstance(operand, (list, tuple)) and any(isinstance(o, (Value, Dim)) for o in operand):
            return self.shape_vector(operand)
        if isinstance(operand, (np.ndarray, np.generic)):
            return self.constant(operand)
        dtype = bound.get(param.variable) if param.homogeneous else None
        if dtype is None and len(param.types) == 1:
            dtype = next(iter(param.types))
        return self.constant(literal(operand, dtype))

    # --- sizes -------------------------------------------------------------------------------------------------------

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
        builder: GraphBuilder | None = self
        while builder is not None:
            found = builder._size_sources.get(name)
            if found is not None:
                return found
            builder = builder.parent
        return None

    def _find_shared(self, key: Any) -> Value | None:
        builder: GraphBuilder | None = self
        while builder is not None:
            found: Value | None = builder._shared.get(key)
            if found is not None:
                return found
            builder = builder.parent
        return None

    def size(self, size: Size) -> Value:
        """A size as an int64 scalar; each expression is computed once."""
        return self.Squeeze(self.size_vector(size), [0])  # type: ignore[no-any-return]

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
            return self.Shape(value, start=axis, end=axis + 1)  # type: ignore[no-any-return]
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
        return self.call(op, self.size_vector(a), self.size_vector(b))  # type: ignore[no-any-return]

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
        return vectors[0] if len(vectors) == 1 else self.Concat(*vectors, axis=0)  # type: ignore[no-any-return]

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
            return self.Reshape(x, self.shape_vector(sizes), allowzero=1)  # type: ignore[no-any-return]
        plan = list(sizes)
        for i, size in enumerate(plan):
            if isinstance(size, Dim) and x.sizes is not None and i < len(x.sizes) and x.sizes[i] == size:
                plan[i] = 0
        open_axes = [i for i, s in enumerate(plan) if not isinstance(s, int)]
        if len(open_axes) == 1 and -1 not in plan:
            plan[open_axes[0]] = -1
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

    # --- what the source says ----------------------------------------------------------------------------------------

    def expect(
        self, value: Value, dtype: ir.DataType | str | None, sizes: Sequence[int | str | Dim | None] | None
    ) -> Value:
        """Compares what was built with what the source framework says, and keeps the tighter of the two.

        Raises:
            TranslationError: They contradict each other: the translation is wrong.
        """
        if dtype is not None and value.dtype is not None and value.dtype != as_dtype(dtype):
            raise TranslationError(
                f"the result is {value.dtype.name}, the source says {as_dtype(dtype).name}",
                location=self.location,
            )
        if sizes is None:
            return value
        said = tuple(Dim(s) if isinstance(s, str) else s for s in sizes)
        if value.sizes is None:
            value.sizes = said
        else:
            if len(said) != len(value.sizes):
                raise TranslationError(
                    f"the result has {len(value.sizes)} axes, the source says {len(said)}",
                    location=self.location,
                )
            value.sizes = tuple(self._tighter(o, s) for o, s in zip(value.sizes, said, strict=True))
        self.learn_sizes(value)
        return value

    def _tighter(self, ours: int | Dim | None, theirs: int | Dim | None) -> int | Dim | None:
        if theirs is None or ours == theirs:
            return ours
        contradiction = isinstance(ours, int) and (isinstance(theirs, int) or theirs.is_polynomial)
        if contradiction:
            raise TranslationError(f"a size is {ours}, the source says {theirs}", location=self.location)
        return theirs if not isinstance(ours, int) else ours

    def mark(self, value: Value, source_name: str) -> None:
        """Notes that a value is what the source calls `source_name`; comparisons node by node use it."""
        if value.producer() is not None and MARK not in value.meta:
            value.meta[MARK] = source_name

    @contextmanager
    def at(self, location: str) -> Iterator[None]:
        """Everything made inside comes from this source location; errors name it."""
        before, self.location = self.location, location
        try:
            yield
        except AnyonnxError:
            raise
        except Exception as error:
            error.add_note(f"while converting {location}")
            raise
        finally:
            self.location = before

    # --- subgraphs and the model -------------------------------------------------------------------------------------

    def subgraph(self, name: str = "body") -> GraphBuilder:
        """A child builder for a body of If, Loop or Scan: pass it as the attribute."""
        return GraphBuilder(self.opset, name=name, parent=self)

    def build(self, *, keep_locations: bool = False, producer: str = "anyonnx") -> ir.Model:
        """The finished model: dead nodes dropped, used constants registered, everything named.

        Args:
            keep_locations: Write each node's source location to the file.
            producer: Producer name in the file.
        """
        from .finish import finish_model

        return finish_model(self, keep_locations=keep_locations, producer=producer)


def as_dtype(dtype: ir.DataType | str | int) -> ir.DataType:
    """An ONNX dtype from itself, its number, or a numpy dtype name (``float32``, ``string``)."""
    if isinstance(dtype, str):
        if dtype in ("string", "str", "object"):
            return ir.DataType.STRING
        if dtype == "bfloat16":
            return ir.DataType.BFLOAT16
        return ir.DataType.from_numpy(np.dtype(dtype))
    return ir.DataType(dtype)


__all__ = ["GraphBuilder", "OpsetError", "Wanted", "as_dtype", "exact_quotient", "gc_paused"]
