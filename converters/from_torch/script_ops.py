"""Ops of TorchScript that aren't operators on tensors: numbers from tensors, lists, dicts, attributes, checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from ...symbolic.dims import product
from ...symbolic.errors import CaptureError, MissingOp, TranslationError, UnsupportedOps
from ...symbolic.quantized.tensor import Quantized
from ...symbolic.value import Value
from . import script_numbers as numbers
from .script_merge import UNSET
from .script_program import Op, dtype_number, dtype_of, level_number
from .script_values import Items, Record, Table, Tensor, leaves

if TYPE_CHECKING:
    from .script_graph import ScriptWalk

Handler = Callable[..., Any]
#: By node kind: ``f(walk, op, *operands)`` gives the result, a list of several, or NotImplemented.
HANDLERS: dict[str, Handler] = {}


def handles(*kinds: str) -> Callable[[Handler], Handler]:
    """Registers a function for kinds of nodes."""

    def register(function: Handler) -> Handler:
        HANDLERS.update(dict.fromkeys(kinds, function))
        return function

    return register


# --- constants, tuples, objects --------------------------------------------------------------------------------------


@handles("prim::Constant")
def _constant(walk: ScriptWalk, op: Op) -> Any:
    output = op.node.output()
    if output.type().kind() == "FunctionType":
        return None
    return walk.adopted(output.toIValue())


@handles("prim::Uninitialized")
def _uninitialized(walk: ScriptWalk, op: Op) -> Any:
    return UNSET


@handles("prim::TupleConstruct")
def _tuple(walk: ScriptWalk, op: Op, *parts: Any) -> Any:
    return tuple(parts)


@handles("prim::TupleUnpack")
def _untuple(walk: ScriptWalk, op: Op, whole: Any) -> Any:
    return [UNSET] * len(op.outputs) if whole is UNSET else list(whole)


@handles("prim::TupleIndex")
def _tuple_index(walk: ScriptWalk, op: Op, whole: Any, index: int) -> Any:
    return whole[index]


@handles("prim::TupleSlice")
def _tuple_slice(walk: ScriptWalk, op: Op, whole: Any) -> Any:
    return whole[op.node.i("beg") : op.node.i("end")]


@handles("prim::CreateObject")
def _create(walk: ScriptWalk, op: Op) -> Any:
    return Record(None, None, walk.memory.now)


@handles("prim::GetAttr")
def _get_attribute(walk: ScriptWalk, op: Op, holder: Record) -> Any:
    name = op.node.s("name")
    return holder.items[name] if name in holder.items else walk.loaded(holder, name)


@handles("prim::SetAttr")
def _set_attribute(walk: ScriptWalk, op: Op, holder: Record, value: Any) -> Any:
    walk.memory.change(holder)
    holder.items[op.node.s("name")] = value
    return []


@handles("prim::unchecked_cast", "prim::unchecked_unwrap_optional", "aten::_unwrap_optional", "prim::data",
         "aten::cpu", "aten::cuda", "prim::rangelist", "aten::requires_grad_", "aten::wait")  # fmt: skip
def _same(walk: ScriptWalk, op: Op, value: Any, *_: Any) -> Any:
    return value


@handles("prim::isinstance")
def _isinstance(walk: ScriptWalk, op: Op, value: Any) -> Any:
    return any(_is_a(value, t) for t in op.node.tys("types"))


def _is_a(value: Any, kind: Any) -> bool:
    name = kind.kind()
    if name in ("OptionalType", "UnionType"):
        return (name == "OptionalType" and value is None) or any(_is_a(value, t) for t in kind.containedTypes())
    if name == "ListType":
        return isinstance(value, Items) and all(_is_a(v, kind.getElementType()) for v in value.items)
    known = {
        "TensorType": isinstance(value, Tensor), "NoneType": value is None, "DictType": isinstance(value, Table),
        "TupleType": isinstance(value, tuple), "StringType": isinstance(value, str), "AnyType": True,
        "IntType": numbers.is_number(value) and numbers.kind(value) == numbers.INT,
        "FloatType": numbers.is_number(value) and numbers.kind(value) == numbers.FLOAT,
        "BoolType": numbers.is_number(value) and numbers.kind(value) == numbers.BOOL,
    }  # fmt: skip
    return known.get(name, isinstance(value, Record))


@handles("aten::__is__", "aten::__isnot__")
def _identity(walk: ScriptWalk, op: Op, a: Any, b: Any) -> Any:
    return (a is b) == (op.kind == "aten::__is__")


@handles("prim::RaiseException")
def _raise(walk: ScriptWalk, op: Op, text: Any, *_: Any) -> Any:
    told = text if isinstance(text, str) and text else "an exception"
    raise CaptureError(f"the model raises for these inputs: {told} (at {op.location})")


@handles("prim::Print", "aten::warn", "prim::Enter", "prim::Exit", "aten::set_grad_enabled", "aten::manual_seed",
         "aten::_assert", "prim::profile")  # fmt: skip
def _nothing(walk: ScriptWalk, op: Op, *_: Any) -> Any:
    return [None] * len(op.outputs)


@handles("aten::format", "aten::percentFormat")
def _text(walk: ScriptWalk, op: Op, *parts: Any) -> Any:
    # texts are made for messages of exceptions and warnings
    return "{}".join(str(p) for p in parts) if not isinstance(parts[0], str) else _formatted(parts[0], parts[1:])


def _formatted(pattern: str, parts: tuple[Any, ...]) -> str:
    for part in parts:
        shown = [leaf for _, leaf in leaves(part)] if isinstance(part, (Items, tuple)) else part
        pattern = pattern.replace("{}", str(shown), 1)
    return pattern


@handles("aten::str")
def _string(walk: ScriptWalk, op: Op, value: Any) -> Any:
    return _formatted("{}", (value,))


@handles("aten::is_grad_enabled", "aten::is_autocast_enabled", "aten::is_autocast_cpu_enabled", "prim::is_cuda",
         "prim::is_mkldnn", "prim::is_nested", "prim::is_sparse", "prim::is_xpu", "prim::is_mps",
         "aten::is_scripting", "prim::requires_grad", "aten::is_tracing", "prim::is_meta", "prim::is_ort",
         "aten::is_complex", "prim::is_vulkan", "prim::is_sparse_csr", "prim::is_mtia", "prim::is_xla",
         "prim::is_maia", "prim::is_ipu", "aten::_get_privateuse1_backend_name")  # fmt: skip
def _false(walk: ScriptWalk, op: Op, *_: Any) -> Any:
    return False


# --- about tensors ---------------------------------------------------------------------------------------------------


@handles("aten::dim")
def _dim(walk: ScriptWalk, op: Op, x: Tensor) -> Any:
    return walk.read(x).rank


@handles("aten::size", "prim::shape")
def _size(walk: ScriptWalk, op: Op, x: Tensor, axis: Any = None) -> Any:
    value = plain(walk, x)
    if axis is not None:
        return size_number(walk, value, axis)
    return walk.memory.items([size_number(walk, value, i) for i in range(value.rank)])


def plain(walk: ScriptWalk, x: Tensor) -> Any:
    """The value of a tensor; of a quantised one, the numbers that it stands for."""
    value = walk.read(x)
    return value.numbers if isinstance(value, Quantized) else value


def size_number(walk: ScriptWalk, value: Value, axis: int) -> Any:
    """The size of an axis; where it isn't known, a number in the graph whose origin is remembered."""
    axis = axis % value.rank if value.rank else axis
    size = value.dim(axis)
    if size is not None:
        return size
    number = walk.g.Squeeze(walk.g.Shape(value, start=axis, end=axis + 1), [0])
    walk.origins[id(number)] = (number, value, axis)
    walk.sized[id(number)] = number
    return number


