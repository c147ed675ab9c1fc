"""Walks a captured program and calls the symbolic function of every op."""

from __future__ import annotations

import functools
import itertools
import operator
import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

import onnx_ir as ir

from ...symbolic.adapt import run_symbolic
from ...symbolic.builder import GraphBuilder
from ...symbolic.dims import Dim
from ...symbolic.errors import CaptureError, MissingOp, TranslationError, UnsupportedOps
from ...symbolic.registry import Symbolic, registry
from ...symbolic.value import Value
from . import capture, complex_nodes, higher_order
from .dims import Dims
from .mutation import WRITE_BACK, Aliases, Memory, functional_name, is_overload, mutates, unsupported_writes
from .packed_weights import unpacked
from .weights import Weights

#: Arguments that say nothing about the values an op computes.
_PLACEMENT = ("device", "layout", "pin_memory", "memory_format", "non_blocking")
_MAX_DECOMPOSITIONS = 8
#: Quantised dtypes -> dtypes of their levels.
_LEVELS = {"torch.qint8": ir.DataType.INT8, "torch.quint8": ir.DataType.UINT8, "torch.qint32": ir.DataType.INT32}
_FRAME = re.compile(r'File "([^"]+)", line (\d+)')


# --- which ops there are ---------------------------------------------------------------------------------------------


def prepare(program: Any, opset: int, *, carried: Collection[str] = ()) -> Any:
    """The program with only ops that have a symbolic function.

    Ops without one are decomposed, these alone; in-place ops are rewritten where one writes through a view.

    Args:
        program: The captured program.
        opset: Opset that is asked for.
        carried: Buffers that may change: the caller makes their new values outputs.

    Raises:
        UnsupportedOps: Ops that have neither a symbolic function nor a decomposition, all of them.
        CaptureError: The model changes its own buffers.
    """
    _refuse_dtypes(program)
    if any(Aliases(m.graph).beyond_views() or unsupported_writes(m.graph) for m in _graphs(program.graph_module)):
        program = capture.functionalized(program)
    refuse_state(program, carried)
    composite, captured = True, program  # ops that are made of others and in no table come apart with the in-place ones
    for _ in range(_MAX_DECOMPOSITIONS):
        missing = _missing(program, opset)
        if not missing:
            break
        simpler = capture.decomposed(program, list({node.target: None for node in missing}))
        if simpler is None and composite:
            composite, simpler = False, capture.functionalized(program)
        if simpler is None:
            break
        program = simpler
    else:
        missing = _missing(program, opset)
    _refuse(missing)
    if program is not captured:
        _refuse_dtypes(program)
    return program


def _refuse(nodes: Sequence[Any]) -> None:
    """Raises UnsupportedOps for nodes without a symbolic function, if there are any."""
    places: dict[tuple[str, str, str], list[str]] = {}
    for node in nodes:
        dialect, name = dialect_and_name(node)
        reason = "for complex operands" if dialect == "aten.complex" else ""
        places.setdefault((dialect.removesuffix(".complex"), name, reason), []).append(location(node))
    if places:
        raise UnsupportedOps(
            [MissingOp(dialect, name, len(at), tuple(at[:3]), reason) for (dialect, name, reason), at in places.items()]
        )


def refuse_state(program: Any, carried: Collection[str] = ()) -> None:
    """Raises CaptureError where the model changes its parameters, buffers or constants."""
    signature = program.graph_signature
    changed = {
        str(s.target) for s in signature.output_specs if s.kind.name in ("BUFFER_MUTATION", "PARAMETER_MUTATION")
    }
    targets = {s.arg.name: s.target for s in signature.input_specs if s.kind.name in ("BUFFER", "PARAMETER")}
    for node in Aliases(program.graph).written():
        if node.op == "placeholder" and node.name in targets:
            changed.add(str(targets[node.name]))
    changed -= set(carried)
    if changed:
        raise CaptureError(
            f"forward changes {', '.join(sorted(changed))}: an ONNX model keeps no state between runs. "
            "Convert with --state carry (state='carry'), which makes it inputs and outputs, or take it as an input "
            "and return the new one."
        )


def _graphs(module: Any) -> list[Any]:
    import torch

    return [m for m in module.modules() if isinstance(m, torch.fx.GraphModule)]


def _missing(program: Any, opset: int) -> list[Any]:
    return [
        node
        for module in _graphs(program.graph_module)
        for node in module.graph.nodes
        if node.op == "call_function" and _needs_function(node) and lookup(node, opset) is None
    ]


def _needs_function(node: Any) -> bool:
    target = node.target
    if is_overload(target):
        return not is_check(target) and not _is_size(node)
    name = _higher_order_name(target)
    return name is not None and name not in higher_order.KNOWN and name != "with_effects"


