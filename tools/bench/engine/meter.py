"""The clock of a run: from its start to its end without the pauses, wall and CPU, and how long each pod took.

All times are nanoseconds. With the stopped clocks of `idle_meter` a run is only carried out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from scheduler_core.ports import Stopwatch, stopped_watch


@dataclass(slots=True)
class Meter:
    """`laps_ns`: one per pod. `on_running` is called with True when the clock runs again, False when it stops."""

    clock: Stopwatch
    cpu_clock: Stopwatch
    on_running: Callable[[bool], None] = lambda running: None
    laps_ns: list[int] = field(default_factory=list)
    wall_ns: int = 0
    cpu_ns: int = 0

    def start(self) -> None:
        """Also after a pause."""
        self.on_running(True)
        self.cpu_ns -= self.cpu_clock()
        self.wall_ns -= self.clock()

    def stop(self) -> None:
        """Also for a pause."""
        self.wall_ns += self.clock()
        self.cpu_ns += self.cpu_clock()
        self.on_running(False)


def idle_meter() -> Meter:
    """For runs that are not timed."""
    return Meter(stopped_watch, stopped_watch)
