"""Preemption for one pod: may it preempt, where would it help, which node is best, and what is said when it cannot.

Only nodes refused with exactly Unschedulable are tried, from a drawn offset on, round the node order.
Source: kubernetes v1.34.1, pkg/scheduler/framework/preemption/preemption.go (Evaluator.Preempt),
pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go (PodEligibleToPreemptOthers).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from scheduler_core.api.pod import Pod
from scheduler_core.api.policy import PodDisruptionBudget
from scheduler_core.api.signature import signature
from scheduler_core.framework.answers import NominatingInfo, NominatingMode
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.extender_messages import Victims
from scheduler_core.framework.handle import Handle, Snapshot
from scheduler_core.model.effects import PreemptionRecord
from scheduler_core.model.node_views import NodeNames
from scheduler_core.model.status import SUCCESS, Code, Status
from scheduler_core.model.types import Diagnosis, FitError, NodeToStatus
from scheduler_core.preemption.budgets import Budget, BudgetRows
from scheduler_core.preemption.criteria import Candidate
from scheduler_core.preemption.executor import Executor
from scheduler_core.preemption.row_search import RowSearches
from scheduler_core.preemption.trial import Question, dry_run
from scheduler_core.preemption.tried import Choice, Tried, TriedStatuses, choose, tried_by_node

NOT_HELPFUL = "Preemption is not helpful for scheduling"
POLICY_NEVER = "not eligible due to preemptionPolicy=Never."
TERMINATING_ON_NOMINATED_NODE = "not eligible due to a terminating pod on the nominated node."
NO_NODES = "no nodes available"
NO_CANDIDATE = "no candidate node for preemption"
OFFSET_DRAW = "preemption offset"

_NOT_HELPFUL = Status.unresolvable(NOT_HELPFUL)

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
        self._searches = RowSearches()
        self._budgets: Sequence[Budget] = ()
        self._budget_rows = BudgetRows(())
        self._budgets_version = 0

    def preempt(self, state: CycleState, pod: Pod, statuses: NodeToStatus) -> Outcome:
        """Find a node on which `pod` fits in the place of lower pods, and have these leave."""
        handle = self._handle
        stored = cast(Pod | None, handle.lister.get(Pod.kind, pod.key))
        if stored is None:
            return _without_search(Status.failed(f'pod "{pod.name}" not found'))
        reason = not_eligible(stored, handle.snapshot, statuses)
        if reason:
            return _without_search(Status.unschedulable(reason))
        attempt = handle.effects.last_attempt
        names = attempt.node_order.names if attempt.node_order is not None else ()
        if not names:
            return _without_search(Status.failed(NO_NODES))
        potential = statuses.nodes_with_code(Code.Unschedulable, names)
        if not len(potential):
            return _nothing_helps(NodeToStatus(_NOT_HELPFUL), len(names), PreemptionRecord())
        offset = handle.draws.below(len(potential), pod_key=pod.key, attempt=attempt.attempt, purpose=OFFSET_DRAW)
        potential = np.concatenate((potential[offset:], potential[:offset]))
        want = self._counts.wanted_of(len(potential))
        around = NodeNames(potential, names)
        tried = self._try(state, pod, stored, around, want)
        if not len(tried.candidates):
            return _no_candidate(tried, len(names), _record(tried, around, offset, want))
        chosen = self._choose(pod, tried)
        if isinstance(chosen, Status):
            return Outcome(None, chosen, _record(tried, around, offset, want))
        best = chosen.best
        cleared = self._executor.begin(best, stored)
        record = _record(tried, around, offset, want, chosen, cleared)
        return Outcome(NominatingInfo(NominatingMode.OVERRIDE, best.node_name), SUCCESS, record)

    def choice_for(self, state: CycleState, pod: Pod, statuses: NodeToStatus) -> Choice | None:
        """What `preempt` would choose were the pod stored as it is given, extenders apart; nobody is made to leave."""
        handle = self._handle
        attempt = handle.effects.last_attempt
        names = attempt.node_order.names if attempt.node_order is not None else ()
        if not names or not_eligible(pod, handle.snapshot, statuses):
            return None
        potential = statuses.nodes_with_code(Code.Unschedulable, names)
        if not len(potential):
            return None
        offset = handle.draws.below(len(potential), pod_key=pod.key, attempt=attempt.attempt, purpose=OFFSET_DRAW)
        around = NodeNames(np.roll(potential, -offset), names)
        tried = self._try(state, pod, pod, around, self._counts.wanted_of(len(potential)))
        return tried.choose() if len(tried.candidates) else None

    def _try(self, state: CycleState, pod: Pod, stored: Pod, potential: NodeNames, want: int) -> Tried:
        """The dry run: over rows at once where that is sure to say the same."""
        handle = self._handle
        snapshot, version = handle.snapshot, handle.lister.version(PodDisruptionBudget.kind)
        if version != self._budgets_version:
            pdbs = cast(Sequence[PodDisruptionBudget], handle.lister.list(PodDisruptionBudget.kind))
            self._budgets_version = version
            self._budgets = [Budget.of(pdb) for pdb in pdbs]
            self._budget_rows = BudgetRows(self._budgets)
        question = Question(
            runner=handle.runner,
            nominated=handle.nominated_pods,
            state=state,
            pod=stored,
            budgets=self._budgets,
            now=handle.now,
        )
        equivalent = stored is pod or signature(stored) == signature(pod)
        search = self._searches.begin(question, handle.runner, snapshot.table, self._budget_rows, equivalent)
        if search is not None:
            return search.run(potential, snapshot.order[potential.nodes].astype(np.intp), want)
        node_infos = snapshot.list()
        run = dry_run(question, (node_infos[node] for node in potential.nodes.tolist()), want)
        return tried_by_node(run, potential, handle.now)

    def _choose(self, pod: Pod, tried: Tried) -> Choice | Status:
        """The best of the candidates, or of those that extenders leave."""
        handle = self._handle
        if not handle.extenders:
            return tried.choose()
        candidates = tried.all_candidates()
        victims = {each.node_name: Victims(each.victims, each.num_pdb_violations) for each in candidates}
        exchanges = handle.effects.last_attempt.exchanges
        left = handle.extenders.preempt(pod, victims, handle.snapshot.get, exchanges)
        if isinstance(left, Status):
            return left
        if not left:
            return Status.unschedulable(NO_CANDIDATE)
        order = [name for name in victims if name in left] + [name for name in left if name not in victims]
        return choose([Candidate(name, left[name].pods, left[name].num_pdb_violations) for name in order], handle.now)


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


def _record(
    tried: Tried,
    potential: NodeNames,
    offset: int,
    want: int,
    chosen: Choice | None = None,
    cleared_nominations: tuple[str, ...] = (),
) -> PreemptionRecord:
    return PreemptionRecord(
        dry_run=True,
        potential_nodes=potential,
        offset=offset,
        num_candidates=want,
        candidates=tried.candidates,
        not_candidates=tried.refused,
        tied=chosen.tied if chosen is not None else (),
        chosen=chosen.best.node_name if chosen is not None else "",
        victims=tuple(victim.key for victim in chosen.best.victims) if chosen is not None else (),
        cleared_nominations=cleared_nominations,
        decided_by=chosen.decided_by if chosen is not None else "",
    )


def _without_search(status: Status) -> Outcome:
    return Outcome(None, status, PreemptionRecord())


def _no_candidate(tried: Tried, num_nodes: int, record: PreemptionRecord) -> Outcome:
    """Errors of nodes matter only now."""
    errors = tried.errors()
    if errors:
        text = errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"
        return Outcome(None, Status.failed(text), record)
    return _nothing_helps(TriedStatuses(tried.refused, _NOT_HELPFUL), num_nodes, record)


def _nothing_helps(statuses: NodeToStatus, num_nodes: int, record: PreemptionRecord) -> Outcome:
    """A nomination the pod may have is of no use any more."""
    message = FitError(num_nodes, Diagnosis(node_to_status=statuses)).message()
    return Outcome(NominatingInfo(NominatingMode.OVERRIDE, ""), Status.unschedulable(message), record)
