"""Something happens to a cluster at one statement of whoever works on it, over another connection.

It has happened when the next statement begins; when the statement waits for its locks, it happens then. So every place
between two statements is met, and every wait for somebody who is about to commit. What has to wait for the worker's own
locks happens when they are given up.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import psycopg
from django.db import connection, transaction

from kschedweb.common.connections import database_parameters

WAIT_SECONDS = 60.0  # a guard, not a measure
LOOK_SECONDS = 0.001
# Of psycopg: what changes the connection and says nothing to the server.
SILENT = ("_set_autocommit_gen", "_set_isolation_level_gen", "_set_read_only_gen", "_set_deferrable_gen")


class Meanwhile:
    """Counts what any thread says to PostgreSQL while it is on, and lets `act` happen at one of the statements."""

    def __init__(self) -> None:
        self.count = 0
        self._at = -1
        self._act: Callable[[], object] = lambda: None
        self._lock = threading.Lock()
        self._is_on = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="meanwhile")
        self._ident, self._pid = self._thread.submit(lambda: (threading.get_ident(), _backend())).result()
        self._asking = psycopg.connect(**database_parameters(), autocommit=True)
        self._ready, self._go_on = threading.Event(), threading.Event()
        self._acted: Future[None] | None = None

    @contextlib.contextmanager
    def at(self, number: int, act: Callable[[], object]) -> Iterator[None]:
        """Within the block `act` happens at that statement, counted from 0; at its end it has, if it came to it."""
        self.count, self._at, self._act, self._acted = 0, number, act, None
        self._ready.clear()
        self._go_on.clear()
        self._is_on = True
        try:
            yield
        finally:
            self._is_on = False
            self._go_on.set()
            if self._acted is not None:
                self._acted.result(WAIT_SECONDS)

    @property
    def happened(self) -> bool:
        return self._acted is not None

    def wait(self, original: Callable[..., Any], talking: Any, generator: Any, *given: Any, **named: Any) -> Any:
        """In the place of psycopg's own, through which everything goes that is said to the server."""
        is_own = talking is self._asking or threading.get_ident() == self._ident
        if not self._is_on or is_own or getattr(generator, "__name__", "") in SILENT:
            return original(talking, generator, *given, **named)
        with self._lock:
            number, self.count = self.count, self.count + 1
        if number != self._at:
            return original(talking, generator, *given, **named)
        self._begin(talking.info.backend_pid)
        try:
            return original(talking, generator, *given, **named)
        finally:
            self._go_on.set()
            if self._ready.is_set():
                assert self._acted is not None
                self._acted.result(WAIT_SECONDS)

    def close(self) -> None:
        self._thread.submit(lambda: connection.close()).result()
        self._thread.shutdown()
        self._asking.close()

    def _begin(self, worker: int) -> None:
        """Let it happen but for its commit, unless it has to wait."""
        self._acted = self._thread.submit(self._run, worker)
        ends_at = time.monotonic() + WAIT_SECONDS
        while not (self._ready.is_set() or self._acted.done()):
            assert time.monotonic() < ends_at
            if self._asking.execute(_IS_BLOCKED, [self._pid]).fetchone() == (True,):
                return
            self._ready.wait(LOOK_SECONDS)

    def _run(self, worker: int) -> None:
        with transaction.atomic():
            self._act()
            self._ready.set()
            with connection.cursor() as cursor:
                while not self._go_on.wait(LOOK_SECONDS):
                    cursor.execute(_IS_BLOCKED, [worker])
                    if cursor.fetchone() == (True,):
                        return


_IS_BLOCKED = "SELECT cardinality(pg_blocking_pids(%s)) > 0"


def _backend() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


@contextlib.contextmanager
def meanwhile() -> Iterator[Meanwhile]:
    """The means to let something happen; for tests whose database is committed."""
    made = Meanwhile()
    original = psycopg.Connection.wait

    def wait(talking: Any, generator: Any, *given: Any, **named: Any) -> Any:
        return made.wait(original, talking, generator, *given, **named)

    psycopg.Connection.wait = wait  # type: ignore[method-assign]
    try:
        yield made
    finally:
        psycopg.Connection.wait = original  # type: ignore[method-assign]
        made.close()
