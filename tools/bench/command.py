"""Carries out the command line of `./ksched bench`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from kschedweb.ops.client import Refused
from scheduler_core.errors import CoreError
from tools.bench import (
    controlling,
    following,
    kube_api,
    large,
    level3,
    looking_back,
    many,
    pacing,
    promises,
    resting,
    table,
    writing,
)
from tools.bench.campaign import Campaign, measure_rows, read_campaign
from tools.bench.engine.verify import verify
from tools.bench.measuring import Measured, RunFailed, measure
from tools.bench.page import PICTURE, PageProblem, filled
from tools.bench.picture import growth_picture
from tools.bench.promises import Promise
from tools.bench.rows import Row, rows
from tools.bench.running import RunningService, ServiceProblem
from tools.bench.scheduler_perf import command as scheduler_perf
from tools.bench.worker import Job, profile_here

PROMISES_WORKLOAD = "W1_n1000_e0"
DEFAULT_LEVEL = "L1"
# By option, of whose value some make use: what is measured one after the other on a service that is warm.
_ON_ONE_SERVICE: dict[str, Callable[[RunningService, Job, int], Iterable[Promise]]] = {
    "latency": lambda service, job, _: [promises.latency(service, job)],
    "path": lambda service, job, _: pacing.measure(service, job),
    "writes": lambda service, job, _: writing.measure(service, job),
    "past": lambda service, job, _: looking_back.measure(service, job),
    "viewers": lambda service, job, number: [promises.viewers(service, job, number)],
    "kube_api": lambda service, job, _: kube_api.measure(service, job),
}


def run(options: argparse.Namespace) -> int:
    """Carry the command out; 1 when a decision differed or something could not be run, 2 when nothing is asked for."""
    try:
        if options.scheduler_perf:
            return scheduler_perf.run(options)
        if options.report is not None:
            return _report(options)
        jobs = _jobs(options)
        promised = _promised(options) if _asks_promises(options) else None
        if promised is not None and not jobs:
            return _written(options, promised, all(promise.kept for promise in promised))
        if not jobs:
            print("ksched: name a WORKLOAD, or a page with --report", file=sys.stderr)
            return 2
        if (options.profile or options.verify) and options.level == level3.LEVEL:
            print("ksched: level 3 has neither --profile nor --verify; it tells CPU by process", file=sys.stderr)
            return 2
        if options.profile:
            for job in jobs:
                profile_here(job)
            return 0
        all_agree = not options.verify or _verify(jobs)
        results = _measured(jobs, options.runs) if options.runs else []
    except (CoreError, RunFailed, PageProblem, OSError) as problem:
        print(f"ksched: {problem}", file=sys.stderr)
        return 1
    kept = all(promise.kept for promise in promised or ())
    return _written(options, [*results, *(promised or ())], all_agree and kept)


def _written(options: argparse.Namespace, results: Sequence[object], good: bool) -> int:
    """Write the results where asked for; the command's exit code."""
    if options.json is not None:
        told = [result.as_json() if isinstance(result, Promise) else result for result in results]
        options.json.write_bytes(msgspec.json.format(msgspec.json.encode(told)) + b"\n")
    return 0 if good else 1


def _asks_promises(options: argparse.Namespace) -> bool:
    others = ("idle", "mirror", "controllers", "large", "browser")
    return any(getattr(options, name) for name in (*_ON_ONE_SERVICE, *others))


def _promised(options: argparse.Namespace) -> list[Promise]:
    """Measure what is promised of a whole service, on one; print each line when it is ready."""
    folder = str(options.folder.resolve())
    job = Job(word=PROMISES_WORKLOAD, folder=folder, level=level3.LEVEL, pods=options.pods)
    found: list[Promise] = []
    try:
        if options.idle:  # in a service of its own: PostgreSQL sweeps up behind the others for minutes
            with RunningService() as service:
                found += map(_told, resting.measure(service, options.idle))
        asked = [(name, measured) for name, measured in _ON_ONE_SERVICE.items() if getattr(options, name)]
        if asked:
            with RunningService() as service:
                level3.warm_up(service, job)
                for name, measured in asked:
                    found += map(_told, measured(service, job, getattr(options, name)))
        if options.mirror:  # in a service of its own: its memory is measured
            with RunningService() as service:
                found += map(_told, following.measure(service))
        if options.controllers:
            with RunningService() as service:
                found += map(_told, controlling.measure(service))
        if options.browser:
            found += map(_told, _browsed(options))
        if options.large:
            for nodes in options.nodes:
                with RunningService() as service:
                    found += map(_told, large.measure(service, nodes=nodes or large.NODES, pods=options.pods))
            if options.clusters:
                with RunningService() as service:
                    found += map(_told, many.measure(service, options.clusters))
    except (ServiceProblem, Refused) as problem:
        raise RunFailed(str(problem)) from problem
    return found


