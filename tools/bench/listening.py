"""When a committed change could first be read, as another session of the database sees it.

The session waits for PostgreSQL's notifications and reads again at each. Times are seconds since the epoch.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections.abc import Callable
from typing import Any

import psycopg

from tools.bench.running import ServiceProblem

CHANGES = "SELECT rv FROM cluster_cluster WHERE id = %s"


class CommitClock:
    """Records what one query about a cluster answered after each notification, and when.

    `query` takes the cluster's id and selects one value, which only grows: a number, or (with `number`, which takes it
    out) anything that holds one.
    """

    def __init__(self, url: str, query: str, cluster_id: int) -> None:
        self._connection = psycopg.connect(url, autocommit=True)
        self._connection.execute("LISTEN ksched; LISTEN ksched_expected")  # as the service's own followers do
        self._query, self._cluster_id = query, cluster_id
        self._seen: list[tuple[Any, float]] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._listen, name="commits", daemon=True)

    def __enter__(self) -> CommitClock:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._connection.close()

    def _listen(self) -> None:
        while not self._over.is_set():
            # Read to its end before the connection is used: the generator holds its lock.
            if list(self._connection.notifies(timeout=0.2, stop_after=1)):
                row = self._connection.execute(self._query, [self._cluster_id]).fetchone()
                if row is not None:
                    self._seen.append((row[0], time.time()))

    def has(self, version: int, number: Callable[[Any], int] = int) -> bool:
        """Whether this or a later version was read."""
        return bool(self._seen) and number(self._seen[-1][0]) >= version

    def seen(self, version: int, number: Callable[[Any], int] = int) -> float:
        """When this or a later version was first read; ServiceProblem when none was."""
        place = bisect_left(self._seen, version, key=lambda each: number(each[0]))
        if place == len(self._seen):
            raise ServiceProblem(f"no reader was told of version {version}")
        return self._seen[place][1]
