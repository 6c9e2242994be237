"""Settings of the queue, and what it counts, as plain data.

`pending` and `unschedulable_by_plugin` follow upstream's gauges with their drifts: a pod that becomes gated while it
waits is not moved from one gauge to the other, and a gate is counted at every refusal but taken off once, at Pop.
True sizes come from `SchedulingQueue.sizes()`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

SECOND_US = 1_000_000
MAX_IN_UNSCHEDULABLE_US = 300 * SECOND_US


@dataclass(frozen=True, slots=True)
class QueueOptions:
    """Durations in microseconds; the defaults are upstream's."""

    initial_backoff_us: int = 1 * SECOND_US
    max_backoff_us: int = 10 * SECOND_US
    max_in_unschedulable_us: int = MAX_IN_UNSCHEDULABLE_US
    pop_from_backoff_q: bool = True
    queueing_hints: bool = True


@dataclass(slots=True)
class QueueCounters:
    """`incoming`: (sub-queue, event label) → entries; the gauges lack the heaps, whose lengths are exact."""

    incoming: dict[tuple[str, str], int] = field(default_factory=dict)
    unschedulable: int = 0
    gated: int = 0
    unschedulable_by_plugin: dict[tuple[str, str], int] = field(default_factory=dict)  # (plugin, profile)

    def count_incoming(self, queue: str, event: str) -> None:
        self.incoming[queue, event] = self.incoming.get((queue, event), 0) + 1

    def blame(self, plugin: str, profile: str, change: int) -> None:
        count = self.unschedulable_by_plugin.get((plugin, profile), 0) + change
        if count:
            self.unschedulable_by_plugin[plugin, profile] = count
        else:
            self.unschedulable_by_plugin.pop((plugin, profile), None)

    def dump(self) -> dict[str, Any]:
        return {
            "incoming": [[queue, event, count] for (queue, event), count in self.incoming.items()],
            "unschedulable": self.unschedulable,
            "gated": self.gated,
            "by_plugin": [[*labels, count] for labels, count in self.unschedulable_by_plugin.items()],
        }

    def load(self, dumped: dict[str, Any]) -> None:
        self.incoming = {(queue, event): count for queue, event, count in dumped["incoming"]}
        self.unschedulable = dumped["unschedulable"]
        self.gated = dumped["gated"]
        self.unschedulable_by_plugin = {(plugin, profile): count for plugin, profile, count in dumped["by_plugin"]}
