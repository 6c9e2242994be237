"""The groups of Python tests: one call of pytest for each."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from kschedweb.environment import ROOT
from tools.testing.outcome import CannotRunError, Failure, Outcome, counted

# One process: each has services of its own, whose start and idle life cost more than a second one would bring.
IN_ONE_PROCESS = ("browser", "faults", "attack")
# The first is the same browser without windows: it takes less than half of the processor's time.
CHROMIUM_NAMES = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
)
PROCESSES = "2"
SLOWEST = ("--durations=15", "--durations-min=5")
NOTHING_CHOSEN = 5  # pytest's code when no test fits


@dataclass(frozen=True, slots=True)
class How:
    """How tests are run: also those marked slow (`long`), only those named with a word."""

    long: bool = False
    word: str = ""
    alone: bool = False  # one after the other in one process

    @property
    def options(self) -> list[str]:
        found = ["--long"] if self.long else []
        return [*found, "-k", self.word] if self.word else found


def run_pytest(group: str, targets: Sequence[str], how: How, output: IO[bytes] | None = None) -> Outcome:
    """Run these tests of one group; what pytest says goes to `output`, or where this process says its own."""
    environment = {}
    if group == "browser":
        environment["KSCHED_CHROMIUM"] = str(find_chromium())
    is_one = how.alone or group in IN_ONE_PROCESS
    spread = [] if is_one else ["-n", PROCESSES, "--dist", "worksteal"]
    with tempfile.TemporaryDirectory() as scratch:
        report, failed = Path(scratch) / "report.xml", Path(scratch) / "failed.json"
        files = [f"--junitxml={report}", "-p", "tools.testing.failed", f"--failed-to={failed}"]
        words = [sys.executable, "-m", "pytest", "-q", *files, *SLOWEST, *how.options, *spread, *targets]
        process = subprocess.Popen(words, cwd=ROOT, env={**os.environ, **environment}, stdout=output, stderr=output)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = code = os.waitstatus_to_exitcode(status)
        if code == NOTHING_CHOSEN and how.word:
            return Outcome()
        outcome = counted(report, code)
        outcome.cpu_seconds = used.ru_utime + used.ru_stime
        outcome.failures = failures_in(failed, group) if outcome.failed else []
        return outcome


def failures_in(file: Path, group: str) -> list[Failure]:
    """The tests that `failed.py` wrote down; the group itself when pytest ended without writing."""
    if not file.exists():
        return [Failure(group)]
    return [Failure(**facts) for facts in json.loads(file.read_text())] or [Failure(group)]


def find_chromium() -> Path:
    """The browser that the tests drive."""
    named = os.environ.get("KSCHED_CHROMIUM")
    for name in (named,) if named else CHROMIUM_NAMES:
        found = shutil.which(name)
        if found is not None:
            return Path(found)
    raise CannotRunError("no Chromium found: apt-get install chromium, or leave it out with --without browser")
