"""The levels this package runs, by name, and a run of one of them from a workload to figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from scheduler_core.model.effects import Attempt
from scheduler_core.ports import stopped_watch
from tools.bench.engine import l1, l2
from tools.bench.engine.keeping import Keeper, Trace
from tools.bench.engine.meter import Meter
from tools.bench.engine.prepare import Prepared
from tools.bench.engine.result import Figures

Run = Callable[[Prepared, Meter, Keeper], Iterator[Attempt]]

LEVELS: dict[str, Run] = {"L1": l1.run, "L2": l2.run}


def run_level(level: str, prepare: Callable[..., Prepared], meter: Meter, trace: Trace) -> Figures:
    """One run on a scheduler of its own; `prepare` makes it from a clock and the scheduler's stopwatch."""
    stopwatch = stopped_watch if trace is Trace.OFF else meter.clock
    keeper = Keeper(trace)
    ready = prepare(clock=meter.clock, stopwatch=stopwatch, keeper=keeper if trace is Trace.STORED else None)
    durations: list[dict[str, int]] = []
    scheduled = 0
    for attempt in LEVELS[level](ready, meter, keeper):
        durations.append(attempt.durations_ns)  # added up when the clock has stopped
        scheduled += attempt.result == "scheduled"
    return Figures(
        attempted=len(durations),
        scheduled=scheduled,
        wall_ns=meter.wall_ns,
        cpu_ns=meter.cpu_ns,
        laps_ns=meter.laps_ns,
        parse_ns=ready.parse_ns,
        build_ns=ready.build_ns,
        snapshot_ns=ready.snapshot_ns,
        bytes_stored=keeper.bytes_stored,
        phases_ns=_added_up(durations),
    )


def _added_up(durations: Iterable[dict[str, int]]) -> dict[str, int]:
    phases: dict[str, int] = {}
    for each in durations:
        for phase, nanoseconds in each.items():
            phases[phase] = phases.get(phase, 0) + nanoseconds
    return phases
