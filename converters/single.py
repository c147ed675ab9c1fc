"""Trees in single precision (``float32``): faster, and right up to the rounding of the rows.

Where the source compares doubles, a row of doubles may lie between a threshold and its rounding and go the other way.
So rows are judged that float32 holds, on which every comparison has the source's answer; how often labels and numbers
agree on the rows as they were, on thresholds and one ulp beside them, is told. Labels are told on both: sums of float32
may break a tie the other way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..symbolic.errors import InputSpecError

if TYPE_CHECKING:
    from .base import Source

#: Frameworks whose models may hold trees.
FRAMEWORKS = ("sklearn", "xgboost", "lightgbm", "catboost")
InputSets = Sequence[Mapping[str, Any]]


def check_use(name: str, via: str | None) -> None:
    """Refuses the option where it changes nothing.

    Raises:
        InputSpecError: The framework has no trees, or another converter translates.
    """
    if via is not None:
        raise InputSpecError(f"float32 is an option of this package's own translation, not of {via}")
    if name not in FRAMEWORKS:
        raise InputSpecError(f"float32 is for tree ensembles ({', '.join(FRAMEWORKS)}), not for {name}")


def judged(sets: InputSets) -> InputSets:
    """The input sets with their doubles rounded to float32."""
    from ..validation.inputs import InputSet

    with np.errstate(over="ignore"):
        return [
            InputSet(
                {name: _rounded(a) for name, a in own.items()},
                seed=getattr(own, "seed", None),
                sizes=getattr(own, "sizes", {}),
            )
            for own in sets
        ]


def _rounded(array: Any) -> Any:
    array = np.asarray(array)
    return array.astype(np.float32).astype(np.float64) if array.dtype == np.float64 else array


def limits(source: Source) -> dict[str, Any]:
    """What the outputs are judged by: numbers as float32, labels not at all."""
    from ..validation.tolerances import Tolerance

    told = Tolerance("told", reason="labels of trees in single precision are told, not judged")
    return {n: told if n in source.labels else "fp32-exact" for n in source.output_names}


def agreement(model: Any, source: Source, sets: InputSets) -> list[str]:
    """How often the outputs agree on the rows as they were, one line for each output."""
    from ..validation.parity import compare_model
    from ..validation.tolerances import Tolerance

    free = {name: Tolerance("told") for name in source.output_names}
    report = compare_model(model, source.run, sets, tolerance=free, labels=source.labels)
    found = []
    for name in source.output_names:
        metrics = [r.metrics for r in report.rows if r.output == name and "off" in r.setting and r.metrics is not None]
        if not metrics:
            continue
        total, unequal = sum(m.elements for m in metrics), sum(m.unequal for m in metrics)
        if name in source.labels:
            share = 100 * (total - unequal) / max(total, 1)
            what = f"{name} agrees on {total - unequal} of {total} rows ({share:.2f} %)"
        else:
            what = f"{name} differs by at most {max(m.sc for m in metrics):.3g} of its largest value"
        found.append(f"float32 trees, rows on thresholds and one ulp beside them: {what}")
    return found
