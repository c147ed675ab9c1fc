"""``anyonnx ops``: the operators that have a symbolic function."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import Debug, Plugin


def ops(
    dialect: Annotated[
        str | None, typer.Option("--dialect", metavar="NAME", help="Only this dialect, for instance aten.")
    ] = None,
    counts: Annotated[bool, typer.Option("--count", help="Print only how many each dialect has.")] = False,
    plugins: Plugin = None,
    debug: Debug = False,
) -> None:
    """Lists the operators of each dialect and the function that translates each."""
    from collections import Counter

    from ..converters.api import load_plugins
    from ..symbolic.errors import InputSpecError
    from ..symbolic.registry import DIALECT_PACKAGES, registry
    from .request import search_here

    search_here()
    load_plugins(plugins or ())
    for name in DIALECT_PACKAGES:
        registry.load(name)
    rows = registry.rows()
    dialects = sorted({*DIALECT_PACKAGES, *(row.dialect for row in rows)})
    if dialect is not None and dialect not in dialects:
        raise InputSpecError(f"there is no dialect {dialect!r}; one of {', '.join(dialects)}")
    rows = [row for row in rows if dialect in (None, row.dialect)]
    if counts:
        totals = Counter(row.dialect for row in rows)
        for name in dialects:
            if dialect in (None, name):
                typer.echo(f"{name:<14}{totals[name]:>6}")
        return
    for row in rows:
        typer.echo(f"{row.dialect}::{row.name:<44} {row.place}{_range(row.since, row.until)}")


def _range(since: int, until: int) -> str:
    """The opsets that a function serves, where it does not serve all."""
    if since <= 0 and until >= 999:
        return ""
    return f"  (opset {since if since > 0 else ''}..{until if until < 999 else ''})"
