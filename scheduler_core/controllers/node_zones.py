"""How many nodes of each zone are healthy, and how fast unhealthy ones may be given NoExecute taints.

    Normal     0.1 nodes a second
    Partial    at least 55 % and more than two nodes unhealthy: 0.01 a second in zones of more than 50 nodes, else none
    Full       no node healthy: 0.1 a second; where all zones are so, none: the fault is likely the control plane's

Source: kubernetes v1.34.1, pkg/controller/nodelifecycle: node_lifecycle_controller.go, scheduler/rate_limited_queue.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

INTERVAL_US: Final = 10_000_000
SLOW_INTERVAL_US: Final = 100_000_000
LARGE_ZONE: Final = 50
UNHEALTHY_SHARE: Final = (55, 100)
_NEVER: Final = 0


class ZoneState(Enum):
    """How a zone was at the last pass."""

    INITIAL = auto()
    NORMAL = auto()
    PARTIAL = auto()
    FULL = auto()


class Disruption(Enum):
    """What a pass means for the cluster as a whole."""

    NONE = auto()
    ENTERED = auto()  # no zone has a healthy node any more
    LEFT = auto()


@dataclass(slots=True)
class _Limiter:
    """A token every `interval_us`, at most one kept; none at all where that is 0."""

    interval_us: int = INTERVAL_US
    next_at: int = 0

    def take(self, now: int) -> bool:
        if self.interval_us == _NEVER or now < self.next_at:
            return False
        self.next_at = now + self.interval_us
        return True

    def change(self, interval_us: int, now: int) -> None:
        """Go on at another rate; who waits for a token waits for one of the new rate."""
        next_at = now if self.take(now) else now + interval_us
        self.interval_us, self.next_at = interval_us, next_at


@dataclass(slots=True)
class _Zone:
    healthy: int = 0
    unhealthy: int = 0
    state: ZoneState = ZoneState.INITIAL
    limiter: _Limiter = field(default_factory=_Limiter)
    waiting: dict[str, None] = field(default_factory=dict)  # names of nodes

    def state_now(self) -> ZoneState:
        if not self.healthy:
            return ZoneState.FULL
        share, whole = UNHEALTHY_SHARE
        if self.unhealthy > 2 and self.unhealthy * whole >= share * (self.healthy + self.unhealthy):
            return ZoneState.PARTIAL
        return ZoneState.NORMAL

    def interval_us(self, state: ZoneState) -> int:
        if state != ZoneState.PARTIAL:
            return INTERVAL_US
        return SLOW_INTERVAL_US if self.healthy + self.unhealthy > LARGE_ZONE else _NEVER


class Zones:
    """The zones of one cluster: their counts, and the nodes that wait for a NoExecute taint."""

    def __init__(self) -> None:
        self._zones: dict[str, _Zone] = {}

    def count(self, zone: str, *, healthy: int = 0, unhealthy: int = 0) -> None:
        """Add so many nodes to the zone's counts; negative numbers take away."""
        counts = self._zones.setdefault(zone, _Zone())
        counts.healthy += healthy
        counts.unhealthy += unhealthy

    def wait(self, zone: str, node: str) -> None:
        """Let the node wait for its taint, after those that wait already."""
        self._zones.setdefault(zone, _Zone()).waiting.setdefault(node)

    def leave(self, zone: str, node: str) -> None:
        """Let the node wait no longer."""
        found = self._zones.get(zone)
        if found is not None:
            found.waiting.pop(node, None)

    def is_waiting(self, zone: str, node: str) -> bool:
        return zone in self._zones and node in self._zones[zone].waiting

    def update(self, now: int) -> Disruption:
        """Find the states of the zones and set their rates; say whether the whole cluster went down or came back."""
        counted: list[_Zone] = []
        for zone in self._zones.values():
            if zone.healthy + zone.unhealthy:
                counted.append(zone)
            else:
                zone.state = ZoneState.INITIAL
        if not counted:
            return Disruption.NONE
        states = [zone.state_now() for zone in counted]
        was_down = all(zone.state == ZoneState.FULL for zone in counted)
        is_down = all(state == ZoneState.FULL for state in states)
        if is_down and was_down:
            return Disruption.NONE
        for zone, state in zip(counted, states, strict=True):
            if is_down:
                zone.limiter.change(_NEVER, now)
                zone.waiting.clear()
            elif was_down or state != zone.state:
                zone.limiter.change(zone.interval_us(state), now)
            zone.state = state
        return Disruption.ENTERED if is_down else Disruption.LEFT if was_down else Disruption.NONE

    def admit(self, now: int) -> Iterator[str]:
        """Take out the nodes whose turn it is to get the taint: those that waited longest."""
        for zone in self._zones.values():
            while zone.waiting and zone.limiter.take(now):
                name = next(iter(zone.waiting))
                del zone.waiting[name]
                yield name

    def next_due(self) -> int | None:
        """Return when the next waiting node has its turn, in microseconds."""
        times = (zone.limiter.next_at for zone in self._zones.values() if zone.waiting and zone.limiter.interval_us)
        return min(times, default=None)
