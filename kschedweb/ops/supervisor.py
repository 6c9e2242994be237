"""Keeps the processes of `./ksched up` running: starts them in order, starts again what ends, stops in reverse order.

One thread, one loop that sleeps in the kernel until a signal or the next deadline. A child that ends is started again
at once; one that keeps ending waits 0.5, 1, 2, 4, then 5 seconds, until it has lived for half a minute. The state is in
a JSON file for `./ksched status`; a lock on the data directory keeps a second supervisor out of it.
"""

import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from kschedweb.ops.processes import Launch, spawn

BACKOFF_SECONDS = (0.0, 0.5, 1.0, 2.0, 4.0, 5.0)
SETTLED_SECONDS = 30.0
TELLING_FAILURES = 2  # in a row: then it is no accident, and its last words are shown
STOP_SECONDS = 10.0
LOG_BYTES = 20_000_000
LOG_CHECK_SECONDS = 60.0
STOP_SIGNALS = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
WAITED_SIGNALS = STOP_SIGNALS | {signal.SIGCHLD}


class DataDirectoryInUse(Exception):
    """Another supervisor holds the data directory; `pid` is its process when known."""

    def __init__(self, directory: Path, pid: int | None) -> None:
        super().__init__(f"{directory} is in use by another kschedweb" + (f" (process {pid})" if pid else ""))
        self.pid = pid


class Interrupted(Exception):
    """Somebody asked to stop while something was being waited for."""


@dataclass(slots=True)
class Child:
    """One process under supervision; stages stop in reverse order, one after the other."""

    name: str
    launch: Callable[[], Launch]
    stage: int
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    started: str = ""
    restarts: int = 0
    failures: int = 0  # ends in a row without having lived long enough
    due_at: float | None = None
    stop_signal: signal.Signals = signal.SIGTERM

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.returncode is None


