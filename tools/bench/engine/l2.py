"""Level 2: the whole scheduler against an API in memory: events, queue, cycles, bindings and their verdicts.

Pods arrive in lots as large as a step; each step hears of what the one before asked for. The clock stands still while
pods arrive, and runs while the API server carries out what a step asks for. A pod's time is its cycles plus its share
of what its steps spent on changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scheduler_core.model.effects import Attempt
from scheduler_core.ports import Stopwatch
from scheduler_core.scheduler.scheduler import Budget
from tools.bench.engine.keeping import STEP_CYCLES, Keeper
from tools.bench.engine.meter import Meter
from tools.bench.engine.prepare import NOW_US, Prepared

STEP_US = 100_000  # engine time between two steps while there is work: the longest a step of the service takes


def run(ready: Prepared, meter: Meter, keeper: Keeper) -> Iterator[Attempt]:
    """Steps until each pod is bound or was refused without room being made for it; yields the attempts of each step."""
    world, scheduler, arriving = ready.world, ready.world.scheduler, ready.pods
    laps = _Laps(meter.clock)
    open_uids = {pod["metadata"]["uid"] for pod in arriving}
    now, arrived = NOW_US, 0
    while open_uids:
        if arrived < len(arriving):
            world.load(arriving[arrived : arrived + STEP_CYCLES])
            arrived += STEP_CYCLES
        meter.start()
        laps.begin_step()
        changes = world.take_changes()
        effects = scheduler.step(now, changes, Budget(STEP_CYCLES, laps.next_cycle))
        laps.end_step(effects.attempts)
        open_uids.difference_update(each.pod_uid for each in effects.attempts if not each.nominated_node_name)
        keeper.end_step(effects.attempts)
        yield from effects.attempts
        world.carry_out(effects)
        meter.stop()
        now += STEP_US
        if not world.has_changes and not effects.more and arrived >= len(arriving):
            due = scheduler.next_due(now)
            if due is None:
                break  # nothing will ever try the rest again
            now = max(now, due)
    meter.laps_ns.extend(laps.by_pod_ns.values())


class _Laps:
    """Times each pod: a step asks before every cycle whether its time is over, and that is when the clock is read."""

    def __init__(self, clock: Stopwatch) -> None:
        self.by_pod_ns: dict[str, int] = {}
        self._clock = clock
        self._times: list[int] = []

    def begin_step(self) -> None:
        self._times = [self._clock()]

    def next_cycle(self) -> bool:
        """Never over."""
        self._times.append(self._clock())
        return False

    def end_step(self, attempts: Sequence[Attempt]) -> None:
        times = [*self._times, self._clock()]
        if not attempts:
            return
        share = (times[1] - times[0]) // len(attempts)
        for place, attempt in enumerate(attempts, start=1):
            lap = times[place + 1] - times[place] + share
            self.by_pod_ns[attempt.pod_uid] = self.by_pod_ns.get(attempt.pod_uid, 0) + lap
