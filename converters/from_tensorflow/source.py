"""A loaded TensorFlow graph: it runs in TensorFlow where that is installed, and it can be translated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...symbolic.builder import GraphBuilder
from ...symbolic.errors import CaptureError, InputSpecError
from ...symbolic.spec import TensorSpec
from ...symbolic.value import Value
from ...validation.inputs import choose_sizes
from ..base import Arrays, Options, Source, named_shape, renamed, same_by_axis
from .functional import functional, functional_library
from .graph import Graph, Library
from .walk import Environment, Resource, Variables, Walk

#: Runs the model in TensorFlow: input arrays in order -> output arrays in order.
Run = Callable[[Sequence[np.ndarray]], Sequence[np.ndarray]]


@dataclass
class Program:
    """A graph with what belongs to it.

    Attributes:
        graph: The main graph.
        library: Its functions.
        inputs: References to the tensors that are fed.
        results: References to the tensors that are fetched.
        variables: Contents of the variables.
        captured: Values of other tensors: variables and constants that the graph takes from outside.
    """

    graph: Graph
    library: Library
    inputs: Sequence[str]
    results: Sequence[str]
    variables: Variables
    captured: Mapping[str, Resource | np.ndarray]


class TensorflowSource(Source):
    """A TensorFlow graph.

    Args:
        program: The graph.
        specs: Its inputs, under their names in the ONNX model.
        output_names: Names of its results.
        options: What the caller asked for.
        description: One line for people.
        run: Runs it in TensorFlow.
    """

    framework = "tensorflow"

    def __init__(
        self,
        program: Program,
        specs: list[TensorSpec],
        output_names: Sequence[str],
        options: Options,
        description: str,
        run: Run,
    ):
        self.program, self.specs, self.description = program, specs, description
        taken = {s.name for s in specs}
        own = [f"{n}_out" if n in taken else n for n in output_names]
        self.output_names = renamed(own, options.output_names, "output")
        self._run = run

    def run(self, inputs: Mapping[str, np.ndarray]) -> Arrays:
        """Runs the graph in TensorFlow."""
        results = self._run([inputs[s.name] for s in self.specs])
        if len(results) != len(self.output_names):
            raise CaptureError(f"TensorFlow gives {len(results)} outputs, the graph has {len(self.output_names)}")
        return dict(zip(self.output_names, (np.asarray(r) for r in results), strict=True))

    def choose_sizes(self, which: int, base: Mapping[str, int] | None = None) -> dict[str, int]:
        """Sizes for open dims; TensorFlow doesn't say which are equal, so the same axis of all inputs gets one size."""
        return same_by_axis(self.specs, choose_sizes(self.specs, which, base))

    def translate(self, g: GraphBuilder) -> None:
        """Translates the graph; what can't be done is found first."""
        program = self.program
        functional_library(program.library)
        graph = program.graph = functional(program.graph, program.results, program.library)
        walk = Walk(g, program.library, program.variables)
        walk.require(graph, program.results)
        env: Environment = {}
        for reference, spec in zip(program.inputs, self.specs, strict=True):
            env[graph.find(reference)] = g.input(spec.name, spec.dtype, spec.shape)
        for reference, value in program.captured.items():
            known: Any = value if isinstance(value, Resource) else g.constant(value)
            env[graph.find(reference)] = known
        results = walk.run_in(graph, program.results, env)
        for name, value in zip(self.output_names, results, strict=True):
            if not isinstance(value, Value):
                raise CaptureError(f"the output {name} is not a tensor")
            g.output(value, name)


def graph_specs(
    names: Sequence[str], shapes: Sequence[Sequence[int | None] | None], dtypes: Sequence[str], options: Options
) -> list[TensorSpec]:
    """Specs of inputs; open sizes get names.

    Raises:
        CaptureError: The rank of an input is unknown.
    """
    own = renamed(names, options.input_names, "input")
    specs = []
    for i, (name, sizes, dtype) in enumerate(zip(own, shapes, dtypes, strict=True)):
        if sizes is None:
            raise InputSpecError(f"the input {name} has no rank: give its shape in the function's signature")
        specs.append(TensorSpec(name, dtype, named_shape(name, sizes, first=i == 0)))
    return specs
