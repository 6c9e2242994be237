"""What a worker hears of PostgreSQL while its task lasts: a task that has nothing left to do lingers, and goes on.

A message of Celery's costs its sender, the worker and its child some milliseconds, as much as a small step of an
engine; a notification comes with the commit that it tells of. So one message begins a task, and who writes soon after
it is heard by the task that it began. The sweep makes good what no message and no notification told.
"""

from __future__ import annotations

import math
import os
import select
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final

import psycopg
import structlog
from psycopg import sql

from kschedweb.common.connections import database_parameters, own_pid

log = structlog.get_logger(__name__)

LINGER_SECONDS: Final = 0.5
MOST_SECONDS: Final = 2.0  # after that, other messages of the worker have their turn
Heard = tuple[str, int]  # channel, cluster


class Hearing:
    """A connection that listens to `channels` while a task lasts. One thread serves; any may `tell`."""

    def __init__(self, *channels: str, parameters: Callable[[], Mapping[str, Any]] = database_parameters) -> None:
        self._channels = channels
        self._parameters = parameters
        self._connection: psycopg.Connection[Any] | None = None
        self._guard = threading.Lock()
        self._is_on = False
        self._worked_at = -math.inf  # when something was last done, by this task or one before
        self._heard: dict[Heard, None] = {}  # in the order they came
        self._reading, self._writing = os.pipe()
        for end in (self._reading, self._writing):
            os.set_blocking(end, False)

    def serve(self, first: Callable[[], bool], run: Callable[[str, int], bool]) -> list[Heard]:
        """Run `first`, then `run` for whatever is heard, until there was nothing to do for a while.

        Both return whether there was something to do: a task whose message comes late, when all is done, ends at once.
        Returns what was heard at the last.
        """
        with self._listening() as is_listening:
            if first():
                self._worked_at = time.monotonic()
            started = time.monotonic()
            while is_listening:
                left = min(self._worked_at + LINGER_SECONDS, started + MOST_SECONDS) - time.monotonic()
                if left <= 0 or not self._wait(left):
                    break
                for channel, cluster_id in self._take():
                    if run(channel, cluster_id):
                        self._worked_at = time.monotonic()
        return self._take()

    def tell(self, channel: str, cluster_id: int) -> bool:
        """Have the task under way run this too; False when there is none, or it is about to end."""
        with self._guard:
            if self._is_on:
                self._heard[channel, cluster_id] = None
                with suppress(BlockingIOError):  # full: it is awake
                    os.write(self._writing, b".")
            return self._is_on

    def others(self, cluster_id: int) -> bool:
        """Whether something was heard of another cluster and waits."""
        self._read()
        with self._guard:
            return any(each != cluster_id for _, each in self._heard)

    def close(self) -> None:
        """Let go of what it holds; no task may be under way."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        for end in (self._reading, self._writing):
            os.close(end)

    @contextmanager
    def _listening(self) -> Iterator[bool]:
        is_listening = self._say("LISTEN {}")
        with self._guard:
            self._is_on = is_listening
        try:
            yield is_listening
        finally:
            if is_listening:
                self._say("UNLISTEN {}")
            with self._guard:
                self._is_on = False

    def _say(self, statement: str) -> bool:
        try:
            if self._connection is None:
                self._connection = psycopg.connect(**self._parameters(), autocommit=True)
                self._connection.add_notify_handler(
                    lambda notice: self._note(notice.channel, notice.pid, notice.payload)
                )
            for channel in self._channels:
                self._connection.execute(sql.SQL(statement).format(sql.Identifier(channel)))
        except (psycopg.Error, OSError) as error:
            self._drop(error)
            return False
        return True

    def _wait(self, seconds: float) -> bool:
        """Wait until something has been heard; False when the time is over, or nothing can be heard any more."""
        ends_at = time.monotonic() + seconds
        while self._read():
            if self._heard:
                return True
            assert self._connection is not None
            left = ends_at - time.monotonic()
            if left <= 0:
                return False
            select.select([self._connection.fileno(), self._reading], [], [], left)
        return bool(self._heard)

    def _read(self) -> bool:
        """Take in what has come; False when the connection is lost."""
        with suppress(BlockingIOError):
            while os.read(self._reading, 4096):
                pass
        if self._connection is None:
            return False
        talking = self._connection.pgconn
        try:
            talking.consume_input()
            while (notice := talking.notifies()) is not None:
                self._note(notice.relname.decode(), notice.be_pid, notice.extra.decode())
        except psycopg.Error as error:
            self._drop(error)
            return False
        return True

    def _note(self, channel: str, pid: int, payload: str) -> None:
        if pid != own_pid() and payload.isdecimal():
            with self._guard:
                self._heard[channel, int(payload)] = None

    def _take(self) -> list[Heard]:
        with self._guard:
            heard, self._heard = self._heard, {}
        return list(heard)

    def _drop(self, error: Exception) -> None:
        log.warning("not listening to PostgreSQL, each task waits for its message", reason=str(error).strip())
        if self._connection is not None:
            self._connection.close()
            self._connection = None
