"""``anyonnx providers``: the runtimes that results can be compared in."""

from __future__ import annotations

import typer

from .options import Debug


def providers(debug: Debug = False) -> None:
    """Lists the runtimes, and why one is not available."""
    from ..validation.providers import available

    for name, reason in available().items():
        typer.echo(f"{name:<20} {f'not available: {reason}' if reason else 'available'}")
