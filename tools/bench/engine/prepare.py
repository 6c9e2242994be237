"""From a workload to a scheduler that holds it: objects read, scheduler built, first snapshot taken.

None of this belongs to a run; how long each part took is kept. Ties are drawn by seed, as in the service.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scheduler_core.api.pod import Pod
from scheduler_core.build import build
from scheduler_core.model.changes import Change, ObjectPut
from scheduler_core.model.effects import Effects
from scheduler_core.ports import SeededDraws, Stopwatch, stopped_watch
from scheduler_core.scheduler.scheduler import Budget, Scheduler
from tools.bench.engine.cluster import InMemoryCluster
from tools.bench.engine.workload import Workload

NOW_US = 1_767_312_000_000_000  # 2026-01-02, after the start of all pods in the files
SEED = 1
_NO_CYCLES = Budget(max_cycles=0)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A scheduler with all that is there before the first pod comes, and the pods; times in nanoseconds."""

    scheduler: Scheduler
    cluster: InMemoryCluster
    pods: list[Pod]
    parse_ns: int
    build_ns: int
    snapshot_ns: int


def prepare(
    workload: Workload,
    *,
    clock: Stopwatch = stopped_watch,
    stopwatch: Stopwatch = stopped_watch,
    reuse: bool = True,
    use_table: bool = True,
    settle: Callable[[], None] = lambda: None,
) -> Prepared:
    """`stopwatch` is the scheduler's own, for the phases of its attempts; `settle` is called when all is there."""
    started = clock()
    objects, pods = workload.objects(), workload.pods()
    parsed = clock()
    scheduler = build(draws=SeededDraws(SEED), stopwatch=stopwatch, reuse=reuse, use_table=use_table)
    apply(scheduler, [ObjectPut(obj) for obj in objects])
    built = clock()
    engine = scheduler.engine
    engine.snapshot.update_snapshot(engine.cache)
    engine.node_view()
    seen = clock()
    settle()
    build_ns = built - parsed + clock() - seen
    return Prepared(scheduler, InMemoryCluster(), pods, parsed - started, build_ns, seen - built)


def apply(scheduler: Scheduler, changes: Sequence[Change]) -> Effects:
    """Tell the scheduler, without a cycle."""
    return scheduler.step(NOW_US, changes, _NO_CYCLES)