@handles("aten::numel")
def _numel(walk: ScriptWalk, op: Op, x: Tensor) -> Any:
    value = plain(walk, x)
    if value.sizes is not None and None not in value.sizes:
        return product(s for s in value.sizes if s is not None)
    return walk.g.Size(value)


@handles("prim::dtype")
def _dtype(walk: ScriptWalk, op: Op, x: Tensor) -> Any:
    value = walk.read(x)
    return level_number(value.kind) if isinstance(value, Quantized) else dtype_number(value.element)


@handles("prim::is_quantized")
def _is_quantized(walk: ScriptWalk, op: Op, x: Tensor) -> Any:
    return isinstance(walk.read(x), Quantized)


@handles("prim::device", "aten::device")
def _device(walk: ScriptWalk, op: Op, *_: Any) -> Any:
    return "cpu"


@handles("prim::layout")
def _layout(walk: ScriptWalk, op: Op, _: Tensor) -> Any:
    return 0


@handles("aten::is_floating_point")
def _is_floating(walk: ScriptWalk, op: Op, x: Any) -> Any:
    return walk.read(x).element.is_floating_point()


@handles("aten::squeeze", "aten::squeeze_")
def _squeeze(walk: ScriptWalk, op: Op, x: Tensor, axes: Any = None, *_: Any) -> Any:
    """Refuses to guess whether an axis of a size that nothing is known about is 1."""
    value = walk.read(x)
    chosen = range(value.rank) if axes is None else axes.items if isinstance(axes, Items) else [axes]
    if any(isinstance(a, int) and value.rank and value.dim(a) is None for a in chosen):
        raise TranslationError("squeeze of an axis whose size isn't known", op=op.kind, location=walk.g.location)
    return NotImplemented


