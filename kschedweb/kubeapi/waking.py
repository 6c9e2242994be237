"""Wakes the leaders of clusters that are written to: at once, then at most ten times a second.

A message costs as much as a small step, and a leader takes in at once what many transactions brought. What is written
soon after a message has one of its own when the time is over, so nothing waits for the sweep.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Final

from kschedweb.common import wake

SECONDS: Final = 0.1


def _send(cluster_id: int) -> None:
    wake.send("scheduling.ensure_leader", cluster_id=cluster_id)


class Waking:
    """Messages to leaders, from any thread."""

    def __init__(self, send: Callable[[int], None] = _send, seconds: float = SECONDS) -> None:
        self._send = send
        self._seconds = seconds
        self._guard = threading.Lock()
        self._sent: dict[int, float] = {}
        self._waiting: set[int] = set()

    def wake(self, cluster_id: int) -> None:
        """Have somebody lead the cluster and look at its log, now or soon."""
        moment = time.monotonic()
        with self._guard:
            if cluster_id in self._waiting:
                return
            wait = self._sent.get(cluster_id, -math.inf) + self._seconds - moment
            if wait > 0:
                self._waiting.add(cluster_id)
            else:
                self._sent[cluster_id] = moment
        if wait > 0:
            timer = threading.Timer(wait, self._wake_late, [cluster_id])
            timer.daemon = True
            timer.start()
        else:
            self._send(cluster_id)

    def _wake_late(self, cluster_id: int) -> None:
        with self._guard:
            self._waiting.discard(cluster_id)
            self._sent[cluster_id] = time.monotonic()
        self._send(cluster_id)


WAKING: Final = Waking()
