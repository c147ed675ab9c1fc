"""Captures a module with ``torch.export``: the graph before any decomposition."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...symbolic.errors import CaptureError
from .inputs import Arguments, dynamic_shapes

#: What torch.export raises, and what a module's own code raises inside it.
FAILURES = (RuntimeError, ValueError, TypeError, AttributeError, LookupError, AssertionError, ArithmeticError)


def capture(module: Any, arguments: Arguments) -> Any:
    """Exports a module in evaluation mode, without gradients; its mode is restored.

    Raises:
        CaptureError: torch.export refuses the module; the message says why and where.
    """
    shapes = dynamic_shapes(module, arguments)
    modes = [(m, m.training) for m in module.modules()]
    module.eval()
    try:
        try:
            return _export(module, arguments, shapes, deferred=False)
        except FAILURES as error:
            if shapes is None or not _about_ranges(error):
                raise CaptureError(explain(module, error)) from error
        try:
            return _export(module, arguments, shapes, deferred=True)
        except FAILURES as error:
            raise CaptureError(explain(module, error)) from error
    finally:
        for child, mode in modes:
            child.training = mode


def _export(module: Any, arguments: Arguments, shapes: Any, *, deferred: bool) -> Any:
    import torch

    with warnings.catch_warnings(), torch.no_grad(), plain_attention(), _traceable():
        warnings.simplefilter("ignore")
        return torch.export.export(
            module,
            arguments.args,
            arguments.kwargs,
            dynamic_shapes=shapes,
            strict=False,
            prefer_deferred_runtime_asserts_over_guards=deferred,
        )


@contextmanager
def _traceable() -> Iterator[None]:
    """Sizes of 0 and 1 aren't taken for constants, recurrent layers stay whole."""
    from torch.fx.experimental import _config

    with recurrent_shapes(), _config.patch(backed_size_oblivious=True):
        yield


def _about_ranges(error: BaseException) -> bool:
    """Whether the sizes' guards are what failed: they may be checked at run time instead."""
    return type(error).__name__ in ("UserError", "ConstraintViolationError") and "onstraint" in str(error)


@contextmanager
def plain_attention() -> Iterator[None]:
    """Keeps nn.TransformerEncoder and nn.MultiheadAttention off their fused inference path.

    That path is another function: it zeroes padded positions and shortens the sequence to the longest one in use.
    """
    import torch

    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


# --- recurrent layers ------------------------------------------------------------------------------------------------


@contextmanager
def recurrent_shapes() -> Iterator[None]:
    """Lets LSTM, GRU and RNN be captured as one op over a sequence of open length.

    torch finds their result shapes by running its decomposition, a Python loop over the time steps, which fixes the
    length. Inside this context the shapes are computed from the shapes.
    """
    import torch

    aten, key = torch.ops.aten, torch._C.DispatchKey
    overloads = {
        aten.lstm.input: _lstm_result,
        aten.gru.input: _rnn_result,
        aten.rnn_tanh.input: _rnn_result,
        aten.rnn_relu.input: _rnn_result,
    }
    saved = {op: dict(op.py_kernels) for op in overloads}
    for op, function in overloads.items():
        for dispatch in (key.CompositeImplicitAutograd, key.Autograd, key.Meta):
            if dispatch in op.py_kernels:
                op.py_kernels[dispatch] = function
        op._dispatch_cache.clear()
    try:
        yield
    finally:
        for op, kernels in saved.items():
            op.py_kernels.clear()
            op.py_kernels.update(kernels)
            op._dispatch_cache.clear()


def _lstm_result(
    input: Any, hx: Any, params: Any, has_biases: bool, num_layers: int, dropout: float, train: bool,
    bidirectional: bool, batch_first: bool,
) -> tuple[Any, Any, Any]:  # fmt: skip
    hidden, cell = hx
    width = hidden.shape[2] * (2 if bidirectional else 1)
    output = input.new_empty((input.shape[0], input.shape[1], width))
    return output, hidden.new_empty(hidden.shape), cell.new_empty(cell.shape)


def _rnn_result(
    input: Any, hx: Any, params: Any, has_biases: bool, num_layers: int, dropout: float, train: bool,
    bidirectional: bool, batch_first: bool,
) -> tuple[Any, Any]:  # fmt: skip
    width = hx.shape[2] * (2 if bidirectional else 1)
    return input.new_empty((input.shape[0], input.shape[1], width)), hx.new_empty(hx.shape)


# --- rewriting a captured program ------------------------------------------------------------------------------------


def functionalized(program: Any) -> Any:
    """The program without in-place ops; used only where one writes through a view."""
    return _rewritten(program, {})


def decomposed(program: Any, ops: list[Any]) -> Any | None:
    """The program with just these ops decomposed; None where none of them has a decomposition."""
    table = known_decompositions()
    chosen = {op: table[op] for op in ops if op in table}
    return _rewritten(program, chosen) if chosen else None


def known_decompositions() -> dict[Any, Callable[..., Any]]:
    """Every decomposition that torch has, by op."""
    import torch

    table: dict[Any, Callable[..., Any]] = dict(torch._decomp.global_decomposition_table["post_autograd"])
    defaults = torch.export.default_decompositions()
    defaults.materialize()
    table.update(defaults.items())
    return table


def _rewritten(program: Any, table: dict[Any, Any]) -> Any:
    import torch

    with warnings.catch_warnings(), torch.no_grad(), _traceable():
        warnings.simplefilter("ignore")
        try:
            return program.run_decompositions(table)
        except FAILURES as error:
            raise CaptureError(f"torch can't decompose the captured graph: {_text(error)}") from error


# --- saying why ------------------------------------------------------------------------------------------------------


def explain(module: Any, error: BaseException) -> str:
    """The useful part of a capture error: the innermost cause, where it happened, and what helps."""
    chain = list(_causes(error))
    useful = next((e for e in reversed(chain) if str(e).strip()), error)
    place = next((p for e in chain if (p := _user_frame(e))), "")
    text = f"torch.export can't capture {type(module).__name__}: {_text(useful)}"
    if place:
        text += f"\n  at {place}"
    hint = next((h for key, h in _HINTS.items() if any(key in type(e).__name__ + str(e) for e in chain)), "")
    return text + (f"\n  {hint}" if hint else "")


_HINTS = {
    "GuardOnDataDependent": "A Python `if` or loop depends on values computed in the model; use torch.where, "
    "torch.cond, or a fixed size instead.",
    "ConstraintViolation": "The model allows only some sizes of an open dim: fix that dim, or choose its relation.",
    "onstraints violated": "The model allows only some sizes of an open dim: fix that dim, or choose its relation.",
    "specialized": "The model fixes the size of a dim that should stay open: leave that dim out of the open ones.",
    "Cannot view a tensor": "A view needs sizes that divide; fix that dim, or use reshape.",
}


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)


def _text(error: BaseException) -> str:
    lines = [line.rstrip() for line in str(error).splitlines() if line.strip()]
    kept = [line for line in lines if "pytorch.org/docs" not in line and not line.startswith("The error above")][:8]
    return f"{type(error).__name__}: " + ("\n  ".join(kept) or "(no text)")


def _user_frame(error: BaseException) -> str:
    """File and line of the innermost frame that belongs to neither torch nor us."""
    ours = Path(__file__).resolve().parent.parent
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        if "torch" in path.parts or frame.filename.startswith("<") or ours in path.resolve().parents:
            continue
        if path.name in ("contextlib.py", "functools.py", "threading.py"):
            continue
        return f"{path.name}:{frame.lineno}, in {frame.name}" + (f": {frame.line}" if frame.line else "")
    return ""
