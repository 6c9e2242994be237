"""A pod that fits nowhere may take the place of pods of lower priority.

post_filter   finds the node where that costs least, has the victims leave and nominates the node
pre_enqueue   keeps the pod out of the queue until all its victims but the last have been asked to leave

Source: kubernetes v1.34.1, pkg/scheduler/framework/plugins/defaultpreemption
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod
from scheduler_core.config import names
from scheduler_core.config.types import DefaultPreemptionArgs
from scheduler_core.framework.answers import ClusterEventWithHint, NominatingInfo, QueueingHint
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.handle import Handle
from scheduler_core.model.changes import EvictionVerdict
from scheduler_core.model.events import ActionType, ClusterEvent, EventResource
from scheduler_core.model.status import SUCCESS, Status
from scheduler_core.model.types import NodeToStatus
from scheduler_core.plugins.helpers import check_args
from scheduler_core.preemption.evaluator import CandidateCounts, Evaluator
from scheduler_core.preemption.executor import Executor
from scheduler_core.preemption.tried import Choice

UNDER_WAY = "waiting for the preemption for this pod to be finished"

_UNDER_WAY = Status.unresolvable(UNDER_WAY)


class DefaultPreemption:
    name = names.DEFAULT_PREEMPTION

    def __init__(self, args: DefaultPreemptionArgs | None, handle: Handle) -> None:
        args = args or DefaultPreemptionArgs()
        check_args(args)
        self.executor = Executor(self.name, handle)
        counts = CandidateCounts(args.min_candidate_nodes_percentage, args.min_candidate_nodes_absolute)
        self._evaluator = Evaluator(handle, self.executor, counts)

    def pre_enqueue(self, pod: Pod) -> Status:
        return _UNDER_WAY if pod.uid in self.executor.preempting else SUCCESS

    def post_filter(
        self, state: CycleState, pod: Pod, node_to_status: NodeToStatus
    ) -> tuple[NominatingInfo | None, Status]:
        outcome = self._evaluator.preempt(state, pod, node_to_status)
        state.write(outcome.record)
        status = outcome.status
        if status.message:
            status = Status(status.code, (f"preemption: {status.message}",))
        return outcome.nominating, status

    def choice_for(self, state: CycleState, pod: Pod, node_to_status: NodeToStatus) -> Choice | None:
        """The node and the victims that would be taken for the pod as it is given; nobody is made to leave."""
        return self._evaluator.choice_for(state, pod, node_to_status)

    def evictions_done(self, verdict: EvictionVerdict) -> None:
        self.executor.on_verdict(verdict)

    def dump_state(self) -> dict[str, Any]:
        return self.executor.dump()

    def load_state(self, state: dict[str, Any]) -> None:
        self.executor.load(state)

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        # Registered for the sake of the gate; whether a deletion helps is for the plugins that refused the pod to say.
        pod_deleted = ClusterEvent(EventResource.POD, ActionType.DELETE)
        return (ClusterEventWithHint(pod_deleted, _never),)


def _never(_pod: Pod, _old: KubeObject | None, _new: KubeObject | None) -> QueueingHint:
    return QueueingHint.SKIP
