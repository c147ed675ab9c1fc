"""Weights of a captured program as lazy tensors, each tensor once."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx_ir as ir

from ...symbolic.builder import GraphBuilder
from ...symbolic.complex.number import Complex
from ...symbolic.value import Value


class Weights:
    """Makes initializers; tensors that share their storage (tied weights) become one.

    Args:
        g: Builder of the graph.
    """

    def __init__(self, g: GraphBuilder):
        self._g = g
        self._made: dict[Any, Value] = {}

    def value(self, name: str, tensor: Any) -> Value | Complex:
        """The initializer of a tensor, named by its first name; of a complex one two, for its parts."""
        tensor = tensor.detach()
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
            if tensor.numel() <= 1:
                # a copy: shape arithmetic looks at scalars all the time
                value = self._g.initializer(name, ir.Tensor(to_numpy(tensor), name=name))
            else:
                value = self._g.initializer(name, TorchTensor(tensor, name=name))
            self._made[key] = value
        return self._made[key]


def to_numpy(value: Any) -> np.ndarray:
    """A torch tensor (or Python number) as an array; bfloat16 as ml_dtypes has it."""
    import torch

    if not isinstance(value, torch.Tensor):
        return np.asarray(value)
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
