"""Random keys are two words on a last axis: operations that move keys move the words with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...symbolic.builder import GraphBuilder
from ...symbolic.value import Value
from .params import is_key

_WORDS = 2


def physical(
    g: GraphBuilder, name: str, equation: Any, operands: Sequence[Value], params: Mapping[str, Any]
) -> tuple[Sequence[Value], dict[str, Any]]:
    """Operands and parameters of an operation on keys as one on their words.

    Args:
        g: Builder.
        name: Name of the primitive.
        equation: The equation.
        operands: Its operands, words in the place of keys.
        params: Its parameters, of keys.
    """
    p = dict(params)
    rank = len(equation.invars[0].aval.shape) if equation.invars else 0
    if name == "slice":
        p["start_indices"] = (*p["start_indices"], 0)
        p["limit_indices"] = (*p["limit_indices"], _WORDS)
        p["strides"] = (*p["strides"], 1) if p.get("strides") else None
    elif name == "reshape":
        p["new_sizes"] = (*p["new_sizes"], _WORDS)
    elif name == "broadcast_in_dim":
        p["broadcast_dimensions"] = (*p["broadcast_dimensions"], len(p["shape"]))
        p["shape"] = (*p["shape"], _WORDS)
    elif name == "transpose":
        p["permutation"] = (*p["permutation"], rank)
    elif name == "dynamic_slice":
        p["slice_sizes"] = (*p["slice_sizes"], _WORDS)
        operands = [*operands, g.constant(0)]
    elif name == "gather":
        out_rank = len(equation.outvars[0].aval.shape)
        p["dimension_numbers"] = p["dimension_numbers"]._replace(
            offset_dims=(*p["dimension_numbers"].offset_dims, out_rank)
        )
        p["slice_sizes"] = (*p["slice_sizes"], _WORDS)
    elif name == "select_n" and not is_key(equation.invars[0].aval.dtype) and operands[0].rank:
        operands = [g.Unsqueeze(operands[0], [operands[0].rank]), *operands[1:]]
    return operands, p