def _browsed(options: argparse.Namespace) -> Iterator[Promise]:
    try:
        from tools.bench import browsing
    except ModuleNotFoundError as problem:  # a benchmark needs no more than the service does, but for this one
        raise RunFailed(f"--browser needs {problem.name}, which ./ksched check installs") from problem
    with RunningService() as service:
        yield from browsing.measure(service, options.browser, rate=options.rate, profile=options.profile)


def _told(promise: Promise) -> Promise:
    print(promise.line, flush=True)
    return promise


def _jobs(options: argparse.Namespace) -> list[Job]:
    return [
        Job(
            word=word,
            folder=str(options.folder.resolve()),
            level=options.level or DEFAULT_LEVEL,
            nodes=nodes,
            pods=options.pods,
            trace=trace,
            reuse=not options.no_reuse,
            config=None if options.config is None else str(options.config.resolve()),
        )
        for word in options.workloads
        for nodes in options.nodes
        for trace in options.trace
    ]


def _measured(jobs: Sequence[Job], runs: int) -> list[object]:
    """The results in order; each is printed as soon as it is there."""
    print(table.HEAD, flush=True)
    results: list[object] = []
    for job in jobs:
        measured = measure(job, runs)
        results.append(measured.result)
        _print(measured)
    return results


def _print(measured: Measured) -> None:
    print(table.lines(measured.result, measured.details, measured.job), flush=True)


def _verify(jobs: Sequence[Job]) -> bool:
    """Return whether the plain cycle decides every job the same; print the first difference."""
    all_agree = True
    for job in jobs:
        workload = job.workload()
        verdict = verify(job.level, workload, reuse=job.reuse, config=job.configuration())
        line = f"{workload.name} {job.level}, {workload.num_nodes} nodes: {verdict.agreed} attempts agree"
        found = verdict.divergence
        if found is not None:
            all_agree = False
            line += f"; then {verdict.pod_key}: {found.where}: {found.left!r}, plain {found.right!r}"
        print(line, flush=True)
    return all_agree


def _report(options: argparse.Namespace) -> int:
    """Measure the rows of the page (those that `--only` names, if any), then write its tables and the picture."""
    page, kept = options.report, options.report.with_suffix(".json")
    wanted = rows(str(options.folder.resolve()))
    if not options.redraw and options.runs:
        chosen = [row for row in wanted if not options.only or any(word in row.key for word in options.only)]
        if not chosen:
            print(f"ksched: no row is named {' or '.join(options.only)}", file=sys.stderr)
            return 2
        print(table.HEAD, flush=True)
        measure_rows(chosen, options.runs, kept, _print)
    campaign = read_campaign(kept)
    page.write_text(filled(page.read_text(), campaign, wanted))
    picture = drawn(campaign, wanted)
    if picture:
        target = page.parent / PICTURE
        target.parent.mkdir(exist_ok=True)
        target.write_text(picture)
    return 0


def drawn(campaign: Campaign, wanted: Sequence[Row]) -> str:
    """The growth curve; empty where it was not measured."""
    curves: dict[str, list[tuple[float, float]]] = {}
    marks: dict[str, list[tuple[float, float]]] = {}
    for row in wanted:
        found = campaign.measurements.get(row.key)
        if row.section != "growth" or found is None:
            continue
        name, nodes = found.result.workload, found.result.nodes
        curves.setdefault(name, []).append((nodes, 1e6 / found.result.pods_per_second_median))
        if row.go is not None:
            marks.setdefault(name, []).append((nodes, 1e6 / row.go))
    return growth_picture("Microseconds per pod, level 1, full trace", curves, marks) if curves else ""
