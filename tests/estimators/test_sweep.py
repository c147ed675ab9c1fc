"""All estimators of scikit-learn: see tests/support/estimator_sweep.py."""

import pytest
from estimator_sweep import MIXED, classes, sweep


def test_count_of_classes():
    assert len(classes()) >= 190


@pytest.mark.slow
def test_sweep():
    found = sweep()
    assert not [str(v) for v in found if v.status == "WRONG"]
    assert sum(v.status == "whole" for v in found) >= 175


@pytest.mark.slow
def test_rows_of_another_dtype():
    found = sweep(dtypes=MIXED)
    assert not [str(v) for v in found if v.status == "WRONG"]
