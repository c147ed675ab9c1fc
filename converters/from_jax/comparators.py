"""Recognises the small functions that StableHLO operations carry: combiners, comparisons, where extremes lie."""

from __future__ import annotations

from typing import Any

_COMBINERS = {
    "add": "add", "multiply": "mul", "maximum": "max", "minimum": "min", "and": "and", "or": "or", "xor": "xor",
}  # fmt: skip
_EXTREMES = {"compare", "or", "and", "select", "return"}


def combiner(block: Any, name: str) -> str | None:
    """What the function of an operation does, in one word.

    Args:
        block: Its only block.
        name: The operation around it.

    Returns:
        For reductions: add, mul, max, min, and, or, xor, argmax, argmin. For sorting: ``sort:<keys>:<direction>``.
        For selections: GE, LE. For scatters also sub, "second" where it gives its second argument, "first" where it
        is a function of its first one. None where it is something else.
    """
    if name in ("while", "if", "case"):
        return None
    operations = [op.operation for op in block.operations]
    names = [op.name.removeprefix("stablehlo.") for op in operations]
    arguments = list(block.arguments)
    if name == "sort":
        return _order(operations)
    if names == ["return"] and len(arguments) == 2:
        return "second" if operations[0].operands[0] == arguments[1] else None
    if len(names) == 2 and len(arguments) == 2 and set(operations[0].operands) == set(arguments):
        if names[0] == "compare":
            return _direction(operations[0])
        if names[0] == "subtract" and list(operations[0].operands) == arguments:
            return "sub"
        return _COMBINERS.get(names[0])
    if name == "scatter" and len(arguments) == 2 and not list(arguments[1].uses):
        return "first"
    if len(arguments) == 4 and set(names) <= _EXTREMES and names[-1] == "return":
        return _extreme(operations, arguments)
    return None


def _direction(operation: Any) -> str:
    from .mlir import plain

    return str(plain(operation.attributes["comparison_direction"]))


def _extreme(operations: list[Any], arguments: list[Any]) -> str | None:
    """argmax or argmin, by the comparison of the two values (0 and 2) that decides; indices are 1 and 3."""
    values = (arguments[0], arguments[2])
    indices = (arguments[1], arguments[3])
    strict = [
        _direction(op)
        for op in operations
        if op.name == "stablehlo.compare" and tuple(op.operands) == values and _direction(op) not in ("EQ", "NE")
    ]
    ties = [op for op in operations if op.name == "stablehlo.compare" and tuple(op.operands) == indices]
    if len(strict) != 1 or not all(_direction(op) == "LT" for op in ties):
        return None
    return {"GT": "argmax", "GE": "argmax", "LT": "argmin", "LE": "argmin"}.get(strict[0])


def _order(operations: list[Any]) -> str | None:
    """Keys and direction of a lexicographic comparison: lt(a) or (eq(a) and lt(b)) ..."""
    result = operations[-1].operands[0].owner
    keys: list[tuple[int, int]] = []
    directions = set()
    while True:
        node = getattr(result, "operation", result)
        rest = None
        if node.name == "stablehlo.or":
            first, second = (v.owner.operation for v in node.operands)
            if second.name != "stablehlo.and":
                return None
            rest = second.operands[1].owner
            node = first
        if node.name != "stablehlo.compare":
            return None
        directions.add(_direction(node))
        places = tuple(_argument(v) for v in node.operands)
        if None in places:
            return None
        keys.append(places)  # type: ignore[arg-type]
        if rest is None:
            break
        result = rest
    if keys != [(2 * i, 2 * i + 1) for i in range(len(keys))] or len(directions) != 1:
        return None
    direction = directions.pop()
    return f"sort:{len(keys)}:{direction}" if direction in ("LT", "GT") else None


def _argument(value: Any) -> int | None:
    """Which argument of the block a value is, made canonical (one zero, one not-a-number) or not."""
    for _ in range(8):
        if hasattr(value, "arg_number"):
            return int(value.arg_number)
        owner = value.owner
        if not hasattr(owner, "operation"):
            from jaxlib.mlir import ir as mlir_ir

            return int(mlir_ir.BlockArgument(value).arg_number)
        if owner.operation.name != "stablehlo.select":
            return None
        value = owner.operation.operands[2]
    return None
