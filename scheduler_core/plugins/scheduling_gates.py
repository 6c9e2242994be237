"""A pod with scheduling gates stays out of the queue until the last gate is taken off.

Source: kubernetes v1.34.1, pkg/scheduler/framework/plugins/schedulinggates
"""

from __future__ import annotations

from collections.abc import Sequence

from scheduler_core.api.pod import Pod, PodSchedulingGate
from scheduler_core.config import names
from scheduler_core.framework.answers import ClusterEventWithHint
from scheduler_core.framework.handle import Handle
from scheduler_core.model.events import ActionType, ClusterEvent, EventResource
from scheduler_core.model.status import SUCCESS, Status
from scheduler_core.plugins.helpers import queue_if_same_pod


def waiting_reason(gates: Sequence[PodSchedulingGate]) -> str:
    return f"waiting for scheduling gates: [{' '.join(gate.name for gate in gates)}]"


class SchedulingGates:
    name = names.SCHEDULING_GATES

    def __init__(self, args: object | None, handle: Handle) -> None:
        """It takes no arguments and needs nothing of the scheduler."""

    def pre_enqueue(self, pod: Pod) -> Status:
        gates = pod.spec.scheduling_gates
        return Status.unresolvable(waiting_reason(gates)) if gates else SUCCESS

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        gates_gone = ClusterEvent(EventResource.POD, ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)
        return (ClusterEventWithHint(gates_gone, queue_if_same_pod),)
