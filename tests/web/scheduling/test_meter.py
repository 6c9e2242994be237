"""What steps come to as metrics, and the record of a slow cycle."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from kschedweb.scheduling.runner import slow_cycles
from kschedweb.scheduling.runner.meter import Meter, _calls, evaluations, usual_calls
from scheduler_core.model.effects import Attempt, FilterRows, ScoreRows
from scheduler_core.model.status import SUCCESS, Code, Status
from tests.cases import cases

MS = 1_000_000


def plugins(*names: str) -> list[Any]:
    return [SimpleNamespace(name=name) for name in names]


FRAMEWORK: Any = SimpleNamespace(
    pre_filter=plugins("A", "B", "C"), filter=plugins("A", "B", "C"), pre_score=plugins("B", "C")
)


def attempt(**fields: Any) -> Attempt:
    return Attempt(pod_key="ns/web-1", pod_uid="u", attempt=1, profile="p", started_at=1_763_681_912_123_000, **fields)


def scores(nodes: int) -> ScoreRows:
    raw = np.zeros((1, nodes), dtype=np.int64)
    return ScoreRows((("B", 1),), raw, raw, raw[0], skipped=("C",))


def test_filter_calls_end_at_the_plugin_that_refused() -> None:
    refusals = (Status.unschedulable("no", plugin="A"), Status.unschedulable("never", plugin="B"))
    codes = np.array([0, 1, 1, 2, 0], dtype=np.uint8)
    found = evaluations(FRAMEWORK, attempt(filter_rows=FilterRows(np.arange(5, dtype=np.int32), codes, refusals)))
    assert [each for each in found if each[1] == "Filter"] == [
        ("A", "Filter", 5),
        ("B", "Filter", 3),
        ("C", "Filter", 2),
    ]


def test_plugins_that_skip_are_not_counted() -> None:
    rows = FilterRows(np.arange(2, dtype=np.int32), np.zeros(2, dtype=np.uint8), ())
    found = evaluations(
        FRAMEWORK,
        attempt(pre_filter_status=SUCCESS, skip_filter_plugins=("B",), filter_rows=rows, score_rows=scores(2)),
    )
    assert found == [
        ("A", "PreFilter", 1),
        ("C", "PreFilter", 1),
        ("A", "Filter", 2),
        ("C", "Filter", 2),
        ("B", "PreScore", 1),
        ("B", "Score", 2),
    ]


@cases(
    "status, asked",
    ("unresolvable ends the round", Status.unresolvable("no", plugin="B"), ["A", "B"]),
    ("unschedulable does not", Status.unschedulable("no", plugin="B"), ["A", "B", "C"]),
    ("an error ends it", Status(Code.Error, error='running PreFilter plugin "A": odd'), ["A"]),
)
def test_pre_filter_calls_end_where_the_round_ended(status: Status, asked: list[str]) -> None:
    found = evaluations(FRAMEWORK, attempt(pre_filter_status=status))
    assert [name for name, point, _ in found if point == "PreFilter"] == asked


@pytest.mark.parametrize(("drawn", "sampled"), [(0.05, True), (0.0999, True), (0.1, False), (0.9, False)])
def test_a_tenth_of_the_cycles_is_sampled(drawn: float, sampled: bool) -> None:
    assert Meter(1, monotonic=lambda: 0.0, sample=lambda: drawn).samples_plugins() is sampled


def test_durations_are_handed_over_in_seconds() -> None:
    meter = Meter(1, monotonic=lambda: 0.0)
    meter.duration("permit_wait_duration", ("A",), 1500 * MS)
    assert meter._samples == {("scheduler_permit_wait_duration_seconds", ("A",)): [pytest.approx(1.5)]}


SLOW = attempt(
    durations_ns={"snapshot": 5 * MS, "pre_filter": 10 * MS, "filter": 140 * MS, "score": 25 * MS, "reserve": 900 * MS},
    score_rows=scores(2),
)


def test_slow_cycle_is_told_with_the_steps_that_took_their_share() -> None:
    assert slow_cycles.trace_of(SLOW, number=1234) == (
        'Trace[1234]: "Scheduling" namespace:ns,name:web-1 (20-Nov-2025 23:38:32.123) (total time: 180ms):\n'
        'Trace[1234]: ---"Computing predicates done" 150ms (23:38:32.278)\n'
        'Trace[1234]: ---"Prioritizing done" 25ms (23:38:32.303)\n'
        "Trace[1234]: [180ms] [180ms] END"
    )


def test_slow_cycle_is_told_with_all_steps_when_much_is_asked_for() -> None:
    told = slow_cycles.trace_of(SLOW, all_steps=True, number=1)
    assert told is not None
    assert '---"Snapshotting scheduler cache and node infos done" 5ms' in told and len(told.splitlines()) == 5


def test_slow_cycle_without_scores_has_no_step_for_them() -> None:
    unscored = replace(SLOW, score_rows=None, durations_ns={"filter": 120 * MS, "score": 0})
    told = slow_cycles.trace_of(unscored, all_steps=True, number=1)
    assert told is not None and "Prioritizing" not in told


def test_quick_cycle_is_not_told() -> None:
    assert slow_cycles.trace_of(attempt(durations_ns={"filter": 100 * MS, "reserve": 500 * MS})) is None


def test_number_of_a_record_is_31_bits_and_the_same_on_all_lines() -> None:
    told = slow_cycles.trace_of(SLOW)
    assert told is not None
    numbers = {int(line.partition("[")[2].partition("]")[0]) for line in told.splitlines()}
    assert len(numbers) == 1 and 0 <= numbers.pop() < 2**31


def test_usual_cycles_are_counted_together_as_one_by_one() -> None:
    rows = FilterRows(np.arange(3, dtype=np.int32), np.zeros(3, dtype=np.uint8), ())
    one = attempt(pre_filter_status=SUCCESS, skip_filter_plugins=("B",), filter_rows=rows, score_rows=scores(3))
    usual = usual_calls(one)
    assert usual == (("p", ("B",), ("C",)), 3, 3)
    scorers: Any = SimpleNamespace(**vars(FRAMEWORK), score=plugins("B", "C"))
    calls = [(name, point, times or 1) for name, point, times in _calls(scorers, ("B",), ("C",), 3, 3)]
    assert calls == evaluations(scorers, one)


def test_refused_cycle_is_not_usual() -> None:
    refused = FilterRows(np.arange(1, dtype=np.int32), np.ones(1, dtype=np.uint8), (Status.unschedulable("no"),))
    assert usual_calls(attempt(pre_filter_status=SUCCESS, filter_rows=refused, score_rows=scores(1))) is None
    assert usual_calls(attempt(pre_filter_status=Status.unschedulable("no"))) is None
