"""What isn't a plain module: functions, methods, and modules that only wrap another one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ...symbolic.errors import InputSpecError
from ..base import type_names

_MODULE = "torch.nn.modules.module.Module"
#: Wrappers that take any arguments -> where they hold the module.
_WRAPPERS = {
    "torch._dynamo.eval_frame.OptimizedModule": "_orig_mod",
    "torch.nn.parallel.data_parallel.DataParallel": "module",
    "torch.nn.parallel.distributed.DistributedDataParallel": "module",
}


def unwrapped(module: Any) -> Any:
    """The module that others wrap: its arguments have names."""
    while True:
        inner = next((a for name, a in _WRAPPERS.items() if type_names(module)[0] == name), None)
        if inner is None:
            return module
        module = getattr(module, inner)


def is_torch_function(model: Any) -> bool:
    """Whether it is a function of torch or TorchScript, or a method of a module. Imports nothing."""
    if isinstance(model, functools.partial):
        return is_torch_function(model.func) or _is_module(model.func)
    if isinstance(model, type) or not callable(model):
        return False
    home = getattr(model, "__module__", None) or type(getattr(model, "__self__", None)).__module__
    return _is_module(getattr(model, "__self__", None)) or str(home).split(".")[0] == "torch"


def _is_module(value: Any) -> bool:
    return _MODULE in type_names(value)


def function_module(function: Callable[..., Any]) -> Any:
    """A module that calls a function; modules that the function is bound to or encloses are parts of it.

    Raises:
        InputSpecError: The function doesn't say what it takes.
    """
    import torch

    try:
        signature = inspect.signature(function)
    except ValueError as error:
        name = getattr(function, "__name__", type(function).__name__)
        raise InputSpecError(f"{name} doesn't say what it takes: wrap it in a function or module that does") from error

    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    call.__signature__ = signature  # type: ignore[attr-defined]

    class Function(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.parts = torch.nn.ModuleList(dict.fromkeys(_modules_of(function)))
            self.forward = call

    return Function()


def _modules_of(function: Any) -> list[Any]:
    if isinstance(function, functools.partial):
        given = [function.func, *function.args, *function.keywords.values()]
        return [m for value in given for m in ([value] if _is_module(value) else _modules_of(value))]
    held = [getattr(function, "__self__", None)]
    held += [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    names = getattr(getattr(function, "__code__", None), "co_names", ())
    held += [getattr(function, "__globals__", {}).get(name) for name in names]
    return [value for value in held if _is_module(value)]