@handles("aten::Int", "aten::IntImplicit", "aten::Float", "aten::FloatImplicit", "aten::Bool")
def _convert(walk: ScriptWalk, op: Op, x: Any) -> Any:
    name = op.kind.removeprefix("aten::")
    wanted = {"I": numbers.INT, "F": numbers.FLOAT, "B": numbers.BOOL}[name[0]]
    if isinstance(x, str):
        return {"I": int, "F": float, "B": bool}[name[0]](x)
    return numbers.converted(walk.g, number_of(walk, x) if isinstance(x, Tensor) else x, wanted)


@handles("aten::item", "aten::ScalarImplicit", "prim::ImplicitTensorToNum", "aten::_local_scalar_dense",
         "aten::Scalar")  # fmt: skip
def _item(walk: ScriptWalk, op: Op, x: Any) -> Any:
    return number_of(walk, x) if isinstance(x, Tensor) else x


def number_of(walk: ScriptWalk, x: Tensor) -> Any:
    """The number that a tensor of one element holds."""
    value = plain(walk, x)
    if value.rank:
        value = walk.g.reshape(value, [])
    dtype = value.element
    wanted = numbers.BOOL if dtype == numbers.BOOL else numbers.FLOAT if dtype.is_floating_point() else numbers.INT
    return numbers.simplest(walk.g, value if dtype == wanted else walk.g.Cast(value, to=wanted))


@handles("prim::NumToTensor")
def _number_tensor(walk: ScriptWalk, op: Op, number: Any) -> Any:
    return walk.tensor(numbers.as_value(walk.g, number))  # torch makes it int64 or double, too


@handles("aten::tensor", "aten::as_tensor")
def _new_tensor(walk: ScriptWalk, op: Op, data: Any, dtype: int | None = None, *_: Any) -> Any:
    g = walk.g
    wanted = None if dtype is None else dtype_of(dtype)
    if isinstance(data, Tensor):
        value = walk.read(data)
        return data if wanted in (None, value.dtype) else walk.tensor(g.Cast(value, to=wanted))
    found = [leaf for _, leaf in leaves(data)]
    if wanted is None:
        kinds = {numbers.kind(leaf) for leaf in found}
        wanted = (numbers.INT if kinds and numbers.FLOAT not in kinds else ir.DataType.FLOAT) if kinds != {
            numbers.BOOL
        } else numbers.BOOL  # fmt: skip
    shape = _list_shape(data)
    if all(map(numbers.is_known, found)):
        return walk.tensor(g.constant(np.array(found).reshape(shape).astype(wanted.numpy())))
    parts = [g.Unsqueeze(numbers.as_value(g, leaf, wanted), [0]) for leaf in found]
    flat = g.Concat(*parts, axis=0) if len(parts) > 1 else parts[0]
    return walk.tensor(flat if len(shape) == 1 else g.reshape(flat, shape))


def _list_shape(data: Any) -> list[int]:
    shape = []
    while isinstance(data, (Items, tuple)):
        items = data.items if isinstance(data, Items) else data
        shape.append(len(items))
        data = items[0] if items else None
    return shape


