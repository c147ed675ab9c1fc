"""Live functions and modules of TensorFlow, captured through the graph of their concrete function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...symbolic.errors import CaptureError, InputSpecError
from ...symbolic.spec import TensorSpec
from ..base import Options, type_names
from ..binding import bind
from .graph import read_graph
from .protos import parse
from .source import Program, TensorflowSource, graph_specs
from .walk import Resource


def capture(model: Any, inputs: Any, options: Options) -> TensorflowSource:
    """The graph of a tf.function, a concrete function, or of a module's ``__call__``.

    Raises:
        InputSpecError: It has to be traced, and the inputs for that are missing or don't fit.
        CaptureError: TensorFlow can't trace it.
    """
    concrete = _concrete(model, inputs)
    graph, library = read_graph(parse("GraphDef", concrete.graph.as_graph_def(add_shapes=True).SerializeToString()))
    captured: dict[str, Resource | np.ndarray] = {}
    variables = {id(v.handle): v for v in concrete.graph.variables}
    weights: dict[str, Any] = {}
    for i, (outer, inner) in enumerate(concrete.graph.captures):
        name = inner.name.split(":")[0]
        if outer.dtype.name == "resource":
            variable = variables.get(id(outer))
            if variable is None:
                raise CaptureError(f"the function uses {outer}, a resource that is no variable")
            key = f"{variable.name.split(':')[0]}" if variable.name else f"variable_{i}"
            key = key if key not in weights else f"{key}_{i}"
            weights[key] = variable
            captured[name] = Resource(key)
        else:
            captured[name] = outer.numpy()
    own = [t for t in concrete.graph.inputs if t.name.split(":")[0] not in captured]
    names = [t.name.split(":")[0] for t in own]
    shapes = [None if t.shape.rank is None else t.shape.as_list() for t in own]
    specs = graph_specs(names, shapes, [t.dtype.name for t in own], options)
    arrays = _arrays(inputs)
    specs, samples = bind(specs, arrays, options.dynamic, names)
    results = [t.name for t in concrete.graph.outputs]
    outputs = _output_names(concrete)
    program = Program(graph, library, names, results, lambda key: weights[key].numpy(), captured)

    def run(values: Sequence[np.ndarray]) -> list[np.ndarray]:
        import tensorflow as tf

        tensors = [tf.convert_to_tensor(v, t.dtype) for v, t in zip(values, own, strict=True)]
        found = concrete._call_flat(tensors, concrete.captured_inputs)  # in the order of the graph's outputs
        return [np.asarray(r) for r in tf.nest.flatten(found) if r is not None]

    kind = type_names(model)[0].rsplit(".", 1)[-1]
    source = TensorflowSource(program, specs, outputs, options, f"{concrete.name} ({kind})", run)
    source.samples = samples
    return source


def _concrete(model: Any, inputs: Any) -> Any:
    """The concrete function to convert."""
    import tensorflow as tf

    if any(n.endswith("ConcreteFunction") for n in type_names(model)):
        return model
    if isinstance(model, tf.Module) and not hasattr(model, "get_concrete_function"):
        model = model.__call__
        model = model if hasattr(model, "get_concrete_function") else tf.function(model)
    if getattr(model, "input_signature", None) is not None:
        return model.get_concrete_function()
    if inputs is None:
        raise InputSpecError('the function has no input_signature: pass inputs, as "x:float32[batch,8]"')
    given = inputs if isinstance(inputs, (tuple, list, dict)) else [inputs]
    if isinstance(given, dict):
        return model.get_concrete_function(**{k: _traced(v, k) for k, v in given.items()})
    return model.get_concrete_function(*(_traced(v, f"input_{i}") for i, v in enumerate(given)))


def _traced(value: Any, name: str) -> Any:
    """What a function is traced with for an input."""
    import tensorflow as tf

    from ..binding import as_spec

    spec = as_spec(value, name)
    if isinstance(spec, TensorSpec):
        return tf.TensorSpec([None if isinstance(s, str) else s for s in spec.shape], spec.dtype, name=spec.name)
    if isinstance(value, tf.TensorSpec):
        return value
    array = np.asarray(value)
    return tf.TensorSpec(array.shape, array.dtype)


def _arrays(inputs: Any) -> Any:
    """The inputs as `bind` takes them; TensorSpecs say nothing more than the graph."""
    if inputs is None or isinstance(inputs, str):
        return inputs
    if isinstance(inputs, dict):
        return {k: v for k, v in inputs.items() if not _is_spec(v)} or None
    listed = list(inputs) if isinstance(inputs, (tuple, list)) else [inputs]
    return None if any(_is_spec(v) for v in listed) else listed


def _is_spec(value: Any) -> bool:
    return any(n.startswith("tensorflow.") and n.endswith("TensorSpec") for n in type_names(value))


def _output_names(concrete: Any) -> list[str]:
    """Names of the results: keys of dicts, else their number."""
    structure = concrete.structured_outputs
    if isinstance(structure, dict) and len(structure) == len(concrete.graph.outputs):
        return [str(k) for k in sorted(structure)]
    count = len(concrete.graph.outputs)
    return ["output"] if count == 1 else [f"output_{i}" for i in range(count)]
