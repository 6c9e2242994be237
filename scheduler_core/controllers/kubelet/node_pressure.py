"""Node-pressure eviction of one node: thresholds that are met, conditions that follow, and who ends.

    calm ──less left than a threshold──▶ under pressure ──grace over──▶ node-level reclaim, else one pod ends per look
    under pressure ──enough left again, minimum reclaim too──▶ condition stays for the transition period ──▶ calm

Looks are made every ten seconds, and only while something may come of them. Times are microseconds.
Source: kubernetes v1.34.1, pkg/kubelet/eviction/eviction_manager.go (synchronize).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.api.times import microseconds
from scheduler_core.controllers.kubelet.admission import MEMORY_PRESSURE
from scheduler_core.controllers.kubelet.configuration import (
    IMAGEFS_AVAILABLE,
    NODEFS_AVAILABLE,
    Threshold,
)
from scheduler_core.controllers.kubelet.critical import is_critical
from scheduler_core.controllers.kubelet.images import unused_images
from scheduler_core.controllers.kubelet.local_storage import first_over_limit, over_limit
from scheduler_core.controllers.kubelet.measured import Measured
from scheduler_core.controllers.kubelet.node_conditions import CONDITION_OF, reported
from scheduler_core.controllers.kubelet.ranking import RESOURCE_OF, eviction_message, ranked
from scheduler_core.controllers.kubelet.signals import Observed, first_possible, is_met
from scheduler_core.controllers.kubelet.stopping import grace_of_us, stop_us

LOOK_US: Final = 10_000_000  # from one look to the next
NOTICE_US: Final = 1_000_000  # how soon the kernel's notice of memory is heeded
CLEAN_UP_US: Final = 1_000_000  # how often the kubelet looks whether an evicted pod is gone
LONGEST_CLEAN_UP_US: Final = 30_000_000


class Evicted(msgspec.Struct, frozen=True, gc=False):
    """A pod that ends at that time; `is_disruption`: its status has a DisruptionTarget condition."""

    pod: Pod
    at: int
    message: str
    is_disruption: bool = True


class Outcome(msgspec.Struct, frozen=True):
    """What came of a look."""

    starved: str = ""  # the resource that is reclaimed
    evicted: tuple[Evicted, ...] = ()
    keeps_images: frozenset[str] | None = None  # the images that stay, when unused ones go; by first name


_NOTHING: Final = Outcome()


class NodePressure:
    """What the kubelet of one node remembers from look to look."""

    def __init__(self, node: Node, now: int) -> None:
        """A kubelet that takes over goes on with the conditions that its node tells of."""
        self._first: dict[Threshold, int] = {}  # when a threshold was first seen to be met
        self._unresolved: list[Threshold] = []  # met for longer than their grace, and not over yet
        told = reported(node)
        self._last = {one.type: now for one in told}  # when a condition was last seen to hold
        self._told = {
            one.type: microseconds(one.last_transition_time) for one in told if one.last_transition_time is not None
        }
        self.pressures: frozenset[str] = frozenset(self._last)  # to be reported
        self._evicted_until: int | None = None

    @property
    def is_calm(self) -> bool:
        return not self._last

    def next_look(self, measured: Measured, now: int) -> int | None:
        """Return when the next look may find something; None when never."""
        if self._evicted_until is not None and self._evicted_until > now:
            return self._evicted_until
        if self._first or self._unresolved:
            return _next(now)
        config = measured.config
        memory = [one for one in measured.thresholds if CONDITION_OF[one.signal] == MEMORY_PRESSURE]
        others = [one for one in measured.thresholds if one not in memory]
        times = [
            first_possible(measured.signals, memory, now, NOTICE_US if config.notices_memory else LOOK_US),
            first_possible(measured.signals, others, now, LOOK_US),
            first_over_limit(measured, now, LOOK_US),
            *(_next(last + config.transition_us - 1) for last in self._last.values()),
        ]
        return min((max(time, now + 1) for time in times if time is not None), default=None)

    def look(self, measured: Measured, now: int) -> Outcome:
        """Take one look; `pressures` are to be reported after it."""
        config = measured.config
        observed = {name: signal.at(now) for name, signal in measured.signals.items()}
        met = [one for one in measured.thresholds if is_met(one, observed[one.signal])]
        met += [
            one
            for one in self._unresolved
            if one not in met and one.signal in observed and is_met(one, observed[one.signal], with_reclaim=True)
        ]
        self._first = {one: self._first.get(one, self._told.get(CONDITION_OF[one.signal], now)) for one in met}
        self._told = {}
        self._last |= {CONDITION_OF[one.signal]: now for one in met}
        self._last = {kind: last for kind, last in self._last.items() if now - last < config.transition_us}
        self.pressures = frozenset(self._last)
        self._unresolved = [one for one in met if now - self._first[one] >= one.grace_us]
        exceeding = over_limit(measured.uses(now), separate_images=measured.separate_images)
        outcome = _NOTHING
        if exceeding:
            outcome = Outcome(evicted=tuple(Evicted(pod, now, text, False) for pod, text in exceeding))
        elif self._unresolved:
            # Memory comes before all else; of the others the first.
            order = sorted(self._unresolved, key=lambda one: CONDITION_OF[one.signal] != MEMORY_PRESSURE)
            outcome = self._reclaim(measured, order, observed, now)
        self._evicted_until = None
        if outcome.evicted:
            end = max(one.at for one in outcome.evicted)
            self._evicted_until = min(end + CLEAN_UP_US, now + LONGEST_CLEAN_UP_US)
        return outcome

    def _reclaim(
        self, measured: Measured, order: Sequence[Threshold], observed: dict[str, Observed], now: int
    ) -> Outcome:
        first = order[0]
        resource = RESOURCE_OF[first.signal]
        keeps = _images_kept(measured, first, observed)
        if keeps is not None and _is_over(measured, observed, keeps):
            return Outcome(resource, (), keeps)
        order_of_pods = ranked(measured.uses(now), first.signal, separate_images=measured.separate_images)
        chosen = next((one for one in order_of_pods if not is_critical(one.pod)), None)
        if chosen is None:
            return Outcome(resource, (), keeps)
        message = eviction_message(chosen, resource, [(one, observed[one.signal]) for one in order])
        grace_us = 0 if first.is_hard else min(measured.config.max_pod_grace_us, grace_of_us(chosen.pod))
        return Outcome(resource, (Evicted(chosen.pod, now + min(grace_us, stop_us(chosen.pod)), message),), keeps)


def _next(now: int) -> int:
    """The first look after that time."""
    return now // LOOK_US * LOOK_US + LOOK_US


def _images_kept(measured: Measured, threshold: Threshold, observed: dict[str, Observed]) -> frozenset[str] | None:
    """The images that stay when unused ones are removed; None when none is removed.

    Where images have their own file system, only that one is relieved by it. Nothing is removed when that frees less
    than the minimum reclaim.
    """
    relieves = ("imagefs.",) if measured.separate_images else ("imagefs.", "nodefs.")
    if not threshold.signal.startswith(relieves):
        return None
    unused = unused_images(measured.node, measured.pods())
    freed = sum(image.size_bytes for image in unused)
    minimum = threshold.minimum_reclaim
    capacity = observed[threshold.signal].capacity
    if not unused or (
        threshold.signal.endswith(".available") and minimum is not None and freed < minimum.of(capacity).value()
    ):
        return None
    gone = {image.names for image in unused}
    return frozenset(
        image.names[0] for image in measured.node.status.images or () if image.names and image.names not in gone
    )


def _is_over(measured: Measured, observed: dict[str, Observed], keeps: frozenset[str]) -> bool:
    """Whether no threshold is met any more once only these images are left."""
    images = measured.node.status.images or ()
    freed = sum(image.size_bytes for image in images if not image.names or image.names[0] not in keeps)
    relieved = {IMAGEFS_AVAILABLE} if measured.separate_images else {IMAGEFS_AVAILABLE, NODEFS_AVAILABLE}
    for one in measured.thresholds:
        seen = observed[one.signal]
        if one.signal in relieved:
            seen = Observed(min(seen.available + freed, seen.capacity), seen.capacity)
        if is_met(one, seen, with_reclaim=True):
            return False
    return True
