"""From a workload to a world that holds it: objects read, scheduler built, first snapshot taken.

None of this belongs to a run; how long each part took is kept. Ties are drawn by seed, as in the service.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from scheduler_core.build import build
from scheduler_core.config.types import KubeSchedulerConfiguration
from scheduler_core.ports import SeededDraws, Stopwatch, stopped_watch
from scheduler_core.scheduler.amounts import Keeper
from scheduler_core.scheduler.scheduler import Budget
from scheduler_core.sim.world import World
from tools.bench.engine.workload import Workload

NOW_US = 1_767_312_000_000_000  # 2026-01-02, after the start of all pods in the files
SEED = 1
NO_CYCLES = Budget(max_cycles=0)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A world with all that is there before the first pod comes, and the pods; times in nanoseconds."""

    world: World
    pods: list[dict[str, Any]]
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
    config: KubeSchedulerConfiguration | None = None,
    keeper: Keeper | None = None,
    settle: Callable[[], None] = lambda: None,
) -> Prepared:
    """`stopwatch` is the scheduler's own, for the phases of its attempts; `keeper` says of which it makes amounts;
    `settle` is called when all is there."""
    started = clock()
    objects, pods = workload.objects(), workload.pods()
    parsed = clock()
    draws = SeededDraws(SEED)
    scheduler = build(config, draws=draws, stopwatch=stopwatch, reuse=reuse, use_table=use_table, keeper=keeper)
    world = World(scheduler, now=NOW_US, evict_gracefully=False)
    world.load(objects)
    world.step(NO_CYCLES)
    built = clock()
    engine = scheduler.engine
    engine.snapshot.update_snapshot(engine.cache)
    engine.node_view()
    seen = clock()
    settle()
    build_ns = built - parsed + clock() - seen
    return Prepared(world, pods, parsed - started, build_ns, seen - built)