def _higher_order_name(target: Any) -> str | None:
    import torch

    return str(target.name()) if isinstance(target, torch._ops.HigherOrderOperator) else None


@functools.cache
def is_check(target: Any) -> bool:
    """Whether an operator only checks something."""
    name = getattr(target, "__name__", str(target))
    return name.split(".")[0] in (
        "_assert_scalar", "_assert_async", "_assert_tensor_metadata", "sym_constrain_range", "_functional_assert_async",
        "sym_constrain_range_for_size", "_check", "_print", "_linalg_check_errors",
    )  # fmt: skip


def _is_size(node: Any) -> bool:
    """Whether the node gives a size, number or truth value that the capture knows as an expression."""
    import torch

    value = node.meta.get("val")
    if isinstance(value, (torch.SymInt, int)):
        return not any(str(s).startswith("u") for s in _symbols(value)) or not _reads_tensor(node)
    return isinstance(value, (torch.SymBool, float)) and not _reads_tensor(node)


def _symbols(value: Any) -> Any:
    return () if isinstance(value, int) else value.node.expr.free_symbols


def _reads_tensor(node: Any) -> bool:
    return is_overload(node.target) and node.target._schema.name in ("aten::item", "aten::_local_scalar_dense")


def dialect_and_name(node: Any) -> tuple[str, str]:
    """Where an operator's function is registered: an operator of another library under the library's name."""
    library, _, name = functional_name(node.target).rpartition("::")
    return library or complex_nodes.dialect_of(node), name


def lookup(node: Any, opset: int) -> Symbolic | None:
    """The symbolic function of a node's operator: by name and overload, else by name."""
    if not is_overload(node.target):
        return None
    dialect, name = dialect_and_name(node)
    return registry.lookup(dialect, name, opset) or registry.lookup(dialect, name.rsplit(".", 1)[0], opset)


@functools.cache  # torch makes a schema's parts anew whenever they are asked for
def _signature(target: Any) -> tuple[str, tuple[str, ...], int, bool]:
    """An operator's name, those of its arguments, how many results it has, and whether that is one tensor."""
    schema = target._schema
    returns = schema.returns
    single = len(returns) == 1 and not str(returns[0].type).startswith("List")
    return schema.name, tuple(a.name for a in schema.arguments), len(returns), single


def _refuse_dtypes(program: Any) -> None:
    """Raises UnsupportedOps for quantised and other element types without an ONNX counterpart here."""
    import torch

    missing: dict[str, MissingOp] = {}
    for node in program.graph.nodes:
        value = node.meta.get("val")
        for part in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(part, torch.Tensor) and onnx_dtype(part.dtype) is None:
                name = functional_name(node.target) if is_overload(node.target) else node.name
                missing.setdefault(
                    name, MissingOp("aten", name, 1, (location(node),), f"{part.dtype} tensors aren't supported")
                )
    if missing:
        raise UnsupportedOps(list(missing.values()))


def onnx_dtype(dtype: Any) -> ir.DataType | None:
    """ONNX dtype of a torch dtype; None where there is none.

    A quantised tensor is carried as the numbers that it stands for.
    """
    from onnx_ir.tensor_adapters import from_torch_dtype

    if str(dtype) in _LEVELS:
        return ir.DataType.FLOAT
    try:
        return from_torch_dtype(dtype)
    except TypeError:
        return None


def location(node: Any) -> str:
    """Module path and source line of a node: ``layer1.0.conv1 (resnet.py:92)``."""
    stack = node.meta.get("nn_module_stack") or {}
    path = next((entry[0] for entry in reversed(list(stack.values()))), "")
    frames = _FRAME.findall(node.meta.get("stack_trace") or "")
    outside = [f for f in frames if not re.search(r"[/\\](torch|from_torch)[/\\]", f[0])] or frames
    place = f"({re.split(r'[/]', outside[-1][0])[-1]}:{outside[-1][1]})" if outside else ""
    return f"{path} {place}".strip() or node.name


# --- the walk --------------------------------------------------------------------------------------------------------


