"""Recorded decisions of kube-scheduler 1.34.1 against ours: a fixed tenth with the row form, all with the table form.

What does not agree is named: those scenarios preempt, and the cycles from there on wait for preemption.
"""

from __future__ import annotations

import pytest

from scheduler_core.conformance import check
from scheduler_core.conformance.files import Recording
from tests.golden.recordings import needs_golden, recordings

FAMILIES = ("gates", "images", "nodeaffinity", "nodemisc", "resources", "taints")

pytestmark = needs_golden


def preempts(recording: Recording) -> bool:
    return any(cycle["attempt"] == 2 for cycle in recording.result["cycles"])


@pytest.mark.parametrize("family", FAMILIES)
def test_decisions_of_a_tenth_agree_when_rules_run_node_by_node(family: str) -> None:
    tenth = [recording for recording in recordings(family)[::10] if not preempts(recording)]
    assert tenth
    apart = [d for r in tenth for d in check(r, use_table=False, decision_only=True).divergences]
    assert apart == []


@pytest.mark.slow
@pytest.mark.golden_full
@pytest.mark.parametrize("family", FAMILIES)
def test_all_decisions_agree_when_rules_run_over_the_table(family: str) -> None:
    apart = {r.scenario["name"] for r in recordings(family) if check(r, use_table=True, decision_only=True).divergences}
    assert apart == {r.scenario["name"] for r in recordings(family) if preempts(r)}


@pytest.mark.parametrize("form", [pytest.param(True, id="table"), pytest.param(False, id="row")])
@pytest.mark.parametrize("family", FAMILIES)
def test_scheduled_pods_leave_the_cluster_as_recorded(family: str, form: bool) -> None:
    """The first scenario to its end: later cycles see what the earlier ones bound."""
    first = next(r for r in recordings(family) if not preempts(r))
    checked = check(first, use_table=form, decision_only=True)
    assert checked.agreed == checked.cycles == len(first.scenario["pending"])
