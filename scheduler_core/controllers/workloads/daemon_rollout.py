"""Which pods of a DaemonSet go, and which nodes get one: to have one on each node, and to move to a new template.

Pure functions over pods by node. Without surge an old pod goes and the next step makes a new one, as far as
maxUnavailable lets it; with surge a second pod comes first, as far as maxSurge lets it.
Source: kubernetes v1.34.1, pkg/controller/daemon/{daemon_controller,update}.go. Times are microseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from scheduler_core.api.pod import Pod
from scheduler_core.api.workload import DaemonSet
from scheduler_core.controllers.workloads.daemon_pods import Fit, is_updated, template_generation
from scheduler_core.controllers.workloads.fractions import scaled
from scheduler_core.controllers.workloads.readiness import is_available, is_ready
from scheduler_core.controllers.workloads.revisions import REVISION_HASH

PodsByNode = Mapping[str, Sequence[Pod]]


@dataclass(slots=True)
class Plan:
    """Pods to delete and nodes that need one."""

    delete: list[Pod] = field(default_factory=list)
    create: list[str] = field(default_factory=list)


def surge_count(owner: DaemonSet, nodes: int) -> int:
    """Return how many nodes may have a second pod during an update."""
    strategy = owner.spec.update_strategy
    if strategy.type != "RollingUpdate" or strategy.rolling_update is None:
        return 0
    return scaled(strategy.rolling_update.max_surge, nodes, up=True)


def unavailable_count(owner: DaemonSet, nodes: int) -> int:
    """Return how many nodes may be without an available pod during an update."""
    strategy = owner.spec.update_strategy
    if strategy.type != "RollingUpdate" or strategy.rolling_update is None:
        return 0
    return scaled(strategy.rolling_update.max_unavailable, nodes, up=True)


def oldest_first(pods: Sequence[Pod]) -> list[Pod]:
    """Return pods that have a node first, then by age and name."""

    def order(pod: Pod) -> tuple[bool, str, str]:
        created = pod.metadata.creation_timestamp
        return not pod.is_assigned, "" if created is None else created.isoformat(), pod.name

    return sorted(pods, key=order)


def surplus(owner: DaemonSet, running: Sequence[Pod], revision: str, now: int) -> list[Pod]:
    """Return which of several pods on one node go: all but the oldest, or but an old and a new one during a surge."""
    if surge_count(owner, 1) == 0:
        return oldest_first(running)[1:]
    new = old = None
    gone: list[Pod] = []
    for pod in oldest_first(running):
        if pod.labels.get(REVISION_HASH) == revision and new is None:
            new = pod
        elif pod.labels.get(REVISION_HASH) != revision and old is None:
            old = pod
        else:
            gone.append(pod)
    if new is not None and old is not None:
        seconds = owner.spec.min_ready_seconds
        if not is_ready(old) or is_available(new, seconds, now):
            gone.append(old)
    return gone


def rolled(owner: DaemonSet, fits: Mapping[str, Fit], pods: PodsByNode, revision: str, now: int) -> Plan:
    """Return the next move towards the template of this hash."""
    wanted = sum(fit == Fit.RUNS for fit in fits.values())
    surge, unavailable = surge_count(owner, wanted), unavailable_count(owner, wanted)
    if wanted > 0 and surge == 0 and unavailable == 0:
        unavailable = 1
    nodes = dict.fromkeys((*pods, *(node for node, fit in fits.items() if fit == Fit.RUNS)))
    seconds, generation = owner.spec.min_ready_seconds, template_generation(owner)
    pairs = {node: _new_and_old(pods.get(node, ()), revision, generation) for node in nodes}

    def available(pod: Pod) -> bool:
        return is_available(pod, seconds, now)

    if surge == 0:
        return _replaced(pairs, unavailable, available)
    return _surged(pairs, fits, surge, wanted, available)


Pair = tuple[Pod | None, Pod | None] | None  # the new and the old pod of a node; None when there are more


def _new_and_old(pods: Sequence[Pod], revision: str, generation: str) -> Pair:
    new = old = None
    for pod in pods:
        if pod.is_terminating:
            continue
        if is_updated(pod, revision, generation):
            if new is not None:
                return None
            new = pod
        else:
            if old is not None:
                return None
            old = pod
    return new, old


def _replaced(pairs: Mapping[str, Pair], most: int, available: Callable[[Pod], bool]) -> Plan:
    lacking = 0
    broken: list[Pod] = []
    candidates: list[Pod] = []
    for pair in pairs.values():
        new, old = pair if pair is not None else (None, None)
        if (new is None) == (old is None):
            lacking += 1
        elif new is not None:
            lacking += not available(new)
        elif old is not None and not available(old):
            broken.append(old)
            lacking += 1
        elif old is not None and lacking < most:
            candidates.append(old)
    return Plan(delete=broken + candidates[: max(0, most - lacking)])


def _surged(
    pairs: Mapping[str, Pair], fits: Mapping[str, Fit], most: int, wanted: int, available: Callable[[Pod], bool]
) -> Plan:
    plan = Plan()
    misplaced: list[Pod] = []
    candidates: list[str] = []
    surging = count = 0
    for node, pair in pairs.items():
        if pair is None:
            surging += 1
            continue
        new, old = pair
        first = old if old is not None else new
        count += first is not None and available(first)
        if old is None:
            continue
        if new is not None:
            if available(new):
                plan.delete.append(old)
            else:
                surging += 1
        elif fits.get(node) != Fit.RUNS:
            (misplaced if available(old) else plan.delete).append(old)
        elif not available(old):
            plan.create.append(node)
        elif surging < most:
            candidates.append(node)
    plan.delete += misplaced[: max(0, count - wanted)]
    plan.create += candidates[: max(0, most - surging)]
    return plan
