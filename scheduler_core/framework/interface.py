"""One Protocol per extension point, and what a plugin may use.

A plugin is a class with `name` and the methods of the points it takes part in; the runtime finds out
which by these Protocols. Hot rules have a second form over all rows of the node table at once
(`filter_nodes`, `score_nodes`, and `pre_filter_table`, `pre_score_table` where these count pods of all nodes); a plugin
without it runs node by node, with equal results. What its answers depend on it may say with `depends_on`: then they are
cached for equivalent pods.
Longer than 400 lines because whoever writes a plugin finds every contract on this one page.
Source: kubernetes v1.34.1, pkg/scheduler/framework/interface.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Protocol, runtime_checkable

import msgspec
import numpy as np
import numpy.typing as npt

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.extenders import Extenders
from scheduler_core.framework.waiting_pods import WaitingPods
from scheduler_core.model.changes import EvictionVerdict
from scheduler_core.model.effects import ClaimWrite, DeviceRecord, Effects, FilterRows
from scheduler_core.model.events import ClusterEvent
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import Status
from scheduler_core.model.types import NodeToStatus, PodInfo, QueuedPodInfo
from scheduler_core.ports import Draws
from scheduler_core.table.node_table import NodeTable

MAX_NODE_SCORE = 100

Int64Array = npt.NDArray[np.int64]
UInt16Array = npt.NDArray[np.uint16]
RowIndex = slice | npt.NDArray[np.intp]
"""Which rows of the table are asked for: ALL_ROWS or their numbers; an index into any column."""
ALL_ROWS = slice(None)


class QueueingHint(IntEnum):
    """Whether an event is worth trying the pod again."""

    SKIP = 0
    QUEUE = 1


HintFn = Callable[[Pod, KubeObject | None, KubeObject | None], QueueingHint]


@dataclass(frozen=True, slots=True)
class ClusterEventWithHint:
    """A registration; no hint means every such event is worth a try. A hint that raises counts as QUEUE."""

    event: ClusterEvent
    hint: HintFn | None = None


@dataclass(frozen=True, slots=True)
class PreFilterResult:
    """Names of the nodes worth looking at; None means all."""

    node_names: frozenset[str] | None = None


class NominatingMode(IntEnum):
    NOOP = 0
    OVERRIDE = 1


@dataclass(frozen=True, slots=True)
class NominatingInfo:
    """What to do with `status.nominatedNodeName`: leave it, or set it (empty clears)."""

    mode: NominatingMode = NominatingMode.NOOP
    nominated_node_name: str = ""


CLEAR_NOMINATION = NominatingInfo(NominatingMode.OVERRIDE, "")


class DependsOn(IntEnum):
    """What the answers of a plugin depend on beside the pod; each level includes those before it."""

    POD = 0  # nothing: all nodes get one answer
    NODE_OBJECT = 1  # the node object of the node judged
    NODE_INFO = 2  # everything of the node judged, its pods included
    CLUSTER = 3  # other nodes, or other objects: asked in every cycle


class RowVerdicts(msgspec.Struct, frozen=True):
    """Answer of a filter for the rows asked for: a code is 0 for success, else 1 + index into `statuses`.

    `codes`: uint16, in the order of the rows asked for; for all rows that is (n_rows,) in row order of the table, not
    in node order. Whoever gets them only reads them: a plugin may give the same array again.
    """

    codes: UInt16Array
    statuses: Sequence[Status]

    def at(self, rows: RowIndex) -> RowVerdicts:
        """Pick the verdicts of the rows, where these are of all rows."""
        return self if isinstance(rows, slice) else RowVerdicts(self.codes[rows], self.statuses)


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
class TablePreFilterPlugin(Protocol):
    name: str

    def pre_filter_table(self, state: CycleState, pod: Pod, table: NodeTable) -> tuple[PreFilterResult | None, Status]:
        """The answer of `pre_filter`, and a state that says the same, from the columns of all rows."""
        ...


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
class TableFilterPlugin(Protocol):
    name: str

    def filter_nodes(self, state: CycleState, pod: Pod, table: NodeTable, rows: RowIndex) -> RowVerdicts | None:
        """Verdicts of the rows asked for; None when all of them pass."""
        ...


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
class TablePreScorePlugin(Protocol):
    name: str

    def pre_score_table(self, state: CycleState, pod: Pod, table: NodeTable, rows: npt.NDArray[np.intp]) -> Status:
        """The answer of `pre_score`, and a state that says the same; `rows` are those of the feasible nodes."""
        ...


@runtime_checkable
class ScorePlugin(Protocol):
    name: str

    def score(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> tuple[int, Status]: ...


@runtime_checkable
class TableScorePlugin(Protocol):
    name: str

    def score_nodes(
        self, state: CycleState, pod: Pod, table: NodeTable, rows: npt.NDArray[np.intp]
    ) -> Int64Array | None:
        """Raw scores of the given rows, in their order, shape (len(rows),); None: ask node by node (it will fail)."""
        ...


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


@dataclass(slots=True)
class PreBindWork:
    """What must be written before the pod may be bound, and whether somebody must be awaited.

    The shell carries `writes` and `claim_writes` out. When `awaits` is true the pod waits for a PreBindVerdict, or for
    its plugin to see for itself (`PreBindWatcher`), which is asked at `deadline` (engine time) at the latest.
    """

    writes: list[KubeObject] = field(default_factory=list)
    awaits: bool = False
    deadline: int | None = None
    claim_writes: list[ClaimWrite] = field(default_factory=list)


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


@runtime_checkable
class EvictionObserver(Protocol):
    """Not an extension point: a plugin that asked for evictions hears what came of them."""

    name: str

    def evictions_done(self, verdict: EvictionVerdict) -> None: ...


@runtime_checkable
class DeviceAccountant(Protocol):
    """Not an extension point: a plugin that tells, for the record of an attempt, what became of devices."""

    name: str

    def account(
        self, state: CycleState, pod: Pod, rows: FilterRows | None, infos: Sequence[NodeInfo]
    ) -> DeviceRecord | None:
        """Called when all is decided; `rows` are indices into `infos`. None when devices played no part."""
        ...


@runtime_checkable
class CacheablePlugin(Protocol):
    """Not an extension point: a plugin that says what its answers depend on, so that they may be cached.

    Beside that, PreFilter, Filter, PreScore and Score must depend on nothing but the pod's signature
    (`api/signature.py`) and the plugin's arguments. `score_nodes` judges each row by itself unless the plugin depends
    on the cluster. Its queueing hints see no more of the waiting pod than the signature, and whether the event is about
    it. One plugin without it ends the caching for its whole profile (`Framework.ends_reuse`).
    """

    name: str

    def depends_on(self, pod: Pod) -> DependsOn | None:
        """What the answers to pods with this signature depend on; None when they cannot be cached."""
        ...


@runtime_checkable
class NodeJudgePlugin(Protocol):
    """Not an extension point: a filter whose verdict of a node, once the pod is known, depends on the node alone."""

    name: str

    def node_judge(self, state: CycleState, pod: Pod) -> Callable[[NodeInfo], Status]:
        """What `filter` answers, as a function of the node; it holds for all pods with this signature."""
        ...


@runtime_checkable
class NodeScorerPlugin(Protocol):
    """Not an extension point: a scorer whose score of a node, once the pod is known, depends on the node alone."""

    name: str

    def node_scorer(self, state: CycleState, pod: Pod) -> Callable[[NodeInfo], int]:
        """What `score` answers, which never fails, as a function of the node; it holds for all pods with this
        signature."""
        ...


@runtime_checkable
class SometimesOnClusterPlugin(Protocol):
    """Not an extension point: a cacheable plugin that depends on the cluster only while something is there."""

    name: str

    def depends_on_cluster(self, pod: Pod, table: NodeTable) -> bool:
        """False: for as long as this stays so, its answers to pods with this signature depend on nothing else."""
        ...


@runtime_checkable
class StatefulPlugin(Protocol):
    """Not an extension point: a plugin that remembers something between steps writes it into checkpoints."""

    name: str

    def dump_state(self) -> Any:
        """Plain values, as MessagePack takes them."""
        ...

    def load_state(self, state: Any) -> None:
        """Take over what `dump_state` gave; the plugin is fresh."""
        ...


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


class Headroom(msgspec.Struct, frozen=True):
    """What would be left on some rows with the pod on them; it fits where nothing is below 0.

    `left`: (1 + len(resources), len(rows)) int64; line 0 counts pods, line 1 + i is of the resource whose index in the
    table is `resources[i]`. The caller may write into it: each pod less on a row adds 1 and its requests.
    """

    left: Int64Array
    resources: tuple[int, ...]


@runtime_checkable
class HeadroomPlugin(Protocol):
    """Not an extension point: a filter that looks at the pods of a node only to add up their number and requests."""

    name: str

    def headroom(self, state: CycleState, pod: Pod, table: NodeTable, rows: npt.NDArray[np.intp]) -> Headroom | None:
        """None: only asking node by node tells."""
        ...

    def headroom_verdicts(
        self, state: CycleState, pod: Pod, table: NodeTable, rows: npt.NDArray[np.intp], left: Int64Array
    ) -> RowVerdicts | None:
        """What `filter` says of the rows when this is left; None when all of them pass."""
        ...
