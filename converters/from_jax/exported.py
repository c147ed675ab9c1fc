"""Files: functions of ``jax.export`` (a flatbuffer around StableHLO), and StableHLO as bytecode or text."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...symbolic.builder import GraphBuilder
from ...symbolic.dims import Dim, as_size
from ...symbolic.errors import CaptureError, InputSpecError
from ...symbolic.spec import TensorSpec
from ...symbolic.xla.region import Typed, expanded
from ..base import Arrays, Options, Source, renamed
from ..files import sniff
from .graph import to_numpy
from .inputs import key_text
from .mlir import ModuleWalk, element_type, parse, static_sizes
from .params import typed
from .source import output_names


def load_file(path: Path, options: Options) -> Source:
    """A source from a file of jax.export or StableHLO.

    Raises:
        CaptureError: JAX can't read it.
    """
    import jax

    data = path.read_bytes()
    if sniff(path).format != "export":
        return ModuleSource(parse(data if data.startswith(b"ML\xefR") else data.decode()), path.name, options)
    try:
        exported = jax.export.deserialize(bytearray(data))
    except (ValueError, TypeError, IndexError, KeyError, struct.error) as error:
        raise CaptureError(f"JAX {jax.__version__} can't read {path}: {error}") from error
    return ExportedSource(exported, path.name, options)


class _HloSource(Source):
    """What both kinds of files share: a module whose function `main` is translated."""

    framework = "jax"
    module: Any
    types: list[Typed]
    kept: Sequence[int]

    def translate(self, g: GraphBuilder) -> None:
        """Builds the model from the module."""
        walk = ModuleWalk(self.module, g.opset)
        main = walk.functions["main"]
        walk.require(main)
        inputs = [
            (g.input(s.name, t.dtype, [as_size(d) for d in t.sizes]), t.sizes)
            for s, t in zip(self.specs, self.types, strict=True)
        ]
        results = walk.call(g, main, [inputs[i] for i in self.kept])
        for name, (value, sizes) in zip(self.output_names, results, strict=True):
            g.output(expanded(g, value, sizes), name)


class ExportedSource(_HloSource):
    """A function of jax.export.

    Args:
        exported: ``jax.export.Exported``.
        title: Name of the file.
        options: What the caller asked for.
    """

    def __init__(self, exported: Any, title: str, options: Options):
        import jax

        self.exported = exported
        self.description = f"{title} (jax.export of {exported.fun_name})"
        self.module = parse(exported.mlir_module_serialized)
        self.kept = exported.module_kept_var_idx
        self.types = [typed(a) for a in exported.in_avals]
        if len(exported.platforms) > 1:
            raise CaptureError(f"the function is exported for {', '.join(exported.platforms)}: export it for one")
        own = _input_names(exported)
        names = renamed(own, options.input_names, "input")
        if options.dynamic:
            raise InputSpecError("the open dims of an exported function are fixed: export it with symbolic shapes")
        self.specs = [
            TensorSpec(n, _dtype_name(t), tuple(s if isinstance(s, int) else str(s) for s in t.sizes))
            for n, t in zip(names, self.types, strict=True)
        ]
        outputs = jax.tree_util.tree_unflatten(exported.out_tree, list(range(len(exported.out_avals))))
        paths = [path for path, _ in jax.tree_util.tree_flatten_with_path(outputs)[0]]
        found = [n if n not in names else f"{n}_out" for n in output_names(paths)]
        self.output_names = renamed(found, options.output_names, "output")

    def run(self, inputs: Mapping[str, np.ndarray]) -> Arrays:
        """Calls the exported function."""
        import jax

        leaves = [inputs[s.name] for s in self.specs]
        args, kwargs = jax.tree_util.tree_unflatten(self.exported.in_tree, leaves)
        values = jax.tree_util.tree_leaves(jax.jit(self.exported.call)(*args, **kwargs))
        return {name: to_numpy(v) for name, v in zip(self.output_names, values, strict=True)}


def _dtype_name(type_: Typed) -> str:
    return str(type_.dtype.numpy().name)


def _input_names(exported: Any) -> list[str]:
    import jax

    numbers = list(range(len(exported.in_avals)))
    tree = jax.tree_util.tree_unflatten(exported.in_tree, numbers)
    names = []
    for path, _ in jax.tree_util.tree_flatten_with_path(tree)[0]:
        _, first, *rest = path
        key = f"input_{first.idx}" if hasattr(first, "idx") else key_text(first)
        names.append("_".join([key, *(key_text(k) for k in rest)]))
    return ["input"] if names == ["input_0"] else names


class ModuleSource(_HloSource):
    """A StableHLO module without further information.

    Args:
        module: MLIR module.
        title: Name of the file.
        options: What the caller asked for.
    """

    def __init__(self, module: Any, title: str, options: Options):
        self.module = module
        self.description = f"{title} (StableHLO)"
        functions = ModuleWalk(module, options.opset).functions
        if "main" not in functions:
            raise CaptureError(f"{title} has no function main; it has {', '.join(functions) or 'none'}")
        main = functions["main"]
        block = main.regions[0].blocks[0]
        self.types = [self._typed(i, a.type, options) for i, a in enumerate(block.arguments)]
        self.kept = range(len(self.types))
        own = ["input"] if len(self.types) == 1 else [f"input_{i}" for i in self.kept]
        names = renamed(own, options.input_names, "input")
        self.specs = [
            TensorSpec(n, _dtype_name(t), tuple(s if isinstance(s, int) else str(s) for s in t.sizes))
            for n, t in zip(names, self.types, strict=True)
        ]
        count = len(list(block.operations)[-1].operation.operands)
        own = ["output"] if count == 1 else [f"output_{i}" for i in range(count)]
        self.output_names = renamed(own, options.output_names, "output")

    def _typed(self, index: int, type_: Any, options: Options) -> Typed:
        dtype = element_type(type_)
        if dtype is None:
            raise CaptureError(f"argument {index} of main is a {type_}, which ONNX doesn't have")
        asked = (options.dynamic or {}).get(index, {})
        sizes = [
            Dim(asked.get(axis, f"input_{index}_dim{axis}")) if size is None else size
            for axis, size in enumerate(static_sizes(type_))
        ]
        return Typed(dtype, tuple(sizes))

    def run(self, inputs: Mapping[str, np.ndarray]) -> Arrays:
        """Compiles the module with JAX and runs it."""
        import jax
        from jax.extend import backend

        if any(isinstance(s, Dim) for t in self.types for s in t.sizes):
            raise CaptureError("XLA can't run a module with open sizes")
        client = backend.get_backend()
        devices = jax.devices()[:1]
        executable = _compile(client, str(self.module), devices)
        found = executable.execute([jax.device_put(inputs[s.name]) for s in self.specs])
        return {name: to_numpy(v) for name, v in zip(self.output_names, found, strict=True)}


def _compile(client: Any, module: str, devices: Sequence[Any]) -> Any:
    from jaxlib import _jax

    options = _jax.CompileOptions()
    return client.compile_and_load(module, _jax.DeviceList(tuple(devices)), options)
