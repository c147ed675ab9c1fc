"""Functional and Sequential models: their layers called in order, as configured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..builder import as_dtype
from ..errors import TranslationError
from ..registry import symbolic
from ..value import Value
from .layer import DIALECT, MASK, MODELS, Layer, Weights, call_layer, mask_of, refuse, with_mask
from .variables import model_layers

if TYPE_CHECKING:
    from ..builder import GraphBuilder

#: Layer name, index of its call, index of the result.
Ref = tuple[str, int, int]


@symbolic(DIALECT, "Sequential")
def sequential(g: GraphBuilder, x: Any, *, weights: Weights, layer: Layer, mask: Any = None, path: str = "") -> Any:
    """keras.Sequential(layers)"""
    value = x[0] if isinstance(x, (list, tuple)) and len(x) == 1 else x
    value = _masked(g, value, mask)
    for inner in model_layers(layer):
        if inner.class_name == "InputLayer":
            continue
        value = _called(g, inner, weights.sub(inner.name), [value], {}, path, 0)
    return value


@symbolic(DIALECT, "Functional", "Model")
def functional(
    g: GraphBuilder,
    inputs: Any,
    *,
    weights: Weights,
    layer: Layer,
    layers: Sequence[Any],
    input_layers: Any,
    output_layers: Any,
    mask: Any = None,
    path: str = "",
) -> Any:
    """keras.Model(inputs, outputs)"""
    inner = {entry.name: entry for entry in model_layers(layer)}
    calls = [_calls(data) for data in layers]
    offsets = _offsets(inner, calls, output_layers)
    done: dict[Ref, Any] = {}
    for name, value in _named_inputs(g, layer, inputs, input_layers):
        done[name, 0, 0] = _as_declared(g, inner[name], _masked(g, value, mask if isinstance(mask, Value) else None))
    pending = [(str(d["name"] if "name" in d else d["config"]["name"]), i, c)
               for d, cs in zip(layers, calls, strict=True) for i, c in enumerate(cs)]  # fmt: skip
    while pending:
        waiting = []
        for name, index, (args, kwargs) in pending:
            if any((r[0], r[1] - offsets.get(r[0], 0), r[2]) not in done for r in _refs((args, kwargs))):
                waiting.append((name, index, (args, kwargs)))
                continue
            operands = _resolved(g, args, done, offsets), _resolved(g, kwargs, done, offsets)
            result = _called(g, inner[name], weights.sub(name), *operands, path, index)
            for i, value in enumerate(flat(result)):
                done[name, index, i] = value
        if len(waiting) == len(pending):
            raise TranslationError(f"the layers {', '.join(w[0] for w in waiting[:3])} wait for each other")
        pending = waiting
    return _structured(output_layers, done, _output_offsets(inner, output_layers, calls, layers))


def _called(
    g: GraphBuilder,
    layer: Layer,
    weights: Weights,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    path: str,
    call: int,
) -> Any:
    """Calls one layer of a model, with its name on what it makes."""
    here = f"{path}{layer.name}"
    keywords = dict(kwargs)
    if layer.class_name in MODELS:
        keywords["path"] = f"{here}/"
    with g.at(f"layer {here} ({layer.class_name})"):
        result = call_layer(g, layer, weights.cast(layer.compute_dtype), args, keywords)
    if not path:
        for i, value in enumerate(flat(result)):
            mark(g, value, f"{layer.name}:{call}:{i}")
    return result


def mark(g: GraphBuilder, value: Any, name: str) -> None:
    """Notes which layer's result a value is; on its twin too, which may be all that is left of it."""
    if isinstance(value, Value):
        g.mark(value, name)
        if value.channels_first is not None:
            g.mark(value.channels_first, f"{name}:channels_first")


def _masked(g: GraphBuilder, value: Any, mask: Any) -> Any:
    return with_mask(g, value, mask) if isinstance(value, Value) and isinstance(mask, Value) else value


def _as_declared(g: GraphBuilder, layer: Layer, value: Value) -> Value:
    """An input of an inner model in the dtype that it declares."""
    dtype = layer.config.get("dtype")
    if not isinstance(dtype, str) or value.dtype == as_dtype(dtype):
        return value
    return with_mask(g, g.Cast(value, to=as_dtype(dtype)), mask_of(value))


# --- references ------------------------------------------------------------------------------------------------------


def _calls(data: Mapping[str, Any]) -> list[tuple[Any, dict[str, Any]]]:
    """Arguments of each call of a layer: Keras 3 writes args and kwargs, Keras 2 lists of references."""
    found = []
    for call in data.get("inbound_nodes") or []:
        if isinstance(call, Mapping):
            found.append((_marked(call["args"]), dict(_marked(call.get("kwargs") or {}))))
            continue
        entries = [call] if call and isinstance(call[0], str) else list(call)
        refs = [_Reference(str(e[0]), int(e[1]), int(e[2])) for e in entries]
        keywords = dict(entries[0][3]) if entries and len(entries[0]) > 3 and entries[0][3] else {}
        keywords = {k: _legacy_reference(v) for k, v in keywords.items()}
        found.append(([refs[0] if len(refs) == 1 else refs], keywords))
    return found


class _Reference:
    """A tensor of the model, as the configuration names it; Keras 3 also says its dtype and shape."""

    def __init__(self, name: str, call: int, result: int, dtype: str | None = None, shape: Any = None):
        self.ref: Ref = (name, call, result)
        self.dtype, self.shape = dtype, shape