@handles("prim::tolist")
def _to_list(walk: ScriptWalk, op: Op, x: Tensor, *_: Any) -> Any:
    value = walk.read(x)
    size = value.dim(0) if value.rank == 1 else None
    if not isinstance(size, int):
        raise TranslationError("tolist() of a tensor whose length isn't known", location=walk.g.location)
    return walk.memory.items([
        number_of(walk, walk.tensor(walk.g.Gather(value, np.array(i), axis=0))) for i in range(size)
    ])  # fmt: skip


# --- numbers ---------------------------------------------------------------------------------------------------------


@handles("prim::min", "prim::max")
def _extreme(walk: ScriptWalk, op: Op, *operands: Any) -> Any:
    name = op.kind.removeprefix("prim::")
    if len(operands) == 1 and isinstance(operands[0], Items):
        operands = tuple(closed(walk, operands[0]))
    result = operands[0]
    for other in operands[1:]:
        result = walk.binary(name, result, other)
    return result


@handles("prim::abs")
def _absolute(walk: ScriptWalk, op: Op, x: Any) -> Any:
    return numbers.unary(walk.g, "abs", x)


@handles("aten::__range_length")
def _range_length(walk: ScriptWalk, op: Op, low: Any, high: Any, step: Any) -> Any:
    if all(map(numbers.is_known, (low, high, step))):
        return len(range(low, high, step))
    if not isinstance(step, int) or step < 1:
        raise TranslationError("a range whose step isn't known", location=walk.g.location)
    span = walk.binary("add", walk.binary("sub", high, low), step - 1)
    steps = walk.binary("floordiv", span, step)
    if isinstance(steps, Value) or numbers.compare_sizes("ge", steps, 0):
        return steps  # a Loop of less than no steps makes none
    return walk.binary("max", steps, 0)


@handles("aten::__derive_index")
def _derive_index(walk: ScriptWalk, op: Op, index: Any, start: Any, step: Any) -> Any:
    return walk.binary("add", start, walk.binary("mul", index, step))


# --- lists -----------------------------------------------------------------------------------------------------------


def closed(walk: ScriptWalk, items: Items) -> list[Any]:
    """The elements of a list whose length is known."""
    if items.growing or items.run is not None:
        raise TranslationError("the length of a list depends on a loop over data", location=walk.g.location)
    return items.items


@handles("prim::ListConstruct")
def _list(walk: ScriptWalk, op: Op, *parts: Any) -> Any:
    return walk.memory.items(list(parts))


@handles("prim::ListUnpack")
def _unlist(walk: ScriptWalk, op: Op, whole: Any) -> Any:
    items = list(closed(walk, whole)) if isinstance(whole, Items) else list(whole)
    if len(items) != len(op.outputs):
        raise TranslationError(f"{len(items)} values where {len(op.outputs)} are unpacked", location=walk.g.location)
    return items


@handles("aten::append")
def _append(walk: ScriptWalk, op: Op, items: Items, value: Any) -> Any:
    if items.run is not None:
        raise TranslationError("a list that a loop over data has filled is appended to", location=walk.g.location)
    walk.memory.change(items)
    items.items.append(value)
    return items


@handles("aten::extend")
def _extend(walk: ScriptWalk, op: Op, items: Items, others: Items) -> Any:
    walk.memory.change(items)
    closed(walk, items).extend(closed(walk, others))
    return []


@handles("aten::insert", "aten::pop", "aten::clear", "aten::reverse", "aten::remove")
def _edit(walk: ScriptWalk, op: Op, items: Any, *arguments: Any) -> Any:
    if not isinstance(items, Items):
        return NotImplemented
    if not all(isinstance(a, int) for a in arguments[:1]):
        raise TranslationError("an index that isn't known", op=op.kind, location=walk.g.location)
    closed(walk, items)
    walk.memory.change(items)
    found = getattr(items.items, op.kind.removeprefix("aten::"))(*arguments)
    return found if op.outputs else []


@handles("aten::copy", "aten::list")
def _copy(walk: ScriptWalk, op: Op, items: Any) -> Any:
    if isinstance(items, Tensor):
        return NotImplemented
    if isinstance(items, str):
        return walk.memory.items(list(items))
    copy = walk.memory.items(list(items.items))
    copy.run, copy.joined = items.run, items.joined
    return copy


