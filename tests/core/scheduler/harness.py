"""A scheduler with a small cluster around it, and plugins that do as they are told.

`Cluster.step` feeds changes and keeps the effects; `confirm` carries out the bindings asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod
from scheduler_core.build import build
from scheduler_core.config.defaults import with_defaults
from scheduler_core.config.types import (
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    PluginEntry,
    Plugins,
    PluginSet,
)
from scheduler_core.framework.answers import (
    ClusterEventWithHint,
    Int64Array,
    NominatingInfo,
    PreBindWork,
    PreFilterResult,
    RowIndex,
    RowVerdicts,
)
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.model.changes import BindingVerdict, Change, ObjectDeleted, ObjectPut
from scheduler_core.model.effects import Attempt, Comparison, Effects
from scheduler_core.model.events import ASSIGNED_POD_DELETE, NODE_ADD, ActionType, ClusterEvent, EventResource
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import SUCCESS, Status
from scheduler_core.model.types import NodeToStatus, PodInfo
from scheduler_core.ports import Draws, FirstDraws
from scheduler_core.scheduler import checkpoint
from scheduler_core.scheduler.engine import Observer
from scheduler_core.scheduler.recent import SETTLED_US
from scheduler_core.scheduler.scheduler import Budget, Scheduler
from scheduler_core.table.node_table import NodeTable

START = 1_900_000_000 * 1_000_000
SECOND = 1_000_000
MANY = Budget(max_cycles=1_000)
NO_CYCLES = Budget(max_cycles=0)

Answer = Callable[..., Any]


class Told:
    """Base of the plugins below: calls are written to `log`; answers come from `answers` by method name."""

    def __init__(self, name: str, log: list[str], answers: Mapping[str, Answer]) -> None:
        self.name = name
        self.log = log
        self.answers = answers

    def ask(self, method: str, default: Any, *args: Any) -> Any:
        self.log.append(f"{method} {self.name}")
        answer = self.answers.get(method)
        return default if answer is None else answer(*args)


class GatePlugin(Told):
    def pre_enqueue(self, pod: Pod) -> Status:
        return self.ask("pre_enqueue", SUCCESS, pod)  # type: ignore[no-any-return]


class FilteringPlugin(Told):
    def pre_filter(
        self, state: CycleState, pod: Pod, node_infos: Sequence[NodeInfo]
    ) -> tuple[PreFilterResult | None, Status]:
        return self.ask("pre_filter", (None, SUCCESS), pod)  # type: ignore[no-any-return]

    def add_pod(self, state: CycleState, pod: Pod, pod_to_add: PodInfo, node_info: NodeInfo) -> Status:
        return self.ask("add_pod", SUCCESS, pod, pod_to_add.pod, node_info)  # type: ignore[no-any-return]

    def remove_pod(self, state: CycleState, pod: Pod, pod_to_remove: PodInfo, node_info: NodeInfo) -> Status:
        return self.ask("remove_pod", SUCCESS, pod, pod_to_remove.pod, node_info)  # type: ignore[no-any-return]

    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status:
        return self.ask("filter", SUCCESS, pod, node_info)  # type: ignore[no-any-return]

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        scaled = ClusterEvent(EventResource.POD, ActionType.UPDATE | ActionType.DELETE)
        return (ClusterEventWithHint(NODE_ADD), ClusterEventWithHint(ASSIGNED_POD_DELETE), ClusterEventWithHint(scaled))


class PostFilteringPlugin(Told):
    def post_filter(
        self, state: CycleState, pod: Pod, node_to_status: NodeToStatus
    ) -> tuple[NominatingInfo | None, Status]:
        return self.ask("post_filter", (None, Status.unschedulable()), pod, node_to_status)  # type: ignore[no-any-return]


class ScoringPlugin(Told):
    def pre_score(self, state: CycleState, pod: Pod, node_infos: Sequence[NodeInfo]) -> Status:
        return self.ask("pre_score", SUCCESS, pod)  # type: ignore[no-any-return]

    def score(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> tuple[int, Status]:
        return self.ask("score", (0, SUCCESS), pod, node_info)  # type: ignore[no-any-return]

    def normalize_scores(self, state: CycleState, pod: Pod, scores: Int64Array) -> Status:
        return self.ask("normalize_scores", SUCCESS, pod, scores)  # type: ignore[no-any-return]


class BindingPlugin(Told):
    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        return self.ask("reserve", SUCCESS, pod, node_name)  # type: ignore[no-any-return]

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        self.ask("unreserve", None, pod, node_name)

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> tuple[Status, int]:
        return self.ask("permit", (SUCCESS, 0), pod, node_name)  # type: ignore[no-any-return]

    def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> tuple[Status, PreBindWork | None]:
        return self.ask("pre_bind", (SUCCESS, None), pod, node_name)  # type: ignore[no-any-return]

    def bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        return self.ask("bind", SUCCESS, pod, node_name)  # type: ignore[no-any-return]

    def post_bind(self, state: CycleState, pod: Pod, node_name: str) -> None:
        self.ask("post_bind", None, pod, node_name)

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        return (ClusterEventWithHint(ASSIGNED_POD_DELETE),)


class EveryPointPlugin(GatePlugin, FilteringPlugin, PostFilteringPlugin, ScoringPlugin, BindingPlugin):
    """Takes part everywhere but in QueueSort."""

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        return (ClusterEventWithHint(NODE_ADD), ClusterEventWithHint(ASSIGNED_POD_DELETE))


class LabelTablePlugin(Told):
    """Refuses nodes by their `refuse-<name>` label, in both forms, with the label's value as the reason."""

    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status:
        assert node_info.node is not None
        reason = node_info.node.labels.get(f"refuse-{self.name}")
        if reason is None:
            return SUCCESS
        return Status.failed("broken") if reason == "error" else Status.unschedulable(reason)

    def filter_nodes(self, state: CycleState, pod: Pod, table: NodeTable, rows: RowIndex) -> RowVerdicts | None:
        import numpy as np

        codes = np.zeros(len(table), dtype=np.uint16)
        statuses: list[Status] = []
        for row, node_info in enumerate(table.node_infos):
            status = SUCCESS if node_info is None else self.filter(state, pod, node_info)
            if not status.is_success:
                statuses.append(status)
                codes[row] = len(statuses)
        return RowVerdicts(codes, statuses).at(rows) if statuses else None


