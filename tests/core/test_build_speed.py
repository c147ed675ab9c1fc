"""Building is linear in the number of nodes, and not much dearer than bare node creation."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import build_speed


@pytest.mark.slow
def test_ratio_to_bare_nodes():
    ratios, ours = [], {}
    for count in (2000, 20000):
        bare, made = build_speed.best(build_speed.bare, count, 5), build_speed.best(build_speed.with_builder, count, 5)
        ratios.append(made / bare)
        ours[count] = made / count
    assert ratios[1] <= 2.5, ratios
    assert ours[20000] <= 1.3 * ours[2000], ours
