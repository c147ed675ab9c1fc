"""Walks a StableHLO module and calls the symbolic function of every operation."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import onnx_ir as ir

from ...symbolic.builder import GraphBuilder
from ...symbolic.dims import Sizes
from ...symbolic.errors import MissingOp, TranslationError, UnsupportedOps
from ...symbolic.infer import broadcast
from ...symbolic.registry import Symbolic, registry
from ...symbolic.value import Value
from ...symbolic.xla.apply import apply, is_pointwise
from ...symbolic.xla.region import Region, Typed, expanded
from .comparators import combiner

_DTYPES = {
    "f16": "FLOAT16", "bf16": "BFLOAT16", "f32": "FLOAT", "f64": "DOUBLE", "i1": "BOOL", "i4": "INT4", "i8": "INT8",
    "i16": "INT16", "i32": "INT32", "i64": "INT64", "ui4": "UINT4", "ui8": "UINT8", "ui16": "UINT16", "ui32": "UINT32",
    "ui64": "UINT64", "f8E4M3FN": "FLOAT8E4M3FN", "f8E5M2": "FLOAT8E5M2",
}  # fmt: skip
_IGNORED = (
    "api_version",
    "has_side_effect",
    "backend_config",
    "mhlo.sharding",
    "jax.buffer_donor",
    "custom_call_config",
    "operand_layouts",
    "result_layouts",
    "output_operand_aliases",
    "indices_of_shape_operands",
)
#: A value, and the sizes that it has once it is broadcast.
Known = tuple[Value, tuple[Any, ...]]
Environment = dict[Any, Known]


def parse(text: bytes | str) -> Any:
    """A module from StableHLO bytecode (portable) or text."""
    from jax.interpreters import mlir
    from jaxlib.mlir import ir as mlir_ir
    from jaxlib.mlir.dialects import stablehlo

    context = mlir.make_ir_context()
    if isinstance(text, bytes) and text.startswith(b"ML\xefR"):
        with context:
            return stablehlo.deserialize_portable_artifact(context, text)
    return mlir_ir.Module.parse(text, context=context)


def element_type(type_: Any) -> ir.DataType | None:
    """ONNX dtype of an MLIR tensor type; None for tokens, complex numbers and others without one."""
    if not hasattr(type_, "element_type"):
        return None
    name = _DTYPES.get(str(type_.element_type))
    return None if name is None else ir.DataType[name]


def static_sizes(type_: Any) -> Sizes:
    """Sizes of an MLIR tensor type; None where one is open."""
    return tuple(None if type_.is_dynamic_dim(i) else type_.get_dim_size(i) for i in range(type_.rank))


def location(operation: Any) -> str:
    """Name and line, as far as the file keeps them: ``jit(f)/dot_general (model.py:12)``."""
    text = str(operation.location)
    names = re.findall(r'"([^"<>]+)"\(', text)
    lines = re.findall(r'"([^"<>]+\.py)":(\d+)', text)
    name = next((n for n in names if not n.endswith(".py")), short_name(operation))
    return f"{name} ({lines[0][0].rsplit('/', 1)[-1]}:{lines[0][1]})" if lines else name


def short_name(operation: Any) -> str:
    """Name of an operation in the dialect: ``add``, ``chlo.erf``, ``custom_call.Sharding``."""
    name = str(operation.name)
    if name == "stablehlo.custom_call":
        return f"custom_call.{plain(operation.attributes['call_target_name'])}"
    return name.removeprefix("stablehlo.")


@lru_cache(maxsize=1)
def _readers() -> list[tuple[Any, Callable[[Any], Any]]]:
    """Attribute classes, and what they are as Python values."""
    from jaxlib.mlir import ir as m
    from jaxlib.mlir.dialects import stablehlo as s

    def value(attribute: Any) -> Any:
        return attribute.value

    return [
        *((kind, value) for kind in (m.BoolAttr, m.IntegerAttr, m.FloatAttr, m.StringAttr, m.FlatSymbolRefAttr)),
        *((kind, list) for kind in (m.DenseI64ArrayAttr, m.DenseBoolArrayAttr, m.DenseI32ArrayAttr)),
        (m.DictAttr, lambda a: {name: plain(inner) for name, inner in _named(a)}),
        (m.ArrayAttr, lambda a: [plain(inner) for inner in a]),
        (m.DenseElementsAttr, dense),
        *((kind, value) for kind in (s.ComparisonDirectionAttr, s.ComparisonTypeAttr, s.FftTypeAttr, s.TransposeAttr)),
        *((kind, lambda a: a) for kind in (s.ConvDimensionNumbers, s.DotDimensionNumbers)),
        *((kind, lambda a: a) for kind in (s.GatherDimensionNumbers, s.ScatterDimensionNumbers)),
    ]


def plain(attribute: Any) -> Any:
    """An MLIR attribute as a Python value; dimension numbers stay objects."""
    for kind, read in _readers():
        if isinstance(attribute, kind):
            return read(attribute)
        if hasattr(kind, "isinstance") and kind.isinstance(attribute):  # the binding doesn't know these by itself
            return read(kind(attribute))
    return attribute


def _named(attributes: Any) -> Iterator[tuple[str, Any]]:
    """Names and attributes of a dictionary; some versions of the binding iterate over names, some over pairs."""
    for item in attributes:
        yield (item, attributes[item]) if isinstance(item, str) else (item.name, item.attr)


def dense(attribute: Any) -> np.ndarray:
    """Contents of a constant."""

    type_ = attribute.type
    dtype = element_type(type_)
    if dtype is None:
        raise TranslationError(f"constants of type {type_} aren't supported")
    shape = [type_.get_dim_size(i) for i in range(type_.rank)]
    target = dtype.numpy()
    if attribute.is_splat:
        splat = attribute.get_splat_value().value
        return np.broadcast_to(np.asarray(splat).astype(target), shape)
    if target.kind == "V" or target.name in ("bfloat16", "float8_e4m3fn", "float8_e5m2", "int4", "uint4"):
        return np.array([a.value if hasattr(a, "value") else a for a in attribute]).astype(target).reshape(shape)
    return np.asarray(np.array(attribute), dtype=target).reshape(shape)


class ModuleWalk:
    """Translates the functions of a module.

    Args:
        module: MLIR module.
        opset: Opset to write.
    """

    def __init__(self, module: Any, opset: int):
        self.opset = opset
        self.functions = {
            plain(op.attributes["sym_name"]): op.operation for op in module.body.operations if _is_function(op)
        }

    # --- what there is ---------------------------------------------------------------------------------------------

    def operations(self, function: Any) -> Iterator[Any]:
        """All operations of a function, those of the functions it calls and of its regions included."""
        for operation in _operations(function):
            yield operation
            if operation.name == "func.call":
                yield from self.operations(self.functions[plain(operation.attributes["callee"])])
            elif operation.name == "stablehlo.composite" and self._composite(operation) is None:
                yield from self.operations(self.functions[plain(operation.attributes["decomposition"])])

    def _composite(self, operation: Any) -> Symbolic | None:
        return registry.lookup("stablehlo", plain(operation.attributes["name"]), self.opset)

    def require(self, function: Any) -> None:
        """Raises UnsupportedOps with everything that has no symbolic function, or a dtype that ONNX can't have."""
        missing: dict[str, MissingOp] = {}
        for operation in self.operations(function):
            name, reason = short_name(operation), None
            if name in _STRUCTURE:
                continue
            values = [*operation.operands, *operation.results]
            if registry.lookup("stablehlo", name, self.opset) is None:
                reason = ""
            elif any(hasattr(v.type, "element_type") and element_type(v.type) is None for v in values):
                types = {str(v.type.element_type) for v in values if element_type(v.type) is None}
                reason = f"elements of type {', '.join(sorted(types))} aren't supported"
            if reason is not None:
                before = missing.get(name)
                places = (*(before.locations if before else ()), location(operation))[:3]
                count = 1 + (before.count if before else 0)
                missing[name] = MissingOp("stablehlo", name, count, places, reason)
        if missing:
            raise UnsupportedOps(list(missing.values()))

    # --- the walk --------------------------------------------------------------------------------------------------

    def call(self, g: GraphBuilder, function: Any, arguments: Sequence[Known]) -> list[Known]:
        """Translates a function on the given arguments."""
        block = function.regions[0].blocks[0]
        return self._block(g, block, dict(zip(block.arguments, arguments, strict=True)))

    def _block(self, g: GraphBuilder, block: Any, env: Environment) -> list[Known]:
        for view in block.operations:
            operation = view.operation  # a view has attributes of its own called name, results ...
            name = operation.name
            if name in ("func.return", "stablehlo.return"):
                return [env[v] for v in operation.operands]
            with g.at(location(operation)):
                results = self._operation(g, operation, env)
            env.update(zip(operation.results, results, strict=True))
        return []

    def _operation(self, g: GraphBuilder, operation: Any, env: Environment) -> list[Known]:
        name = short_name(operation)
        known = [env[v] for v in operation.operands]
        if name == "func.call":
            return self.call(g, self.functions[plain(operation.attributes["callee"])], known)
        if name == "constant":
            value = self._constant(g, operation)
            return [(value, static_sizes(operation.results[0].type))]
        row = registry.lookup("stablehlo", name, self.opset)
        attributes = {n: plain(a) for n, a in _named(operation.attributes) if n not in _IGNORED}
        if name == "composite":
            row = self._composite(operation)
            if row is None:
                return self.call(g, self.functions[attributes["decomposition"]], known)
            attributes = attributes.get("composite_attributes", {})
        attributes.pop("call_target_name", None)
        if row is None:
            raise UnsupportedOps([MissingOp("stablehlo", name, 1, (g.location,))])
        if len(operation.regions):
            attributes["regions"] = [self._region(r, known, name, env) for r in operation.regions]
        return self._apply(g, row, operation, known, attributes)

    def _apply(
        self, g: GraphBuilder, row: Symbolic, operation: Any, known: Sequence[Known], attributes: dict[str, Any]
    ) -> list[Known]:
        declared = [Typed(v.element, sizes) for v, sizes in known]
        results = [self._typed(i, r.type, row, known) for i, r in enumerate(operation.results)]
        found = apply(g, row, [v for v, _ in known], declared, attributes, results)
        return [(v, _sizes(v, t.sizes)) for v, t in zip(found, results, strict=True)]

    def _typed(self, index: int, type_: Any, row: Symbolic, known: Sequence[Known]) -> Typed:
        """Dtype and sizes of a result; open ones from the operands, where the operation tells."""
        dtype = element_type(type_)
        assert dtype is not None  # `require` has looked
        sizes: list[Any] = list(static_sizes(type_))
        if None not in sizes:
            return Typed(dtype, tuple(sizes))
        told: tuple[Any, ...] | None = None
        if is_pointwise(row.function):
            told = broadcast(*(s for _, s in known if len(s) == len(sizes)))
        elif row.name in ("dynamic_broadcast_in_dim", "dynamic_iota", "dynamic_reshape"):
            told = known[-1][0].dims
        elif row.name == "while":
            told = known[index][1]
        if told is not None and len(told) == len(sizes):
            sizes = [t if s is None else s for s, t in zip(sizes, told, strict=True)]
        return Typed(dtype, tuple(sizes))

    def _constant(self, g: GraphBuilder, operation: Any) -> Value:
        attribute = operation.attributes["value"]
        array = dense(attribute)
        if array.size > 1 and not any(array.strides):  # all alike: one element, broadcast where it is needed
            return g.constant(np.array(array.reshape(-1)[0]))
        return g.constant(np.array(array, order="C"))

    def _region(self, region: Any, known: Sequence[Known], name: str, env: Environment) -> Region:
        block = region.blocks[0]
        inputs = []
        for i, argument in enumerate(block.arguments):
            dtype = element_type(argument.type)
            assert dtype is not None
            sizes: tuple[Any, ...] = tuple(known[i][1] if name == "while" else static_sizes(argument.type))
            inputs.append(Typed(dtype, sizes))
        terminator = list(block.operations)[-1].operation
        outputs = []
        for value in terminator.operands:
            dtype = element_type(value.type)
            assert dtype is not None
            outputs.append(Typed(dtype, static_sizes(value.type)))  # type: ignore[arg-type]

        def run(g: GraphBuilder, values: Sequence[Value]) -> list[Value]:
            arguments = [(v, t.sizes) for v, t in zip(values, inputs, strict=True)]
            results = self._block(g, block, {**env, **dict(zip(block.arguments, arguments, strict=True))})
            return [expanded(g, v, sizes) for v, sizes in results]

        def freely(g: GraphBuilder, values: Sequence[Value]) -> list[Value]:
            arguments = [(v, v.sizes or ()) for v in values]
            results = _Free(self).run(g, block, {**env, **dict(zip(block.arguments, arguments, strict=True))})
            return [v for v, _ in results]

        return Region(inputs, outputs, run, combiner(block, name), elementwise=freely)


