"""Weights of a captured program as lazy tensors, each tensor once."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx_ir as ir

from ...symbolic.builder import GraphBuilder
from ...symbolic.complex.number import Complex
from ...symbolic.errors import TranslationError
from ...symbolic.quantized.tensor import Quantized, from_levels
from ...symbolic.value import Value


class Weights:
    """Makes initializers; tensors that share their storage (tied weights) become one.

    Args:
        g: Builder of the graph.
    """

    def __init__(self, g: GraphBuilder):
        self._g = g
        self._made: dict[Any, Value] = {}
        self._alive: list[Any] = []  # addresses stay unique while their tensors live

    def value(self, name: str, tensor: Any) -> Any:
        """The initializer of a tensor, named by its first name; two for a Complex, the levels for a Quantized."""
        tensor = tensor.detach()
        if tensor.is_quantized:
            return self._quantized(name, tensor)
        if tensor.is_complex():
            tensor = tensor.resolve_conj()
            return Complex(self._value(f"{name}.real", tensor.real), self._value(f"{name}.imag", tensor.imag))
        return self._value(name, tensor)

    def _value(self, name: str, tensor: Any) -> Value:
        from onnx_ir.tensor_adapters import TorchTensor

        key: tuple[Any, ...] = (tensor.data_ptr(), tensor.dtype, tuple(tensor.shape), tensor.stride())
        if not tensor.numel():
            key = (name,)
        if key not in self._made:
            self._alive.append(tensor)
            if tensor.numel() <= 1:
                # a copy: shape arithmetic looks at scalars all the time
                value = self._g.initializer(name, ir.Tensor(to_numpy(tensor), name=name))
            else:
                value = self._g.initializer(name, TorchTensor(tensor, name=name))
            self._made[key] = value
        return self._made[key]

    def _quantized(self, name: str, tensor: Any) -> Quantized:
        import torch

        if tensor.qscheme() not in (torch.per_tensor_affine, torch.per_tensor_symmetric, torch.per_channel_affine,
                                    torch.per_channel_symmetric):  # fmt: skip
            raise TranslationError(f"{name} is quantised as {tensor.qscheme()}, which has no ONNX counterpart")
        levels = self._value(name, tensor.int_repr())
        by_channel = tensor.qscheme() in (torch.per_channel_affine, torch.per_channel_symmetric)
        scale = to_numpy(tensor.q_per_channel_scales()) if by_channel else np.array(tensor.q_scale())
        zero = to_numpy(tensor.q_per_channel_zero_points()) if by_channel else np.array(tensor.q_zero_point())
        step, origin = self._g.constant(scale.astype(np.float32)), self._g.constant(zero, levels.element)
        return from_levels(self._g, levels, step, origin, tensor.q_per_channel_axis() if by_channel else None)


def to_numpy(value: Any) -> np.ndarray:
    """A torch tensor (or Python number) as an array; bfloat16 as ml_dtypes has it, a quantised one as its numbers."""
    import torch

    if not isinstance(value, torch.Tensor):
        return np.asarray(value)
    if value.is_quantized:
        value = value.dequantize()
    value = value.detach().cpu().resolve_conj().resolve_neg().contiguous()
    if value.dtype is torch.bfloat16:
        array: np.ndarray = value.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
        return array
    array = value.numpy()
    return array


def to_torch(array: np.ndarray) -> Any:
    """An array as a torch tensor of its own memory."""
    import torch

    array = np.array(array, order="C")
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)
