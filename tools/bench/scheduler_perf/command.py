"""`./ksched bench --scheduler-perf`: the workloads that are asked for, one after another, as a table.

Each run has a process of its own. Of several runs the one with the middle rate is shown. What cannot be run here is
named with its reason, at the end. The command fails when a workload did not come to its end, or stayed below its
threshold.
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from kschedweb.environment import ROOT
from kschedweb.ops.client import Refused
from scheduler_core.config.feature_gates import QUEUEING_HINTS
from tools.bench.running import RunningService, ServiceProblem
from tools.bench.scheduler_perf import manifests
from tools.bench.scheduler_perf.files import PerfWorkload, is_labelled, problem_of, read_file
from tools.bench.scheduler_perf.service import ServedCluster
from tools.bench.scheduler_perf.throughput import Throughput
from tools.bench.scheduler_perf.worker import Job, Run, outcome

LEVELS = ("L2", "L3")
WARM_PODS = 200  # scheduled before anything is measured at level 3
_FORMAT = "{:<78} {:>6} {:>8} {:>8} {:>9} {:>9} {:>8} {:>9} {:>9} {:>9}  {}"
HEAD = _FORMAT.format(
    "workload", "pods", "seconds", "at work", "pods/s", "average", "samples", "p50", "p99", "threshold", "reached"
)
_NOT_MEASURED = {"profile", "verify", "no_reuse", "config", "report"}


def run(options: argparse.Namespace) -> int:
    """Carry the command out; 2 when nothing is asked for that can be done."""
    given = sorted(name for name in _NOT_MEASURED if getattr(options, name))
    if given or options.level not in (None, *LEVELS):
        word = f"--{given[0].replace('_', '-')}" if given else f"--level {options.level}"
        print(f"ksched: {word} does not go with --scheduler-perf", file=sys.stderr)
        return 2
    chosen = list(_chosen(options.scheduler_perf, options.workloads, options.label))
    if not chosen:
        print("ksched: no workload is named or labelled so", file=sys.stderr)
        return 2
    print(HEAD, flush=True)
    done: list[tuple[PerfWorkload, Run]] = []
    with _ways(options.level or LEVELS[0]) as run_once:
        for workload, job in chosen:
            missing = problem_of(workload)
            times = max(options.runs, 1)
            run = Run(missing=missing) if missing else _middle([run_once(workload, job) for _ in range(times)])
            done.append((workload, run))
            for line in lines(workload, run):
                print(line, flush=True)
    left_out = [(workload, run) for workload, run in done if run.missing]
    print(f"{len(done) - len(left_out)} of {len(done)} workloads run here", flush=True)
    for workload, run in left_out:
        print(f"not run: {workload.key}: {run.missing}")
    if options.json is not None:
        told = [as_json(workload, run) for workload, run in done]
        options.json.write_bytes(msgspec.json.format(msgspec.json.encode(told)) + b"\n")
    return 0 if all(is_good(workload, run) for workload, run in done) else 1


def lines(workload: PerfWorkload, run: Run) -> Iterator[str]:
    """One for each collection; none for a workload that is not run here."""
    if run.failed:
        yield f"{workload.key}: failed: {run.failed}"
    for item in run.items:
        yield _FORMAT.format(
            workload.key if len(run.items) == 1 else f"{workload.key} {item.name}",
            item.pods,
            f"{item.seconds:.2f}",
            f"{item.busy_seconds:.2f}",
            f"{item.rate:,.0f}",
            "-" if item.average is None else f"{item.average:,.0f}",
            item.samples,
            *(f"{item.percentiles[each]:,.0f}" if item.samples else "-" for each in ("p50", "p99")),
            "" if workload.threshold is None else f"{workload.threshold:,.0f}",
            "" if workload.threshold is None else "ok" if _reaches(item, workload.threshold) else "missed",
        ).rstrip()


def as_json(workload: PerfWorkload, run: Run) -> dict[str, Any]:
    return {
        "case": workload.case,
        "workload": workload.name,
        "labels": workload.labels,
        "feature_gates": workload.feature_gates,
        "threshold": workload.threshold,
        **msgspec.to_builtins(run),
    }


def is_good(workload: PerfWorkload, run: Run) -> bool:
    """Whether it came to its end, with what its threshold asks for; true of what is not run here."""
    threshold = workload.threshold
    return not run.failed and (threshold is None or all(_reaches(item, threshold) for item in run.items))


def _reaches(item: Throughput, threshold: float) -> bool:
    return item.judged >= threshold


def _chosen(paths: Sequence[Path], words: Sequence[str], label: str) -> Iterator[tuple[PerfWorkload, Job]]:
    for path in paths:
        for place, workload in enumerate(read_file(path)):
            if is_labelled(workload.labels, label) and (not words or any(word in workload.key for word in words)):
                yield workload, Job(path=str(path.resolve()), place=place)


def _middle(runs: Sequence[Run]) -> Run:
    """The run with the middle rate; one that failed before all others."""
    failed = [run for run in runs if run.failed or run.missing]
    ordered = sorted(runs, key=lambda run: sum(item.judged for item in run.items))
    return failed[0] if failed else ordered[len(ordered) // 2]


@contextlib.contextmanager
def _ways(level: str) -> Iterator[Callable[[PerfWorkload, Job], Run]]:
    """How a workload is run once at this level: in a process of its own, or on a service that all share."""
    if level == LEVELS[0]:
        yield lambda workload, job: _run_apart(job)
        return
    with RunningService() as service:
        with ServedCluster(service) as cluster:
            cluster.create([manifests.node(manifests.DEFAULT_NODE, number, None, None) for number in range(10)])
            cluster.create([manifests.pod(manifests.DEFAULT_POD, "default")] * WARM_PODS)
            cluster.run_until(lambda: cluster.watch.scheduled("default", {}) >= WARM_PODS, "warming up")
        yield lambda workload, job: _run_served(service, workload)


def _run_served(service: RunningService, workload: PerfWorkload) -> Run:
    if not workload.gates().get(QUEUEING_HINTS, True):
        return Run(missing=f"level 3: feature gate {QUEUEING_HINTS}=false")
    try:
        with ServedCluster(service) as cluster:
            run = outcome(workload, lambda: cluster)
    except (Refused, ServiceProblem) as problem:
        return Run(failed=str(problem))
    return msgspec.structs.replace(run, peak_rss_bytes=service.peak_rss_bytes())


def _run_apart(job: Job) -> Run:
    words = [sys.executable, "-m", "tools.bench.scheduler_perf.worker", msgspec.json.encode(job).decode()]
    done = subprocess.run(words, cwd=ROOT, capture_output=True)
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        return Run(failed=f"its process ended with code {done.returncode}: {said[-1] if said else 'no word'}")
    return msgspec.json.decode(done.stdout, type=Run)
