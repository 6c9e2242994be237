"""On which nodes a pod would fit if pods of lower priority went, and who would have to go, tried node by node.

Every node is tried on a copy of its state and of the cycle's. Victims are found by taking all lower pods off and
putting back, most important first, whoever leaves enough resources; the result is small, not always the smallest.
Source: kubernetes v1.34.1, pkg/scheduler/framework/preemption/preemption.go,
pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go (SelectVictimsOnNode).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field

from scheduler_core.api.derived import start_time_us
from scheduler_core.api.pod import Pod
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.handle import NominatedPods, PluginRunner
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import Status
from scheduler_core.model.types import PodInfo
from scheduler_core.preemption.budgets import Budget, split_by_budget
from scheduler_core.preemption.criteria import Candidate

Watch = Callable[[PodInfo, Status, CycleState, NodeInfo], None]
"""Told of each pod as it is back on the node: what refuses the preemptor then, on which state."""

NO_VICTIMS = "No preemption victims found for incoming pod"


@dataclass(frozen=True, slots=True)
class Question:
    """What all nodes are tried for: this pod, in this cycle."""

    runner: PluginRunner
    nominated: NominatedPods
    state: CycleState
    pod: Pod
    budgets: Sequence[Budget]
    now: int  # microseconds; a pod without a start time counts as started now


@dataclass(slots=True)
class DryRun:
    """What came of trying nodes: candidates by kind, and the status of every node that is none."""

    without_violation: list[Candidate] = field(default_factory=list)
    with_violation: list[Candidate] = field(default_factory=list)
    statuses: dict[str, Status] = field(default_factory=dict)

    @property
    def candidates(self) -> list[Candidate]:
        return [*self.without_violation, *self.with_violation]


def dry_run(question: Question, node_infos: Iterable[NodeInfo], want: int) -> DryRun:
    """Try the nodes in order until `want` candidates are found, one of them without violating a budget."""
    run = DryRun()
    for node_info in node_infos:
        found = select_victims_on_node(question, node_info.copy())
        if isinstance(found, Status):
            run.statuses[node_info.name] = found
            continue
        kind = run.with_violation if found.num_pdb_violations else run.without_violation
        if len(kind) < want:
            kind.append(found)
        if run.without_violation and len(run.without_violation) + len(run.with_violation) >= want:
            break
    return run


def select_victims_on_node(question: Question, node_info: NodeInfo, watch: Watch | None = None) -> Candidate | Status:
    """Return the victims needed for the pod to fit, or the reason none suffice. Mutates `node_info`."""
    trial = _Trial(question, question.state.clone(), node_info, watch)
    potential = [info for info in node_info.pods if info.pod.priority < question.pod.priority]
    if not potential:
        return Status.unresolvable(NO_VICTIMS)
    for info in potential:
        status = trial.remove(info)
        if not status.is_success:
            return status
    status = trial.fits()
    if not status.is_success:
        return status
    potential.sort(key=lambda info: importance(info.pod, question.now))
    violating, others = split_by_budget(potential, question.budgets)
    victims: list[PodInfo] = []
    num_violations = 0
    for group in (violating, others):
        for info in group:
            stays = trial.reprieve(info)
            if isinstance(stays, Status):
                return stays
            if not stays:
                victims.append(info)
                num_violations += group is violating
    if not victims:
        return Status.failed(f'expected at least one victim pod on node "{node_info.name}"')
    if violating and others:
        victims.sort(key=lambda info: importance(info.pod, question.now))
    return Candidate(node_info.name, tuple(info.pod for info in victims), num_violations)


def fits_without(question: Question, node_info: NodeInfo, gone: Collection[str]) -> Status:
    """Whether the pod fits on the node once the pods with these keys have left it. Mutates `node_info`."""
    trial = _Trial(question, question.state.clone(), node_info)
    for info in [each for each in node_info.pods if each.pod.key in gone]:
        status = trial.remove(info)
        if not status.is_success:
            return status
    return trial.fits()


class _Trial:
    """One node's copy, pods coming and going."""

    def __init__(self, question: Question, state: CycleState, node_info: NodeInfo, watch: Watch | None = None) -> None:
        self._question = question
        self._state = state
        self._node_info = node_info
        self._watch = watch

    def fits(self) -> Status:
        question = self._question
        return question.runner.run_filters_with_nominated_pods(
            self._state, question.pod, self._node_info, question.nominated
        )

    def remove(self, info: PodInfo) -> Status:
        self._node_info.remove_pod(info.pod)
        return self._question.runner.run_remove_pod(self._state, self._question.pod, info, self._node_info)

    def reprieve(self, info: PodInfo) -> bool | Status:
        """Put the pod back; whether it can stay. It is off again when not."""
        self._node_info.add_pod(info)
        status = self._question.runner.run_add_pod(self._state, self._question.pod, info, self._node_info)
        if not status.is_success:
            return status
        status = self.fits()
        if self._watch is not None:
            self._watch(info, status, self._state, self._node_info)
        if status.is_success:
            return True
        status = self.remove(info)
        return False if status.is_success else status


def importance(pod: Pod, now: int) -> tuple[int, int]:
    """Sorts pods by importance, the most important first: higher priority, then the earlier start."""
    return -pod.priority, start_time_us(pod, now)