@handles("aten::len")
def _len(walk: ScriptWalk, op: Op, whole: Any) -> Any:
    if isinstance(whole, Tensor):
        return size_number(walk, plain(walk, whole), 0)
    if isinstance(whole, Items):
        if whole.run is not None and whole.joined is None:
            return walk.binary("add", len(whole.items), size_number(walk, whole.run, 0))
        return len(closed(walk, whole))
    return len(whole.items if isinstance(whole, Table) else whole)


@handles("aten::__getitem__")
def _get_item(walk: ScriptWalk, op: Op, whole: Any, index: Any) -> Any:
    if isinstance(whole, Table):
        if index not in whole.items:
            raise CaptureError(f"the model looks for {index!r} in a dict with {', '.join(map(str, whole.items))}")
        return whole.items[index]
    if isinstance(whole, Items) and whole.run is not None and not whole.items and whole.joined is None:
        at = index if isinstance(index, Value) else walk.g.size(index)
        picked = walk.g.Gather(whole.run, at, axis=0)
        return walk.tensor(picked) if op.node.output().type().kind() == "TensorType" else picked
    items = closed(walk, whole) if isinstance(whole, Items) else whole
    if isinstance(index, int):
        if not -len(items) <= index < len(items):
            raise CaptureError(f"the model takes element {index} of a list of {len(items)} (at {op.location})")
        return items[index]
    return _chosen(walk, items, index)


def _chosen(walk: ScriptWalk, items: Any, index: Any) -> Any:
    """The element of a list at a place that only the running model knows."""
    g = walk.g
    at = numbers.as_value(g, index, numbers.INT)
    if items and all(map(numbers.is_number, items)):
        wanted = numbers.kind(items[0])
        stacked = g.Concat(*(g.Unsqueeze(numbers.as_value(g, i, wanted), [0]) for i in items), axis=0)
        return numbers.simplest(g, g.Gather(stacked, at, axis=0))
    values = [walk.read(i) for i in items if isinstance(i, Tensor)]
    if len(values) == len(items) and len({(v.dtype, v.sizes) for v in values}) == 1 and None not in (
        values[0].sizes or (None,)
    ):  # fmt: skip
        stacked = g.Concat(*(g.Unsqueeze(v, [0]) for v in values), axis=0)
        return walk.tensor(g.Gather(stacked, at, axis=0))
    raise TranslationError("an element of a list whose place isn't known", location=g.location)


@handles("aten::_set_item")
def _set_item(walk: ScriptWalk, op: Op, whole: Any, index: Any, value: Any) -> Any:
    if isinstance(whole, Items):
        closed(walk, whole)
        if not isinstance(index, int):
            raise TranslationError("a place in a list that isn't known", location=walk.g.location)
    walk.memory.change(whole)
    whole.items[index] = value
    return whole if op.outputs else []


@handles("aten::Delete")
def _delete(walk: ScriptWalk, op: Op, whole: Any, index: Any) -> Any:
    walk.memory.change(whole)
    del whole.items[index]
    return []


@handles("aten::slice", "aten::add", "aten::add_", "aten::mul")
def _on_lists(walk: ScriptWalk, op: Op, first: Any, *rest: Any) -> Any:
    lists = [a for a in (first, *rest[:1]) if isinstance(a, Items)]
    if not lists or (op.kind != "aten::mul" and not isinstance(first, Items)):
        return NotImplemented
    if op.kind == "aten::slice":
        start, end, step = (*rest, None, None, None)[:3]
        if not all(s is None or isinstance(s, int) for s in (start, end, step)):
            raise TranslationError("a slice of a list whose bounds aren't known", location=walk.g.location)
        return walk.memory.items(closed(walk, first)[start:end:step])
    if op.kind == "aten::mul":
        count = rest[0] if isinstance(first, Items) else first
        return walk.memory.items(closed(walk, lists[0]) * count)
    if op.kind == "aten::add_":
        walk.memory.change(first)
        closed(walk, first).extend(closed(walk, rest[0]))
        return first
    return walk.memory.items([*closed(walk, first), *closed(walk, rest[0])])


@handles("aten::eq", "aten::ne")
def _equal(walk: ScriptWalk, op: Op, a: Any, b: Any) -> Any:
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        return NotImplemented
    if op.kind == "aten::ne" and numbers.is_number(a) and numbers.is_number(b):
        return walk.binary("ne", a, b)
    same = _all_equal(walk, a, b)
    return same if op.kind == "aten::eq" else numbers.unary(walk.g, "__not__", same)


