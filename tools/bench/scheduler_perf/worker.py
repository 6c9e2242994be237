"""One run of one workload in this process: reads a job (JSON, the first argument), prints what came of it as JSON."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from kschedweb.common.collector import ease
from scheduler_core.errors import CoreError
from scheduler_core.ports import Stopwatch
from tools.bench.scheduler_perf.cluster import Cluster
from tools.bench.scheduler_perf.executor import Executor
from tools.bench.scheduler_perf.files import PerfWorkload, read_file
from tools.bench.scheduler_perf.gates import DEVICES
from tools.bench.scheduler_perf.ports import PerfCluster
from tools.bench.scheduler_perf.problems import NotSupported
from tools.bench.scheduler_perf.throughput import Throughput
from tools.bench.worker import peak_rss_bytes


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A workload by its place in its file: names of workloads need not be different."""

    path: str
    place: int


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a workload: its collections, or why it is not run here (`missing`), or how it ended (`failed`)."""

    items: list[Throughput] = []
    missing: str = ""
    failed: str = ""
    peak_rss_bytes: int = 0


def run_here(workload: PerfWorkload, clock: Stopwatch, collect: Callable[[], None] = lambda: None) -> Run:
    """The workload at level 2, carried out in this process."""
    has_devices = workload.feature_gates.get(DEVICES, False)
    return outcome(workload, lambda: Cluster(clock, workload.gates(), has_devices=has_devices, collect=collect))


def outcome(workload: PerfWorkload, make: Callable[[], PerfCluster]) -> Run:
    """The workload carried out on a new cluster."""
    try:
        return Run(items=Executor(workload, make()).run(), peak_rss_bytes=peak_rss_bytes())
    except NotSupported as problem:
        return Run(missing=str(problem))
    except CoreError as problem:
        return Run(failed=str(problem))


def main() -> None:
    """The process's whole work."""
    job = msgspec.json.decode(sys.argv[1], type=Job)
    # The clock jumps over waiting; so it does over time in which other programs have the processor.
    run = run_here(read_file(Path(job.path))[job.place], time.process_time_ns, ease)
    sys.stdout.buffer.write(msgspec.json.encode(run))


if __name__ == "__main__":
    main()
