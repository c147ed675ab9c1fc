"""Functions of torch that fix an open size or look at data while a model is captured, by others that compute the same.

Some arguments of torch are plain integers: a size that is passed there becomes a number. Some functions check their
data in Python, or choose a faster way by it. While a model is captured, the functions here stand in their place.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def stand_ins() -> Iterator[None]:
    """Puts the functions in their place, and torch's own back behind."""
    import torch
    import torch.nn.functional as F
    from torch.nn.modules import transformer

    adaptive = torch.nn.AdaptiveLogSoftmaxWithLoss
    places: list[tuple[Any, str, Callable[..., Any]]] = [
        (transformer, "_detect_is_causal_mask", _only_hint),
        (F, "gaussian_nll_loss", _gaussian_nll_loss),
        (F, "one_hot", _one_hot(F.one_hot)),
        (F, "embedding", _embedding(F.embedding)),
        (F, "embedding_bag", _embedding_bag(F.embedding_bag)),
        (F, "adaptive_avg_pool1d", _adaptive_avg_pool1d(F.adaptive_avg_pool1d)),
        (adaptive, "forward", _adaptive_log_softmax),
        (adaptive, "predict", _adaptive_predict),
        (torch, "linspace", _linspace(torch.linspace)),
        (math, "sqrt", _sqrt(math.sqrt)),
    ]
    if hasattr(F, "linear_cross_entropy"):
        places.append((F, "linear_cross_entropy", _linear_cross_entropy(F.linear_cross_entropy)))
    for count in (1, 2, 3):
        for kind, reduction in (("max", "amax"), ("avg", "mean")):
            name = f"{kind}_pool{count}d"
            places.append((F, name, _pool(getattr(F, name), count, reduction)))
    with contextlib.ExitStack() as stack:
        for owner, name, function in places:
            stack.callback(setattr, owner, name, getattr(owner, name))
            setattr(owner, name, function)
        yield


def _is_open(size: Any) -> bool:
    import torch

    return isinstance(size, torch.SymInt) and not size.node.expr.is_number


def _only_hint(mask: Any, is_causal: bool | None = None, size: int | None = None) -> bool:
    """Whether the caller says that a mask is causal; torch looks for itself, to take a faster way."""
    return is_causal is True


