"""Which pods of a set go first when there are too many.

    unassigned, then Pending, Unknown, Running; not ready; lower deletion cost; more pods of the family on their node;
    ready for a shorter time; more restarts; younger. Times are compared by the power of two of their age, among equal
    ones the uid decides.

Source: kubernetes v1.34.1, pkg/controller/controller_utils.go (ActivePodsWithRanks). Times are microseconds.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cmp_to_key
from typing import Final

from scheduler_core.api.pod import Pod
from scheduler_core.api.times import microseconds
from scheduler_core.controllers.workloads.readiness import is_ready, ready_since

DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_PHASES: Final = {"Pending": 0, "Unknown": 1, "Running": 2}
_COST_DIGITS: Final = 11  # of the longest number of 32 bits, with its sign


def first_to_go(pods: Sequence[Pod], family: Iterable[Pod], count: int, now: int) -> list[Pod]:
    """Return so many of the pods, those to delete first. `family` are active pods of all sets of the same owner."""
    if count >= len(pods):
        return list(pods)
    on_node = Counter(pod.spec.node_name for pod in family)

    def compare(one: Pod, other: Pod) -> int:
        a, b = _rank(one, on_node), _rank(other, on_node)
        if a != b:
            return -1 if a < b else 1
        since, other_since = ready_since(one), ready_since(other)
        if since != other_since:
            return _younger(since, other_since, one, other, now)
        if (restarts := _restarts(one)) != (others := _restarts(other)):
            return -1 if restarts > others else 1
        created, other_created = _created(one), _created(other)
        return _younger(created, other_created, one, other, now) if created != other_created else 0

    return sorted(pods, key=cmp_to_key(compare))[:count]


def deletion_cost(pod: Pod) -> int:
    """Return the annotated cost; 0 when there is none or it is no number of 32 bits as Go reads it."""
    text = pod.annotations.get(DELETION_COST, "")
    digits = text.removeprefix("-")
    if not text or len(text) > _COST_DIGITS or not digits.isascii() or not digits.isdecimal():
        return 0
    if text != "0" and (text.startswith("0") or digits.startswith("0") and not text.startswith("-")):
        return 0
    cost = int(text)
    return cost if -(2**31) <= cost < 2**31 else 0


def _rank(pod: Pod, on_node: Counter[str]) -> tuple[bool, int, bool, int, int]:
    node = pod.spec.node_name
    return bool(node), _PHASES.get(pod.status.phase, 0), is_ready(pod), deletion_cost(pod), -on_node[node]


def _younger(time: int | None, other_time: int | None, one: Pod, other: Pod, now: int) -> int:
    """Negative when the first goes first: it is the younger one, or says no time."""
    if time is None or other_time is None:
        return -1 if time is None else 1
    difference = _age_power(time, now) - _age_power(other_time, now)
    if difference == 0:
        return -1 if one.uid < other.uid else 1
    return difference


def _age_power(time: int, now: int) -> int:
    """The power of two of the age in nanoseconds."""
    age = (now - time) * 1000
    return int(math.log2(age)) if age > 0 else -1


def _restarts(pod: Pod) -> tuple[int, int]:
    """The most restarts of a container, and of a sidecar."""
    sidecars = {one.name for one in pod.spec.init_containers or () if one.is_restartable_init}
    init = (one.restart_count for one in pod.status.init_container_statuses or () if one.name in sidecars)
    return max((one.restart_count for one in pod.status.container_statuses or ()), default=0), max(init, default=0)


def _created(pod: Pod) -> int | None:
    time = pod.metadata.creation_timestamp
    return None if time is None else microseconds(time)
