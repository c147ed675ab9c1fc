"""Models that change their own buffers: the changed ones become inputs and outputs, on request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...symbolic.builder import GraphBuilder
from ...symbolic.errors import CaptureError
from ...symbolic.spec import TensorSpec
from ..base import Arrays, Options
from . import complex_nodes
from .capture import functionalized, plain_attention
from .inputs import Arguments
from .source import TorchSource, stored
from .weights import to_numpy, to_torch


class StatefulSource(TorchSource):
    """A captured model with its changed buffers as further inputs and outputs, in that order behind the others.

    A buffer ``cache.keys`` is the input ``cache.keys`` and the output ``cache.keys_out``; a caller feeds the output of
    one run into the next.

    Args:
        program: ``torch.export.ExportedProgram``.
        options: What the caller asked for.
        description: One line for people.
        module: The live module and the arguments it was captured with; None for a file.
        symbols: Names for open dims of a file's inputs: input name -> axis -> symbol.
    """

    def __init__(
        self,
        program: Any,
        options: Options,
        description: str,
        *,
        module: tuple[Any, Arguments] | None = None,
        symbols: Mapping[str, Mapping[int, str]] | None = None,
    ):
        program = functionalized(program)
        changed = [s.target for s in program.graph_signature.output_specs if s.kind.name == "BUFFER_MUTATION"]
        if not changed:
            raise CaptureError("state='carry': the model changes none of its buffers")
        self._nodes = _placeholders(program, changed)
        super().__init__(program, options, description, module=module, symbols=symbols)
        self._users = len(self.specs)
        self._states: dict[str, TensorSpec] = {t: self._spec(t, node) for t, node in self._nodes.items()}
        self.specs = [*self.specs, *self._states.values()]
        self.input_names = [s.name for s in self.specs]
        self.output_names = [*self.output_names, *(f"{target}_out" for target in self._states)]
        if self.samples is not None:
            held = {s.target: s for s in program.graph_signature.input_specs if s.target in self._states}
            self.samples |= {t: to_numpy(stored(program, held[t])).copy() for t in self._states}
        self._given: dict[str, Any] = {}

    # --- running -----------------------------------------------------------------------------------------------------

    def run(self, inputs: Mapping[str, np.ndarray]) -> Arrays:
        """Runs the module with the given buffers; gives its outputs and the buffers afterwards."""
        import torch

        tensors = [to_torch(inputs[s.name]) for s in self.specs[: self._users]]
        self._given = {target: to_torch(inputs[target]) for target in self._states}
        with torch.no_grad(), plain_attention():
            if self._module:
                leaves = self._run_module(tensors)
                after = [self._given[target] for target in self._states]
            else:
                leaves = self._interpret(self.program, tensors, {})
                after = self._changed(self.program, self._last)
        found = [leaves[index] for _, index in self._outputs] + after
        return {name: to_numpy(value) for name, value in zip(self.output_names, found, strict=True)}

    def _call_module(self, module: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        import torch

        return torch.func.functional_call(module, self._given, tuple(args), dict(kwargs))

    def _restore_state(self) -> None:
        if self.samples is not None:
            self._given = {target: to_torch(self.samples[target]) for target in self._states}

    def _held(self, program: Any, spec: Any) -> Any:
        return self._given[spec.target] if spec.target in self._states else super()._held(program, spec)

    def trace(self, inputs: Mapping[str, np.ndarray], names: Sequence[str]) -> Arrays:
        """Values of captured nodes by name."""
        self._given = {target: to_torch(inputs[target]) for target in self._states}
        return super().trace(inputs, names)

    # --- translating -------------------------------------------------------------------------------------------------

    def _argument(self, g: GraphBuilder, walk: Any, program: Any, spec: Any, order: Mapping[str, TensorSpec]) -> Any:
        described = self._states.get(spec.target) if spec.target else None
        if described is None:
            return super()._argument(g, walk, program, spec, order)
        sizes = self._dims.sizes(self._nodes[spec.target].meta["val"].shape)
        return complex_nodes.as_input(g, described.name, described.dtype, sizes)

    def _carried(self) -> frozenset[str]:
        return frozenset(self._states)

    def _finish(self, g: GraphBuilder, program: Any, results: Sequence[Any]) -> None:
        super()._finish(g, program, results)
        for target, result in zip(self._states, self._changed(program, results), strict=True):
            g.output(complex_nodes.as_output(g, result), f"{target}_out")

    def _changed(self, program: Any, results: Sequence[Any]) -> list[Any]:
        """The changed buffers among all results of a program, in the order of the inputs."""
        specs = program.graph_signature.output_specs
        found = {s.target: r for s, r in zip(specs, results, strict=True) if s.kind.name == "BUFFER_MUTATION"}
        return [found[target] for target in self._states]


def _placeholders(program: Any, targets: Sequence[str]) -> dict[str, Any]:
    nodes = {n.name: n for n in program.graph.nodes if n.op == "placeholder"}
    specs = {s.target: s for s in program.graph_signature.input_specs}
    return {target: nodes[specs[target].arg.name] for target in targets}
