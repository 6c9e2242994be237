"""One Protocol per extension point. A plugin is a class with `name` and the methods of the points it takes part in.

The runtime finds out by these Protocols which points these are. Beside them a plugin may have a second form over all
rows of the node table (`table_forms.py`), say what its answers depend on (`reuse.py`), and hear, tell or remember more
(`roles.py`). What it answers is in `answers.py`, what it may use in `handle.py`.
Source: kubernetes v1.34.1, pkg/scheduler/framework/interface.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from scheduler_core.api.pod import Pod
from scheduler_core.framework.answers import (
    ClusterEventWithHint,
    Int64Array,
    NominatingInfo,
    PreBindWork,
    PreFilterResult,
)
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import Status
from scheduler_core.model.types import NodeToStatus, PodInfo, QueuedPodInfo


@runtime_checkable
class Plugin(Protocol):
    name: str


@runtime_checkable
class PreEnqueuePlugin(Protocol):
    name: str

    def pre_enqueue(self, pod: Pod) -> Status: ...


@runtime_checkable
class QueueSortPlugin(Protocol):
    name: str

    def sort_key(self, pod_info: QueuedPodInfo) -> tuple[int, ...]:
        """Smaller comes first; ties are broken by arrival."""
        ...


@runtime_checkable
class EnqueueExtensions(Protocol):
    name: str

    def events_to_register(self) -> Sequence[ClusterEventWithHint]: ...


@runtime_checkable
class PreFilterPlugin(Protocol):
    name: str

    def pre_filter(
        self, state: CycleState, pod: Pod, node_infos: Sequence[NodeInfo]
    ) -> tuple[PreFilterResult | None, Status]: ...


@runtime_checkable
class PreFilterExtensions(Protocol):
    """What-if changes of the plugin's state: a pod more or less on a node."""

    name: str

    def add_pod(self, state: CycleState, pod: Pod, pod_to_add: PodInfo, node_info: NodeInfo) -> Status: ...
    def remove_pod(self, state: CycleState, pod: Pod, pod_to_remove: PodInfo, node_info: NodeInfo) -> Status: ...


@runtime_checkable
class FilterPlugin(Protocol):
    name: str

    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status: ...


@runtime_checkable
class PostFilterPlugin(Protocol):
    name: str

    def post_filter(
        self, state: CycleState, pod: Pod, node_to_status: NodeToStatus
    ) -> tuple[NominatingInfo | None, Status]: ...


@runtime_checkable
class PreScorePlugin(Protocol):
    name: str

    def pre_score(self, state: CycleState, pod: Pod, node_infos: Sequence[NodeInfo]) -> Status: ...


@runtime_checkable
class ScorePlugin(Protocol):
    name: str

    def score(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> tuple[int, Status]: ...


@runtime_checkable
class ScoreExtensions(Protocol):
    name: str

    def normalize_scores(self, state: CycleState, pod: Pod, scores: Int64Array) -> Status:
        """Bring the raw scores (n_feasible,) into 0..100, in place."""
        ...


@runtime_checkable
class ReservePlugin(Protocol):
    name: str

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status: ...
    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None: ...


@runtime_checkable
class PermitPlugin(Protocol):
    name: str

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> tuple[Status, int]:
        """Status and, with Wait, the time-out in microseconds."""
        ...


@runtime_checkable
class PreBindPlugin(Protocol):
    name: str

    def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> tuple[Status, PreBindWork | None]: ...


@runtime_checkable
class PreBindWatcher(Protocol):
    """Not an extension point: a PreBind plugin that sees in the objects when its work is done."""

    name: str

    def pre_bind_done(self, pod: Pod, node_name: str) -> Status:
        """Asked when objects changed and when the deadline has come: Success, Wait, or why it never will be."""
        ...


@runtime_checkable
class BindPlugin(Protocol):
    name: str

    def bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        """Success: the engine asks the shell for this binding. Skip: not my pod."""
        ...


@runtime_checkable
class PostBindPlugin(Protocol):
    name: str

    def post_bind(self, state: CycleState, pod: Pod, node_name: str) -> None: ...
