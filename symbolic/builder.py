"""The graph builder: symbolic functions call ONNX operators on it, at the signatures of the authoring opset.

A call coerces literals, folds constants, keeps track of types, sizes and small contents, and writes the operator the
way the asked opset wants it (dialect ``onnx`` of the registry, see `adapt`).
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from . import opsets
from .adapt import Adapter
from .contents import contents, of_array
from .dims import Dim, Sizes
from .errors import AnyonnxError, TranslationError
from .fold import FOLD_LIMIT, fold
from .infer import Inferred, infer
from .literals import attribute, literal
from .schemas import ML_DOMAIN, Signature, signature
from .sizes import SizeArithmetic
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


class GraphBuilder(SizeArithmetic):
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
        self.parent: GraphBuilder | None = parent
        self.root: GraphBuilder = parent.root if parent else self
        self.inputs: list[Value] = []
        self.outputs: list[Value] = []
        self.nodes: list[ir.Node] = []
        self.location: str = parent.location if parent else ""
        self._adapter: Adapter = parent._adapter if parent else Adapter(self.opset, self.ml_opset)
        #: Tree ensembles compare and add in float32 where their source uses doubles.
        self.float_trees: bool = parent.root.float_trees if parent else False
        #: What a source model says about itself; the root's goes into the file.
        self.metadata: dict[str, str] = {}
        self.doc_string: str | None = None
        self._constants: dict[Any, Value] = parent.root._constants if parent else {}
        self._shared: dict[Any, Any] = {}
        self._size_sources: dict[str, tuple[Value, int]] = {}
        self._symbols: dict[str, Dim] = parent.root._symbols if parent else {}

    def use_ml_opset(self, version: int) -> None:
        """Writes another version of ai.onnx.ml than the one released with the opset; nothing may be written before."""
        self.ml_opset = version
        self._adapter = Adapter(self.opset, version)

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
            copy = signature("Identity", opsets.AUTHORING_OPSET)
            assert copy is not None
            found = self._adapter.write(self, copy, [value], {}, 1, [(value.type, value.sizes)])[0]
            assert found is not None
            value = found
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

    if not TYPE_CHECKING:  # type checkers read the operators in builder_ops.pyi

        def __getattr__(self, op):
            found = signature(op, opsets.AUTHORING_OPSET) if op[:1].isupper() else None
            if found is None:
                raise AttributeError(f"GraphBuilder has no attribute or ONNX operator {op!r}")

            def method(*inputs, outputs=1, **attributes):
                return self._invoke(found, inputs, outputs, attributes)

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
        return self._invoke(found, inputs, outputs, attributes)

    def _invoke(
        self, found: Signature, inputs: Sequence[Operand | None], outputs: Wanted, attributes: dict[str, Any]
    ) -> Any:
        given = {k: v for k, v in attributes.items() if v is not None} if attributes else attributes
        try:
            args = self._operands(found, inputs)
            results = self._call(found, args, given, outputs)
        except (ValueError, TypeError) as error:
            raise TranslationError(str(error), op=found.op, location=self.location) from error
        return results[0] if outputs == 1 and len(results) == 1 else tuple(results)

    def _call(
        self, found: Signature, args: list[Value | None], attributes: dict[str, Any], outputs: Wanted
    ) -> Sequence[Value | None]:
        op, count = found.op, outputs if isinstance(outputs, int) else len(outputs)
        known: Sizes | None = None
        inferred: Inferred | None = None
        if not found.domain:
            if args and _all_constant(args):
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
                whole = np.array(known, type_.dtype.numpy()).reshape([-1] if sizes else [])
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
        wanted = [True] * outputs if isinstance(outputs, int) else outputs
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
        while inputs and inputs[-1] is None:
            inputs = inputs[:-1]
        if len(inputs) > found.max_inputs:
            raise ValueError(f"{len(inputs)} operands, at most {found.max_inputs} are taken")
        args: list[Value | None] = []
        bound: dict[str, ir.DataType] = {}
        inputs_of, last = found.inputs, len(found.inputs) - 1
        pending = False
        for i, operand in enumerate(inputs):
            if type(operand) is Value:  # isinstance is slow on the protocol classes that Value derives from
                type_ = operand._type
                if type_ is not None:
                    param = inputs_of[i] if i < last else inputs_of[last]
                    if param.homogeneous:
                        dtype = type_.dtype
                        first = bound.setdefault(param.variable, dtype)
                        if first is not dtype:
                            raise ValueError(f"operand {param.name} is {dtype.name}, the others are {first.name}")
                args.append(operand)
            else:
                pending = pending or operand is not None
                args.append(None)
        if pending:
            for i, operand in enumerate(inputs):
                if operand is not None and type(operand) is not Value:
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
        dtype = bound.get(param.variable) if param.homogeneous else None
        if isinstance(operand, (np.ndarray, np.generic)):
            value = self.constant(operand)
            if dtype is not None and value.dtype is not dtype:
                raise ValueError(f"operand {param.name} is {value.element.name}, the others are {dtype.name}")
            return value
        if dtype is None and len(param.types) == 1:
            dtype = next(iter(param.types))
        if not isinstance(operand, (bool, int, float)):
            return self.constant(literal(operand, dtype))
        key = (type(operand), repr(operand), dtype)  # repr tells 0.0 from -0.0
        found_constant = self._constants.get(key)
        if found_constant is None:
            found_constant = self._constants[key] = self.constant(literal(operand, dtype))
        return found_constant

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

    def at(self, location: str) -> _Place:
        """Everything made inside comes from this source location; errors name it."""
        return _Place(self, location)

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

        if self.inputs and self.inputs[0].graph is not None:
            raise TranslationError("the graph is built already: its values belong to that model")
        return finish_model(self, keep_locations=keep_locations, producer=producer)


class _Place:
    """Sets a builder's location for a while; a foreign error that passes through gets it as a note."""

    __slots__ = ("_before", "_builder", "_location")

    def __init__(self, builder: GraphBuilder, location: str):
        self._builder, self._location = builder, location
        self._before = builder.location

    def __enter__(self) -> None:
        self._before = self._builder.location
        self._builder.location = self._location

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._builder.location = self._before
        if error is not None and not isinstance(error, AnyonnxError):
            error.add_note(f"while converting {self._location}")


def _all_constant(args: Sequence[Value | None]) -> bool:
    """Whether all operands are known and small enough to fold."""
    for value in args:
        if value is not None and (value._const_value is None or (value.size or 0) > FOLD_LIMIT):
            return False
    return True


def as_dtype(dtype: ir.DataType | str | int) -> ir.DataType:
    """An ONNX dtype from itself, its number, or a numpy dtype name (``float32``, ``string``)."""
    if isinstance(dtype, str):
        if dtype in ("string", "str", "object"):
            return ir.DataType.STRING
        if dtype == "bfloat16":
            return ir.DataType.BFLOAT16
        return ir.DataType.from_numpy(np.dtype(dtype))
    return ir.DataType(dtype)
