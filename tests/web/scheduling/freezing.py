"""A process that stops in the middle of what it writes: at the nth statement, within a COPY, or before it commits."""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import psycopg
from django.db import DatabaseError, connection

from kschedweb.common import wake
from kschedweb.scheduling.leases import FencedOutError
from kschedweb.scheduling.runner import host
from tests.waiting import HANG_SECONDS

COMMITTED, REFUSED, BROKEN = 0, 3, 4


@dataclass
class Frozen:
    """A child of this process, stopped at the place named; None when it ended before it came to a place."""

    pid: int
    place: str | None
    code: int | None = None

    def thaw(self) -> int:
        """Let it go on; COMMITTED, or REFUSED when the database let it write nothing more."""
        os.kill(self.pid, signal.SIGCONT)
        return _wait(self.pid)[1]


def places_of(work: Callable[[], object]) -> list[str]:
    """The places that the work comes to when it is carried out by a child, in order."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        _run(work, None, write)
    os.close(write)
    with os.fdopen(read) as told:
        places = [line.strip() for line in told]
    assert _wait(pid) == (False, COMMITTED)
    return places


def freeze(work: Callable[[], object], at: int) -> Frozen:
    """Run the work in a child that stops at its place number `at`; every statement, commit and COPY is one."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        _run(work, at, write)
    os.close(write)
    stopped, code = _wait(pid)
    with os.fdopen(read) as told:
        place = told.readline().strip() if stopped else None
    return Frozen(pid, place, None if stopped else code)


def _wait(pid: int) -> tuple[bool, int]:
    """(whether it stopped, its exit code)."""
    ends_at = time.monotonic() + HANG_SECONDS
    while time.monotonic() < ends_at:
        found, status = os.waitpid(pid, os.WUNTRACED | os.WNOHANG)
        if found:
            return os.WIFSTOPPED(status), os.waitstatus_to_exitcode(status) if not os.WIFSTOPPED(status) else -1
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    raise AssertionError("the child neither stopped nor ended")


def _run(work: Callable[[], object], at: int | None, told: int) -> None:
    """The child: it keeps nothing of its parent's connection, and never returns."""
    code = BROKEN
    try:
        connection.connection = None
        wake.send = lambda *_, **__: None  # type: ignore[assignment]
        host.settle_after = lambda objects: None  # what the parent has loaded is much
        places = 0

        def reached(place: str) -> None:
            nonlocal places
            if at in (None, places):
                os.write(told, f"{place}\n".encode())
            if places == at:
                os.kill(os.getpid(), signal.SIGSTOP)
            places += 1

        def statement(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
            reached(" ".join(str(sql).split())[:80])
            return execute(sql, params, many, context)

        commit, write_row = connection._commit, psycopg.Copy.write_row
        copies: list[Any] = []  # the copies themselves: the number of one that is gone may be that of the next

        def committing() -> Any:
            reached("COMMIT")
            return commit()

        def copying(copy: Any, row: Any) -> None:
            if not any(copy is known for known in copies):
                copies.append(copy)
                reached(copy.cursor._query.query.decode().partition("(")[0])
            write_row(copy, row)

        connection._commit = committing
        psycopg.Copy.write_row = copying  # type: ignore[method-assign]
        with connection.execute_wrapper(statement):
            work()
        code = COMMITTED
    except (FencedOutError, DatabaseError):
        code = REFUSED
    finally:
        os._exit(code)
