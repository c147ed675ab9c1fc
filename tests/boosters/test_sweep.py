"""The sweep over the options of the boosting libraries: nothing silently wrong, and as much converts as did."""

from __future__ import annotations

import pytest
from booster_sweep import cases, sweep

#: Cases that are refused by name; all others convert.
REFUSED = {"catboost": {"text"}}
LEAST = {"xgboost": 58, "lightgbm": 46, "catboost": 25}


@pytest.mark.slow
@pytest.mark.parametrize("library", LEAST)
def test_every_option_converts_or_is_refused(library: str) -> None:
    pytest.importorskip(library)
    assert len(cases(library)) >= LEAST[library]
    verdicts = {name: verdict for _, name, verdict in sweep([library])}
    wrong = {name: v.detail for name, v in verdicts.items() if v.status == "WRONG"}
    assert not wrong
    assert {name for name, v in verdicts.items() if v.status == "refused"} == REFUSED.get(library, set())
