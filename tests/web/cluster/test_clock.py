"""Clocks of clusters: as on the wall, faster, as fast as possible, and with skips; they never go back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.cluster import clock
from kschedweb.cluster.clock import LAST, NEXT, Clock
from kschedweb.cluster.models import ClockReading, Cluster
from kschedweb.cluster.services import clock_set, cluster_create
from kschedweb.common.errors import InvalidError
from tests.cases import cases

SECOND = 1_000_000
WALL = 1_893_456_000 * SECOND  # 2030-01-01


def test_time_is_that_of_the_wall() -> None:
    assert Clock().now(WALL) == WALL
    assert not Clock().is_stepped


def test_clock_with_a_rate_goes_so_many_times_as_fast_and_keeps_its_lead() -> None:
    fast = Clock().set(WALL, "factor", 60.0)
    assert fast.now(WALL + SECOND) == WALL  # until the timekeeper moves it
    fast = fast.advanced(WALL + SECOND, None)
    assert fast.now(WALL + SECOND) == WALL + 60 * SECOND
    real = fast.set(WALL + SECOND, "real", None)
    assert not real.is_stepped
    assert real.now(WALL + 11 * SECOND) == WALL + 70 * SECOND


@cases(
    "changed, due, want",
    ("a rate: not as far as what is due", Clock().set(WALL, "factor", 60.0), WALL + 90 * SECOND, 60),
    ("a rate: never past what is due", Clock().set(WALL, "factor", 60.0), WALL + 7 * SECOND, 7),
    ("fast: at once to what is due", Clock().set(WALL, "fast", None), WALL + 9000 * SECOND, 9000),
    ("fast: as the wall while nothing is due", Clock().set(WALL, "fast", None), None, 1),
    ("skip: to the next thing", Clock().skip(WALL, NEXT), WALL + 9000 * SECOND, 9000),
    ("skip: there is no next thing", Clock().skip(WALL, NEXT), None, 0),
    ("skip: what is due on the way", Clock().skip(WALL, WALL + 300 * SECOND), WALL + 20 * SECOND, 20),
    ("skip: no further", Clock().skip(WALL, WALL + 300 * SECOND), WALL + 900 * SECOND, 300),
    ("skip: nothing on the way", Clock().skip(WALL, WALL + 300 * SECOND), None, 300),
    ("not beyond 2200", Clock().set(WALL, "fast", None), LAST + SECOND, (LAST - WALL) // SECOND),
)
def test_step_goes_so_far(changed: Clock, due: int | None, want: int) -> None:
    moved = changed.advanced(WALL + SECOND, due)
    assert moved.now(WALL + SECOND) - WALL == want * SECOND


def test_skip_ends_where_it_was_to_and_time_is_as_before() -> None:
    skipping = Clock().skip(WALL, WALL + 300 * SECOND)
    on_the_way = skipping.advanced(WALL + SECOND, WALL + 20 * SECOND)
    assert on_the_way.is_stepped
    there = on_the_way.advanced(WALL + 2 * SECOND, None)
    assert (there.is_stepped, there.until) == (False, None)
    assert there.now(WALL + 3 * SECOND) == WALL + 301 * SECOND
    of_factor = Clock().set(WALL, "factor", 2.0).skip(WALL, NEXT).advanced(WALL + SECOND, WALL + 50 * SECOND)
    assert (of_factor.is_stepped, of_factor.mode, of_factor.until) == (True, "factor", None)
    stopped = skipping.skip(WALL + 5 * SECOND, None)
    assert (stopped.is_stepped, stopped.now(WALL + 5 * SECOND)) == (False, WALL)


@cases(
    "changed, want",
    ("a rate", Clock().set(WALL, "factor", 10.0), 3.0),
    ("fast", Clock().set(WALL, "fast", None), 0.0),
    ("a skip", Clock().set(WALL, "factor", 10.0).skip(WALL, NEXT), 0.0),
)
def test_what_is_due_comes_after_so_many_seconds_on_the_wall(changed: Clock, want: float) -> None:
    assert changed.seconds_until(WALL + 30 * SECOND) == want
    assert changed.seconds_until(None) is None


ACTS = st.one_of(
    st.tuples(st.just("set"), st.sampled_from([("real", None), ("factor", 0.5), ("factor", 1000.0), ("fast", None)])),
    st.tuples(st.just("skip"), st.sampled_from([None, NEXT, 1, 5000])),
    st.tuples(st.just("advance"), st.one_of(st.none(), st.integers(1, 100_000))),
)


@given(st.lists(st.tuples(st.integers(0, 10_000_000), ACTS), max_size=30))
def test_time_never_goes_back_nor_past_what_is_due(acts: list[tuple[int, tuple[str, Any]]]) -> None:
    found, wall, before = Clock(), WALL, WALL
    for passed, (act, value) in acts:
        wall += passed
        now = found.now(wall)
        assert now >= before
        if act == "set":
            found = found.set(wall, *value)
            assert found.now(wall) == now
        elif act == "skip":
            found = found.skip(wall, now + value * SECOND if value else value)
            assert found.now(wall) == now
        elif found.is_stepped:
            due = None if value is None else now + value
            found = found.advanced(wall, due)
            assert due is None or now <= found.now(wall) <= due
        assert found.is_stepped == (found.mode != "real" or found.until is not None)
        before = found.now(wall)


@pytest.mark.django_db
def test_time_of_a_cluster_is_that_of_its_row() -> None:
    cluster = cluster_create(name="c", actor="a")
    assert abs(clock.now_of(cluster.pk) - clock.wall_us()) < 5 * SECOND
    assert abs(clock.now_of(0) - clock.wall_us()) < 5 * SECOND
    clock_set(cluster_id=cluster.pk, mode="factor", rate=2.0, actor="a")
    stored = Cluster.objects.get(pk=cluster.pk).clock_at_us
    assert clock.now_of(cluster.pk) == stored
    clock_set(cluster_id=cluster.pk, mode="real", actor="a")
    assert clock.now_of(cluster.pk) >= (stored or 0)


@pytest.mark.django_db
def test_wall_time_lies_between_readings() -> None:
    cluster = cluster_create(name="c", actor="a")
    assert clock.wall_of(cluster_id=cluster.pk, at=WALL) == WALL
    for at, wall in ((WALL, WALL), (WALL + 100 * SECOND, WALL + SECOND)):
        clock.reading_store(cluster_id=cluster.pk, at=at, wall=wall)
    assert clock.wall_of(cluster_id=cluster.pk, at=WALL - SECOND) == WALL - SECOND
    assert clock.wall_of(cluster_id=cluster.pk, at=WALL + 50 * SECOND) == WALL + SECOND // 2
    assert clock.wall_of(cluster_id=cluster.pk, at=WALL + 103 * SECOND) == WALL + 4 * SECOND
    clock.reading_store(cluster_id=cluster.pk, at=WALL, wall=WALL + 9)  # one moment has one reading
    assert ClockReading.objects.filter(cluster=cluster).count() == 2


@pytest.mark.django_db
@cases(
    "asked, field",
    ("no rate", {"mode": "factor"}, "rate"),
    ("a rate for another mode", {"mode": "fast", "rate": 2.0}, "rate"),
    ("a rate for real time", {"rate": 2.0}, "rate"),
    ("rate 0", {"mode": "factor", "rate": 0.0}, "rate"),
    ("too fast", {"mode": "factor", "rate": 1e9}, "rate"),
    ("back", {"skip_seconds": -1.0}, "skip_seconds"),
    ("too far", {"skip_seconds": 1e12}, "skip_seconds"),
    ("two skips", {"skip": "next", "skip_seconds": 5.0}, "skip_seconds"),
)
def test_clock_refuses_what_makes_no_sense(asked: dict[str, Any], field: str) -> None:
    cluster = cluster_create(name="c", actor="a")
    with pytest.raises(InvalidError) as caught:
        clock_set(cluster_id=cluster.pk, actor="a", **asked)
    assert caught.value.extra["field"] == field
    assert not Clock.of(Cluster.objects.get(pk=cluster.pk)).is_stepped