class Walk:
    """Translates one captured program into a builder.

    Args:
        g: Builder of the graph.
        dims: Sizes of the program as Dims.
    """

    def __init__(self, g: GraphBuilder, dims: Dims):
        self.g, self.dims = g, dims
        self.weights = Weights(g)
        dims.compute = self._computed_size

    def _computed_size(self, size: Dim, expression: Any) -> None:
        """Computes a size that is rounded from a float, in double precision as Python does."""
        g = self.g
        number = self._float(expression.args[0])
        rounding = {"RoundToInt": "Round", "CeilToInt": "Ceil", "ceiling": "Ceil"}.get(type(expression).__name__)
        rounded = g.call(rounding or "Floor", number)  # sizes aren't negative
        g.learn_size(size, g.Cast(rounded, to=ir.DataType.INT64))

    def inside(self, body: GraphBuilder) -> Walk:
        """A walk that writes into a body of this one's graph; weights are shared."""
        inner = Walk(body, self.dims)
        inner.weights = self.weights
        return inner

    def run(self, module: Any, arguments: Sequence[Any], *, mark: bool = True) -> list[Any]:
        """Translates a graph module on the given values of its placeholders; gives its outputs."""
        import torch

        aliases = Aliases(module.graph)

        def read(node: Any) -> Any:
            return memory[node]

        def write_back(view: Any, value: Any) -> Any:
            return self._written_back(view, aliases.parent[view], value, read)

        memory = Memory(aliases, lambda node: self._call(node, lambda a: _mapped(a, read)), write_back)
        given = iter(arguments)
        for node in module.graph.nodes:
            if node.op == "placeholder":
                memory[node] = next(given)
            elif node.op == "get_attr":
                found = operator.attrgetter(node.target)(module)
                memory[node] = self.weights.value(node.target, found) if isinstance(found, torch.Tensor) else found
            elif node.op == "call_function":
                where = location(node)
                with self.g.at(where):
                    result = self._call(node, lambda a: _mapped(a, read))
                    if mutates(node.target) and isinstance(result, complex_nodes.TENSOR):
                        result = complex_nodes.like(self.g, result, memory[node])
                    memory[node] = self._expected(node, result, mark)
            elif node.op == "output":
                outputs = _mapped(node.args[0], read)
                return list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]
        return []

    def _written_back(self, view: Any, viewed: Any, value: Any, read: Callable[[Any], Any]) -> Any:
        """The whole tensor after new values were written to a view of it."""
        how = WRITE_BACK[functional_name(view.target)]
        shape = self.dims.sizes(viewed.meta["val"].shape)
        if how == "shape":
            return complex_nodes.reshaped(self.g, value, shape)
        dialect, opset = complex_nodes.dialect_of(view), self.g.opset
        row = lookup(view, opset) if how == "itself" else registry.lookup(dialect, how, opset)
        assert row is not None
        operands = [value] if how == "itself" else [read(viewed), value]
        operands += [_converted(_mapped(a, read)) for a in view.args[1:]]
        options = {k: _converted(_mapped(v, read)) for k, v in view.kwargs.items()}
        results = run_symbolic(row, self.g, operands, options, 1)
        assert results is not None
        return results[0]

    def _call(self, node: Any, read: Callable[[Any], Any]) -> Any:
        import torch

        target = node.target
        if target is operator.getitem:
            return self._one_of(node, read(node.args[0]))
        if is_check(target):
            return None
        value = node.meta.get("val")
        if _is_size(node):
            return self._size(value)
        if is_overload(target):
            return self._function(node, read)
        if isinstance(target, torch._ops.HigherOrderOperator):
            return self._effects(node) if target.name() == "with_effects" else higher_order.translate(self, node, read)
        if isinstance(value, torch.SymFloat):
            return self._float(value.node.expr)
        raise TranslationError(f"can't translate a call of {target}", location=self.g.location)

    def _one_of(self, node: Any, results: Any) -> Any:
        """One of several results; functions give None for one that they don't compute."""
        source, index = node.args
        wanted = node.users and hasattr(node.meta.get("val"), "shape")
        if results[index] is None and is_overload(source.target) and wanted:
            reason = f"its result {index} isn't computed"
            dialect, name = dialect_and_name(source)
            raise UnsupportedOps([MissingOp(dialect, name, 1, (self.g.location,), reason)])
        return results[index]

    def _function(self, node: Any, read: Callable[[Any], Any]) -> Any:
        row = lookup(node, self.g.opset)
        assert row is not None
        if row.function.__module__.endswith(".storage"):
            self._refuse_shared_memory(node)
        name, positional, returned, single = _signature(node.target)
        args = list(node.args)
        # placement arguments are keyword-only, except in a few overloads that are passed on whole
        kwargs = {k: v for k, v in node.kwargs.items() if k not in _PLACEMENT}
        if kwargs.pop("generator", None) is not None:
            raise TranslationError("a random generator can't be translated", op=row.name, location=self.g.location)
        while args and positional[len(args) - 1] in _PLACEMENT and not name.endswith("::to"):
            args.pop()
        values = unpacked(self.g, name, [_converted(read(a)) for a in args])
        attributes = {k: _converted(read(v)) for k, v in kwargs.items()}
        results = run_symbolic(row, self.g, values, attributes, max(returned, 1))
        if results is None:
            raise TranslationError("these operands aren't supported", op=row.name, location=self.g.location)
        return results[0] if single else tuple(results)

    def _refuse_shared_memory(self, node: Any) -> None:
        """Ops on memory are translated for tensors that lie in theirs row by row, alone."""
        tensor = node.args[0].meta["val"]
        alone = tensor.storage_offset() == 0 and tensor.untyped_storage().nbytes() == tensor.numel() * tensor.itemsize
        if not (tensor.is_contiguous() and alone):
            raise UnsupportedOps(
                [
                    MissingOp(
                        "aten", functional_name(node.target), 1, (self.g.location,), "it reads the memory of a view"
                    )
                ]
            )

    def _effects(self, node: Any) -> Any:
        """An op with a side effect: only checks are known, which give nothing but their token."""
        checked = node.args[1]
        if not is_check(checked):
            raise UnsupportedOps([MissingOp("aten", functional_name(checked), 1, (self.g.location,))])
        return (None,)

    def _expected(self, node: Any, result: Any, mark: bool) -> Any:
        """Compares results with what the capture says about them."""
        import torch

        said = node.meta.get("val")
        if isinstance(result, complex_nodes.TENSOR) and isinstance(said, torch.Tensor):
            result = self._tensor(result, said)
            if mark and isinstance(result, Value) and not result.is_constant:
                self.g.mark(result, node.name)
        elif isinstance(result, Value) and isinstance(said, torch.SymInt):
            size = self.dims.size(said)
            if size is not None:
                self.g.learn_size(size, result)
        elif isinstance(result, tuple) and isinstance(said, (tuple, list)):
            return tuple(
                self._tensor(one, told)
                if isinstance(one, complex_nodes.TENSOR) and isinstance(told, torch.Tensor)
                else one
                for one, told in itertools.zip_longest(result, said[: len(result)])
            )
        return result

    def _tensor(self, result: Any, said: Any) -> Any:
        return complex_nodes.expected(self.g, result, onnx_dtype(said.dtype), self.dims.sizes(said.shape))

    def _size(self, value: Any) -> Any:
        if isinstance(value, (bool, float)) or type(value).__name__ == "SymBool":
            return value
        size = self.dims.size(value)
        if size is None:
            raise TranslationError(f"the size {value} has no counterpart", location=self.g.location)
        return size

    def _float(self, expression: Any) -> Value:
        """A float that is computed from sizes, in double precision as Python does."""
        g, double = self.g, ir.DataType.DOUBLE
        kind = type(expression).__name__
        if expression.is_number:
            return g.constant(float(expression), double)
        if expression.is_integer and kind != "ToFloat":
            size = self.dims.expression(expression)
            if size is not None:
                return g.Cast(g.size(size), to=double)
        parts = [self._float(a) for a in expression.args]
        op = {
            "Add": "Add", "Mul": "Mul", "FloatTrueDiv": "Div", "IntTrueDiv": "Div", "FloatPow": "Pow", "Pow": "Pow",
            "OpaqueUnaryFn_sqrt": "Sqrt", "OpaqueUnaryFn_log": "Log", "OpaqueUnaryFn_exp": "Exp",
        }.get(kind)  # fmt: skip
        if kind in ("ToFloat", "Identity"):
            return parts[0]
        if op is None:
            raise TranslationError(f"the number {expression} has no counterpart", location=g.location)
        result = parts[0] if len(parts) > 1 else g.call(op, parts[0])
        for part in parts[1:]:
            result = g.call(op, result, part)
        return result


def _mapped(argument: Any, read: Callable[[Any], Any]) -> Any:
    """An argument of an fx node with every node in it replaced."""
    if hasattr(argument, "users"):
        return read(argument)
    if isinstance(argument, (tuple, list)):
        return [_mapped(a, read) for a in argument]
    if isinstance(argument, dict):
        return {k: _mapped(v, read) for k, v in argument.items()}
    if isinstance(argument, slice):
        return slice(_mapped(argument.start, read), _mapped(argument.stop, read), _mapped(argument.step, read))
    return argument


def _converted(argument: Any) -> Any:
    """An argument without types of torch in it: dtypes as ONNX has them, devices and layouts as text."""
    import torch

    if isinstance(argument, list):
        return [_converted(a) for a in argument]
    if isinstance(argument, torch.dtype):
        found = _LEVELS.get(str(argument)) or onnx_dtype(argument)
        if found is None:
            raise TranslationError(f"{argument} has no ONNX counterpart")
        return found
    if isinstance(argument, (torch.device, torch.layout, torch.memory_format)):
        return str(argument)
    return argument
