"""How often the controllers of clusters act."""

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from kschedweb.lifecycle import runner
from kschedweb.lifecycle.runner import ACT_SECONDS, NEAR_SECONDS, SLICE_SECONDS, STEPPED_ACT_SECONDS


class Worker:
    """A worker under a clock of its own: what clusters have to do, by id, and when they did it."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.todo: dict[int, list[runner._Acted]] = {}
        self.acted: list[tuple[int, float]] = []
        self.sent: list[int] = []

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def act(self, cluster_id: int) -> runner._Acted:
        self.acted.append((cluster_id, round(self.now - 1000, 6)))
        return self.todo[cluster_id].pop(0)

    def send(self, name: str, *, cluster_id: int, follow_up: bool) -> None:
        assert (name, follow_up) == ("lifecycle.tick", True)
        self.sent.append(cluster_id)


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Iterator[Worker]:
    made = Worker()
    monkeypatch.setattr(runner, "time", SimpleNamespace(monotonic=lambda: made.now, sleep=made.sleep))
    monkeypatch.setattr(runner, "_act", made.act)
    monkeypatch.setattr(runner.wake, "send", made.send)
    monkeypatch.setattr(runner, "_due", {})
    monkeypatch.setattr(runner, "_acted_at", {})
    monkeypatch.setattr(runner, "_follow_up_at", -1000.0)
    return made


def test_what_is_due_soon_waits_for_what_falls_due_with_it(worker: Worker) -> None:
    worker.todo[1] = [runner._Acted(due) for due in (0.0, 0.02, 0.3, None)]
    runner.tick(1)
    assert worker.acted == [(1, 0.0)]
    runner.tick(1, follow_up=True)
    assert worker.acted == [(1, 0.0), (1, ACT_SECONDS), (1, 2 * ACT_SECONDS), (1, 2 * ACT_SECONDS + 0.3)]
    assert worker.sent == [1]


def test_messages_take_no_slices_and_do_not_hurry_what_was_just_done(worker: Worker) -> None:
    worker.todo[1] = [runner._Acted(None)] * 3
    for _ in range(100):
        runner.tick(1)
    assert worker.acted == [(1, 0.0)]
    assert worker.sent == [1]  # one follow-up for all of them
    runner.tick(1, follow_up=True)
    assert worker.acted == [(1, 0.0), (1, ACT_SECONDS)]
    assert worker.sent == [1]


def test_clusters_that_are_due_share_a_slice_and_one_follow_up(worker: Worker) -> None:
    worker.todo[1] = [runner._Acted(0.4)] * 10
    worker.todo[2] = [runner._Acted(0.0, is_stepped=True)] * 10_000
    runner.tick(1)
    runner.tick(2)
    assert worker.sent == [1]
    worker.acted.clear()
    runner.tick(1, follow_up=True)
    assert len([each for each in worker.acted if each[0] == 2]) >= SLICE_SECONDS / STEPPED_ACT_SECONDS
    assert len([each for each in worker.acted if each[0] == 1]) == 2  # after 0.4 and 0.8 s
    assert len(worker.sent) == 2


def test_what_is_due_late_is_left_to_the_sweep(worker: Worker) -> None:
    worker.todo[1] = [runner._Acted(NEAR_SECONDS + 1)]
    runner.tick(1)
    assert (worker.acted, worker.sent) == ([(1, 0.0)], [])
