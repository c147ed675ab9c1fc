"""The coverage pages are what the registry holds."""

import difflib
from pathlib import Path

from anyonnx.symbolic.coverage import pages

FOLDER = Path(__file__).parents[2] / "docs" / "coverage"


def test_the_checked_in_pages_are_current():
    found = pages()
    assert sorted(p.stem for p in FOLDER.glob("*.md")) == sorted(found)
    stale = [name for name, text in found.items() if (FOLDER / f"{name}.md").read_text(encoding="utf-8") != text]
    differences = [
        line
        for name in stale
        for line in difflib.ndiff(
            (FOLDER / f"{name}.md").read_text(encoding="utf-8").split("\n"), found[name].split("\n")
        )
        if line[0] in "+-"
    ]
    assert not stale, "\n".join(["run: python -m anyonnx.symbolic.coverage", *differences[:20]])
