"""Room that other pods have: who would have to leave a node, and from which priority on preemption has them leave."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Final, cast

from scheduler_core.api.pod import Pod
from scheduler_core.api.policy import PodDisruptionBudget
from scheduler_core.cycle.cycle import Cycle
from scheduler_core.explain.fits.changes import Change, Kind, World
from scheduler_core.explain.fits.tries import Tries
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import Code
from scheduler_core.model.types import PodInfo
from scheduler_core.plugins.default_preemption import DefaultPreemption
from scheduler_core.plugins.fit_hints import pod_request
from scheduler_core.preemption.budgets import Budget, split_by_budget
from scheduler_core.preemption.evaluator import NEVER
from scheduler_core.preemption.trial import importance
from scheduler_core.preemption.tried import Choice
from scheduler_core.scheduler.engine import Engine

MOST_NODES: Final = 16  # that are looked at for pods to evict: those that lack least
MOST_TOLD: Final = 3  # of these, those where the fewest pods go
HIGHEST_PRIORITY: Final = 1_000_000_000  # that users may give


def evictions(engine: Engine, tries: Tries, world: World) -> list[Change]:
    """Pods of one node to evict, as few as are enough, without more disruptions than budgets allow."""
    cycle = tries.refused(world)
    if cycle is None:
        return []
    statuses, order = cycle.diagnosis.node_to_status, cycle.view.order.names
    helped = [cycle.view.infos[node] for node in statuses.nodes_with_code(Code.Unschedulable, order).tolist()]
    listed = cast(Sequence[PodDisruptionBudget], engine.store.list(PodDisruptionBudget.kind))
    budgets = [Budget.of(each) for each in listed]
    found: list[tuple[NodeInfo, list[Pod]]] = []
    for info in sorted(helped, key=lambda info: _lack(world.pod, info))[:MOST_NODES]:
        pods = _OnNode(cycle, info, engine.now).fewest(budgets)
        if pods:
            found.append((info, pods))
    found.sort(key=lambda each: (len(each[1]), sum(pod.priority for pod in each[1])))
    return [_evicted(info, pods) for info, pods in found[:MOST_TOLD]]


def _evicted(info: NodeInfo, pods: Sequence[Pod]) -> Change:
    def edit(world: World) -> World:
        return replace(world, gone=(*world.gone, *pods))

    return Change(Kind.EVICT, "", "", "", edit, node=info.name, pods=tuple(pod.key for pod in pods))


def _lack(pod: Pod, info: NodeInfo) -> Fraction:
    """The largest share of what is asked that is missing."""
    lacks = [
        Fraction(asked - info.allocatable.amount_of(name) + info.requested.amount_of(name), asked)
        for name, asked in pod_request(pod).items()
        if asked
    ]
    return max([*lacks, Fraction(0)])


class _OnNode:
    """A node's copy in a cycle, pods coming and going."""

    def __init__(self, cycle: Cycle, info: NodeInfo, now: int) -> None:
        self._cycle = cycle
        self._now = now
        self._state: CycleState = cycle.state.clone()
        self._info = info.copy()

    def fewest(self, budgets: Sequence[Budget]) -> list[Pod]:
        """One pod where one is enough, the least important first; else few. Nothing where none are enough."""
        priority = self._cycle.pod.priority
        lower = [info for info in self._info.pods if info.pod.priority <= priority and _can_go(info.pod)]
        lower.sort(key=lambda info: importance(info.pod, self._now))
        _, allowed = split_by_budget(lower, budgets)
        if not allowed or not all(map(self._remove, allowed)) or not self._fits():
            return []
        for info in reversed(allowed):
            if not self._stays_but(info, allowed):
                continue
            return [info.pod]
        return [info.pod for info in allowed if not self._stays(info)]

    def _stays_but(self, alone: PodInfo, allowed: Sequence[PodInfo]) -> bool:
        """Whether the pod fits with all of them there but this one; they are off again afterwards."""
        others = [info for info in allowed if info is not alone]
        done = all(map(self._add, others)) and self._fits()
        return all(map(self._remove, others)) and done

    def _stays(self, info: PodInfo) -> bool:
        """Put the pod back, if it can stay."""
        if self._add(info) and self._fits():
            return True
        self._remove(info)
        return False

    def _fits(self) -> bool:
        cycle = self._cycle
        return cycle.profile.run_filters_with_nominated_pods(
            self._state, cycle.pod, self._info, cycle.nominated
        ).is_success

    def _remove(self, info: PodInfo) -> bool:
        self._info.remove_pod(info.pod)
        return self._cycle.profile.run_remove_pod(self._state, self._cycle.pod, info, self._info).is_success

    def _add(self, info: PodInfo) -> bool:
        self._info.add_pod(info)
        return self._cycle.profile.run_add_pod(self._state, self._cycle.pod, info, self._info).is_success


def _can_go(pod: Pod) -> bool:
    """Not one that is going, nor one that is made anew on the same node: of a DaemonSet, or of the node itself."""
    owners = pod.metadata.owner_references or ()
    return not pod.is_terminating and not any(
        owner.controller and owner.kind in ("DaemonSet", "Node") for owner in owners
    )


def priorities(
    engine: Engine, tries: Tries, world: World, infos: Sequence[NodeInfo]
) -> Iterator[tuple[Change, Choice]]:
    """The least priority at which preemption finds victims, and what it then takes."""
    pod = world.pod
    framework = engine.frameworks.get(pod.spec.scheduler_name)
    searches = framework is not None and any(isinstance(each, DefaultPreemption) for each in framework.post_filter)
    if not searches or pod.spec.preemption_policy == NEVER:
        return
    there = sorted({info.pod.priority for node in infos for info in node.pods if info.pod.priority >= pod.priority})
    levels = [priority + 1 for priority in there if priority < HIGHEST_PRIORITY]
    found: dict[int, Choice | None] = {}

    def choice(level: int) -> Choice | None:
        if level not in found:
            found[level] = tries.preempting(_at(world, level))
        return found[level]

    if not levels or choice(levels[-1]) is None:
        return
    low, high = 0, len(levels) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if choice(levels[middle]) is not None else (middle + 1, high)
    chosen = choice(levels[low])
    if chosen is not None:
        level = levels[low]
        change = Change(
            Kind.PRIORITY, "spec.priority", str(pod.priority), str(level), lambda given: _at(given, level), step="1"
        )
        yield change, chosen


def _at(world: World, priority: int) -> World:
    return world.with_spec(priority=priority)
