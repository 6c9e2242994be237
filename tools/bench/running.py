"""A whole service of its own for level 3: `./ksched up` on a new data directory and a free port, thrown away after.

PostgreSQL, Valkey and Celery are the real ones, with the options `./ksched up` gives them (fsync on). The only setting
that differs is that nobody limits how many requests the uploader may make.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from kschedweb.environment import ROOT, variables
from kschedweb.ops import client, idle
from kschedweb.ops.client import Client
from kschedweb.ops.processes import die_with_parent, wait_until
from kschedweb.ops.setup import CREDENTIAL_FILE

READY_SECONDS = 180.0
STOP_SECONDS = 60.0
WAIT_SECONDS = 600.0
PAUSE_SECONDS = 0.1
NO_LIMITS = {"KSCHED_OBJECT_POSTS_PER_MINUTE": "0", "KSCHED_IMPORTS_PER_MINUTE": "0"}


class ServiceProblem(Exception):
    """The service did not start, or did not do what was asked; the text says what was seen."""


class RunningService:
    """One running service; use as a context manager, in the main thread."""

    def __enter__(self) -> RunningService:
        self.data = Path(tempfile.mkdtemp(prefix="ksbench-"))
        self.joined: dict[str, subprocess.Popen[bytes]] = {}
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        inherited = {name: value for name, value in os.environ.items() if name not in variables()}
        inherited.pop("DJANGO_SETTINGS_MODULE", None)
        words = [sys.executable, "-P", "-m", "kschedweb.ops.cli", "up", "--no-sample"]
        with open(self.data / "output", "wb") as output:
            self.process = subprocess.Popen(
                [*words, "--data-dir", str(self.data), "--port", str(self.port)],
                cwd=ROOT,
                env={"PYTHONPATH": str(ROOT), **inherited, **NO_LIMITS},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                preexec_fn=die_with_parent(signal.SIGTERM),
            )
        try:
            wait_until(lambda: "open http" in self.output or self.ended, seconds=READY_SECONDS)
            if self.ended or "open http" not in self.output:
                raise ServiceProblem(f"the service does not start: {self.output[-2000:]}")
            # The embedded server's address is what the processes were given.
            words = Path(f"/proc/{self.pids()['web']}/environ").read_bytes().decode().split("\0")
            self.given = dict(word.split("=", 1) for word in words if "=" in word)
            self.database_url = self.given["DATABASE_URL"]
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for joined in self.joined.values():
            joined.kill()
            joined.wait()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(STOP_SECONDS)
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.data, ignore_errors=True)

    def join(self, kind: str, name: str) -> None:
        """Start one more worker as another machine would; nobody starts it again when it ends."""
        with open(self.data / "logs" / f"{name}.log", "ab") as log:
            self.joined[name] = subprocess.Popen(
                [sys.executable, "-P", "-m", "kschedweb.ops.worker", kind],
                cwd=ROOT,
                env=self.given,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=die_with_parent(signal.SIGKILL),
            )

    @property
    def ended(self) -> bool:
        return self.process.poll() is not None

    @property
    def output(self) -> str:
        """Return the output of `./ksched up` so far."""
        return (self.data / "output").read_text()

    @property
    def client(self) -> Client:
        """Speaks REST with the service, with the token of the command line."""
        return client.connect(self.data)

    @property
    def token(self) -> str:
        return str(json.loads((self.data / CREDENTIAL_FILE).read_text())["token"])

    def pids(self) -> dict[str, int]:
        """The processes by name; everything they started stands below them."""
        return {**idle.service_pids(self.data), **{name: process.pid for name, process in self.joined.items()}}

    def log(self, name: str) -> str:
        """What a process has logged so far."""
        return (self.data / "logs" / f"{name}.log").read_text(errors="replace")

    def cpu_seconds(self) -> dict[str, float]:
        """CPU time so far by process, each with everything below it."""
        return {name: sum(idle.cpu_seconds(pid).values()) for name, pid in self.pids().items()}

    def memory_mb(self) -> dict[str, float]:
        """Memory by process, each with everything below it; pages that several share are counted once."""
        return {name: sum(_pss_mb(each) for each in (pid, *idle.descendants(pid))) for name, pid in self.pids().items()}

    def peak_rss_bytes(self) -> int:
        """Of all processes of ours together; PostgreSQL's share one memory and are left out."""
        total = 0
        for name, pid in self.pids().items():
            for each in (pid, *idle.descendants(pid)) if name != "postgres" else ():
                with contextlib.suppress(OSError):
                    lines = Path(f"/proc/{each}/status").read_text().splitlines()
                    total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
        return total


def wait(what: Callable[[], bool], for_what: str, *, seconds: float = WAIT_SECONDS) -> None:
    """Wait until something is true; ServiceProblem when it is not in time."""
    if not wait_until(what, seconds=seconds, pause_seconds=PAUSE_SECONDS):
        raise ServiceProblem(f"waited {seconds:.0f} s for {for_what} in vain")


def _pss_mb(pid: int) -> float:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/smaps_rollup") as lines:
        return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
    return 0.0
