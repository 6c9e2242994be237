"""What a plugin may use of the scheduler it runs in.

Source: kubernetes v1.34.1, pkg/scheduler/framework/interface.go (Handle).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.extenders import Extenders
from scheduler_core.framework.points import FilterPlugin, PreFilterExtensions
from scheduler_core.framework.reuse import CacheablePlugin
from scheduler_core.framework.table_forms import HeadroomPlugin, TableFilterPlugin
from scheduler_core.framework.waiting_pods import WaitingPods
from scheduler_core.model.effects import Effects
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import Status
from scheduler_core.model.types import PodInfo
from scheduler_core.ports import Draws
from scheduler_core.table.node_table import NodeTable


class Snapshot(Protocol):
    """The cluster as of the start of the cycle; readers never change it."""

    @property
    def table(self) -> NodeTable: ...
    @property
    def order(self) -> npt.NDArray[np.int32]:
        """Rows of `table` in node order, shape (n_nodes,)."""
        ...

    def list(self) -> Sequence[NodeInfo]: ...
    def have_pods_with_affinity_list(self) -> Sequence[NodeInfo]: ...
    def have_pods_with_required_anti_affinity_list(self) -> Sequence[NodeInfo]: ...
    def get(self, node_name: str) -> NodeInfo | None: ...
    def is_pvc_used_by_pods(self, key: str) -> bool: ...
    def num_nodes(self) -> int: ...


class Lister(Protocol):
    """Objects other than nodes and pods, as last seen by the engine."""

    def get(self, kind: str, key: str) -> KubeObject | None:
        """The object by `namespace/name` (or `name`)."""
        ...

    def list(self, kind: str) -> Sequence[KubeObject]:
        """All objects of the kind, in order of arrival."""
        ...

    def version(self, kind: str) -> int:
        """Raised by every change of an object of the kind: what was derived from equal versions is still so."""
        ...

    def changes(self, kind: str, since: int) -> Sequence[tuple[KubeObject | None, KubeObject | None]] | None:
        """(before, after) of every change of the kind since a version; None when that is not kept: list them then."""
        ...


class NominatedPods(Protocol):
    """Pods that intend to run on a node and are not bound yet."""

    def nominated_pods_for_node(self, node_name: str) -> Sequence[PodInfo]: ...
    def nominated_node_names(self) -> Iterable[str]:
        """Nodes with at least one nominated pod."""
        ...


class PluginRunner(Protocol):
    """The plugins of the profile, for asking "what if" about one node."""

    name: str

    def run_add_pod(self, state: CycleState, pod: Pod, pod_to_add: PodInfo, node_info: NodeInfo) -> Status: ...
    def run_remove_pod(self, state: CycleState, pod: Pod, pod_to_remove: PodInfo, node_info: NodeInfo) -> Status: ...
    def run_filters_with_nominated_pods(
        self, state: CycleState, pod: Pod, node_info: NodeInfo, nominated: NominatedPods
    ) -> Status: ...


class Handle(Protocol):
    """What a plugin may use of the scheduler it runs in; the snapshot only inside a scheduling cycle."""

    @property
    def snapshot(self) -> Snapshot: ...
    @property
    def lister(self) -> Lister: ...
    @property
    def runner(self) -> ProfileRunner: ...
    @property
    def nominated_pods(self) -> NominatedPods: ...
    @property
    def waiting_pods(self) -> WaitingPods: ...
    @property
    def extenders(self) -> Extenders: ...
    @property
    def draws(self) -> Draws: ...
    @property
    def now(self) -> int:
        """The time of the step, in microseconds."""
        ...

    @property
    def effects(self) -> Effects:
        """What the step asks for so far; its last attempt is the one under way."""
        ...

    @property
    def shared(self) -> dict[str, Any]:
        """What plugins of several profiles hold together, by a name of their own; it is not in checkpoints."""
        ...

    @property
    def observes(self) -> bool:
        """Whether another scheduler is watched at work: nothing that is asked for is carried out."""
        ...

    def activate(self, pod_keys: Iterable[str]) -> None:
        """Bring pods to the active queue whatever their backoff; gates still hold."""
        ...


PluginFactory = Callable[[Any, Handle], Any]
"""(args object of the configuration or None, handle) -> plugin instance; raises ConfigError on bad args."""


class ProfileRunner(PluginRunner, Protocol):
    """The plugins of the profile themselves, for asking "what if" about many rows at once."""

    @property
    def filter(self) -> Sequence[FilterPlugin]:
        """In running order."""
        ...

    @property
    def pre_filter_extensions(self) -> Sequence[PreFilterExtensions]: ...
    @property
    def table_filters(self) -> Mapping[str, TableFilterPlugin]:
        """By name, as the next two; empty where rules are asked node by node."""
        ...

    @property
    def headroom_filters(self) -> Mapping[str, HeadroomPlugin]: ...
    @property
    def cacheable(self) -> Mapping[str, CacheablePlugin]: ...