class _Free:
    """Runs the function of a region, which is of scalars, on whole tensors."""

    def __init__(self, walk: ModuleWalk):
        self.walk = walk

    def run(self, g: GraphBuilder, block: Any, env: Environment) -> list[Known]:
        """Results of the block."""
        from ...symbolic.adapt import run_symbolic

        for view in block.operations:
            operation = view.operation
            name = short_name(operation)
            if name == "return":
                return [env[v] for v in operation.operands]
            if name == "constant":
                env[operation.results[0]] = (self.walk._constant(g, operation), ())
                continue
            row = registry.lookup("stablehlo", name, g.opset)
            if row is None or not is_pointwise(row.function):
                raise TranslationError("is not elementwise, in a function of elements", op=name, location=g.location)
            attributes = {n: plain(a) for n, a in _named(operation.attributes)}
            if "result" in inspect.signature(row.function).parameters:
                dtype = element_type(operation.results[0].type)
                assert dtype is not None
                attributes["result"] = Typed(dtype, ())
            found = run_symbolic(row, g, [env[v][0] for v in operation.operands], attributes, 1) or []
            env.update((r, (v, v.sizes or ())) for r, v in zip(operation.results, found, strict=True) if v is not None)
        return []


_STRUCTURE = ("func.call", "func.return", "return", "constant", "composite")


def _is_function(operation: Any) -> bool:
    return bool(operation.operation.name == "func.func")


def _operations(operation: Any) -> Iterator[Any]:
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield inner.operation
                yield from _operations(inner.operation)


def _sizes(value: Value, said: Sequence[Any]) -> tuple[Any, ...]:
    if None not in said or value.sizes is None:
        return tuple(said)
    return tuple(o if s is None else s for s, o in zip(said, value.sizes, strict=True))
