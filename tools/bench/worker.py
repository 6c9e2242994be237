"""One run in this process: reads a job (JSON, the first argument), prints what came of it as JSON.

Python's garbage collector runs as in a worker of the service: settled when the engine is built, then at its pace. Peak
memory is that of the whole process, interpreter, workload and calibration included.
"""

from __future__ import annotations

import cProfile
import pstats
import resource
import sys
import time
from functools import partial
from pathlib import Path

import msgspec

from kschedweb.common.collector import ease
from scheduler_core import config
from scheduler_core.config.types import KubeSchedulerConfiguration
from tools.bench.engine.calibration import calibrate
from tools.bench.engine.keeping import Trace
from tools.bench.engine.levels import run_level
from tools.bench.engine.meter import Meter
from tools.bench.engine.prepare import prepare
from tools.bench.engine.result import Run
from tools.bench.engine.workload import Workload, find_workload

PROFILE_LINES = 40


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """`nodes` and `pods`: another size than the file's; `config`: the file of the scheduler's configuration."""

    word: str
    folder: str
    level: str
    nodes: int | None = None
    pods: int | None = None
    trace: str = Trace.ON
    reuse: bool = True
    config: str | None = None

    def workload(self) -> Workload:
        """Make the workload the job names."""
        workload = find_workload(self.word, Path(self.folder))
        if self.nodes is not None:
            workload = workload.resized(self.nodes)
        if self.pods is not None:
            workload = workload.with_pods(self.pods)
        return workload

    def configuration(self) -> KubeSchedulerConfiguration | None:
        """The scheduler's; None for the default one."""
        return None if self.config is None else config.load(Path(self.config).read_text())


def run_here(job: Job, meter: Meter) -> Run:
    """The run, in this process."""
    workload = job.workload()
    calibration_ns = calibrate(time.perf_counter_ns)
    ready = partial(prepare, workload, reuse=job.reuse, config=job.configuration(), settle=ease)
    figures = run_level(job.level, ready, meter, Trace(job.trace))
    return Run(
        workload=workload.name,
        nodes=workload.num_nodes,
        existing_pods=workload.num_existing,
        pods=workload.num_pods,
        **msgspec.structs.asdict(figures),
        peak_rss_bytes=peak_rss_bytes(),
        calibration_ns=calibration_ns,
    )


def profile_here(job: Job) -> None:
    """Print where the time of a run goes, by functions' own time; what the clock does not cover is left out."""
    profile = cProfile.Profile()
    meter = Meter(
        time.perf_counter_ns,
        time.process_time_ns,
        on_running=lambda running: profile.enable() if running else profile.disable(),
    )
    run = run_here(job, meter)
    print(f"{run.workload} {job.level}, {run.nodes} nodes: {run.wall_ns / 1000 / run.pods:.0f} us per pod, profiled")
    pstats.Stats(profile).sort_stats("tottime").print_stats(PROFILE_LINES)


def peak_rss_bytes() -> int:
    """Of this process alone: getrusage would count what the one that started it had in use as well."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


def main() -> None:
    """The process's whole work."""
    job = msgspec.json.decode(sys.argv[1], type=Job)
    run = run_here(job, Meter(time.perf_counter_ns, time.process_time_ns))
    sys.stdout.buffer.write(msgspec.json.encode(run))


if __name__ == "__main__":
    main()
