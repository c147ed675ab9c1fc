"""A serialised Keras layer: what its configuration says, whether all of it is understood, and how it is called.

A symbolic function of this dialect takes the layer's call arguments as operands and its configuration as keywords.
Every configuration key that isn't a keyword of the function, and doesn't only matter in training, makes the layer
unsupported. These keywords are filled in where a function has them:

* ``weights``: its variables, a `Weights`;
* ``mask``: the mask of the first operand (of each, where that is a list), None where there is none;
* ``layer``: the `Layer` itself.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

import onnx_ir as ir

from ..errors import MissingOp, UnsupportedOps
from ..registry import Symbolic, registry
from ..value import Value

if TYPE_CHECKING:
    from ..builder import GraphBuilder

DIALECT = "keras_layers"
#: Keys that say how a layer is named or trained, never what it computes.
TRAINING_ONLY = frozenset(("name", "trainable", "dtype", "seed", "activity_regularizer", "synchronized", "autocast"))
_TRAINING_ENDINGS = ("_initializer", "_regularizer", "_constraint")
#: Keywords that aren't read from the configuration.
_FILLED = frozenset(("weights", "mask", "layer"))
MODELS = frozenset(("Functional", "Sequential", "Model"))
_DTYPES = {
    "float32": ir.DataType.FLOAT, "float64": ir.DataType.DOUBLE,
    "float16": ir.DataType.FLOAT16, "bfloat16": ir.DataType.BFLOAT16,
}  # fmt: skip
FLOATS = frozenset(_DTYPES.values())


@dataclass
class Layer:
    """One layer, or operation, of a configuration.

    Attributes:
        class_name: Its class.
        name: Its name in the model.
        config: Its configuration.
        key: Name to look it up by in the registry.
        is_op: It is an operation (`keras.ops`), which has no variables and no place among a model's layers.
        built_on: Shape it was built on, where the file says.
        inner: Layers inside it, by configuration key.
        listed: The layers of a model, once they are read.
    """

    class_name: str
    name: str
    config: dict[str, Any]
    key: str
    is_op: bool = False
    built_on: Any = None
    inner: dict[str, Layer] = field(default_factory=dict)
    listed: list[Layer] | None = None

    @property
    def options(self) -> dict[str, Any]:
        """The configuration without what only matters in training."""
        if self.is_op:
            return {k: v for k, v in self.config.items() if k != "name"}
        return {k: v for k, v in self.config.items() if not training_only(k) and k not in self.inner}

    @property
    def policy(self) -> str:
        """Name of its dtype policy."""
        dtype = self.config.get("dtype", "float32")
        if isinstance(dtype, Mapping):
            settings = dtype.get("config", {})
            dtype = settings.get("name", dtype.get("class_name")) if dtype.get("class_name") in _POLICIES else "other"
        return str(dtype or "float32")

    @property
    def compute_dtype(self) -> ir.DataType | None:
        """Float dtype that it computes in; None where its policy names no float."""
        return _DTYPES.get(self.policy.removeprefix("mixed_"))


_POLICIES = ("DTypePolicy", "FloatDTypePolicy", "Policy")


def training_only(key: str) -> bool:
    """Whether a configuration key has no influence on inference."""
    return key in TRAINING_ONLY or key.endswith(_TRAINING_ENDINGS)


def read_layer(data: Mapping[str, Any], *, arguments: int = 1) -> Layer:
    """A layer from its serialised form, of Keras 3 or of before.

    Args:
        data: Mapping with ``class_name`` and ``config``; Keras 3 adds ``module`` and ``registered_name``.
        arguments: Positional arguments of its first call; tells operations from layers where nothing else does.
    """
    class_name, config = str(data["class_name"]), dict(data.get("config") or {})
    module, registered = data.get("module"), data.get("registered_name")
    name = str(data.get("name") or config.get("name") or class_name)
    build = data.get("build_config") or {}
    is_op = False
    if module is None and "module" not in data:  # written by Keras 2, or as .h5
        plain = registry.lookup(DIALECT, class_name, 0) is not None
        is_op = registry.lookup(DIALECT, f"ops.{class_name}", 0) is not None and (not plain or arguments != 1)
        key = f"ops.{class_name}" if is_op else class_name
    elif str(module).startswith(("keras.src.ops", "keras.ops")):
        is_op, key = True, f"ops.{class_name}"
    elif module is not None and (module == "keras" or str(module).startswith(("keras.", "tf_keras."))):
        key = class_name
    else:
        key = str(registered or class_name)
        if registry.lookup(DIALECT, key, 0) is not None and key == class_name:
            key = f"{module or 'custom'}>{class_name}"  # a custom class that only has a built-in's name
    layer = Layer(class_name, name, config, key, is_op, build.get("input_shape") or build.get("shapes_dict"))
    if not is_op:
        layer.inner = {k: read_layer(config[k]) for k in _INNER_KEYS if isinstance(config.get(k), Mapping)}
    return layer


#: Configuration keys that hold a layer inside the layer.
_INNER_KEYS = ("layer", "backward_layer", "cell")


# --- what is missing -------------------------------------------------------------------------------------------------


def missing(layer: Layer, opset: int, place: str = "") -> Iterator[MissingOp]:
    """All that keeps a layer, and the layers in it, from being converted."""
    from .activation import known_activation

    here = f"{place}/{layer.name}" if place else f"layer {layer.name}"
    row = registry.lookup(DIALECT, layer.key, opset)
    if row is None:
        yield MissingOp(DIALECT, layer.key, 1, (here,), _REASONS.get(layer.class_name, ""))
        return
    if layer.class_name not in MODELS:
        known = _keywords(row)
        unknown = [k for k in layer.options if not (known is None or k in known) and _says_something(layer.options[k])]
        if unknown:
            listed = ", ".join(f"{k}={layer.options[k]!r}" for k in unknown)
            yield MissingOp(DIALECT, layer.key, 1, (here,), f"its option(s) {listed} are not supported")
        for key in ("activation", "recurrent_activation"):
            if not known_activation(layer.options.get(key)):
                reason = f"its {key} {layer.options[key]!r} is not an activation of Keras"
                yield MissingOp(DIALECT, layer.key, 1, (here,), reason)
    if (
        not layer.is_op
        and layer.policy not in ("float32", "float16", "bfloat16", "float64", "mixed_float16", "mixed_bfloat16")
        and not (layer.policy.startswith(("int", "uint", "bool", "string")))
    ):
        yield MissingOp(DIALECT, layer.key, 1, (here,), f"its dtype policy {layer.policy!r} is not supported")
    for inner in layer.inner.values():
        yield from missing(inner, opset, here)


_REASONS = {
    "Lambda": "it holds Python code, which has no graph: write it with keras.ops or layers",
    "TorchModuleWrapper": "convert the PyTorch module from PyTorch",
    "JaxLayer": "it holds a JAX function",
    "FlaxLayer": "it holds a Flax module",
    "TFSMLayer": "it holds a SavedModel: convert that",
}


def _keywords(row: Symbolic) -> set[str] | None:
    """Options that a function knows; None if any (augmentation, which does nothing in inference)."""
    parameters = inspect.signature(row.function).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return None
    return {p.name for p in parameters if p.kind is p.KEYWORD_ONLY} - _FILLED


def _says_something(value: Any) -> bool:
    """Whether an option that isn't known can matter: those that are off or empty don't."""
    return value is not None and value is not False and value != [] and value != {}


def refuse(g: GraphBuilder, layer: Layer | str, reason: str) -> NoReturn:
    """Raises UnsupportedOps: an option of a layer can't be converted."""
    key = layer if isinstance(layer, str) else layer.key
    raise UnsupportedOps([MissingOp(DIALECT, key, 1, (g.location,) if g.location else (), reason)])


