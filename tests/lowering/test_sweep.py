"""Every node case of the standard at every target: equal or refused with a reason, never silently different."""

from __future__ import annotations

import collections

import pytest
import sweep

#: Cases of 1,586 that have to come out equal; the others are refused (or no kernel takes them).
LEAST_EQUAL = {11: 1500, 12: 1510, 13: 1530, 15: 1530, 17: 1540, 18: 1555, 20: 1570, 21: 1570, 23: 1570, 25: 1570}

#: onnxruntime's own kernels give something else here at the newer opset than at the case's own, or the case itself
#: stores something else than the operator gives.
RUNTIMES_OWN = {
    "test_attention_4d_with_past_and_present_qk_matmul_bias_3d_mask_causal",
    "test_attention_4d_with_past_and_present_qk_matmul_bias_4d_mask_causal",
    "test_quantizelinear_blocked_symmetric",
}


def check(targets: tuple[int, ...]) -> None:
    outcomes = sweep.sweep_in_processes(targets)
    bad = [o for o in outcomes if o.kind in sweep.BAD]
    assert not bad, "\n".join(f"{o.target} {o.kind} {o.case}: {o.detail}" for o in bad[:20])
    found = sweep.counts(outcomes)
    for target in targets:
        assert found[target]["equal"] >= LEAST_EQUAL[target], found[target]
        assert found[target].total() == found[targets[0]].total()


def test_oldest_and_middle_targets() -> None:
    check((11, 17))


@pytest.mark.slow
def test_all_targets() -> None:
    check(sweep.TARGETS)


@pytest.mark.slow
def test_cases_that_the_runtime_cannot_run() -> None:
    """Replayed at older opsets many of them do run; compared with what the standard stores."""
    outcomes = sweep.sweep_in_processes((11, 13, 17, 21, 25), stored=True)
    bad = [o for o in outcomes if o.kind in sweep.BAD and o.case not in RUNTIMES_OWN]
    assert not bad, "\n".join(f"{o.target} {o.kind} {o.case}: {o.detail}" for o in bad[:20])
    assert collections.Counter(o.kind for o in outcomes if o.target == 11)["equal"] >= 40


def test_refusals_say_what_is_missing() -> None:
    """Each refusal names operator, what of it, needed opset and place."""
    for o in sweep.sweep([11], only="test_string_*"):
        if o.kind == "refused":
            assert "needs opset 20" in o.detail and "the asked opset is 11 (at " in o.detail, o
