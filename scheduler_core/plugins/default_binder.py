"""Every pod is bound the ordinary way: by a Binding of the pod to its node.

The binding itself is an effect that the shell carries out; a refusal comes back as a verdict.
Source: kubernetes v1.34.1, pkg/scheduler/framework/plugins/defaultbinder
"""

from __future__ import annotations

from scheduler_core.api.pod import Pod
from scheduler_core.config import names
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.handle import Handle
from scheduler_core.model.status import SUCCESS, Status


class DefaultBinder:
    name = names.DEFAULT_BINDER

    def __init__(self, args: object | None, handle: Handle) -> None:
        """It takes no arguments and needs nothing of the scheduler."""

    def bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        return SUCCESS
