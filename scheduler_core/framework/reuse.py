"""What a plugin's answers depend on. Where it says so, they are cached for equivalent pods."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Protocol, runtime_checkable

from scheduler_core.api.pod import Pod
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import Status
from scheduler_core.table.node_table import NodeTable


class DependsOn(IntEnum):
    """What the answers of a plugin depend on beside the pod; each level includes those before it."""

    POD = 0  # nothing: all nodes get one answer
    NODE_OBJECT = 1  # the node object of the node judged
    NODE_INFO = 2  # everything of the node judged, its pods included
    CLUSTER = 3  # other nodes, or other objects: asked in every cycle


@runtime_checkable
class CacheablePlugin(Protocol):
    """Not an extension point: a plugin that says what its answers depend on, so that they may be cached.

    Beside that, PreFilter, Filter, PreScore and Score must depend on nothing but the pod's signature
    (`api/signature.py`) and the plugin's arguments. `score_nodes` judges each row by itself unless the plugin depends
    on the cluster. Its queueing hints see no more of the waiting pod than the signature, the names of its claims, and
    whether the event is about it. One plugin without it ends the caching for its whole profile
    (`Framework.ends_reuse`).
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
