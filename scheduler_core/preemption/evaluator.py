"""Preemption for one pod: may it preempt, where would it help, which node is best, and what is said when it cannot.

Only nodes refused with exactly Unschedulable are tried, from a drawn offset on, round the node order.
Source: kubernetes v1.34.1, pkg/scheduler/framework/preemption/preemption.go (Evaluator.Preempt),
pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go (PodEligibleToPreemptOthers).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from scheduler_core.api.pod import Pod
from scheduler_core.api.policy import PodDisruptionBudget
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.extender_messages import Victims
from scheduler_core.framework.interface import Handle, NominatingInfo, NominatingMode, Snapshot
from scheduler_core.model.effects import PreemptionCandidate, PreemptionRecord
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import SUCCESS, Code, Status
from scheduler_core.model.types import Diagnosis, FitError, NodeToStatus
from scheduler_core.preemption.candidates import Budget, Candidate, DryRun, Question, best_candidates, dry_run
from scheduler_core.preemption.executor import Executor

NOT_HELPFUL = "Preemption is not helpful for scheduling"
POLICY_NEVER = "not eligible due to preemptionPolicy=Never."
TERMINATING_ON_NOMINATED_NODE = "not eligible due to a terminating pod on the nominated node."
NO_NODES = "no nodes available"
NO_CANDIDATE = "no candidate node for preemption"
OFFSET_DRAW = "preemption offset"

NEVER = "Never"
DISRUPTION_TARGET = "DisruptionTarget"
PREEMPTION_BY_SCHEDULER = "PreemptionByScheduler"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What PostFilter answers, and the record of how it came to that."""

    nominating: NominatingInfo | None
    status: Status
    record: PreemptionRecord