# --- variables -------------------------------------------------------------------------------------------------------


class Weights:
    """The variables of a layer as initializers, made when they are first used.

    Args:
        g: Builder.
        tensors: All variables of the model by path: names of layers and of the variable, joined by ``/``.
        prefix: Path of this layer.
    """

    def __init__(self, g: GraphBuilder, tensors: Mapping[str, ir.TensorProtocol], prefix: str = ""):
        self._g, self._tensors, self._prefix = g, tensors, prefix
        self._made: dict[str, Value] = {}
        self._dtype: ir.DataType | None = None

    def sub(self, step: str) -> Weights:
        """The variables of a layer inside this one."""
        child = Weights(self._g, self._tensors, f"{self._prefix}{step}/")
        child._made, child._dtype = self._made, self._dtype
        return child

    def cast(self, dtype: ir.DataType | None) -> Weights:
        """The same variables, read in the dtype that the layer computes in."""
        same = Weights(self._g, self._tensors, self._prefix)
        same._made, same._dtype = self._made, dtype
        return same

    def __contains__(self, name: str) -> bool:
        return f"{self._prefix}{name}" in self._tensors

    def __getitem__(self, name: str) -> Value:
        path = f"{self._prefix}{name}"
        value = self._made.get(path)
        if value is None:
            if path not in self._tensors:
                refuse(self._g, path, "its variable is not in the file")
            value = self._made[path] = self._g.root.initializer(path, self._tensors[path])
        if self._dtype is not None and value.element in FLOATS and value.element != self._dtype:
            return self._g.Cast(value, to=self._dtype)
        return value

    def exact(self, name: str) -> Value:
        """A variable in the dtype that it is stored in."""
        return self.cast(None)[name]

    def get(self, name: str, present: bool = True) -> Value | None:
        """A variable, or None where the configuration says that there is none."""
        return self[name] if present else None


