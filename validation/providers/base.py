"""What a provider is: a runtime, in one setting, that runs ONNX models and says where it ran them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from ...symbolic.errors import AnyonnxError
from ..models import ModelLike

Array = np.ndarray[Any, Any]


class ProviderError(AnyonnxError):
    """The runtime rejected the model, or failed while running it."""


class UnsupportedByProvider(ProviderError):
    """The model is valid, but this runtime lacks something that it needs."""


@dataclass(frozen=True)
class Placement:
    """Where the nodes of the last model ran.

    Attributes:
        nodes: Device or execution provider -> number of nodes; empty where the runtime doesn't tell.
        fell_back: Nodes ran elsewhere than on the provider that was asked for.
        detail: What ran elsewhere, for the report.
    """

    nodes: Mapping[str, int] = field(default_factory=dict)
    fell_back: bool = False
    detail: str = ""

    def __str__(self) -> str:
        counts = ", ".join(f"{name}: {count}" for name, count in self.nodes.items())
        return "; ".join(part for part in (counts, self.detail) if part)


class Provider(Protocol):
    """A runtime in one setting.

    Attributes:
        name: Name in the registry and in reports.
        setting: What distinguishes it from the other settings of the same name; may be empty.
        precision: Tolerance tier of what it computes in (``tolerances.TIERS``); empty if it keeps the model's types.
    """

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def setting(self) -> str: ...  # noqa: D102
    @property
    def precision(self) -> str: ...  # noqa: D102

    def available(self) -> str:
        """Empty if it can run here, else the reason why not and what to do about it."""
        ...

    def run(self, model: ModelLike, inputs: Mapping[str, Array]) -> dict[str, Any]:
        """Runs a model; the session of the last model is kept for the next call.

        Args:
            model: The model.
            inputs: An array for each graph input.

        Returns:
            An array for each graph output, a list of arrays for a sequence output.

        Raises:
            UnsupportedByProvider: The runtime lacks an operator, a type or an option.
            ProviderError: It rejected the model or the inputs, or failed.
            MissingDependency: It is not installed.
        """
        ...

    def placement(self) -> Placement:
        """Where the nodes of the last model ran."""
        ...

    def version(self) -> str:
        """Version of the runtime; empty if it is not installed."""
        ...

    def close(self) -> None:
        """Frees the last model."""
        ...
