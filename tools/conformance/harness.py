"""One recorded scenario run on our engine, pod by pod, with the recorded choices: the first of equals, offset 0.

The engine sees the scenario and nothing else. Between the cycles the harness does what the recording's did: a
scheduled pod is confirmed as bound and Running, victims leave at once, nominations are written. Time stands still.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from msgspec.structs import replace

from scheduler_core import config
from scheduler_core.api import manifests
from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod
from scheduler_core.build import build
from scheduler_core.model.changes import BindingVerdict, Change, EvictionVerdict, ObjectDeleted, ObjectPut
from scheduler_core.model.effects import Attempt, Effects
from scheduler_core.model.status import SUCCESS, Status
from scheduler_core.model.types import QueuedPodInfo
from scheduler_core.ports import FirstDraws
from scheduler_core.scheduler.scheduler import Budget, Scheduler
from tools.conformance import volumes
from tools.conformance.render import Json, cycle_of, not_run, profile_of, status_of

FIRST_START = datetime(2030, 1, 1, tzinfo=UTC)  # start of the first pod bound; one minute more for each further one
NOW_US = int((FIRST_START + timedelta(days=30)).timestamp()) * 1_000_000
_SECOND_US = 1_000_000
_NO_CYCLES = Budget(max_cycles=0)


def run_scenario(scenario: Mapping[str, Any], *, use_table: bool) -> Json:
    """What our engine makes of the scenario, in the shape of a recorded result."""
    scheduler = build(config.load(scenario["config"]), draws=FirstDraws(), use_table=use_table)
    run = _Run(scheduler, [_pod(manifest) for manifest in scenario["pending"]])
    run.load([manifests.decode(manifest) for manifest in scenario["objects"]])
    cycles = run.cycles()
    result: Json = {
        "name": scenario["name"],
        "percentageOfNodesToScore": scheduler.engine.percentage_of_nodes_to_score,
        "nodeOrder": run.node_order(),
        "queueOrder": run.queue_order(),
        "cycles": cycles,
    }
    if scenario["config"] is not None:
        result["profiles"] = [profile_of(framework) for _, framework in sorted(scheduler.engine.frameworks.items())]
    return result


class _Run:
    """A scheduler with the objects the harness keeps for it."""

    def __init__(self, scheduler: Scheduler, pending: list[Pod]) -> None:
        self.scheduler = scheduler
        self._pending = {pod.key: pod for pod in pending}
        self._pods: dict[str, Pod] = {}  # by uid, as last written
        self._bound = 0
        self._version = 0

    def load(self, objects: list[KubeObject]) -> None:
        """Everything that is there before the first cycle: nodes, bound pods, then those that wait."""
        nodes = [obj for obj in objects if obj.kind == "Node"]
        pods = [obj for obj in objects if isinstance(obj, Pod)]
        others = [obj for obj in objects if obj.kind not in ("Node", "Pod")]
        bound = [pod for pod in pods if pod.is_assigned]
        waiting = [pod for pod in pods if not pod.is_assigned]
        # A pod that names its node would be taken for bound: it waits without the name and has it in its cycle only.
        pending = [pod.on_node("") for pod in self._pending.values()]
        everything = [*others, *nodes, *bound, *waiting, *pending]
        self._apply([self._put(obj) for obj in everything])

    def cycles(self) -> list[Json]:
        """A cycle for each pending pod in order, and a second one for a pod that preempted."""
        cycles: list[Json] = []
        for key in self._pending:
            attempt, cycle = self._cycle(key)
            cycles.append(cycle)
            if attempt is not None and attempt.post_filter is not None and attempt.post_filter.code == "Success":
                self.scheduler.engine.activate([key])  # whether or not the deletions brought it back
                cycles.append(self._cycle(key)[1])
        return cycles

    def node_order(self) -> list[str]:
        engine = self.scheduler.engine
        engine.snapshot.update_snapshot(engine.cache)
        return [info.name for info in engine.snapshot.list()]

    def queue_order(self) -> list[str]:
        """The pods as the queue sorts them when they come a second apart."""
        sort = next(iter(self.scheduler.engine.frameworks.values())).queue_sort
        entries = [QueuedPodInfo(pod, second * _SECOND_US) for second, pod in enumerate(self._pending.values())]
        return [entry.key for entry in sorted(entries, key=sort.sort_key)]

    def _cycle(self, key: str) -> tuple[Attempt | None, Json]:
        entry, recorded = self.scheduler.engine.queue.get(key), self._pending[key]
        if entry is not None and recorded.is_assigned:
            entry.pod = entry.pod.on_node(recorded.spec.node_name)
        effects = self.scheduler.schedule_pod_now(key, NOW_US)
        if not effects.attempts:
            return None, self._kept_out(key)
        (attempt,) = effects.attempts
        decided = self._complete_volumes(effects)
        self._remove_victims(attempt)
        return attempt, cycle_of(attempt) | ({"volumes": decided} if decided else {})

    def _kept_out(self, key: str) -> Json:
        """A pod the queue would not give: nobody's, or gated (the recording looks for a deletion before that)."""
        engine = self.scheduler.engine
        pod = self._pending[key]
        framework = engine.frameworks.get(pod.spec.scheduler_name)
        if framework is None:
            error = f'profile not found for scheduler name "{pod.spec.scheduler_name}"'
            return not_run(key, 1, "noProfile", engine.next_start_node_index) | {"error": error}
        if pod.is_terminating:
            return not_run(key, 1, "skipped", engine.next_start_node_index)
        cycle = not_run(key, 1, "gated", engine.next_start_node_index)
        for plugin in framework.pre_enqueue:
            status: Status = plugin.pre_enqueue(pod)
            if status is not SUCCESS and not status.is_success:
                return cycle | {"preEnqueue": status_of(status.by(plugin.name))}
        return cycle

    def _complete_volumes(self, effects: Effects) -> Json:
        """The volumes the cycle decided on are bound, then all the rest is carried out; what was decided."""
        objects, told = volumes.complete(effects.writes, self.scheduler.engine.store)
        self._carry_out(effects)
        if objects:
            self._carry_out(self._apply([self._put(obj) for obj in objects]))
        return told

    def _carry_out(self, effects: Effects) -> None:
        """What the cycle asked for, and what that leads to, until nothing more is asked for."""
        while True:
            changes: list[Change] = []
            for patch in effects.status_patches:
                if patch.nominated_node_name is not None:
                    changes += self._nominate(patch.pod_uid, patch.nominated_node_name)
            for eviction in effects.evictions:
                self._pods.pop(eviction.pod_uid, None)
                changes.append(ObjectDeleted("Pod", eviction.namespace, eviction.name, eviction.pod_uid))
            for preemptor_uid in dict.fromkeys(eviction.preemptor_uid for eviction in effects.evictions):
                changes.append(EvictionVerdict(preemptor_uid, done=True))
            for binding in effects.bindings:
                changes += [BindingVerdict(binding.pod_uid, binding.node_name, bound=True)]
                changes += self._confirm(binding.pod_uid, binding.node_name)
            if not changes:
                return
            effects = self._apply(changes)

    def _remove_victims(self, attempt: Attempt) -> None:
        """Victims that were being deleted already are not asked to leave, but leave with the others."""
        record = attempt.post_filter.preemption if attempt.post_filter is not None else None
        victims = set(record.victims) if record is not None else set()
        left = [pod for pod in self._pods.values() if pod.key in victims]
        for pod in left:
            del self._pods[pod.uid]
        self._apply([ObjectDeleted(Pod.kind, pod.namespace, pod.name, pod.uid) for pod in left])

    def _nominate(self, uid: str, node_name: str) -> list[Change]:
        pod = self._pods.get(uid)
        if pod is None:
            return []
        return [self._put(replace(pod, status=replace(pod.status, nominated_node_name=node_name)))]

    def _confirm(self, uid: str, node_name: str) -> list[Change]:
        started = FIRST_START + timedelta(minutes=self._bound)
        self._bound += 1
        pod = self._pods[uid].on_node(node_name)
        status = replace(pod.status, phase="Running", start_time=started, nominated_node_name="")
        return [self._put(replace(pod, status=status))]

    def _put(self, obj: KubeObject) -> ObjectPut:
        self._version += 1
        obj = replace(obj, metadata=replace(obj.metadata, resource_version=str(self._version)))
        if isinstance(obj, Pod):
            self._pods[obj.uid] = obj
        return ObjectPut(obj)

    def _apply(self, changes: Sequence[Change]) -> Effects:
        return self.scheduler.step(NOW_US, changes, _NO_CYCLES)


def _pod(manifest: Mapping[str, Any]) -> Pod:
    return cast(Pod, manifests.decode(manifest, kind="Pod"))
