"""What `./ksched bench` does with its command line."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from kschedweb.environment import ROOT
from kschedweb.ops.bench import table
from kschedweb.ops.bench.worker import Job, profile_here
from scheduler_core.bench.result import Details, Result, Run, details_of, result_of
from scheduler_core.bench.verify import verify
from scheduler_core.errors import CoreError


class RunFailed(Exception):
    """A run's process ended badly; the text is what it said last."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One line of the table, with what tells it from others of the same workload."""

    job: Job
    result: Result
    details: Details


def run(options: argparse.Namespace) -> int:
    """Carry the command out; 1 when a decision differed or something could not be run."""
    try:
        jobs = [
            Job(
                word=word,
                folder=str(options.folder),
                level=options.level,
                nodes=nodes,
                pods=options.pods,
                trace=trace,
                reuse=not options.no_reuse,
            )
            for word in options.workloads
            for nodes in options.nodes
            for trace in options.trace
        ]
        if options.verify:
            return _verify(jobs)
        if options.profile:
            for job in jobs:
                profile_here(job)
            return 0
        results = []
        print(table.HEAD, flush=True)
        for job in jobs:
            measured = measure(job, options.runs)
            results.append(measured.result)
            print(table.lines(measured.result, measured.details, job), flush=True)
    except (CoreError, RunFailed) as problem:
        print(f"ksched: {problem}", file=sys.stderr)
        return 1
    if options.json is not None:
        options.json.write_bytes(msgspec.json.format(msgspec.json.encode(results)) + b"\n")
    return 0


def measure(job: Job, runs: int) -> Measured:
    """So many runs, one after the other, each in a process of its own."""
    job.workload()  # its problems are told here
    done = [_run_apart(job) for _ in range(runs)]
    return Measured(job, result_of(job.level, done), details_of(done))


def _run_apart(job: Job) -> Run:
    words = [sys.executable, "-m", "kschedweb.ops.bench.worker", msgspec.json.encode(job).decode()]
    done = subprocess.run(words, cwd=ROOT, capture_output=True)
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise RunFailed(f"{job.word}: the run ended with code {done.returncode}: {said[-1] if said else 'no word'}")
    return msgspec.json.decode(done.stdout, type=Run)


def _verify(jobs: Sequence[Job]) -> int:
    failed = 0
    for job in jobs:
        workload = job.workload()
        verdict = verify(job.level, workload, reuse=job.reuse)
        line = f"{workload.name} {job.level}, {workload.num_nodes} nodes: {verdict.agreed} attempts agree"
        found = verdict.divergence
        if found is not None:
            failed += 1
            line += f"; then {verdict.pod_key}: {found.where}: {found.left!r}, row by row {found.right!r}"
        print(line, flush=True)
    return 1 if failed else 0