# --- calling ---------------------------------------------------------------------------------------------------------

#: Masks of values that have one (Keras keeps them on its tensors).
MASK = "keras_mask"


def mask_of(x: Any) -> Any:
    """Mask of a value; a list of them for a list."""
    if isinstance(x, (list, tuple)):
        return [mask_of(i) for i in x]
    return x.meta.get(MASK) if isinstance(x, Value) else None


def with_mask(g: GraphBuilder, x: Value, mask: Value | None) -> Value:
    """Puts a mask on a value that has none."""
    if mask is not None and x.meta.get(MASK) is None:
        x.meta[MASK] = mask
    return x


def call_layer(
    g: GraphBuilder, layer: Layer, weights: Weights, args: Sequence[Any], kwargs: Mapping[str, Any] | None = None
) -> Any:
    """Calls the symbolic function of a layer, as Keras calls the layer: inputs cast, masks handed on."""
    from .masking import output_mask

    row = registry.lookup(DIALECT, layer.key, g.opset)
    if row is None:
        refuse(g, layer, "there is no symbolic function")
    keywords = _call_keywords(kwargs or {})
    parameters = inspect.signature(row.function).parameters
    if not layer.is_op and layer.class_name not in MODELS:
        args = [_converted(g, layer, a) for a in args]
        keywords = {k: _converted(g, layer, v) for k, v in keywords.items()}
    first = args[0] if args else None
    masks = keywords.get("mask")
    if masks is None and sum(_has_value(a) for a in (*args, *keywords.values())) == 1:
        masks = mask_of(first)  # Keras hands a mask on by itself only where there is one tensor argument
    filled: dict[str, Any] = {"weights": weights, "mask": masks, "layer": layer}
    options = {k: v for k, v in layer.options.items() if k in parameters}
    extra = {k: v for k, v in filled.items() if k in parameters}
    if "mask" in keywords and "mask" not in parameters:
        del keywords["mask"]
    unknown = [k for k in keywords if k not in parameters]
    if unknown:
        refuse(g, layer, f"the call option(s) {', '.join(unknown)} are not supported")
    results = row.function(g, *args, **{**options, **keywords, **extra})
    if not layer.is_op and layer.class_name not in MODELS:
        return output_mask(g, layer, first, masks, results)
    return results


def _has_value(tree: Any) -> bool:
    return any(map(_has_value, tree)) if isinstance(tree, (list, tuple)) else isinstance(tree, Value)


def _call_keywords(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Call options that are set; `training` isn't one: a model that runs for inference turns it off everywhere."""
    return {k: v for k, v in kwargs.items() if v is not None and k != "training"}


def _converted(g: GraphBuilder, layer: Layer, x: Any) -> Any:
    """Float operands in the dtype that the layer computes in."""
    if isinstance(x, (list, tuple)):
        return [_converted(g, layer, i) for i in x]
    dtype = layer.compute_dtype
    if not isinstance(x, Value) or dtype is None or x.dtype not in FLOATS or x.dtype == dtype:
        return x
    if layer.class_name in _NOT_CONVERTED:
        return x
    from ..nn.layout import elementwise

    return with_mask(g, elementwise(g, "Cast", x, to=dtype), mask_of(x))


#: Layers that take their operands as they are (``autocast=False``).
_NOT_CONVERTED = frozenset(("Embedding", "ReversibleEmbedding", "InputLayer"))
