"""A cluster in memory with a virtual clock: the engine and all controllers around the same objects."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from scheduler_core.api import manifests
from scheduler_core.api.times import time_text
from scheduler_core.apiserver.requests import Create, Delete, Patch, PatchType, Request
from scheduler_core.build import build
from scheduler_core.controllers.controller import ClusterOptions, Controller
from scheduler_core.controllers.registry import CONTROLLERS
from scheduler_core.model.changes import BindingVerdict, Change, EvictionVerdict, ObjectDeleted, ObjectPut
from scheduler_core.model.effects import Attempt, Effects, EvictionRequest
from scheduler_core.ports import SeededDraws
from scheduler_core.scheduler.scheduler import Budget

SECOND = 1_000_000
Manifest = dict[str, Any]


class LittleCluster:
    """`run(seconds)` in steps of half a second. `log` keeps (now, request) of all controllers."""

    def __init__(self, objects: list[Manifest], script: Controller, *, start: int) -> None:
        self.now = start
        self.objects: dict[tuple[str, str], Manifest] = {}
        self.engine = build(draws=SeededDraws(1))
        self.controllers = [*(make(ClusterOptions()) for make in CONTROLLERS), script]
        self.log: list[tuple[int, Request]] = []
        self.messages: dict[str, str] = {}  # last message of pods that were not scheduled
        self.preemptions: list[tuple[int, Attempt]] = []
        self.evicted: dict[str, int] = {}  # keys of victims, and when they were asked to go
        self._turn = 0
        self._changes: list[Change] = []
        classes = [manifest for manifest in objects if manifest["kind"] == "PriorityClass"]
        self._priorities = {given["metadata"]["name"]: given["value"] for given in classes}
        self._default_class = next((each["metadata"]["name"] for each in classes if each["globalDefault"]), "")
        for manifest in objects:
            self._put(manifest)

    @property
    def pods(self) -> list[Manifest]:
        return [manifest for (kind, _), manifest in self.objects.items() if kind == "Pod"]

    @property
    def alive(self) -> list[Manifest]:
        return [pod for pod in self.pods if pod["status"].get("phase") not in ("Succeeded", "Failed")]

    def run(self, seconds: float) -> None:
        end = self.now + round(seconds * SECOND)
        while self.now < end:
            self.now += SECOND // 2
            self.step()

    def step(self) -> None:
        """All that is due now and all that follows from it."""
        while True:
            changes, self._changes = self._changes, []
            for controller in self.controllers:
                for request in controller.step(self.now, changes):
                    self.log.append((self.now, request))
                    self._carry_out(request)
            self._schedule(changes)
            if not self._changes:
                return

    def _schedule(self, changes: list[Change]) -> None:
        effects = self.engine.step(self.now, changes, Budget(max_cycles=500))
        for attempt in effects.attempts:
            if attempt.result == "scheduled":
                self.messages.pop(attempt.pod_key, None)
            else:
                self.messages[attempt.pod_key] = attempt.message
            preemption = attempt.post_filter.preemption if attempt.post_filter is not None else None
            if preemption is not None and preemption.chosen:
                self.preemptions.append((self.now, attempt))
        self._write(effects)
        for binding in effects.bindings:
            pod = self.objects.get(("Pod", f"{binding.namespace}/{binding.name}"))
            bound = pod is not None and pod["metadata"]["uid"] == binding.pod_uid
            self._changes.append(BindingVerdict(binding.pod_uid, binding.node_name, bound, "" if bound else "gone"))
            if pod is not None and bound:
                pod["spec"]["nodeName"] = binding.node_name
                self._put(pod)
        for eviction in effects.evictions:
            self._evict(eviction)

    def _write(self, effects: Effects) -> None:
        for obj in effects.writes:
            there = self.objects.get((obj.kind, obj.key))
            if there is not None and there["metadata"]["resourceVersion"] == obj.metadata.resource_version:
                self._put(manifests.encode(obj))
        for patch in effects.status_patches:
            pod = self.objects.get(("Pod", f"{patch.namespace}/{patch.name}"))
            nominated = patch.nominated_node_name
            if pod is None or nominated is None or pod["spec"].get("nodeName"):
                continue
            if nominated != pod["status"].get("nominatedNodeName", ""):
                pod["status"]["nominatedNodeName"] = nominated
                self._put(pod)

    def _evict(self, eviction: EvictionRequest) -> None:
        key = f"{eviction.namespace}/{eviction.name}"
        victim = self.objects.get(("Pod", key))
        is_there = victim is not None and victim["metadata"]["uid"] == eviction.pod_uid
        if victim is not None and is_there:
            self.evicted[key] = self.now
            target = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
            victim["status"].setdefault("conditions", []).append(target)
            self._delete(victim)
        uids = (eviction.pod_uid,)
        self._changes.append(EvictionVerdict(eviction.preemptor_uid, True, "", 0, uids, () if is_there else uids))

    def _carry_out(self, request: Request) -> None:
        match request:
            case Create():
                manifest = copy.deepcopy(dict(request.manifest))
                obj = manifests.decode(manifest)
                if (obj.kind, obj.key) not in self.objects:
                    self._put(manifest)
            case Patch():
                there = self.objects.get((request.key.kind, _key(request.key.namespace, request.key.name)))
                if there is not None and request.uid in ("", there["metadata"]["uid"]):
                    body: Any = copy.deepcopy(request.body)
                    if request.patch_type == PatchType.STRATEGIC:
                        conditions = {each["type"]: each for each in there["status"].get("conditions", [])}
                        for each in body["status"]["conditions"]:
                            conditions[each["type"]] = _merged(conditions.get(each["type"]), each)
                        body["status"]["conditions"] = list(conditions.values())
                    self._put(_merged(there, body))
            case Delete():
                key = _key(request.key.namespace, request.key.name)
                there = self.objects.get((request.key.kind, key))
                if there is None or there["metadata"]["uid"] != request.uid:
                    return
                if request.key.kind == "Pod" and request.grace_seconds is None:
                    self._delete(there)
                else:
                    del self.objects[request.key.kind, key]
                    self._changes.append(
                        ObjectDeleted(request.key.kind, request.key.namespace, request.key.name, request.uid)
                    )

    def _delete(self, pod: Manifest) -> None:
        metadata = pod["metadata"]
        if not pod["spec"].get("nodeName"):
            self._remove(f"{metadata['namespace']}/{metadata['name']}", metadata["uid"])
        else:
            metadata["deletionTimestamp"] = time_text(self.now + 30 * SECOND)
            metadata["deletionGracePeriodSeconds"] = 30
            self._put(pod)

    def _remove(self, key: str, uid: str) -> None:
        if self.objects.pop(("Pod", key), None) is not None:
            namespace, _, name = key.partition("/")
            self._changes.append(ObjectDeleted("Pod", namespace, name, uid))

    def _put(self, manifest: Manifest) -> None:
        self._turn += 1
        metadata = manifest["metadata"]
        metadata.setdefault("uid", f"uid-{self._turn}")
        metadata["resourceVersion"] = str(self._turn)
        manifest.setdefault("status", {})
        if manifest["kind"] == "Pod":
            manifest["spec"].setdefault("schedulerName", "default-scheduler")
            class_name = manifest["spec"].get("priorityClassName", self._default_class)
            manifest["spec"].setdefault("priority", self._priorities.get(class_name, 0))
        obj = manifests.decode(manifest)
        self.objects[(obj.kind, obj.key)] = manifest
        self._changes.append(ObjectPut(obj))


def _key(namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if namespace else name


def _merged(target: Any, patch: Any) -> Any:
    if not isinstance(patch, Mapping):
        return patch
    result = dict(target) if isinstance(target, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = _merged(result.get(name), value)
    return result
