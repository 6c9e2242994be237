"""Recorded cycles of kube-scheduler 1.34.1 against ours, every field: a tenth in both forms, all with `--long`.

In a clone without them only the few of our own are compared, these in both forms.
"""

from __future__ import annotations

import pytest

from tests.golden.recordings import own_recordings, recordings
from tests.recordings import scenarios
from tools.conformance import check

# By what a tenth of the scenarios costs node by node: seconds each for the large ones.
FAMILIES = (
    "gates",
    "images",
    "nodeaffinity",
    "nodemisc",
    "podaffinity",
    "preemption",
    "resources",
    "scoring",
    "spread",
    "taints",
    "volumes",
)
LARGE = ("big", "mixed", "percentage", "preemptbig")


@pytest.mark.parametrize(
    ("family", "form"),
    [pytest.param(family, True, id=f"{family}-table") for family in (*FAMILIES, *LARGE)]
    + [pytest.param(family, False, id=f"{family}-row") for family in FAMILIES],
)
def test_a_tenth_agrees(family: str, form: bool) -> None:
    apart = [d for r in recordings(family)[::10] for d in check(r, use_table=form, decision_only=False).divergences]
    assert apart == []


@pytest.mark.parametrize("form", [pytest.param(True, id="table"), pytest.param(False, id="row")])
@pytest.mark.parametrize("family", (*FAMILIES, *LARGE))
def test_our_own_recordings_agree(family: str, form: bool) -> None:
    own = own_recordings(family)
    assert len(own) == len(scenarios.scenarios(family))
    assert [d for r in own for d in check(r, use_table=form, decision_only=False).divergences] == []


@pytest.mark.slow
@pytest.mark.parametrize("family", (*FAMILIES, *LARGE))
def test_all_agree_when_rules_run_over_the_table(family: str) -> None:
    apart = [d for r in recordings(family) for d in check(r, use_table=True, decision_only=False).divergences]
    assert apart == []


@pytest.mark.parametrize("form", [pytest.param(True, id="table"), pytest.param(False, id="row")])
@pytest.mark.parametrize("family", FAMILIES)
def test_cycles_leave_the_cluster_as_recorded(family: str, form: bool) -> None:
    """The longest scenario to its end: later cycles see whom the earlier ones bound and evicted."""
    longest = max(recordings(family), key=lambda recording: len(recording.result["cycles"]))
    checked = check(longest, use_table=form, decision_only=False)
    assert checked.agreed == checked.cycles == len(longest.result["cycles"])
