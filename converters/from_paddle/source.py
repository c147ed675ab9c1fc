"""A loaded Paddle model: it runs in Paddle, and it can be translated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ...symbolic.builder import GraphBuilder
from ...symbolic.errors import CaptureError, InputSpecError
from ...symbolic.spec import TensorSpec
from ...symbolic.value import Value
from ...validation.inputs import choose_sizes
from ..base import Arrays, Options, Source, named_shape, renamed, same_by_axis
from .program import Program, TensorType
from .walk import Environment, Walk, prepare

#: Runs the model in Paddle: input arrays in order -> output arrays in order.
Run = Callable[[Sequence[np.ndarray]], Sequence[np.ndarray]]


#: Ops whose models take images, and sizes for these.
_IMAGE_OPS = ("conv2d", "depthwise_conv2d", "pool2d", "conv2d_transpose")
_IMAGE_SIZES = (64, 96)


class PaddleSource(Source):
    """A Paddle program; `run` is how Paddle itself computes it.

    Args:
        program: The program with its weights.
        specs: Its inputs, in order, under the names of the ONNX model.
        output_names: The program's own names for its outputs.
        options: What the caller asked for.
        description: One line for people.
        run: Runs it in Paddle.
    """

    framework = "paddle"

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
        self.output_names = renamed(output_names, options.output_names, "output")
        self._run = run

    def run(self, inputs: Mapping[str, np.ndarray]) -> Arrays:
        """Runs the model in Paddle."""
        results = self._run([inputs[s.name] for s in self.specs])
        if len(results) != len(self.output_names):
            raise CaptureError(f"Paddle gives {len(results)} outputs, the program has {len(self.output_names)}")
        return dict(zip(self.output_names, results, strict=True))

    def choose_sizes(self, which: int, base: Mapping[str, int] | None = None) -> dict[str, int]:
        """Sizes for the open dims; Paddle doesn't say which are equal, so the same axis of all inputs gets one size."""
        sizes = choose_sizes(self.specs, which, base)
        images = any(op.kind in _IMAGE_OPS for op in self.program.block.walk())
        pixels = [size for spec in self.specs if images and len(spec.shape) == 4 for size in spec.shape[2:]]
        for symbol in pixels:
            if isinstance(symbol, str) and symbol not in (base or {}):
                sizes[symbol] = _IMAGE_SIZES[which]  # a few pixels would vanish in a network with strides
        return same_by_axis(self.specs, sizes)

    def translate(self, g: GraphBuilder) -> None:
        """Translates the program; what can't be done is found first."""
        program = prepare(self.program, g.opset)
        walk = Walk(g, program)
        env: Environment = {}
        for op, spec in zip(program.inputs, self.specs, strict=True):
            env[op.results[0].name] = g.input(spec.name, spec.dtype, spec.shape)
        for name, value in zip(self.output_names, walk.run(program.block, env), strict=True):
            if not isinstance(value, Value):
                raise CaptureError(f"the output {name} is not a tensor")
            g.output(value, name)


def program_specs(program: Program, names: Sequence[str] | None) -> list[TensorSpec]:
    """Specs of a program's inputs; open sizes get names.

    Raises:
        InputSpecError: The number of names is wrong.
        CaptureError: An input is not a tensor.
    """
    ops = program.inputs
    own = renamed([op.attributes["name"] for op in ops], names, "input")
    specs = []
    for i, (op, name) in enumerate(zip(ops, own, strict=True)):
        kind = op.results[0].type
        if not isinstance(kind, TensorType) or kind.shape is None:
            raise CaptureError(f"the input {name} is not a tensor")
        specs.append(TensorSpec(name, kind.dtype, named_shape(name, kind.shape, first=i == 0)))
    if len({s.name for s in specs}) < len(specs):
        raise InputSpecError(f"two inputs have one name: {', '.join(own)}")
    return specs
