"""Writes the coverage pages ``docs/coverage/<dialect>.md`` from the registry.

Run ``python -m anyonnx.symbolic.coverage`` in a checkout after symbolic functions have come or gone.
"""

from __future__ import annotations

from pathlib import Path

from .opsets import AUTHORING_OPSET, MIN_OPSET
from .registry import DIALECT_PACKAGES, Symbolic, registry

_TITLES = {
    "onnx": "ONNX operators with a lowering of their own (others are written as they are, or by their body)",
    "onnx_import": "ONNX operators of other opsets that are raised to the authoring signatures",
}


def pages() -> dict[str, str]:
    """Text of every page by dialect."""
    return {dialect: _page(dialect) for dialect in DIALECT_PACKAGES}


def _page(dialect: str) -> str:
    rows: dict[str, list[Symbolic]] = {}
    for row in registry.rows(dialect):
        # frontends and plugins that happen to be loaded add rows too: the page is about this folder's own
        if row.function.__module__.startswith(f"{__package__}."):
            rows.setdefault(row.name, []).append(row)
    title = _TITLES.get(dialect, f"Operators of dialect `{dialect}` that convert")
    lines = [
        f"# {title}",
        "",
        "Generated from the registry by `python -m anyonnx.symbolic.coverage`; not edited by hand.",
        "",
    ]
    lines += [f"{len(rows)} names.", "", "| name | opsets | source |", "|---|---|---|"]
    for name, found in sorted(rows.items()):
        opsets = ", ".join(_range(row, dialect) for row in sorted(found, key=lambda r: r.since))
        lines.append(f"| `{name}` | {opsets} | {_first_line(found[0])} |")
    return "\n".join(lines) + "\n"


def _range(row: Symbolic, dialect: str) -> str:
    if dialect == "onnx_import":
        return f"{row.since or ''} to {row.until if row.until < 999 else ''}".strip()
    return f"{max(row.since, MIN_OPSET)} to {min(row.until, AUTHORING_OPSET)}"


def _first_line(row: Symbolic) -> str:
    text = (row.function.__doc__ or "").strip().split("\n")[0]
    return text.replace("|", "\\|")


def write(folder: Path) -> None:
    """Writes all pages into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for dialect, text in pages().items():
        (folder / f"{dialect}.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path("docs/coverage"))
