"""Recorded operations on the real scheduling queue, run on ours and compared step by step.

The operations go through the engine's own event handlers, cache and failure handler; the tie rule is the recordings'
(`namespace/name`). Only the scenario is run; the recorded side is looked at afterwards.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from msgspec import structs

from scheduler_core import config as configuration
from scheduler_core.api import manifests
from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod
from scheduler_core.build import build
from scheduler_core.cache.cache import CacheError
from scheduler_core.framework.answers import CLEAR_NOMINATION, NominatingInfo, NominatingMode
from scheduler_core.framework.hints import HintMap
from scheduler_core.framework.points import Plugin, PreEnqueuePlugin
from scheduler_core.framework.runtime import Framework
from scheduler_core.model.changes import ObjectDeleted, ObjectPut
from scheduler_core.model.effects import Effects
from scheduler_core.model.events import ASSIGNED_POD_DELETE, ActionType, ClusterEvent, EventResource
from scheduler_core.model.status import Status
from scheduler_core.model.types import Diagnosis, FitError, QueuedPodInfo
from scheduler_core.plugins.default_preemption import DefaultPreemption
from scheduler_core.ports import FirstDraws
from scheduler_core.queue.options import SECOND_US
from scheduler_core.queue.sub_queues import QueueParts
from scheduler_core.scheduler.engine import Engine
from scheduler_core.scheduler.event_handlers import apply_change
from scheduler_core.scheduler.failure import Failure, fit_failure, handle_scheduling_failure
from tools.conformance.compare import Comparison, Divergence
from tools.conformance.queue_recorder import MS_US, Json, RecordingQueue, written

_BOOM = "boom"
# What has to agree; calls and logs only help to find a difference.
COMPARED = frozenset({"state", "popped", "blocked", "from", "info", "errors", "worth", "incoming", "pods", "summary"})


@dataclass(frozen=True, slots=True)
class StepDifference:
    """The first field that differs; `step` 0 is `init`."""

    step: int
    op: str
    field: str
    expected: Any
    got: Any


def run_queue_scenario(scenario: Mapping[str, Any]) -> list[Json]:
    """Our steps, in the form of the recorded ones."""
    return QueueReplay(scenario).steps()


def differing_steps(
    expected: Sequence[Json], got: Sequence[Json], fields: Collection[str] | None = None
) -> list[StepDifference]:
    """One difference for each step that does not agree, in any of the fields (None: whatever is recorded)."""
    found = []
    for number, step in enumerate(expected):
        ours = got[number] if number < len(got) else {}
        for field in sorted({*step, *ours}):
            if (fields is None or field in fields) and step.get(field) != ours.get(field):
                found.append(StepDifference(number, step["op"], field, step.get(field), ours.get(field)))
                break
    return found


def compare_steps(expected: Mapping[str, Any], got: Sequence[Json]) -> Comparison:
    """Two lists of steps, in the fields that have to agree."""
    scenario, steps = str(expected["name"]), expected["steps"]
    differences = differing_steps(steps, got, COMPARED)
    divergences = tuple(
        Divergence(scenario, f"step {each.step} {each.op}", each.field, each.expected, each.got) for each in differences
    )
    return Comparison(len(steps), len(steps) - len(differences), max(0, len(got) - len(steps)), True, divergences)


class QueueReplay:
    """One scenario on a queue of our own engine."""

    def __init__(self, scenario: Mapping[str, Any]) -> None:
        self.scenario = scenario
        self.now = scenario["start"] * MS_US
        self.logs: list[str] = []
        self.engine = self._engine(scenario["config"])
        self.queue = cast(RecordingQueue, self.engine.queue)
        self.popped: dict[str, QueuedPodInfo] = {}  # by uid, as last popped
        self.assumed: dict[str, QueuedPodInfo] = {}
        self._before: Json = {}

    def steps(self) -> list[Json]:
        steps = [self.step({"op": "init"})]
        for op in self.scenario["ops"]:
            steps.append(self.step(op))
        return steps

    def _engine(self, config: Mapping[str, Any]) -> Engine:
        loaded = configuration.load(None)
        if config["profiles"]:
            (profile,) = loaded.profiles
            profiles = tuple(structs.replace(profile, scheduler_name=name) for name in config["profiles"])
            loaded = structs.replace(loaded, profiles=profiles)
        loaded = structs.replace(
            loaded,
            pod_initial_backoff_seconds=config["initialBackoffSeconds"],
            pod_max_backoff_seconds=config["maxBackoffSeconds"],
        )
        engine = build(
            loaded,
            draws=FirstDraws(),
            feature_gates=config["gates"],
            pod_max_in_unschedulable_us=config["maxInUnschedulableSeconds"] * SECOND_US,
            log=self._log,
        ).engine
        options = engine.queue.options
        sort = next(iter(engine.frameworks.values())).queue_sort
        engine.queue = RecordingQueue(
            QueueParts(
                sort_key=lambda info: (*sort.sort_key(info), info.key),
                stored_pod=engine.store.pod,
                options=options,
                hint_maps={
                    name: HintMap.of(self.plugins_of(framework), queueing_hints=options.queueing_hints)
                    for name, framework in engine.frameworks.items()
                },
                pre_enqueue={
                    name: [each for each in self.plugins_of(framework) if isinstance(each, PreEnqueuePlugin)]
                    for name, framework in engine.frameworks.items()
                },
                log=self._log,
            )
        )
        return engine

    def plugins_of(self, framework: Framework) -> list[Plugin]:
        return list(framework.instances.values())

    def _log(self, message: str, fields: dict[str, object]) -> None:
        if "err" in fields:
            error = fields["err"]
            self.logs.append(message if error is None else f"{message}: {error}")

    def step(self, op: Json) -> Json:
        queue = self.queue
        self.logs.clear()
        queue.calls, queue.errors, queue.requeuing.evaluations = [], [], []
        incoming = dict(queue.counters.incoming)
        self.engine.now = self.now
        self.engine.effects = Effects()
        step: Json = {"op": op["op"]}
        step |= getattr(self, f"_{op['op']}")(op) or {}
        step["t"] = self.now // MS_US
        state = queue.state(self.now, self._log)
        counted = {
            f"{name}/{event}": count - incoming.get((name, event), 0)
            for (name, event), count in queue.counters.incoming.items()
            if count != incoming.get((name, event), 0)
        }
        extra = {
            "errors": queue.errors,
            "logs": [*self.logs],
            "calls": queue.calls,
            "worth": queue.requeuing.sorted_evaluations(),
            "incoming": counted,
            "state": self._changed(state),
        }
        self._before = state
        return step | {field: value for field, value in extra.items() if value}

    def _changed(self, state: Json) -> Json:
        before = self._before
        changed = {name: value for name, value in state.items() if name != "pods" and before.get(name) != value}
        old = before.get("pods", {})
        pods = {key: entry for key, entry in state["pods"].items() if old.get(key) != entry}
        pods |= {key: None for key in old if key not in state["pods"]}
        return changed | ({"pods": pods} if pods else {})

    # -- objects ---------------------------------------------------------------------------------------------------

    def _init(self, op: Json) -> None:
        for manifest in self.scenario["objects"]:
            self._put(manifest)

    def _create(self, op: Json) -> None:
        self._put(op["object"])

    def _update(self, op: Json) -> None:
        self._put(op["object"])

    def _delete(self, op: Json) -> None:
        meta = op["object"]["metadata"]
        kind = op["object"]["kind"]
        if kind in manifests.KINDS:
            apply_change(self.engine, ObjectDeleted(kind, meta.get("namespace", ""), meta["name"]))

    def _put(self, manifest: Json) -> None:
        # Kinds we do not know have no handler: nothing would happen but in the store.
        if manifest["kind"] in manifests.KINDS:
            apply_change(self.engine, ObjectPut(_object(manifest)))

    # -- direct calls ------------------------------------------------------------------------------------------------

    def _q_add(self, op: Json) -> None:
        self.queue.add(_pod(op["new"]), self.now)

    def _q_update(self, op: Json) -> None:
        self.queue.update(_pod(op["old"]), _pod(op["new"]), self.now)

    def _q_delete(self, op: Json) -> None:
        self.queue.delete(_pod(op["old"]), self.now)

    def _pop(self, op: Json) -> Json:
        queue = self.queue
        actives, backoffs = [*queue.active.heap], [*queue.backoff.ordinary]
        info = queue.pop(self.now)
        if info is None:
            return {"popped": None} if queue.closed else {"blocked": True}
        self.popped[info.uid] = info
        from_active = any(each is info for each in actives)
        others = actives if from_active else backoffs
        tie = self._tie(info, from_active)
        tied = [each.key for each in others if self._tie(each, from_active) == tie and each is not info]
        entry = queue.entry(info, "inFlight", self.now)  # recorded so with hints off too
        step = {"popped": info.key, "from": "active" if from_active else "backoff", "info": entry}
        if op.get("done"):
            queue.done(info.uid)
        return step | ({"tied": tied} if tied else {})

    def _tie(self, info: QueuedPodInfo, from_active: bool) -> tuple[Any, ...]:
        """Return the sort key within a sub-queue; entries with equal keys may come in any order."""
        order = self.queue.sort_key(info)[:-1]
        return order if from_active else (self.queue.backoff.backoff_time(info), *order)

    def _done(self, op: Json) -> None:
        self.queue.done(op["uid"])

    def _q_fail(self, op: Json) -> Json:
        info = self.popped[op["uid"]]
        info.unschedulable_plugins = set(op.get("unschedulable", ()))
        info.pending_plugins = set(op.get("pending", ()))
        cycle = op.get("cycle", self.queue.scheduling_cycle)
        self.queue.add_unschedulable_if_not_present(info, cycle, self.now)
        return {"info": self._info(info)}

    # -- the scheduler's own ways ----------------------------------------------------------------------------------

    def _fail(self, op: Json) -> Json:
        info = self.popped[op["uid"]]
        nominating = NominatingInfo()
        if "nominate" in op:
            nominating = NominatingInfo(NominatingMode.OVERRIDE, op["nominate"])
        self._handle_failure(info, op, nominating)
        return {"info": self._info(info)}

    def _assume(self, op: Json) -> None:
        info = self.popped[op["uid"]]
        try:
            self.engine.cache.assume_pod(info.pod.on_node(op["node"]))
        except CacheError as error:
            self.queue.errors.append(str(error))
            self._log("Scheduler cache AssumePod failed", {"err": str(error)})
            return
        self.assumed[op["uid"]] = replace(
            info,
            pod=info.pod.on_node(op["node"]),
            unschedulable_plugins=set(info.unschedulable_plugins),
            pending_plugins=set(info.pending_plugins),
        )
        self.queue.delete_nominated_pod_if_exists(info.pod)

    def _forget(self, op: Json) -> Json:
        info = self.assumed[op["uid"]]
        pod = info.pod
        forgotten = True
        try:
            self.engine.cache.forget_pod(pod)
        except CacheError as error:
            forgotten = False
            self._log("scheduler cache ForgetPod failed", {"err": str(error)})
        rejected = bool(op.get("unschedulable") or op.get("pending"))
        if forgotten and not rejected:
            self.engine.move_all(ASSIGNED_POD_DELETE, pod, None)
        self._handle_failure(info, op, CLEAR_NOMINATION)
        if forgotten and rejected:
            self.engine.move_all(ASSIGNED_POD_DELETE, pod, None, lambda other: other.uid != pod.uid)
        return {"info": self._info(info)}

    def _handle_failure(self, info: QueuedPodInfo, op: Json, nominating: NominatingInfo) -> None:
        unschedulable, pending = set(op.get("unschedulable", ())), set(op.get("pending", ()))
        if unschedulable or pending:
            diagnosis = Diagnosis(unschedulable_plugins=unschedulable, pending_plugins=pending)
            failure = fit_failure(FitError(1, diagnosis), nominating)
        else:
            failure = Failure(Status.failed(_BOOM), None, nominating)
            self._log("Error scheduling pod; retrying", {"err": _BOOM})
        framework = self.engine.frameworks[info.pod.spec.scheduler_name]
        handle_scheduling_failure(self.engine, framework, info, failure, None)

    # -- time and moves ----------------------------------------------------------------------------------------------

    def _advance(self, op: Json) -> None:
        self.now += op["ms"] * MS_US

    def _flush_backoff(self, op: Json) -> None:
        self.queue.flush_backoff_q_completed(self.now)

    def _flush_leftover(self, op: Json) -> None:
        self.queue.flush_unschedulable_pods_leftover(self.now)

    def _activate(self, op: Json) -> None:
        pods = [pod for key in op["pods"] if (pod := self.engine.store.pod(key)) is not None]
        self.queue.activate(pods, self.now)

    def _move(self, op: Json) -> None:
        event = ClusterEvent(EventResource(op["resource"]), ActionType(op["action"]), op.get("label", ""))
        old, new = (_decoded(op.get(name)) for name in ("old", "new"))
        self.queue.move_all_to_active_or_backoff_queue(event, old, new, self.now)

    # -- nominations, looking in -----------------------------------------------------------------------------------

    def _nominate(self, op: Json) -> None:
        pod = self.engine.store.pod(op["pod"])
        if pod is not None:
            info = NominatingInfo(NominatingMode.OVERRIDE, op["node"]) if "node" in op else NominatingInfo()
            self.queue.add_nominated_pod(pod, info)

    def _unnominate(self, op: Json) -> None:
        pod = self.engine.store.pod(op["pod"])
        if pod is not None:
            self.queue.delete_nominated_pod_if_exists(pod)

    def _nominated_for(self, op: Json) -> Json:
        infos = self.queue.nominated_pods_for_node(op["node"])
        return {"pods": [written(info.pod) for info in infos]}

    def _pending(self, op: Json) -> Json:
        return {"summary": self.queue.pending_pods()[1]}

    def _close(self, op: Json) -> None:
        self.queue.close()

    def _preempting(self, op: Json) -> None:
        for framework in self.engine.frameworks.values():
            for plugin in self.plugins_of(framework):
                if not isinstance(plugin, DefaultPreemption):
                    continue
                if op["on"]:
                    plugin.executor.preempting[op["uid"]] = None
                else:
                    plugin.executor.preempting.pop(op["uid"], None)

    def _info(self, info: QueuedPodInfo) -> Json:
        return self.queue.entry(info, "inFlight" if info.uid in self.queue.active.in_flight else "", self.now)


def _object(manifest: Json) -> KubeObject:
    """Some recorded objects lack their apiVersion; the kind says enough."""
    return manifests.convert(manifest, manifests.KINDS[manifest["kind"]])


def _pod(manifest: Json) -> Pod:
    return manifests.convert(manifest, Pod)


def _decoded(manifest: Json | None) -> KubeObject | None:
    return None if manifest is None else _object(manifest)
