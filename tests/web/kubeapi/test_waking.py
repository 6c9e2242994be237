"""Leaders are told of every write, and not of each one by itself."""

from __future__ import annotations

import threading

from kschedweb.kubeapi.waking import Waking
from tests.waiting import HANG_SECONDS

MANY = 50


def test_what_is_written_soon_after_a_message_has_one_of_its_own() -> None:
    sent: list[int] = []
    late = threading.Event()

    def send(cluster_id: int) -> None:
        sent.append(cluster_id)
        if len(sent) == 3:
            late.set()

    waking = Waking(send, seconds=0.5)
    for _ in range(MANY):
        waking.wake(1)
    waking.wake(2)
    assert sent == [1, 2], "the first at once, those of another cluster too"
    assert late.wait(HANG_SECONDS), "nothing tells the leader of what came after the first"
    assert sent == [1, 2, 1]


def test_writes_far_apart_are_told_at_once() -> None:
    sent: list[int] = []
    waking = Waking(sent.append, seconds=0.0)
    for _ in range(3):
        waking.wake(1)
    assert sent == [1, 1, 1]
