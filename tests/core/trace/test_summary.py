"""Rejections counted by reason, the best nodes, and attempts without either."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from scheduler_core.model.effects import (
    FilterRows,
    NominatedTry,
    PostFilterRecord,
    PreemptionCandidate,
    PreemptionRecord,
    ScoreRows,
)
from scheduler_core.model.status import SKIP, SUCCESS, Status
from scheduler_core.trace.summary import PreemptionSummary, Rejection, summarize
from tests.cases import cases
from tests.core.trace.attempts import BOTH, CPU, TAINT, indices, large_attempt, make_attempt


def test_rejections_count_each_reason_when_a_node_has_several() -> None:
    codes = np.array([1, 1, 2, 3, 0], dtype=np.uint8)
    attempt = make_attempt(5, filter_rows=FilterRows(indices(0, 1, 2, 3, 4), codes, (CPU, BOTH, TAINT)))
    assert summarize(attempt).rejections == (
        Rejection("NodeResourcesFit", "Insufficient cpu", "Unschedulable", 3),
        Rejection("NodeResourcesFit", "Insufficient memory", "Unschedulable", 1),
        Rejection(
            "TaintToleration", "node(s) had untolerated taint {dedicated: gpu}", "UnschedulableAndUnresolvable", 1
        ),
    )


def test_rejections_name_all_nodes_when_pre_filter_refused() -> None:
    status = Status.unresolvable("claim missing", plugin="VolumeBinding")
    (rejection,) = summarize(make_attempt(7, pre_filter_status=status)).rejections
    assert (rejection.plugin, rejection.count) == ("VolumeBinding", 7)


@pytest.mark.parametrize("status", [SUCCESS, SKIP], ids=["success", "skip"])
def test_rejections_do_not_name_who_agreed_or_had_nothing_to_say(status: Status) -> None:
    assert summarize(make_attempt(7, pre_filter_status=status)).rejections == ()
    tried = NominatedTry("node-00001", False, status)
    assert summarize(make_attempt(7, nominated=tried)).rejections == ()


def test_rejections_name_the_nominated_node_when_nothing_else_was_tried() -> None:
    (rejection,) = summarize(make_attempt(2, nominated=NominatedTry("node-00001", False, CPU))).rejections
    assert (rejection.reason, rejection.count) == ("Insufficient cpu", 1)


def test_best_nodes_begin_with_the_chosen_one_when_totals_are_equal() -> None:
    normalized = np.array([[50, 90, 90, 90, 10, 20, 30, 90]])
    rows = ScoreRows((("NodeResourcesFit", 2),), normalized, normalized, normalized[0] * 2, ())
    attempt = make_attempt(8, feasible=np.arange(8, dtype=np.int32), score_rows=rows, node_name="node-00007")
    summary = summarize(attempt)
    assert [node.node_name[-1] for node in summary.best] == ["7", "1", "2", "3", "0"]
    assert summary.best[0].total == 180
    assert summary.best[0].scores == {"NodeResourcesFit": 180}
    assert summary.feasible == 8


def test_best_node_has_no_total_when_it_was_the_only_one() -> None:
    (best,) = summarize(make_attempt(3, feasible=indices(1))).best
    assert (best.node_name, best.total, best.scores) == ("node-00001", None, {})


def test_weighted_scores_add_up_to_the_total_of_each_best_node() -> None:
    for node in summarize(large_attempt(1000, 420)).best:
        assert sum(node.scores.values()) == node.total


SEARCH = PreemptionRecord(
    dry_run=True, potential_nodes=("n1", "n2", "n3"), num_candidates=3,
    candidates=(PreemptionCandidate("n1", ("a", "b"), 2), PreemptionCandidate("n2", ("c",), 1)),
    not_candidates=(("n3", CPU),), chosen="n2", victims=("c",), cleared_nominations=("d",), decided_by="pdb_violations",
)  # fmt: skip


def after_search(search: PreemptionRecord | None) -> PreemptionSummary | None:
    record = PostFilterRecord("Success", "", "", search.chosen if search else None, search)
    return summarize(make_attempt(3, post_filter=record)).preemption


def test_preemption_tells_what_was_tried_and_who_goes() -> None:
    assert after_search(SEARCH) == PreemptionSummary(
        tried=3, candidates=2, tied=0, node_name="n2", victims=("c",), num_victims=1, num_pdb_violations=1,
        cleared_nominations=("d",), decided_by="pdb_violations",
    )  # fmt: skip


def test_preemption_names_twenty_victims_and_counts_all() -> None:
    found = after_search(replace(SEARCH, victims=tuple(f"p{number}" for number in range(50))))
    assert found is not None
    assert (len(found.victims), found.num_victims) == (20, 50)


@cases(
    "search",
    ("no preemption", None),
    ("nothing tried", PreemptionRecord()),
)
def test_preemption_is_silent_when_no_victims_were_looked_for(search: PreemptionRecord | None) -> None:
    assert after_search(search) is None
