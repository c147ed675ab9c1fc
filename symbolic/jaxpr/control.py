"""Calls, branches and loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dims import Size
from ..registry import symbolic
from ..value import Value
from ..xla import control
from ..xla.apply import lenient
from ..xla.region import Region

if TYPE_CHECKING:
    from ..builder import GraphBuilder


_CALLS = (
    "jit", "pjit", "closed_call", "core_call", "call", "remat", "remat2", "checkpoint", "custom_jvp_call",
    "custom_jvp_call_jaxpr", "custom_vjp_call", "custom_vjp_call_jaxpr", "custom_lin", "jaxpr_call", "eval_jaxpr",
    "composite", "xla_metadata_call", "custom_vmap_call", "remat_opt", "compute_on",
)  # fmt: skip


@symbolic("jaxpr", *_CALLS)
@lenient
def inlined(
    g: GraphBuilder,
    *operands: Value,
    jaxpr: Region | None = None,
    call_jaxpr: Region | None = None,
    fun_jaxpr: Region | None = None,
    call: Region | None = None,
    **_: Any,
) -> list[Value]:
    """call(*operands, jaxpr): the function itself"""
    region = jaxpr or call_jaxpr or fun_jaxpr or call
    if region is None:
        raise ValueError("the call names no function")
    return region(g, *operands[len(operands) - len(region.inputs) :])


@symbolic("jaxpr", "custom_linear_solve")
def custom_linear_solve(g: GraphBuilder, *operands: Value, const_lengths: Any, jaxprs: Any) -> list[Value]:
    """custom_linear_solve(*constants_and_b, const_lengths, jaxprs): its own solver"""
    before = const_lengths.matvec + const_lengths.vecmat
    constants = operands[before : before + const_lengths.solve]
    values = operands[before + const_lengths.solve + const_lengths.transpose_solve :]
    found: list[Value] = jaxprs.solve(g, *constants, *values)
    return found


@symbolic("jaxpr", "cond")
@lenient
def cond(g: GraphBuilder, index: Value, *operands: Value, branches: Sequence[Region], **_: Any) -> list[Value]:
    """cond(index, *operands, branches)"""
    return control.case(g, index, branches, operands)


@symbolic("jaxpr", "platform_index")
def platform_index(g: GraphBuilder, platforms: Sequence[Any], **_: Any) -> Value:
    """platform_index(*, platforms): the entry for CPUs, else the default, which stands last"""
    for i, names in enumerate(platforms):
        if names is None or "cpu" in names:
            return g.constant(np.array(i, np.int32))
    return g.constant(np.array(len(platforms) - 1, np.int32))


@symbolic("jaxpr", "while")
@lenient
def while_(
    g: GraphBuilder,
    *operands: Value,
    cond_jaxpr: Region,
    body_jaxpr: Region,
    cond_nconsts: int,
    body_nconsts: int,
    **_: Any,
) -> list[Value]:
    """while(*cond_consts, *body_consts, *carry, cond_jaxpr, body_jaxpr)"""
    split = cond_nconsts + body_nconsts
    return control.while_loop(
        g, cond_jaxpr, body_jaxpr, operands[:cond_nconsts], operands[cond_nconsts:split], operands[split:]
    )


@symbolic("jaxpr", "scan")
def scan(
    g: GraphBuilder,
    *operands: Value,
    jaxpr: Region,
    length: Size,
    reverse: bool,
    num_consts: int,
    num_carry: int,
    **_: Any,
) -> list[Value]:
    """scan(*consts, *carry, *rows, jaxpr, length, reverse, num_consts, num_carry)"""
    split = num_consts + num_carry
    return control.scan(g, jaxpr, operands[:num_consts], operands[num_consts:split], operands[split:], length, reverse)


@symbolic("jaxpr", "debug_print", "debug_callback", "dce_sink", "create_token", "after_all")
def nothing(g: GraphBuilder, *_: Value, **__: Any) -> list[Value]:
    """Has no result"""
    return []