def _legacy_reference(value: Any) -> Any:
    if isinstance(value, list) and len(value) == 3 and isinstance(value[0], str) and isinstance(value[1], int):
        return _Reference(value[0], value[1], int(value[2]))
    return value


def _marked(tree: Any) -> Any:
    """A tree of arguments with its serialised tensors as references, and constants as they are."""
    if isinstance(tree, Mapping):
        kind = tree.get("class_name")
        if kind == "__keras_tensor__":
            config = tree["config"]
            name, call, result = config["keras_history"]
            return _Reference(name, int(call), int(result), config.get("dtype"), config.get("shape"))
        if kind == "__tuple__":
            return tuple(_marked(i) for i in tree["config"]["value"])
        if kind == "__slice__":
            return slice(*(_marked(tree["config"][k]) for k in ("start", "stop", "step")))
        if kind == "__ellipsis__":
            return ...
        if kind in ("__tensor__", "__numpy__"):
            return np.asarray(tree["config"]["value"], tree["config"]["dtype"])
        return {k: _marked(v) for k, v in tree.items()}
    return [_marked(i) for i in tree] if isinstance(tree, (list, tuple)) else tree


def _refs(tree: Any) -> Iterator[Ref]:
    if isinstance(tree, _Reference):
        yield tree.ref
    elif isinstance(tree, Mapping):
        for value in tree.values():
            yield from _refs(value)
    elif isinstance(tree, (list, tuple)):
        for value in tree:
            yield from _refs(value)


def _offsets(inner: Mapping[str, Layer], calls: Sequence[Any], outputs: Any) -> dict[str, int]:
    """Models count their own definition as call 0 in some versions of Keras: the first real call is then 1."""
    refs = [r for cs in calls for c in cs for r in _refs(c)]
    return _counted_from(inner, calls, refs)


def _output_offsets(
    inner: Mapping[str, Layer], outputs: Any, calls: Sequence[Any], layers: Sequence[Any]
) -> dict[str, int]:
    return _counted_from(inner, calls, list(output_refs(outputs)))


def _counted_from(inner: Mapping[str, Layer], calls: Sequence[Any], refs: Sequence[Ref]) -> dict[str, int]:
    found = {}
    for (name, layer), own in zip(inner.items(), calls, strict=True):
        used = [r[1] for r in refs if r[0] == name]
        if layer.class_name in MODELS and used and max(used) >= len(own):
            found[name] = 1
    return found


def _resolved(g: GraphBuilder, tree: Any, done: Mapping[Ref, Any], offsets: Mapping[str, int]) -> Any:
    if isinstance(tree, _Reference):
        name, call, result = tree.ref
        value = done[name, call - offsets.get(name, 0), result]
        if tree.shape is not None and isinstance(value, Value):
            g.expect(value, tree.dtype, tree.shape)
        return value
    if isinstance(tree, Mapping):
        return {k: _resolved(g, v, done, offsets) for k, v in tree.items()}
    if isinstance(tree, (list, tuple)):
        return type(tree)(_resolved(g, v, done, offsets) for v in tree)
    return tree


def is_ref(tree: Any) -> bool:
    """Whether it is [layer name, call, result], as `input_layers` and `output_layers` have it."""
    return isinstance(tree, (list, tuple)) and len(tree) == 3 and isinstance(tree[0], str) and isinstance(tree[1], int)


def output_refs(tree: Any) -> Iterator[Ref]:
    """All references in `input_layers` or `output_layers`."""
    if is_ref(tree):
        yield str(tree[0]), int(tree[1]), int(tree[2])
    elif isinstance(tree, Mapping):
        for value in tree.values():
            yield from output_refs(value)
    elif isinstance(tree, (list, tuple)):
        for value in tree:
            yield from output_refs(value)


def _structured(tree: Any, done: Mapping[Ref, Any], offsets: Mapping[str, int]) -> Any:
    if is_ref(tree):
        return done[str(tree[0]), int(tree[1]) - offsets.get(str(tree[0]), 0), int(tree[2])]
    if isinstance(tree, Mapping):
        return {k: _structured(v, done, offsets) for k, v in tree.items()}
    results = [_structured(v, done, offsets) for v in tree]
    return results[0] if len(results) == 1 else results


def flat(tree: Any) -> list[Any]:
    """Values of a nest in order; Keras sorts the keys of dicts."""
    if isinstance(tree, Mapping):
        return [v for k in sorted(tree) for v in flat(tree[k])]
    if isinstance(tree, (list, tuple)):
        return [v for i in tree for v in flat(i)]
    return [tree]


def _named_inputs(g: GraphBuilder, layer: Layer, inputs: Any, input_layers: Any) -> list[tuple[str, Value]]:
    """Values by the names of the input layers."""
    names = [r[0] for r in output_refs(input_layers)]
    if isinstance(inputs, Mapping):
        keys: dict[str, str] = (
            {k: next(output_refs(v))[0] for k, v in input_layers.items()} if isinstance(input_layers, dict) else {}
        )
        return [(keys.get(str(k), str(k)), v) for k, v in inputs.items() if keys.get(str(k), str(k)) in names]
    if isinstance(input_layers, Mapping):
        names = [next(output_refs(input_layers[k]))[0] for k in sorted(input_layers)]
    values = flat(inputs)
    if len(values) != len(names):
        refuse(g, layer, f"it is called on {len(values)} tensors, but takes {len(names)}")
    return list(zip(names, values, strict=True))


__all__ = ["MASK", "flat", "functional", "is_ref", "mark", "output_refs", "sequential"]
