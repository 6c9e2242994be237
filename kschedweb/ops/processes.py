"""How a child process is described and started, so that it never outlives the process that started it.

Every child leads a session of its own (Ctrl-C in the terminal reaches only the supervisor, which stops its children in
order) and carries PR_SET_PDEATHSIG: when the parent dies, however it dies, the kernel signals the child. That signal
follows the *thread* that spawned it: spawn from the main thread only.
"""

import contextlib
import ctypes
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

PR_SET_PDEATHSIG = 1
# What programs of others need of our environment. PG_OOM_ADJUST_FILE is for PostgreSQL; PGPASSWORD is for no server.
NEEDED_BY_ALL = frozenset({"PATH", "HOME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "LD_LIBRARY_PATH"})
NEEDED_PREFIXES = ("LC_", "PG_")


@dataclass(frozen=True, slots=True)
class Launch:
    """One program to start: its words, what its environment has besides ours, and the user it runs as.

    A program that is not `ours` is given `environment_without_secrets()` in place of our environment.
    """

    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    ours: bool = True
    user: tuple[int, int] | None = None  # uid and gid, when another than ours
    stop_signal: signal.Signals = signal.SIGTERM
    cwd: Path | None = None
    descriptors: tuple[int, ...] = ()  # files of ours that it has as well, under the same numbers


def spawn(launch: Launch, output: IO[bytes] | int) -> subprocess.Popen[bytes]:
    """Start a program with its output going to one file."""
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError("children are started from the main thread: the death signal follows the thread")
    account: dict[str, Any] = {}
    if launch.user is not None:
        account = {"user": launch.user[0], "group": launch.user[1], "extra_groups": []}
    return subprocess.Popen(
        launch.argv,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        env={**(os.environ if launch.ours else environment_without_secrets()), **launch.environment},
        cwd=launch.cwd or "/",
        start_new_session=True,
        preexec_fn=die_with_parent(launch.stop_signal),
        pass_fds=launch.descriptors,
        **account,
    )


def environment_without_secrets() -> dict[str, str]:
    """The part of our environment that programs of others need: none of our settings, no passwords."""
    return {
        name: value for name, value in os.environ.items() if name in NEEDED_BY_ALL or name.startswith(NEEDED_PREFIXES)
    }


def die_with_parent(death_signal: signal.Signals, *, parent: int | None = None) -> Callable[[], None]:
    """What a child runs first, so that the kernel signals it when its parent (this process, unless named) ends."""
    libc = ctypes.CDLL(None, use_errno=True) if sys.platform.startswith("linux") else None
    expected = os.getpid() if parent is None else parent

    def ask_kernel() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, ())  # the supervisor blocks what it waits for
        if libc is not None:
            libc.prctl(PR_SET_PDEATHSIG, int(death_signal), 0, 0, 0)
            if os.getppid() != expected:  # it died in between, nobody will signal us
                os._exit(1)

    return ask_kernel


def stop(process: subprocess.Popen[bytes], stop_signal: signal.Signals, patience_seconds: float = 10.0) -> None:
    """End a child and what it started: ask, wait, then kill its whole session."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(stop_signal)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience_seconds)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def private_directory(path: Path, mode: int = 0o700) -> Path:
    """A directory only this user can enter, created when absent; PermissionError when another user owns it."""
    path.mkdir(parents=True, exist_ok=True, mode=mode)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise PermissionError(f"{path} belongs to somebody else: remove it, or set another TMPDIR")
    path.chmod(mode)
    return path


def wait_until(ready: Callable[[], bool], *, seconds: float, pause_seconds: float = 0.05) -> bool:
    """Whether something became true in time."""
    deadline = time.monotonic() + seconds
    while True:
        if ready():
            return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(pause_seconds)
