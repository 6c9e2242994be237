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
from scheduler_core.explain.fits.smallest import fewest
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


Found = tuple[NodeInfo, list[Pod]]
"""A node, and who would have to leave it."""


def evictions(engine: Engine, tries: Tries, world: World) -> list[Change]:
    """Pods of one node to evict, as few as are enough, without more disruptions than budgets allow.

    For pods of an owner together: of several nodes, those of one node for each that finds no room.
    """
    listed = cast(Sequence[PodDisruptionBudget], engine.store.list(PodDisruptionBudget.kind))
    budgets = [Budget.of(each) for each in listed]
    if world.others:
        return _on_several(engine, tries, world, budgets)
    found = _on_one(engine, tries, world, budgets)
    return [_evicted(pods) for _, pods in found[:MOST_TOLD]]


def _on_one(engine: Engine, tries: Tries, world: World, budgets: Sequence[Budget]) -> list[Found]:
    """Those of one node that make room for the first pod that has none, the fewest first."""
    found: list[Found] = []
    with tries.refusing(world) as cycle:
        if cycle is None or cycle.view is None:
            return []
        statuses, order = cycle.diagnosis.node_to_status, cycle.view.order.names
        helped = [cycle.view.infos[node] for node in statuses.nodes_with_code(Code.Unschedulable, order).tolist()]
        stay = frozenset(pod.uid for pod in world.pods)
        for info in sorted(helped, key=lambda info: _lack(cycle.pod, info))[:MOST_NODES]:
            pods = _OnNode(cycle, info, engine.now, stay).fewest(budgets)
            if pods:
                found.append((info, pods))
    return sorted(found, key=lambda each: (len(each[1]), sum(pod.priority for pod in each[1])))


def _on_several(engine: Engine, tries: Tries, world: World, budgets: Sequence[Budget]) -> list[Change]:
    gone: list[Pod] = []
    for _ in world.pods:
        found = _on_one(engine, tries, _without(world, gone), [_paid(each, gone) for each in budgets])
        if not found:
            break
        gone += found[0][1]
    kept = fewest(gone, lambda some: bool(tries.placed(_without(world, some))))
    return [_evicted(kept)] if kept else []


def _without(world: World, pods: Sequence[Pod]) -> World:
    return replace(world, gone=(*world.gone, *pods))


def _paid(budget: Budget, gone: Sequence[Pod]) -> Budget:
    """With these gone already."""
    return replace(budget, disruptions_allowed=budget.disruptions_allowed - sum(map(budget.counts, gone)))


def _evicted(pods: Sequence[Pod]) -> Change:
    nodes = list(dict.fromkeys(pod.spec.node_name for pod in pods))
    return Change(
        Kind.EVICT,
        "",
        "",
        "",
        lambda world: _without(world, pods),
        node=nodes[0],
        pods=tuple(pod.key for pod in pods),
        more=tuple(nodes[1:]),
    )


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

    def __init__(self, cycle: Cycle, info: NodeInfo, now: int, stay: frozenset[str]) -> None:
        """`stay`: uids of pods that are not thought of."""
        self._cycle = cycle
        self._stay = stay
        self._now = now
        self._state: CycleState = cycle.state.clone()
        self._info = info.copy()

    def fewest(self, budgets: Sequence[Budget]) -> list[Pod]:
        """One pod where one is enough, the least important first; else few. Nothing where none are enough."""
        priority = self._cycle.pod.priority
        lower = [info for info in self._info.pods if self._may_go(info.pod, priority)]
        lower.sort(key=lambda info: importance(info.pod, self._now))
        _, allowed = split_by_budget(lower, budgets)
        if not allowed or not all(map(self._remove, allowed)) or not self._fits():
            return []
        for info in reversed(allowed):
            if not self._stays_but(info, allowed):
                continue
            return [info.pod]
        return [info.pod for info in allowed if not self._stays(info)]

    def _may_go(self, pod: Pod, priority: int) -> bool:
        return pod.priority <= priority and pod.uid not in self._stay and _can_go(pod)

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