@dataclass(slots=True)
class Supervisor:
    """The children, their logs and the status file; use as a context manager, which holds lock and signals."""

    directory: Path
    say: Callable[[str], None]
    facts: dict[str, Any] = field(default_factory=dict)  # goes into the status file: url, port …
    children: list[Child] = field(default_factory=list)
    stopping: bool = False
    _lock: IO[str] | None = None
    _old_mask: set[int] | None = None
    _logs_checked_at: float = 0.0

    def __enter__(self) -> "Supervisor":
        self._lock = take_lock(self.directory)
        (self.directory / "logs").mkdir(exist_ok=True, mode=0o700)
        self._old_mask = set(signal.pthread_sigmask(signal.SIG_BLOCK, WAITED_SIGNALS))
        self.facts["started"] = _now_text()
        self._write_status()
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.stop()
        finally:
            status_path(self.directory).unlink(missing_ok=True)
            if self._lock is not None:
                self._lock.close()
            if self._old_mask is not None:
                # What is still pending was an order that has just been carried out.
                while signal.sigtimedwait(WAITED_SIGNALS, 0) is not None:
                    pass
                signal.pthread_sigmask(signal.SIG_SETMASK, self._old_mask)

    def start(self, name: str, launch: Callable[[], Launch], *, stage: int) -> None:
        """Add a child and start it."""
        child = Child(name=name, launch=launch, stage=stage)
        self.children.append(child)
        self._spawn(child)
        self._write_status()

    def wait(self, ready: Callable[[], bool], *, seconds: float, pause_seconds: float = 0.1) -> bool:
        """Supervise until something is true; whether it became so in time. Interrupted when asked to stop."""
        deadline = time.monotonic() + seconds
        while not ready():
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            if not self.tick(min(pause_seconds, left)):
                raise Interrupted
        return True

    def run_once(self, name: str, launch: Launch) -> tuple[int, str]:
        """Run a child to its end while the others are looked after; its exit code and what it printed."""
        path = self.directory / "logs" / f"{name}.out"
        with open(path, "w+b") as output:
            process = spawn(launch, output)
            try:
                self.wait(lambda: process.poll() is not None, seconds=600, pause_seconds=1.0)
            finally:
                if process.poll() is None:
                    process.terminate()
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        process.wait(STOP_SECONDS)
                    process.kill()
                    process.wait()
            output.seek(0)
            text = output.read().decode(errors="replace")
        path.unlink(missing_ok=True)  # it may hold a password: shown, never kept
        return process.returncode, text

    def run(self) -> None:
        """Supervise until asked to stop."""
        while self.tick(LOG_CHECK_SECONDS):
            pass

    def tick(self, timeout_seconds: float) -> bool:
        """Wait for a signal or the next deadline and act on it; False when asked to stop."""
        due = [child.due_at for child in self.children if child.due_at is not None]
        if due:
            timeout_seconds = max(0.0, min(timeout_seconds, min(due) - time.monotonic()))
        received = signal.sigtimedwait(WAITED_SIGNALS, timeout_seconds)
        if received is not None and received.si_signo in STOP_SIGNALS:
            return False
        now = time.monotonic()
        changed = False
        for child in self.children:
            changed |= self._look_after(child, now)
        if changed:
            self._write_status()
        if now - self._logs_checked_at > LOG_CHECK_SECONDS:
            self._logs_checked_at = now
            self._trim_logs()
        return True

    def stop(self) -> None:
        """Stop all children, the last stage first; a second order to stop kills what is left."""
        self.stopping = True
        patience = STOP_SECONDS
        for stage in sorted({child.stage for child in self.children}, reverse=True):
            members = [child for child in self.children if child.stage == stage and child.alive]
            for child in members:
                assert child.process is not None
                with contextlib.suppress(ProcessLookupError):
                    child.process.send_signal(child.stop_signal)
            deadline = time.monotonic() + patience
            while any(_running(child) for child in members) and time.monotonic() < deadline:
                received = signal.sigtimedwait(WAITED_SIGNALS, min(0.2, max(0.0, deadline - time.monotonic())))
                if received is not None and received.si_signo in STOP_SIGNALS:
                    deadline, patience = 0.0, 1.0
            for child in members:
                assert child.process is not None
                if _running(child):
                    self.say(f"{child.name} does not stop, killing it")
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(child.process.pid, signal.SIGKILL)
                child.process.wait()

    def _spawn(self, child: Child) -> None:
        launch = child.launch()
        with open(self._log_path(child), "ab") as log:
            child.process = spawn(launch, log)
        child.stop_signal = launch.stop_signal
        child.started_at, child.started, child.due_at = time.monotonic(), _now_text(), None

    def _look_after(self, child: Child, now: float) -> bool:
        """Start a child whose time has come, notice one that ended; whether anything changed."""
        if child.due_at is not None:
            if now < child.due_at:
                return False
            child.restarts += 1
            self._spawn(child)
            return True
        if child.process is None or child.process.poll() is None:
            return False
        lived = now - child.started_at
        child.failures = 0 if lived >= SETTLED_SECONDS else child.failures + 1
        delay = BACKOFF_SECONDS[min(max(child.failures - 1, 0), len(BACKOFF_SECONDS) - 1)]
        child.due_at = now + delay
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.process.pid, signal.SIGKILL)  # what it had started itself
        when = "again" if delay == 0 else f"again in {delay:g} s"
        log = self._log_path(child)
        self.say(f"{child.name} {_ending(child.process.returncode)}, starting it {when} (log: {log})")
        if child.failures == TELLING_FAILURES and child.process.returncode > 0:
            self.say(f"the log of {child.name} ends: {_last_line(log)}")
        return True

    def _log_path(self, child: Child) -> Path:
        return self.directory / "logs" / f"{child.name}.log"

    def _trim_logs(self) -> None:
        """Copy and truncate: the children append, so they go on in the emptied file."""
        for child in self.children:
            path = self._log_path(child)
            if path.exists() and path.stat().st_size > LOG_BYTES:
                shutil.copyfile(path, path.with_suffix(".log.1"))
                os.truncate(path, 0)

    def _write_status(self) -> None:
        processes = {
            child.name: {
                "pid": child.process.pid if child.process is not None and child.alive else None,
                "restarts": child.restarts,
                "started": child.started,
            }
            for child in self.children
        }
        write_private(
            status_path(self.directory),
            json.dumps({"supervisor": os.getpid(), **self.facts, "processes": processes}, indent=1),
        )

    def tell(self, **facts: Any) -> None:
        """Add facts to the status file."""
        self.facts.update(facts)
        self._write_status()


def take_lock(directory: Path) -> IO[str]:
    """Hold the data directory until the file is closed or the process ends; DataDirectoryInUse when held."""
    lock = open(directory / "lock", "a+")  # noqa: SIM115 -- held for as long as the process lives
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.seek(0)
        text = lock.read().strip()
        lock.close()
        raise DataDirectoryInUse(directory, int(text) if text.isdigit() else None) from None
    lock.truncate(0)
    lock.write(str(os.getpid()))
    lock.flush()
    return lock


def holder(directory: Path) -> int | None:
    """The process that holds the data directory, or None."""
    if not (directory / "lock").exists():
        return None
    try:
        take_lock(directory).close()
    except DataDirectoryInUse as error:
        return error.pid
    return None


def status_path(directory: Path) -> Path:
    return directory / "status.json"


def write_private(path: Path, text: str) -> None:
    """Replace a file in one move; only its owner may read it."""
    part = path.with_name(path.name + ".part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    part.replace(path)


def _running(child: Child) -> bool:
    return child.process is not None and child.process.poll() is None


def _ending(code: int) -> str:
    if code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    return "ended" if code == 0 else f"failed with code {code}"


def _last_line(log: Path) -> str:
    """The end of a log: for a Python program that failed, the exception."""
    with open(log, "rb") as file:
        file.seek(max(0, log.stat().st_size - 4000))
        lines = file.read().decode(errors="replace").strip().splitlines()
    return lines[-1].strip()[:300] if lines else "nothing"


def _now_text() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
