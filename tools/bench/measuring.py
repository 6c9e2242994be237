"""A job run several times, each time in a process of its own, and what came of it.

At level 3 the runs of a job share one service, which has scheduled before the first of them; each has its own cluster.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass

import msgspec

from kschedweb.environment import ROOT
from kschedweb.ops.client import Refused
from tools.bench import level3
from tools.bench.engine.result import Details, Result, Run, details_of, result_of
from tools.bench.running import RunningService, ServiceProblem
from tools.bench.worker import Job


class RunFailed(Exception):
    """A run's process ended badly; the text is what it said last."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One line of a table, with what tells it from others of the same workload."""

    job: Job
    result: Result
    details: Details


def measure(job: Job, runs: int) -> Measured:
    """Make the runs one after the other, each in a new process."""
    job.workload()  # its problems are told here
    done = _run_served(job, runs) if job.level == level3.LEVEL else [_run_apart(job) for _ in range(runs)]
    return Measured(job, result_of(job.level, done), details_of(done))


def _run_served(job: Job, runs: int) -> list[Run]:
    try:
        with RunningService() as service:
            level3.warm_up(service, job)
            return [level3.run(service, job) for _ in range(runs)]
    except (ServiceProblem, Refused, OSError) as problem:
        raise RunFailed(f"{job.word}: {problem}") from problem


def _run_apart(job: Job) -> Run:
    words = [sys.executable, "-m", "tools.bench.worker", msgspec.json.encode(job).decode()]
    done = subprocess.run(words, cwd=ROOT, capture_output=True)
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise RunFailed(f"{job.word}: the run ended with code {done.returncode}: {said[-1] if said else 'no word'}")
    return msgspec.json.decode(done.stdout, type=Run)
