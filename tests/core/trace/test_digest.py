"""What moves an attempt's digest, what does not, and the chain of steps."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from scheduler_core.model.effects import (
    Attempt,
    FilterRows,
    NodeOrder,
    NominatedTry,
    PostFilterRecord,
    PreemptionRecord,
    ScoreRows,
)
from scheduler_core.model.status import Status
from scheduler_core.trace.digest import START_OF_CHAIN, attempt_digest, step_digest, verdicts_by_node
from tests.cases import cases
from tests.core.trace.attempts import BOTH, CPU, TAINT, attempts, indices, large_attempt, make_attempt
from tests.examples import examples


def changed(**fields: object) -> Callable[[Attempt], None]:
    def change(attempt: Attempt) -> None:
        for name, value in fields.items():
            setattr(attempt, name, value)

    return change


def flip_code(attempt: Attempt) -> None:
    assert attempt.filter_rows is not None
    attempt.filter_rows.codes[3] ^= 1


def flip_score(attempt: Attempt) -> None:
    assert attempt.score_rows is not None
    attempt.score_rows.normalized[2, 5] ^= 1


def flip_total(attempt: Attempt) -> None:
    assert attempt.score_rows is not None
    attempt.score_rows.totals[5] += 1


def other_reason(attempt: Attempt) -> None:
    assert attempt.filter_rows is not None
    attempt.filter_rows = replace(attempt.filter_rows, statuses=(BOTH, TAINT))


def other_nodes(attempt: Attempt) -> None:
    attempt.node_order = NodeOrder("other", attempt.node_order.names if attempt.node_order else ())


PREEMPTED = PostFilterRecord("Success", "DefaultPreemption", "", "n1", PreemptionRecord(victims=("shop/a", "shop/b")))


@cases(
    "change",
    ("filter code", flip_code),
    ("normalised score", flip_score),
    ("total", flip_total),
    ("reason", other_reason),
    ("node order", other_nodes),
    ("pod", changed(pod_key="shop/cart-1")),
    ("profile", changed(profile="other")),
    ("result", changed(result="error")),
    ("node", changed(node_name="node-00000")),
    ("cleared nomination", changed(nominated_node_name="")),
    ("message", changed(message="no")),
    ("requeue target", changed(requeued_to="Backoff")),
    ("nothing feasible", changed(feasible=None, score_rows=None)),
    ("no filter phase", changed(filter_rows=None)),
    ("nominated node tried", changed(nominated=NominatedTry("n", True, None))),
    ("PreFilter status", changed(pre_filter_status=CPU)),
    ("PreFilter nodes", changed(pre_filter_node_names=("a",))),
    ("PostFilter", changed(post_filter=PREEMPTED)),
)
def test_attempt_digest_moves_with_the_decision(change: Callable[[Attempt], None]) -> None:
    attempt = large_attempt(100, 40)
    before = attempt_digest(attempt)
    change(attempt)
    assert attempt_digest(attempt) != before
    assert len(before) == 16


@cases(
    "change",
    ("attempt number", changed(attempt=7)),
    ("time", changed(started_at=9)),
    ("uid", changed(pod_uid="other")),
    ("durations", changed(durations_ns={"filter": 5})),
)
def test_attempt_digest_stays_when_only_circumstances_differ(change: Callable[[Attempt], None]) -> None:
    attempt = large_attempt(100, 40)
    before = attempt_digest(attempt)
    change(attempt)
    assert attempt_digest(attempt) == before


def test_attempt_digest_is_the_same_wherever_the_walk_began() -> None:
    left, right = large_attempt(60, 60, start=0), large_attempt(60, 60, start=41)
    assert left.filter_rows is not None
    assert right.filter_rows is not None
    assert left.filter_rows.nodes.tolist() != right.filter_rows.nodes.tolist()
    left.score_rows = right.score_rows = None
    left.node_name = right.node_name = ""
    assert attempt_digest(left) == attempt_digest(right)


def test_attempt_digest_is_the_same_however_statuses_are_numbered() -> None:
    one = FilterRows(indices(0, 1, 2), np.array([1, 2, 0], dtype=np.uint8), (CPU, TAINT))
    other = FilterRows(indices(0, 1, 2), np.array([3, 1, 0], dtype=np.uint8), (TAINT, BOTH, CPU))
    assert attempt_digest(make_attempt(3, filter_rows=one)) == attempt_digest(make_attempt(3, filter_rows=other))


def test_attempt_digest_is_the_same_whatever_the_order_of_scored_nodes() -> None:
    attempt = large_attempt(80, 30)
    shuffled = copy.deepcopy(attempt)
    order = np.random.default_rng(3).permutation(30)
    assert shuffled.score_rows is not None
    assert shuffled.feasible is not None
    shuffled.feasible = shuffled.feasible[order]
    rows = shuffled.score_rows
    shuffled.score_rows = replace(
        rows, raw=rows.raw[:, order], normalized=rows.normalized[:, order], totals=rows.totals[order]
    )
    assert attempt_digest(attempt) == attempt_digest(shuffled)


@examples(60)
@given(st.permutations(range(5)))
def test_attempt_digest_is_the_same_for_any_order_of_few_nodes(order: list[int]) -> None:
    """Walks that go round are turned, all others sorted: both have to come to the same."""
    totals = np.array([10, 20, 20, 40, 50])

    def attempt(nodes: list[int]) -> Attempt:
        made = make_attempt(6, feasible=indices(*nodes))
        by_node = totals[nodes]
        made.score_rows = ScoreRows((("NodeResourcesFit", 1),), by_node[None], by_node[None], by_node, ())
        return made

    assert attempt_digest(attempt(order)) == attempt_digest(attempt(sorted(order)))


@pytest.mark.parametrize(("count", "bytes_per_node"), [(253, 1), (254, 2)])
def test_verdicts_take_two_bytes_only_when_one_does_not_hold_them(count: int, bytes_per_node: int) -> None:
    """Digests are stored: where the wider form begins is for ever."""
    statuses = tuple(Status.unschedulable(f"reason {number:03}") for number in range(count))
    codes = np.arange(1, count + 1, dtype=np.uint16)
    rows = FilterRows(np.arange(count, dtype=np.int32), codes, statuses)
    fields, verdicts = verdicts_by_node(rows, count + 1)
    width = ">u2" if bytes_per_node == 2 else np.uint8
    assert np.frombuffer(verdicts, dtype=width).tolist() == [*range(2, count + 2), 0]
    assert [reasons for _, _, reasons in fields] == [status.reasons for status in statuses]


def test_attempt_digest_tells_victims_apart() -> None:
    one, other = make_attempt(1, post_filter=PREEMPTED), make_attempt(1)
    other.post_filter = replace_victims("shop/b", "shop/a")
    assert attempt_digest(one) != attempt_digest(other)


def replace_victims(*victims: str) -> PostFilterRecord:
    return PostFilterRecord("Success", "DefaultPreemption", "", "n1", PreemptionRecord(victims=victims))


@examples(30)
@given(attempts())
def test_attempt_digest_repeats_itself(attempt: Attempt) -> None:
    assert attempt_digest(attempt) == attempt_digest(copy.deepcopy(attempt))


def test_step_digest_chains_so_that_any_change_shows_at_the_end() -> None:
    digests = [bytes([n]) * 16 for n in range(6)]

    def chain(attempts_of_steps: list[list[tuple[int, bytes]]]) -> bytes:
        end = START_OF_CHAIN
        for attempts_of_step in attempts_of_steps:
            end = step_digest(end, attempts_of_step)
        return end

    steps = [[(1, digests[0]), (1, digests[1])], [], [(2, digests[2])]]
    ends = {
        chain(steps),
        chain([[(1, digests[1]), (1, digests[0])], [], [(2, digests[2])]]),
        chain([[(1, digests[0]), (2, digests[1])], [], [(2, digests[2])]]),
        chain([steps[0], [(2, digests[2])]]),
        chain([steps[0], steps[2], []]),
    }
    assert len(ends) == 5
