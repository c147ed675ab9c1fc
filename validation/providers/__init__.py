"""Runtimes that models are compared in, by name.

``onnxruntime-cpu`` stands for two settings, graph optimisations off and on, which are always run both.
``onnxruntime:<name>`` is any execution provider of the installed onnxruntime, such as
``onnxruntime:CUDAExecutionProvider``. ``onnx-reference`` is the specification in numpy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...symbolic.errors import InputSpecError
from .base import Placement, Provider, ProviderError, UnsupportedByProvider
from .ort import CPU, OnnxRuntime
from .reference import OnnxReference

__all__ = [
    "DEFAULT",
    "Placement",
    "Provider",
    "ProviderError",
    "UnsupportedByProvider",
    "available",
    "names",
    "resolve",
]

DEFAULT = ("onnxruntime-cpu",)

_PREFIX = "onnxruntime:"


def _both(name: str, execution_provider: str) -> list[Provider]:
    return [OnnxRuntime(name, execution_provider, optimize=optimize) for optimize in (False, True)]


_REGISTRY: dict[str, Callable[[], Sequence[Provider]]] = {
    "onnxruntime-cpu": lambda: _both("onnxruntime-cpu", CPU),
    "onnx-reference": lambda: [OnnxReference()],
}


def names() -> list[str]:
    """Names of the registered providers."""
    return list(_REGISTRY)


def resolve(wanted: Sequence[str | Provider] | None) -> list[Provider]:
    """Turns provider names into providers, one for each setting.

    Args:
        wanted: Names, or providers of the caller's own; None for ``DEFAULT``.

    Raises:
        InputSpecError: A name is unknown.
    """
    if isinstance(wanted, str):
        wanted = [wanted]
    found: list[Provider] = []
    for one in DEFAULT if wanted is None else wanted:
        if not isinstance(one, str):
            found.append(one)
        elif one in _REGISTRY:
            found += _REGISTRY[one]()
        elif one.startswith(_PREFIX):
            found += _both(one, one.removeprefix(_PREFIX))
        else:
            raise InputSpecError(
                f"unknown provider {one!r}; one of {', '.join(names())}, or {_PREFIX}<execution provider>"
            )
    return found


def available() -> dict[str, str]:
    """Registered provider name -> empty if it can run here, else the reason why not."""
    return {name: make()[0].available() for name, make in _REGISTRY.items()}
