"""A task that lingers hears what is committed meanwhile, but for what it committed itself, and what it is told."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import psycopg
import pytest
from django.db import connection

from kschedweb.common import hearing as hearings
from kschedweb.common.connections import database_parameters
from kschedweb.common.hearing import Hearing
from tests.waiting import HANG_SECONDS

pytestmark = pytest.mark.django_db(transaction=True)

CHANNEL, OTHER = "ksched_test", "ksched_other"


@pytest.fixture
def elsewhere() -> Iterator[psycopg.Connection[object]]:
    with psycopg.connect(**database_parameters(), autocommit=True) as other:
        yield other


@pytest.fixture
def hearing() -> Iterator[Hearing]:
    made = Hearing(CHANNEL, OTHER)
    yield made
    made.close()


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Tasks linger until the test says that they are to end: `patient()`."""
    monkeypatch.setattr(hearings, "LINGER_SECONDS", HANG_SECONDS)
    monkeypatch.setattr(hearings, "MOST_SECONDS", HANG_SECONDS)
    return lambda: monkeypatch.setattr(hearings, "LINGER_SECONDS", 0.0)


def _notify(on: object, channel: str, cluster_id: int) -> None:
    on.execute("SELECT pg_notify(%s, %s)", [channel, str(cluster_id)])  # type: ignore[attr-defined]


def test_what_others_commit_in_a_task_is_run_by_it(
    hearing: Hearing, elsewhere: psycopg.Connection[object], patient: Callable[[], None]
) -> None:
    ran: list[tuple[str, int]] = []

    def first() -> bool:
        _notify(elsewhere, CHANNEL, 1)
        with connection.cursor() as cursor:
            _notify(cursor, CHANNEL, 2)  # its own: what it wrote it knows
        return True

    def run(channel: str, cluster_id: int) -> bool:
        ran.append((channel, cluster_id))
        if len(ran) == 1:
            _notify(elsewhere, OTHER, 3)
        elif len(ran) == 2:
            assert hearing.tell(CHANNEL, 4)
        else:
            patient()
        return True

    assert hearing.serve(first, run) == []
    assert ran == [(CHANNEL, 1), (OTHER, 3), (CHANNEL, 4)]


def test_a_task_that_waits_is_woken_by_another_thread(hearing: Hearing, patient: Callable[[], None]) -> None:
    ran: list[int] = []
    waker = threading.Timer(0.05, lambda: hearing.tell(CHANNEL, 5))

    def first() -> bool:
        waker.start()
        return True

    def run(_: str, cluster_id: int) -> bool:
        ran.append(cluster_id)
        patient()
        return True

    hearing.serve(first, run)
    waker.join()
    assert ran == [5]


def test_nobody_is_told_when_no_task_is_under_way(hearing: Hearing) -> None:
    assert not hearing.tell(CHANNEL, 1)
    hearing.serve(lambda: False, _never)
    assert not hearing.tell(CHANNEL, 1)


def test_task_whose_message_comes_late_ends_at_once(
    hearing: Hearing,
    elsewhere: psycopg.Connection[object],
    patient: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It found nothing to do, and nothing was done shortly before; soon after something was, it lingers."""

    def late() -> bool:
        _notify(elsewhere, CHANNEL, 8)
        return False

    assert hearing.serve(late, _never) == [(CHANNEL, 8)], "whoever told is not forgotten"
    ran: list[int] = []

    def first() -> bool:
        _notify(elsewhere, CHANNEL, 1)
        monkeypatch.setattr(hearings, "MOST_SECONDS", 0.0)  # other messages have their turn
        return True

    assert hearing.serve(first, _never) == [(CHANNEL, 1)]
    monkeypatch.setattr(hearings, "MOST_SECONDS", HANG_SECONDS)

    def next_one() -> bool:
        _notify(elsewhere, CHANNEL, 2)
        return False

    def last(_: str, cluster_id: int) -> bool:
        ran.append(cluster_id)
        patient()
        return False

    assert hearing.serve(next_one, last) == []
    assert ran == [2]


def test_what_is_heard_at_the_very_end_is_given_back(
    hearing: Hearing, elsewhere: psycopg.Connection[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hearings, "LINGER_SECONDS", -1.0)

    def first() -> bool:
        _notify(elsewhere, CHANNEL, 6)
        return True

    assert hearing.serve(first, _never) == [(CHANNEL, 6)]


def test_others_are_those_of_other_clusters(hearing: Hearing, elsewhere: psycopg.Connection[object]) -> None:
    seen: list[bool] = []

    def first() -> bool:
        seen.append(hearing.others(1))
        _notify(elsewhere, CHANNEL, 1)
        seen.append(hearing.others(1))
        _notify(elsewhere, CHANNEL, 2)
        while not hearing.others(1):
            pass
        seen.append(True)
        return True

    ran: list[int] = []

    def run(_: str, cluster_id: int) -> bool:
        ran.append(cluster_id)
        return True

    hearing.serve(first, run)
    assert seen == [False, False, True]
    assert ran == [1, 2]


@pytest.mark.parametrize("lost", ["never there", "cut"])
def test_a_task_ends_without_lingering_when_nothing_can_be_heard(
    lost: str, elsewhere: psycopg.Connection[object], log_lines: Callable[[], list[str]]
) -> None:
    if lost == "never there":
        hearing = Hearing(CHANNEL, parameters=lambda: database_parameters() | {"dbname": "no_such_database"})
    else:
        hearing = Hearing(CHANNEL)
    ran: list[str] = []

    def first() -> bool:
        ran.append("first")
        if lost == "cut":
            elsewhere.execute(
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE query = %s",
                ['LISTEN "ksched_test"'],
            )
        return True

    hearing.serve(first, _never)
    assert ran == ["first"]
    assert [line for line in log_lines() if "each task waits for its message" in line]
    if lost == "cut":

        def again() -> bool:
            _notify(elsewhere, CHANNEL, 7)
            return True

        def run(_: str, cluster_id: int) -> bool:
            ran.append(str(cluster_id))
            return True

        hearing.serve(again, run)
        assert ran == ["first", "7"], "the next task listens again"
    hearing.close()


def _never(channel: str, cluster_id: int) -> bool:
    raise AssertionError((channel, cluster_id))