@dataclass(frozen=True, slots=True)
class CandidateCounts:
    """How many candidates end the search: a share of the potential nodes, but not less than the absolute number."""

    min_percentage: int
    min_absolute: int

    def wanted_of(self, n_potential: int) -> int:
        return min(max(n_potential * self.min_percentage // 100, self.min_absolute), n_potential)


class Evaluator:
    def __init__(self, handle: Handle, executor: Executor, counts: CandidateCounts) -> None:
        self._handle = handle
        self._executor = executor
        self._counts = counts

    def preempt(self, state: CycleState, pod: Pod, statuses: NodeToStatus) -> Outcome:
        """Find a node on which `pod` fits in the place of lower pods, and have these leave."""
        handle = self._handle
        stored = cast(Pod | None, handle.lister.get(Pod.kind, pod.key))
        if stored is None:
            return _without_search(Status.failed(f'pod "{pod.name}" not found'))
        reason = not_eligible(stored, handle.snapshot, statuses)
        if reason:
            return _without_search(Status.unschedulable(reason))
        node_infos = handle.snapshot.list()
        if not node_infos:
            return _without_search(Status.failed(NO_NODES))
        potential = potential_nodes(node_infos, statuses)
        if not potential:
            return _no_candidate(DryRun(), len(node_infos), PreemptionRecord())
        offset = handle.draws.below(
            len(potential), pod_key=pod.key, attempt=handle.effects.attempts[-1].attempt, purpose=OFFSET_DRAW
        )
        potential = [*potential[offset:], *potential[:offset]]
        want = self._counts.wanted_of(len(potential))
        pdbs = cast(Sequence[PodDisruptionBudget], handle.lister.list(PodDisruptionBudget.kind))
        question = Question(
            runner=handle.runner,
            nominated=handle.nominated_pods,
            state=state,
            pod=stored,
            budgets=[Budget.of(pdb) for pdb in pdbs],
            now=handle.now,
        )
        run = dry_run(question, potential, want)
        record = _record(run, potential, offset, want)
        if not run.candidates:
            return _no_candidate(run, len(node_infos), record)
        candidates = self._ask_extenders(pod, run.candidates)
        if isinstance(candidates, Status):
            return Outcome(None, candidates, record)
        if not candidates:
            return Outcome(None, Status.unschedulable(NO_CANDIDATE), record)
        equals = best_candidates(candidates, handle.now)
        best = equals[0]
        record = replace(
            record,
            tied=tuple(candidate.node_name for candidate in equals) if len(equals) > 1 else (),
            chosen=best.node_name,
            victims=tuple(victim.key for victim in best.victims),
            cleared_nominations=self._executor.begin(best, stored),
        )
        return Outcome(NominatingInfo(NominatingMode.OVERRIDE, best.node_name), SUCCESS, record)

    def _ask_extenders(self, pod: Pod, candidates: list[Candidate]) -> list[Candidate] | Status:
        """The candidates the extenders agree to, those found here first; or the error of one of them."""
        handle = self._handle
        if not handle.extenders:
            return candidates
        victims = {each.node_name: Victims(each.victims, each.num_pdb_violations) for each in candidates}
        exchanges = handle.effects.attempts[-1].exchanges
        left = handle.extenders.preempt(pod, victims, handle.snapshot.get, exchanges)
        if isinstance(left, Status):
            return left
        order = [name for name in victims if name in left] + [name for name in left if name not in victims]
        return [Candidate(name, left[name].pods, left[name].num_pdb_violations) for name in order]


def not_eligible(pod: Pod, snapshot: Snapshot, statuses: NodeToStatus) -> str:
    """Why the pod may not preempt; empty when it may."""
    if pod.spec.preemption_policy == NEVER:
        return POLICY_NEVER
    nominated = pod.status.nominated_node_name
    if not nominated or statuses.status_of(nominated).code is Code.UnschedulableAndUnresolvable:
        return ""  # a node it can never run on is no reason to wait
    node_info = snapshot.get(nominated)
    if node_info is not None and any(
        info.pod.priority < pod.priority and is_leaving_by_preemption(info.pod) for info in node_info.pods
    ):
        return TERMINATING_ON_NOMINATED_NODE
    return ""


def is_leaving_by_preemption(pod: Pod) -> bool:
    """Whether the pod is being deleted because a scheduler preempted it."""
    if not pod.is_terminating:
        return False
    target = next((each for each in pod.status.conditions or () if each.type == DISRUPTION_TARGET), None)
    return target is not None and (target.status, target.reason) == ("True", PREEMPTION_BY_SCHEDULER)


def potential_nodes(node_infos: Sequence[NodeInfo], statuses: NodeToStatus) -> list[NodeInfo]:
    """Nodes on which fewer pods might help, in node order."""
    return [info for info in node_infos if statuses.status_of(info.name).code is Code.Unschedulable]


def _record(run: DryRun, potential: Sequence[NodeInfo], offset: int, want: int) -> PreemptionRecord:
    return PreemptionRecord(
        dry_run=True,
        potential_nodes=tuple(info.name for info in potential),
        offset=offset,
        num_candidates=want,
        candidates=tuple(
            PreemptionCandidate(found.node_name, tuple(pod.key for pod in found.victims), found.num_pdb_violations)
            for found in run.candidates
        ),
        not_candidates=tuple(run.statuses.items()),
    )


def _without_search(status: Status) -> Outcome:
    return Outcome(None, status, PreemptionRecord())


def _no_candidate(run: DryRun, num_nodes: int, record: PreemptionRecord) -> Outcome:
    """Errors of nodes matter only now. A nomination the pod may have is of no use any more."""
    errors = list(dict.fromkeys(run.errors))
    if errors:
        text = errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"
        return Outcome(None, Status.failed(text), record)
    statuses = NodeToStatus(Status.unresolvable(NOT_HELPFUL))
    for name, status in run.statuses.items():
        statuses.set(name, status)
    message = FitError(num_nodes, Diagnosis(node_to_status=statuses)).message()
    return Outcome(NominatingInfo(NominatingMode.OVERRIDE, ""), Status.unschedulable(message), record)
