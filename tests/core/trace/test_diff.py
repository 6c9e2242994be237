"""The first difference is named, and named at the earliest phase."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from scheduler_core.model.effects import Attempt, PostFilterRecord, PreemptionCandidate, PreemptionRecord
from scheduler_core.model.status import Status
from scheduler_core.trace.diff import Divergence, first_divergence
from tests.cases import cases
from tests.core.trace.attempts import large_attempt


def other_score(attempt: Attempt) -> None:
    assert attempt.score_rows is not None
    attempt.score_rows.raw[2, 4] += 1
    attempt.message = "also different, but later"


def other_code(attempt: Attempt) -> None:
    assert attempt.filter_rows is not None
    attempt.filter_rows.codes[0] = 2 if attempt.filter_rows.codes[0] != 2 else 1
    other_score(attempt)


def shorter(attempt: Attempt) -> None:
    assert attempt.tied is not None
    attempt.tied = attempt.tied[:0]


def other_total(attempt: Attempt) -> None:
    assert attempt.score_rows is not None
    attempt.score_rows.totals[7] += 1


def other_node(attempt: Attempt) -> None:
    attempt.node_name = "elsewhere"


@cases(
    "change, where",
    ("filter before score", other_code, "filter of node-00010"),
    ("raw score before message", other_score, "score of NodeResourcesFit for "),
    ("total", other_total, "total of "),
    ("ties", shorter, "tied: length"),
    ("node", other_node, "node"),
)
def test_first_divergence_names_where_attempts_part(change: Callable[[Attempt], None], where: str) -> None:
    left = large_attempt(40, 20, start=10)
    right = copy.deepcopy(left)
    change(right)
    found = first_divergence(left, right)
    assert found is not None
    assert found.where.startswith(where)
    assert found.left != found.right


@pytest.mark.parametrize(("field", "where"), [("start_index", "start index"), ("end_index", "end index")])
def test_first_divergence_says_what_either_found(field: str, where: str) -> None:
    left, right = large_attempt(40, 20), large_attempt(40, 20)
    setattr(left, field, 3)
    setattr(right, field, 4)
    assert first_divergence(left, right) == Divergence(where, 3, 4)


def test_first_divergence_finds_none_when_only_circumstances_differ() -> None:
    left = large_attempt(40, 20)
    right = copy.deepcopy(left)
    right.attempt, right.started_at, right.pod_uid = 9, 9, "other"
    assert first_divergence(left, right) is None


SEARCH = PreemptionRecord(
    dry_run=True, potential_nodes=("n1", "n2"), candidates=(PreemptionCandidate("n1", ("a",), 0),),
    not_candidates=(("n2", Status.unschedulable("Insufficient cpu")),), chosen="n1", victims=("a",),
)  # fmt: skip


@cases(
    "fields, where",
    ("offset", {"offset": 1}, "potential nodes of preemption"),
    ("nodes tried", {"not_candidates": ()}, "nodes tried in vain"),
    ("candidates", {"candidates": ()}, "candidates"),
    ("victims", {"victims": ("b",)}, "victims"),
    ("nominations", {"cleared_nominations": ("c",)}, "cleared nominations"),
)
def test_first_divergence_looks_into_the_search_for_victims(fields: dict[str, Any], where: str) -> None:
    left, right = large_attempt(40, 20), large_attempt(40, 20)
    left.post_filter = PostFilterRecord("Success", "", "", "n1", SEARCH)
    right.post_filter = PostFilterRecord("Success", "", "", "n1", replace(SEARCH, **fields))
    found = first_divergence(left, right)
    assert found is not None and found.where == where
