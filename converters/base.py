"""What a frontend is, and what it hands to the rest of the way."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..symbolic.builder import GraphBuilder
from ..symbolic.errors import InputSpecError
from ..symbolic.spec import TensorSpec
from ..validation.inputs import choose_sizes

if TYPE_CHECKING:
    import onnx_ir as ir

Arrays = dict[str, np.ndarray]


@dataclass
class Options:
    """What the caller asked for.

    Attributes:
        opset: Opset to write.
        input_names: Names for the inputs, in order; the source's own names where None.
        output_names: Names for the outputs, in order.
        dynamic: Open dims: input name or index -> axis -> symbol.
        trust: The file may run code.
        extra: Options of single frontends (outputs of an estimator, a key in a checkpoint ...).
    """

    opset: int
    input_names: Sequence[str] | None = None
    output_names: Sequence[str] | None = None
    dynamic: Mapping[str | int, Mapping[int, str]] | None = None
    trust: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)


class Source(ABC):
    """A loaded model of one framework: it runs, and it can be translated.

    Attributes:
        framework: Name of the framework.
        description: One line for people: class, file, version.
        specs: Inputs of the ONNX model, named, in order, open dims as names.
        output_names: Names of the ONNX outputs, in order.
        labels: Outputs that hold class labels or indices: compared for equality.
        precision: Tier of `validation.tolerances` that the source computes in, where its outputs' dtypes promise more.
        samples: Inputs that the caller or the file gave; None where they have to be made up.
    """

    framework: str
    description: str
    specs: list[TensorSpec]
    output_names: list[str]
    labels: Sequence[str] = ()
    precision: str = ""
    samples: Arrays | None = None

    @abstractmethod
    def run(self, inputs: Mapping[str, np.ndarray]) -> Arrays:
        """Runs the source framework on named inputs; gives its outputs under the ONNX output names."""

    @abstractmethod
    def translate(self, g: GraphBuilder) -> None:
        """Builds the model: inputs named as `specs`, outputs as `output_names`.

        Every op is looked up first (`registry.require`), so that all that is missing is reported at once.

        Raises:
            UnsupportedOps: Ops without a symbolic function.
            OpsetError: The asked opset has no way to write an operator.
            TranslationError: What was built contradicts what the framework says.
        """

    def make_samples(self, seed: int, sizes: Mapping[str, int]) -> Arrays | None:
        """Inputs that suit the model better than random numbers (rows on thresholds, say); None: random ones do."""
        return None

    def choose_sizes(self, which: int, base: Mapping[str, int] | None = None) -> dict[str, int]:
        """Sizes for the open dims: the first (0) or another (1) set; override where the source allows only some.

        Args:
            which: 0 or 1.
            base: Sizes that are known to work.
        """
        return choose_sizes(self.specs, which, base)

    def trace(self, inputs: Mapping[str, np.ndarray], names: Sequence[str]) -> Arrays:
        """Intermediate values of the source by the names given to `GraphBuilder.mark`; {} where there are none."""
        return {}

    def explain(self, model: ir.Model, outputs: Sequence[str]) -> str:
        """What is known about outputs of the model that came out wrong; empty where nothing is."""
        return ""


class Frontend(ABC):
    """Loads models of one framework.

    Attributes:
        name: Framework name, as in ``--from``.
        packages: Import names of the packages that it needs.
        extra: The extra of anyonnx that installs them.
    """

    name: ClassVar[str]
    packages: ClassVar[tuple[str, ...]] = ()
    extra: ClassVar[str] = ""

    @abstractmethod
    def accepts(self, model: object) -> bool:
        """Whether a live object is this framework's. Imports nothing: it looks at the names of the type's bases."""

    @abstractmethod
    def load(self, model: Any, inputs: Any, options: Options) -> Source:
        """Loads a live object or a path.

        Args:
            model: Live object, or path of a file whose kind `files.sniff` gave to this framework.
            inputs: What the caller gave as `inputs` of `to_onnx`; None where nothing.
            options: What the caller asked for.

        Raises:
            InputSpecError: The inputs are missing or don't fit.
            UntrustedFile: The file runs code and isn't trusted.
            CaptureError: The framework could not give us the graph.
        """


def type_names(model: object) -> list[str]:
    """Full names of the classes that a live object is an instance of."""
    return [f"{c.__module__}.{c.__qualname__}" for c in type(model).__mro__]


def identifier(name: str) -> str:
    """A name made of letters, digits and underscores."""
    return "".join(c if c.isalnum() else "_" for c in name)


def named_shape(name: str, sizes: Iterable[int | None], *, first: bool) -> tuple[int | str, ...]:
    """An input's shape with names for open sizes (none, or negative): ``batch`` for the first axis where asked."""
    return tuple(
        int(size)
        if size is not None and size >= 0
        else "batch"
        if first and not axis
        else f"{identifier(name)}_dim{axis}"
        for axis, size in enumerate(sizes)
    )


def same_by_axis(specs: Sequence[TensorSpec], sizes: dict[str, int]) -> dict[str, int]:
    """One size for the same axis of all inputs, where a source doesn't say which of its open sizes are equal."""
    by_axis: dict[int, int] = {}
    for spec in specs:
        for axis, symbol in enumerate(spec.shape):
            if isinstance(symbol, str):
                sizes[symbol] = by_axis.setdefault(axis, sizes[symbol])
    return sizes


def renamed(names: Sequence[str], wanted: Sequence[str] | None, what: str) -> list[str]:
    """Names with the caller's in their place; raises InputSpecError where the count is wrong."""
    if wanted is None:
        return list(names)
    if len(wanted) != len(names):
        raise InputSpecError(f"{len(wanted)} {what} names are given, the model has {len(names)}: {', '.join(names)}")
    if len(set(wanted)) != len(wanted):
        raise InputSpecError(f"the {what} names {', '.join(wanted)} are not all different")
    return list(wanted)
