"""Branches and loops of Paddle programs as If and Loop, their bodies using outer values as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import onnx_ir as ir

from ...symbolic.builder import GraphBuilder
from ...symbolic.dims import Sizes
from ...symbolic.errors import MissingOp, TranslationError, UnsupportedOps
from ...symbolic.value import Value
from .program import Block, Op

if TYPE_CHECKING:
    from .walk import Environment, Walk


def branch(walk: Walk, op: Op, operands: Sequence[Any], env: Environment) -> Sequence[Any]:
    """pd_op.if(Tensor condition) {then} {else} -> (Tensor ...)"""
    condition = _truth(walk.g, operands[0])
    then, other = op.blocks
    if condition.array is not None:
        chosen = then if bool(condition.array) else other
        return walk.run(chosen, dict(env), "if")
    if not op.results:
        return []
    bodies = [_body(walk, block, env) for block in (then, other)]
    results = walk.g.If(condition, then_branch=bodies[0], else_branch=bodies[1], outputs=len(op.results))
    return [results] if isinstance(results, Value) else list(results)


def _body(walk: Walk, block: Block, env: Environment) -> GraphBuilder:
    body = walk.g.subgraph()
    for value in inside(walk, body, block, dict(env), "if"):
        body.output(_tensor(body, value))
    return body


def inside(walk: Walk, body: GraphBuilder, block: Block, env: Environment, kind: str) -> list[Any]:
    """Translates a block into a child builder."""
    outer, walk.g = walk.g, body
    try:
        return walk.run(block, env, kind)
    finally:
        walk.g = outer


def loop(walk: Walk, op: Op, operands: Sequence[Any], env: Environment) -> Sequence[Any]:
    """pd_op.while(Tensor condition, Tensor[] carried) {body} -> Tensor[] carried"""
    g = walk.g
    condition, *carried = operands
    body = g.subgraph()
    body.input("", ir.DataType.INT64, ())
    body.input("", ir.DataType.BOOL, ())
    block = op.blocks[0]
    inner = dict(env)
    for argument, start in zip(block.arguments, carried, strict=True):
        start = _tensor(g, start)
        value = body.input("", start.element, _kept_sizes(argument.type, start))
        inner[argument.name] = value
    again, *results = inside(walk, body, block, inner, "while")
    body.output(_truth(body, again))
    for start, value in zip(carried, results, strict=True):
        value = _tensor(body, value)
        if value.element != start.element:
            raise TranslationError("a loop changes the dtype of a variable", op=op.kind, location=g.location)
        body.output(value)
    found = g.call("Loop", None, _truth(g, condition), *carried, body=body, outputs=len(carried))
    return [found] if isinstance(found, Value) else list(found)


def _kept_sizes(kind: Any, start: Value) -> Sizes | None:
    """Sizes that a loop variable has in every step: those that the program fixes."""
    if getattr(kind, "shape", None) is None:
        return None
    shape: Sequence[int] = kind.shape
    return tuple(None if s < 0 else s for s in shape)


def _truth(g: GraphBuilder, value: Any) -> Value:
    """A condition as ONNX takes it: a scalar."""
    value = _tensor(g, value)
    value = value if value.element == ir.DataType.BOOL else g.Cast(value, to=ir.DataType.BOOL)
    return value if value.rank == 0 else g.Reshape(value, [])


def _tensor(g: GraphBuilder, value: Any) -> Value:
    if not isinstance(value, Value):
        reason = "it carries a tensor array" if isinstance(value, list) else "it carries a value that isn't a tensor"
        raise UnsupportedOps([MissingOp("paddle_pir", "while", 1, (g.location,), reason)])
    return value
