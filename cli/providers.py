"""``anyonnx providers``: the runtimes that results can be compared in."""

from __future__ import annotations

import typer

from .options import Debug


def providers(debug: Debug = False) -> None:
    """Lists the runtimes, and why one is not available."""
    from ..validation.providers import all_providers

    for provider in all_providers():
        reason = provider.available()
        typer.echo(f"{provider.name:<24} {'available' if not reason else f'not available: {reason}'}")