def _gaussian_nll_loss(
    input: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Any:
    import torch

    var = torch.full_like(input, var) if isinstance(var, float) else var
    if var.dim() == input.dim() - 1:
        var = var.unsqueeze(-1)
    var = var.clamp(min=eps)
    loss = 0.5 * (var.log() + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return {"none": lambda: loss, "mean": loss.mean, "sum": loss.sum}[reduction]()


def _one_hot(original: Callable[..., Any]) -> Callable[..., Any]:
    def one_hot(tensor: Any, num_classes: Any = -1) -> Any:
        import torch

        if not _is_open(num_classes):
            return original(tensor, num_classes)
        return (tensor.unsqueeze(-1) == torch.arange(num_classes)).to(torch.int64)

    return one_hot


def _linear_cross_entropy(original: Callable[..., Any]) -> Callable[..., Any]:
    """Without the options, which say in how many parts it is computed."""

    def linear_cross_entropy(*operands: Any, **named: Any) -> Any:
        return original(*operands, **(named | {"options": None}))

    return linear_cross_entropy


def _shortened(rows: Any, max_norm: float, norm_type: float) -> Any:
    """Rows no longer than a norm; torch writes them back into the weights, which changes no later result."""
    import torch

    length = torch.linalg.vector_norm(rows, norm_type, dim=-1, keepdim=True)
    return torch.where(length > max_norm, rows * (max_norm / (length + 1e-7)), rows)


def _embedding(original: Callable[..., Any]) -> Callable[..., Any]:
    def embedding(
        input: Any, weight: Any, padding_idx: Any = None, max_norm: Any = None, norm_type: float = 2.0, *rest: Any,
        **options: Any,
    ) -> Any:  # fmt: skip
        rows = original(input, weight, padding_idx, None, norm_type, *rest, **options)
        return rows if max_norm is None else _shortened(rows, max_norm, norm_type)

    return embedding


def _embedding_bag(original: Callable[..., Any]) -> Callable[..., Any]:
    def embedding_bag(
        input: Any, weight: Any, offsets: Any = None, max_norm: Any = None, norm_type: float = 2, *rest: Any,
        **options: Any,
    ) -> Any:  # fmt: skip
        weight = weight if max_norm is None else _shortened(weight, max_norm, norm_type)
        return original(input, weight, offsets, None, norm_type, *rest, **options)

    return embedding_bag


def _adaptive_avg_pool1d(original: Callable[..., Any]) -> Callable[..., Any]:
    def adaptive_avg_pool1d(input: Any, output_size: Any) -> Any:
        import torch.nn.functional as F

        size = output_size[0] if isinstance(output_size, (list, tuple)) else output_size
        if not _is_open(size):
            return original(input, output_size)
        return F.adaptive_avg_pool2d(input.unsqueeze(-2), (1, size)).squeeze(-2)

    return adaptive_avg_pool1d


def _adaptive_log_softmax(self: Any, input_: Any, target_: Any) -> Any:
    """The log-probability of each label: torch computes that of no other."""
    from torch.nn.modules.adaptive import _ASMoutput

    batched = target_.dim() > 0
    logs = self.log_prob(input_ if batched else input_.unsqueeze(0))
    output = logs.gather(1, (target_ if batched else target_.unsqueeze(0)).unsqueeze(1)).squeeze(1)
    return _ASMoutput(output if batched else output.squeeze(0), (-output).mean())


def _adaptive_predict(self: Any, input: Any) -> Any:
    return self.log_prob(input).argmax(dim=1)


def _linspace(original: Callable[..., Any]) -> Callable[..., Any]:
    def linspace(start: Any, end: Any, steps: Any, **options: Any) -> Any:
        import torch

        dtype = options.get("dtype") or torch.get_default_dtype()
        numbers = (int, float, torch.SymInt, torch.SymFloat)
        plain = isinstance(start, numbers) and isinstance(end, numbers) and dtype.is_floating_point
        if not _is_open(steps) or not plain or options.get("out") is not None:
            return original(start, end, steps, **options)
        # from both ends towards the middle, as torch does
        index = torch.arange(steps)
        step = (end - start) / torch.full((), steps - 1, dtype=dtype).clamp(min=1)
        return torch.where(index < steps // 2, start + step * index, end - step * (steps - 1 - index))

    return linspace


def _sqrt(original: Callable[[Any], float]) -> Callable[[Any], Any]:
    def sqrt(x: Any) -> Any:
        import torch

        return torch.sym_sqrt(x) if isinstance(x, (torch.SymInt, torch.SymFloat)) else original(x)

    return sqrt


def _pool(original: Callable[..., Any], count: int, reduction: str) -> Callable[..., Any]:
    """Pooling over whole axes of open size: a reduction; a window of another open size is torch's to refuse."""

    def pool(input: Any, kernel_size: Any, stride: Any = None, *rest: Any, **options: Any) -> Any:
        kernel = list(kernel_size) if isinstance(kernel_size, (list, tuple)) else [kernel_size] * count
        kernel = kernel * count if len(kernel) == 1 else kernel
        plane = list(input.shape[-count:])
        usual = stride in (None, kernel_size) and not rest and not any(options.values())
        whole = len(kernel) == count and all(k is s or k == s for k, s in zip(kernel, plane, strict=True))
        if not any(map(_is_open, kernel)) or not usual or not whole:
            return original(input, kernel_size, stride, *rest, **options)
        return getattr(input, reduction)(dim=list(range(-count, 0)), keepdim=True)

    return pool
