"""Tells torch what containers are made of that models take and return: dataclasses and key-value caches."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from ...symbolic.spec import TensorSpec

_CACHE = "transformers.cache_utils.DynamicCache"


def register(leaves: Iterable[Any]) -> bool:
    """Registers the types of values that torch takes for leaves of a tree although they hold tensors.

    Returns:
        Whether there were any.
    """
    import torch

    kinds = {type(leaf) for leaf in leaves if not isinstance(leaf, (torch.Tensor, TensorSpec, type))}
    records = [kind for kind in kinds if dataclasses.is_dataclass(kind)]
    for kind in records:
        torch.export.register_dataclass(kind)
    caches = any(f"{kind.__module__}.{kind.__name__}" == _CACHE for kind in kinds)
    if caches:
        from transformers.integrations.executorch import register_dynamic_cache_export_support

        register_dynamic_cache_export_support()  # type: ignore[no-untyped-call]
    return bool(records) or caches