class LabelRowPlugin(Told):
    """Answers as the plugin above, in the node form only."""

    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status:
        return LabelTablePlugin.filter(self, state, pod, node_info)  # type: ignore[arg-type]


@dataclass
class ToldPlugins:
    """A registry of plugins that share one log of calls."""

    log: list[str] = field(default_factory=list)
    factories: dict[str, Callable[[Any, Any], Any]] = field(default_factory=dict)

    def add(self, name: str, kind: type[Told] = EveryPointPlugin, **answers: Answer) -> ToldPlugins:
        self.factories[name] = lambda args, handle: kind(name, self.log, answers)
        return self


def profile(*names: str, name: str = "default-scheduler", default: bool = False, **sets: PluginSet) -> Any:
    """A profile that runs PrioritySort, DefaultBinder and these plugins, or these after the default ones."""
    entries = tuple(PluginEntry(each) for each in names)
    if default:
        multi_point = PluginSet(enabled=entries)
    else:
        needed = (PluginEntry("PrioritySort"), *entries, PluginEntry("DefaultBinder"))
        multi_point = PluginSet(enabled=needed, disabled=(PluginEntry("*"),))
    return KubeSchedulerProfile(scheduler_name=name, plugins=Plugins(multi_point=multi_point, **sets))


def configure(*profiles: KubeSchedulerProfile, **fields: Any) -> KubeSchedulerConfiguration:
    return with_defaults(KubeSchedulerConfiguration(profiles=profiles, **fields))


@dataclass
class Cluster:
    """A scheduler and what its shell knows."""

    scheduler: Scheduler
    now: int = START
    effects: list[Effects] = field(default_factory=list)

    def step(self, *changes: Change | KubeObject, budget: Budget = MANY, after: int = 0) -> Effects:
        """One step, `after` microseconds later."""
        self.now += after
        given = [ObjectPut(change) if isinstance(change, KubeObject) else change for change in changes]
        effects = self.scheduler.step(self.now, given, budget)
        self.effects.append(effects)
        return effects

    def compare(self, *changes: Change | KubeObject, after: int = 0) -> Comparison:
        """The one decision of another scheduler that comes with these, judged at once or when all is there."""
        told = self.step(*changes, budget=NO_CYCLES, after=after).comparisons
        (comparison,) = told or self.step(budget=NO_CYCLES, after=SETTLED_US).comparisons
        return comparison

    def put(self, *objects: KubeObject) -> Effects:
        """Objects arrive; no cycle runs."""
        return self.step(*objects, budget=NO_CYCLES)

    def delete(self, obj: KubeObject, *, after: int = 0) -> Effects:
        return self.step(ObjectDeleted(obj.kind, obj.namespace, obj.name, obj.uid), after=after)

    def confirm(self, effects: Effects, *, after: int = 0) -> Effects:
        """Carry out the bindings: the pods come back assigned, and the verdicts."""
        changes: list[Change] = []
        for binding in effects.bindings:
            pod = self.scheduler.engine.store.pod(f"{binding.namespace}/{binding.name}")
            assert pod is not None
            changes.append(ObjectPut(pod.on_node(binding.node_name)))
            changes.append(BindingVerdict(binding.pod_uid, binding.node_name, bound=True))
        return self.step(*changes, after=after)

    def attempt(self, *changes: Change | KubeObject, after: int = 0) -> Attempt:
        """One step that is expected to make exactly one attempt."""
        effects = self.step(*changes, after=after)
        assert len(effects.attempts) == 1, effects.attempts
        return effects.attempts[0]


def start(
    *profiles: KubeSchedulerProfile,
    plugins: ToldPlugins | None = None,
    draws: Draws | None = None,
    use_table: bool = True,
    observer: Observer | None = None,
    **fields: Any,
) -> Cluster:
    """A cluster without nodes under the profiles, or under upstream's defaults."""
    return Cluster(
        build(
            configure(*profiles, **fields),
            draws=draws or FirstDraws(),
            use_table=use_table,
            registry=plugins.factories if plugins is not None else None,
            observer=observer,
        )
    )


def dumped(scheduler: Scheduler) -> Any:
    """All that the engine knows, the snapshot brought up to date as by a first cycle and a second one."""
    for _ in range(2):
        scheduler.engine.snapshot.update_snapshot(scheduler.engine.cache)
    return msgspec.msgpack.decode(checkpoint.dump(scheduler))


def plain(attempt: Attempt) -> dict[str, Any]:
    """An attempt as plain values, for comparing."""
    return {name: _plain(getattr(attempt, name)) for name in Attempt.__struct_fields__ if name != "durations_ns"}


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return [str(value.dtype), value.tolist()]
    if isinstance(value, msgspec.Struct) and not isinstance(value, Status):
        return {name: _plain(getattr(value, name)) for name in value.__struct_fields__}
    return value
