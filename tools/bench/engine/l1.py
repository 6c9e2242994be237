"""Level 1: the algorithm alone. Pop, snapshot, filter, score, select, assume; on failure post filter and message.

Pods with claims are reserved too: devices are taken there.

All pods wait in the queue when the clock starts; nothing is bound. A pod that preempts has its second cycle on the
freed node at once: between the two the clock stands still, while the victims are deleted and the nomination is written.
"""

from __future__ import annotations

from collections.abc import Iterator

from scheduler_core.model.effects import Attempt, Effects
from scheduler_core.model.types import QueuedPodInfo
from scheduler_core.scheduler.engine import Engine
from scheduler_core.scheduler.failure import Failure, handle_scheduling_failure
from scheduler_core.scheduler.schedule_one import decide, open_cycle, tell_amounts
from scheduler_core.sim.world import World
from tools.bench.engine.keeping import STEP_CYCLES, Keeper, Trace
from tools.bench.engine.meter import Meter
from tools.bench.engine.prepare import NO_CYCLES, NOW_US, Prepared


def run(ready: Prepared, meter: Meter, keeper: Keeper) -> Iterator[Attempt]:
    """Every pod in its turn; yields each attempt as it is made."""
    world = ready.world
    world.load(ready.pods)
    world.step(NO_CYCLES)
    engine, clock, laps_ns = world.scheduler.engine, meter.clock, meter.laps_ns
    drops_at_once = keeper.trace is Trace.OFF
    cycles = 0
    engine.now, engine.effects = NOW_US, Effects()
    meter.start()
    for _ in ready.pods:
        started = clock()
        queued = engine.queue.pop(NOW_US)
        assert queued is not None  # as many are queued as there are pods
        attempt = _cycle(engine, queued)
        lap = clock() - started
        yield attempt
        cycles += 1
        if engine.effects.evictions:
            meter.stop()
            _make_room(world, queued)
            meter.start()
            started = clock()
            again = engine.queue.pop_pod(queued.key, NOW_US)
            assert again is not None  # activated
            attempt = _cycle(engine, again)
            lap += clock() - started
            yield attempt
            cycles += 1
        laps_ns.append(lap)
        if cycles >= STEP_CYCLES:
            keeper.end_step(engine.effects.attempts)
            engine.effects = Effects()
            cycles = 0
        elif drops_at_once:
            engine.effects.log.clear()
    keeper.end_step(engine.effects.attempts)
    meter.stop()


def _cycle(engine: Engine, queued: QueuedPodInfo) -> Attempt:
    """The pod's cycle up to its assumption, or to what its failure leads to."""
    attempt, cycle = open_cycle(engine, queued)
    assert cycle is not None  # the pods of a workload are new and have a profile
    decided = decide(engine, cycle)
    if isinstance(decided, Failure):
        handle_scheduling_failure(engine, cycle.profile, queued, decided, attempt)
        tell_amounts(engine, cycle)
    else:
        if decided.spec.resource_claims:
            status = cycle.profile.run_reserve(cycle.state, decided, decided.spec.node_name)
            assert status.is_success  # the node has just been found to have the devices
        attempt.result = "scheduled"
        engine.queue.done(queued.uid)
    return attempt


def _make_room(world: World, preemptor: QueuedPodInfo) -> None:
    """Evict the victims, write the nomination, and bring the preemptor back; the step's effects stay as they were."""
    engine = world.scheduler.engine
    kept = engine.effects
    world.carry_out(Effects(status_patches=kept.status_patches, evictions=kept.evictions))
    while world.has_changes:
        world.step(NO_CYCLES)
    engine.activate([preemptor.key])
    kept.status_patches, kept.evictions = [], []
    engine.effects = kept
