"""Steps: their budget, what is due when, and that nothing but the arguments decides."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.model.changes import BindingVerdict, Change, ObjectPut
from scheduler_core.model.effects import QueueMove
from scheduler_core.model.status import Status
from scheduler_core.ports import SeededDraws
from scheduler_core.scheduler.scheduler import Budget
from tests.builders import make_node, make_pod
from tests.core.scheduler.harness import (
    NO_CYCLES,
    SECOND,
    START,
    Cluster,
    FilteringPlugin,
    ToldPlugins,
    plain,
    profile,
    start,
)
from tests.examples import examples


def _cluster(**fields: Any) -> Cluster:
    cluster = start(profile(default=True), **fields)
    cluster.put(*[make_node(f"n{i}").build() for i in range(4)])
    return cluster


@pytest.fixture
def cluster() -> Cluster:
    return _cluster()


def _pods(count: int) -> list[Any]:
    return [make_pod(f"p{i}").req(cpu="100m").build() for i in range(count)]


# Budget


def test_step_ends_with_its_cycles(cluster: Cluster) -> None:
    effects = cluster.step(*_pods(5), budget=Budget(3))
    assert (len(effects.attempts), effects.more) == (3, True)
    assert cluster.scheduler.next_due(cluster.now) == cluster.now
    effects = cluster.step()
    assert (len(effects.attempts), effects.more) == (2, False)


def test_step_ends_at_its_deadline_between_two_cycles(cluster: Cluster) -> None:
    answers = iter([False, False, True])
    effects = cluster.step(*_pods(5), budget=Budget(100, deadline=lambda: next(answers)))
    assert (len(effects.attempts), effects.more) == (2, True)


def test_all_changes_are_applied_before_the_first_cycle() -> None:
    cluster = start(profile(default=True))
    effects = cluster.step(make_pod().build(), make_node("n0").build())
    assert [attempt.result for attempt in effects.attempts] == ["scheduled"]


def test_higher_priority_goes_first_and_arrival_decides_among_equals(cluster: Cluster) -> None:
    for name, priority in [("a", 5), ("b", 10), ("c", 10)]:
        cluster.step(make_pod(name).priority(priority).build(), budget=NO_CYCLES, after=1)
    assert [attempt.pod_key for attempt in cluster.step().attempts] == ["default/b", "default/c", "default/a"]


# What is due when


def test_idle_engine_wants_no_step(cluster: Cluster) -> None:
    assert cluster.scheduler.next_due(START) is None
    assert cluster.scheduler.next_timer(START) is None
    cluster.confirm(cluster.step(*_pods(1)))
    assert cluster.scheduler.next_due(START) is None


def test_ready_pod_is_due_now_but_is_no_timer(cluster: Cluster) -> None:
    cluster.put(*_pods(1))
    assert cluster.scheduler.next_due(START) == START
    assert cluster.scheduler.next_timer(START) is None


def test_error_backoff_doubles_until_its_maximum() -> None:
    plugins = ToldPlugins().add("F", FilteringPlugin, filter=lambda pod, node: Status.failed("broken"))
    cluster = start(profile("F"), plugins=plugins)
    cluster.step(make_node("n").build(), make_pod().build())
    delays = []
    for _ in range(6):
        due = cluster.scheduler.next_due(cluster.now)
        assert due is not None
        delays.append((due - cluster.now) // SECOND)
        assert cluster.step(after=due - cluster.now - 1).attempts == []
        assert len(cluster.step(after=1).attempts) == 1
    # Started at a whole second: the window rounds each backoff up by one.
    assert delays == [2, 3, 5, 9, 11, 11]


def test_unschedulable_pod_is_tried_again_after_five_minutes(cluster: Cluster) -> None:
    cluster.step(make_pod().req(cpu="99").build())
    due = cluster.scheduler.next_due(cluster.now)
    assert due is not None
    assert 300 * SECOND < due - START <= 330 * SECOND + SECOND
    assert cluster.step(after=300 * SECOND).attempts == []
    effects = cluster.step(after=due - cluster.now)
    assert [attempt.attempt for attempt in effects.attempts] == [2]
    assert [move.event for move in effects.moves if isinstance(move, QueueMove)][0] == "UnschedulableTimeout"


def test_time_may_jump_over_several_timers(cluster: Cluster) -> None:
    cluster.step(make_pod().req(cpu="99").build())
    assert len(cluster.step(after=3600 * SECOND).attempts) == 1


# Determinism


@examples(15)
@given(
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=12),
    refused=st.sets(st.integers(0, 11)),
    budget=st.integers(1, 4),
)
def test_same_changes_and_draws_make_the_same_steps(sizes: list[int], refused: set[int], budget: int) -> None:
    def run() -> list[Any]:
        cluster = _cluster(draws=SeededDraws(3))
        seen: list[Any] = []
        for i, size in enumerate(sizes):
            changes: list[Change] = [ObjectPut(make_pod(f"p{i}").req(cpu=str(size)).build())]
            if cluster.effects[-1].bindings:
                last = cluster.effects[-1].bindings[0]
                changes.append(BindingVerdict(last.pod_uid, last.node_name, bound=i not in refused))
            effects = cluster.step(*changes, budget=Budget(budget), after=SECOND)
            seen.append([[plain(each) for each in effects.attempts], effects.moves, effects.bindings, effects.events])
        return seen

    assert run() == run()


def test_step_cut_by_a_deadline_is_repeated_by_its_number_of_cycles() -> None:
    answers = iter([False] * 3 + [True])
    first, second = _cluster(draws=SeededDraws(1)), _cluster(draws=SeededDraws(1))
    cut = first.step(*_pods(6), budget=Budget(100, deadline=lambda: next(answers)))
    again = second.step(*_pods(6), budget=Budget(len(cut.attempts)))
    assert [plain(each) for each in cut.attempts] == [plain(each) for each in again.attempts]
    assert [plain(each) for each in first.step().attempts] == [plain(each) for each in second.step().attempts]


@pytest.mark.parametrize("seed", [1, 2])
def test_another_seed_draws_another_node_among_equals(seed: int) -> None:
    chosen = {
        tuple(attempt.node_name for attempt in _cluster(draws=SeededDraws(each)).step(*_pods(8)).attempts)
        for each in range(seed, seed + 5)
    }
    assert len(chosen) > 1


# A pod out of turn


def test_pod_is_scheduled_out_of_turn(cluster: Cluster) -> None:
    cluster.put(*_pods(3))
    (attempt,) = cluster.scheduler.schedule_pod_now("default/p2", START).attempts
    assert (attempt.pod_key, attempt.attempt, attempt.result) == ("default/p2", 1, "scheduled")
    assert cluster.scheduler.schedule_pod_now("default/p2", START).attempts == []  # it is being bound
    assert [each.pod_key for each in cluster.step().attempts] == ["default/p0", "default/p1"]


def test_pod_that_failed_is_tried_again_out_of_turn(cluster: Cluster) -> None:
    cluster.step(make_pod().req(cpu="99").build())
    (attempt,) = cluster.scheduler.schedule_pod_now("default/pod", START).attempts
    assert (attempt.attempt, attempt.result) == (2, "unschedulable")


def test_pod_that_is_not_stored_is_tried_as_given(cluster: Cluster) -> None:
    (attempt,) = cluster.scheduler.schedule_pod_now(make_pod().on("n2").build(), START).attempts
    assert (attempt.result, attempt.node_name) == ("scheduled", "n2")


# Attempts made under an engine before this one


def test_pod_tried_before_is_tried_at_once_and_waits_as_its_failures_have_earned() -> None:
    cluster = start(profile(default=True))
    large = make_pod("large").req(cpu="64").build()
    cluster.scheduler.restore_attempts({large.uid: 3})
    attempt = cluster.attempt(make_node("n0").capacity(cpu="1").build(), large)
    assert (attempt.attempt, attempt.result, attempt.started_at) == (4, "unschedulable", cluster.now)
    effects = cluster.put(make_node("n1").capacity(cpu="96").build())
    (move,) = [each for each in effects.moves if isinstance(each, QueueMove)]
    # The fourth failure waits eight seconds; the first one would have waited for one.
    assert (move.to, move.attempts, move.backoff_expiration) == ("backoff", 4, cluster.now + 8 * SECOND)


def test_pod_that_comes_again_starts_from_one() -> None:
    cluster = start(profile(default=True))
    pod = make_pod("a").req(cpu="64").build()
    cluster.scheduler.restore_attempts({pod.uid: 3})
    cluster.put(make_node("n0").capacity(cpu="1").build(), pod)
    cluster.delete(pod)
    assert cluster.attempt(pod).attempt == 1
