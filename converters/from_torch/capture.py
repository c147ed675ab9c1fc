"""Captures a module with ``torch.export``: the graph before any decomposition."""

from __future__ import annotations

import contextlib
import io
import logging
import sys
import traceback
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...symbolic.errors import CaptureError
from .containers import register
from .inputs import Arguments, dynamic_shapes
from .shapes import shape_kernels
from .stand_ins import stand_ins

#: What torch.export raises, and what a module's own code raises inside it.
FAILURES = (RuntimeError, ValueError, TypeError, AttributeError, LookupError, AssertionError, ArithmeticError)


def capture(module: Any, arguments: Arguments) -> Any:
    """Exports a module in evaluation mode, without gradients; its mode is restored.

    Raises:
        CaptureError: torch.export refuses the module; the message says why and where.
    """
    with evaluation(module):
        # torch finds out itself which sizes are one and how far they range. Named dims allow no smallest or largest
        # size; they say why, where a size that should stay open is fixed.
        loose = _captured(module, arguments, relaxed=True)
        return loose if _stay_open(loose, arguments) else _captured(module, arguments, relaxed=False)


@contextmanager
def evaluation(module: Any) -> Iterator[None]:
    """Puts a module into evaluation mode, and back; parts that torch.compile made run as they are written."""
    import torch

    modes = [(m, m.training) for m in module.modules()]
    compiled = any(hasattr(m, "_orig_mod") for m in module.modules())
    with contextlib.suppress(NotImplementedError):  # a module that was made from an exported program has no modes
        module.eval()
    try:
        with torch.compiler.set_stance("force_eager") if compiled else contextlib.nullcontext():
            yield
    finally:
        for child, mode in modes:
            child.training = mode


def _captured(module: Any, arguments: Arguments, *, relaxed: bool) -> Any:
    while True:
        try:
            return _export(module, arguments, dynamic_shapes(module, arguments, relaxed=relaxed))
        except FAILURES as error:
            if not ("not a known type" in str(error) and _register_outputs(module, arguments)):
                raise CaptureError(explain(module, error)) from error


def _stay_open(program: Any, arguments: Arguments) -> bool:
    """Whether no size that the caller opened became a number."""
    import torch

    inputs = {s.arg.name for s in program.graph_signature.input_specs if s.kind.name == "USER_INPUT"}
    nodes = [n for n in program.graph.nodes if n.op == "placeholder" and n.name in inputs]
    tensors = [n.meta["val"] for n in nodes if isinstance(n.meta.get("val"), torch.Tensor)]
    sizes = [t.shape[axis] for t, axes in zip(tensors, arguments.axes, strict=False) for axis in axes]
    return not any(isinstance(s, int) or s.node.expr.is_number for s in sizes)


def refuse_observers(module: Any) -> None:
    """Raises CaptureError where fake quantisation still learns its range: it would, at every run."""
    for name, child in module.named_modules():
        observing = getattr(child, "observer_enabled", None)
        if observing is not None and bool(observing[0]):
            raise CaptureError(
                f"{name or type(child).__name__} is fake quantisation that still observes its range: call "
                "model.apply(torch.ao.quantization.disable_observer) first"
            )


def refuse_without_weights(module: Any) -> None:
    """Raises CaptureError where weights are still to be made: lazy ones, and those on the meta device."""
    from torch.nn.parameter import is_lazy

    for name, tensor in (*module.named_parameters(), *module.named_buffers()):
        if is_lazy(tensor):
            raise CaptureError(f"{name} belongs to a lazy module that hasn't seen data: run the model once first")
        if tensor.is_meta:
            raise CaptureError(f"{name} is on the meta device, which holds no numbers: load the weights first")


def _export(module: Any, arguments: Arguments, shapes: Any) -> Any:
    import torch

    with warnings.catch_warnings(), torch.no_grad(), plain_attention(), _traceable(), stand_ins(), _quiet():
        warnings.simplefilter("ignore")
        return torch.export.export(module, arguments.args, arguments.kwargs, dynamic_shapes=shapes, strict=False)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keeps torch from printing the graph of a capture that fails; the error says what there is to say."""
    log = logging.getLogger("torch.fx.experimental.symbolic_shapes")
    level, printed = log.level, io.StringIO()
    log.setLevel(logging.ERROR)
    try:
        with contextlib.redirect_stderr(printed):
            yield
        sys.stderr.write(printed.getvalue())  # what the model itself printed
    finally:
        log.setLevel(level)


@contextmanager
def _traceable(apart: Collection[Any] = ()) -> Iterator[None]:
    """Sizes of 0 and 1 aren't taken for constants, recurrent layers stay whole, unless they are to be taken apart."""
    from torch.fx.experimental import _config

    with shape_kernels(apart), _config.patch(backed_size_oblivious=True):
        yield


def _register_outputs(module: Any, arguments: Arguments) -> bool:
    """Tells torch what the dataclasses and key-value caches are made of that the module returns.

    Returns:
        Whether there were any.
    """
    import torch
    from torch.utils import _pytree as pytree

    with torch.no_grad(), plain_attention():
        leaves = pytree.tree_leaves(module(*arguments.args, **arguments.kwargs))
    return register(leaves)


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

    with warnings.catch_warnings(), torch.no_grad(), _traceable(table):
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
    "specialized": "The model fixes the size of a dim that should stay open: leave that dim out of the open ones. "
    "len(x), int(...) of a size and numpy functions of it do that; x.shape[0] and // don't.",
    "onstraintViolation": "The model allows only some sizes of an open dim: fix that dim, or choose its relation.",
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
