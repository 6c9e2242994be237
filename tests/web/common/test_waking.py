"""Leaders are told of every write, and not of each one by itself."""

from __future__ import annotations

import threading

from kschedweb.common.wake import Waking
from tests.waiting import HANG_SECONDS

MANY = 50


def test_what_is_written_soon_after_a_message_has_one_of_its_own() -> None:
    sent: list[tuple[str, int]] = []
    late = threading.Event()

    def send(name: str, cluster_id: int) -> None:
        sent.append((name, cluster_id))
        if len(sent) == 4:
            late.set()

    waking = Waking(send, seconds=0.5)
    for _ in range(MANY):
        waking.wake("a", 1)
    waking.wake("a", 2)
    waking.wake("b", 1)
    assert sent == [("a", 1), ("a", 2), ("b", 1)], "the first at once, those of another cluster too"
    assert late.wait(HANG_SECONDS), "nothing tells the leader of what came after the first"
    assert sent == [("a", 1), ("a", 2), ("b", 1), ("a", 1)]


def test_writes_far_apart_are_told_at_once() -> None:
    sent: list[tuple[str, int]] = []
    waking = Waking(lambda name, cluster_id: sent.append((name, cluster_id)), seconds=0.0)
    for _ in range(3):
        waking.wake("a", 1)
    assert sent == [("a", 1)] * 3
