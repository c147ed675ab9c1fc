"""All estimators of scikit-learn: see tests/support/estimator_sweep.py."""

import pytest
from estimator_sweep import classes, sweep


def test_count_of_classes():
    assert len(classes()) >= 190


@pytest.mark.slow
def test_sweep():
    found = sweep()
    assert not [str(v) for v in found if v.status == "WRONG"]
    assert sum(v.status == "whole" for v in found) >= 175