def _all_equal(walk: ScriptWalk, a: Any, b: Any) -> Any:
    if isinstance(a, Items) and isinstance(b, Items):
        left, right = closed(walk, a), closed(walk, b)
        if len(left) != len(right):
            return False
        result: Any = True
        for x, y in zip(left, right, strict=True):
            result = walk.binary("__and__", result, _all_equal(walk, x, y)) if result is not True else _all_equal(
                walk, x, y)  # fmt: skip
            if result is False:
                return False
        return result
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        raise TranslationError("lists of tensors are compared", location=walk.g.location)
    return walk.binary("eq", a, b) if numbers.is_number(a) and numbers.is_number(b) else a == b


@handles("aten::__contains__")
def _contains(walk: ScriptWalk, op: Op, whole: Any, wanted: Any) -> Any:
    if isinstance(whole, Table):
        return wanted in whole.items
    if isinstance(whole, str):
        return wanted in whole
    result: Any = False
    for item in closed(walk, whole):
        same = _all_equal(walk, item, wanted)
        if same is True:
            return True
        result = same if result is False else walk.binary("__or__", result, same)
    return result


@handles("aten::sum", "aten::any", "aten::all")
def _over_list(walk: ScriptWalk, op: Op, whole: Any, *_: Any) -> Any:
    if not isinstance(whole, Items):
        return NotImplemented
    start, name = {"sum": (0, "add"), "any": (False, "__or__"), "all": (True, "__and__")}[op.kind[6:]]
    for item in closed(walk, whole):
        start = walk.binary(name, start, item)
    return start


@handles("aten::cat", "aten::stack", "aten::concat")
def _join(walk: ScriptWalk, op: Op, tensors: Items, dim: int = 0) -> Any:
    """cat and stack of a list that a loop has filled: its steps are stacked already."""
    if tensors.run is None:
        return NotImplemented
    run, g = tensors.run, walk.g
    rank = run.rank
    if tensors.joined is not None:
        axis, joined = tensors.joined, run
        if op.kind == "aten::stack" or dim % rank != axis:
            raise TranslationError("tensors that a loop made, of different sizes, joined along another axis",
                                   location=g.location)  # fmt: skip
    elif op.kind == "aten::stack":
        axis = dim % rank
        joined = g.Transpose(run, perm=[*range(1, axis + 1), 0, *range(axis + 1, rank)]) if axis else run
    else:
        axis = dim % (rank - 1)
        moved = g.Transpose(run, perm=[*range(1, axis + 1), 0, *range(axis + 1, rank)]) if axis else run
        shape = [size_number(walk, moved, i) for i in range(rank)]
        joined = g.reshape(moved, [*shape[:axis], -1, *shape[axis + 2 :]])
    if tensors.items:
        before = walk.memory.items(tensors.items)
        first = walk.read(walk.call_op(op, [before, dim]))
        joined = g.Concat(first, joined, axis=axis)
    return walk.tensor(joined)


# --- dicts -----------------------------------------------------------------------------------------------------------


@handles("prim::DictConstruct")
def _dict(walk: ScriptWalk, op: Op, *parts: Any) -> Any:
    return walk.memory.table(dict(zip(parts[::2], parts[1::2], strict=True)))


@handles("aten::keys", "aten::values", "aten::items")
def _dict_parts(walk: ScriptWalk, op: Op, table: Table) -> Any:
    return walk.memory.items(list(getattr(table.items, op.kind.removeprefix("aten::"))()))


@handles("aten::get", "aten::setdefault")
def _dict_get(walk: ScriptWalk, op: Op, table: Table, key: Any, default: Any = None) -> Any:
    return table.items.get(key, default)


@handles("aten::dict")
def _dict_copy(walk: ScriptWalk, op: Op, source: Any = None) -> Any:
    return walk.memory.table({} if source is None else dict(source.items))


@handles("prim::PythonOp", "prim::CallMethod", "prim::CallFunction")
def _foreign(walk: ScriptWalk, op: Op, *_: Any) -> Any:
    raise UnsupportedOps([MissingOp("torchscript", op.kind, 1, (op.location,), "a call that TorchScript can't inline")])
