"""A cluster in memory with a virtual clock: engine, kubelet, garbage collection and script around the same objects."""

from __future__ import annotations

import copy
from datetime import UTC, datetime, timedelta
from typing import Any

from scheduler_core.api import manifests
from scheduler_core.build import build
from scheduler_core.lifecycle.effects import (
    LifecycleEffect,
    NodeCordon,
    PodCreation,
    PodDeletion,
    PodRemoval,
    PodStatusWrite,
)
from scheduler_core.lifecycle.kubelet import Kubelet
from scheduler_core.lifecycle.pod_gc import PodGC
from scheduler_core.lifecycle.workloads import ScriptedWorkload
from scheduler_core.model.changes import BindingVerdict, Change, ObjectDeleted, ObjectPut
from scheduler_core.ports import SeededDraws
from scheduler_core.scheduler.scheduler import Budget

SECOND = 1_000_000
Manifest = dict[str, Any]


class LittleCluster:
    """`run(seconds)` in steps of half a second. `log` keeps (now, effect) of all controllers."""

    def __init__(self, objects: list[Manifest], script: ScriptedWorkload, *, start: int) -> None:
        self.now = start
        self.objects: dict[tuple[str, str], Manifest] = {}
        self.engine = build(draws=SeededDraws(1))
        self.script = script
        self.kubelet = Kubelet(start_delay_us=SECOND)
        self.pod_gc = PodGC()
        self.log: list[tuple[int, LifecycleEffect]] = []
        self.messages: dict[str, str] = {}  # last message of pods that were not scheduled
        self._turn = 0
        self._changes: list[Change] = []
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
        while self._changes:
            changes, self._changes = self._changes, []
            for controller in (self.kubelet, self.pod_gc, self.script):
                for effect in controller.step(self.now, changes):
                    self.log.append((self.now, effect))
                    self._carry_out(effect)
            self._schedule(changes)
        for effect in [*self.kubelet.step(self.now, []), *self.script.step(self.now, [])]:
            self.log.append((self.now, effect))
            self._carry_out(effect)
        self._schedule([])

    def _schedule(self, changes: list[Change]) -> None:
        effects = self.engine.step(self.now, changes, Budget(max_cycles=500))
        for attempt in effects.attempts:
            if attempt.result == "scheduled":
                self.messages.pop(attempt.pod_key, None)
            else:
                self.messages[attempt.pod_key] = attempt.message
        for binding in effects.bindings:
            pod = self.objects.get(("Pod", f"{binding.namespace}/{binding.name}"))
            bound = pod is not None and pod["metadata"]["uid"] == binding.pod_uid
            self._changes.append(BindingVerdict(binding.pod_uid, binding.node_name, bound, "" if bound else "gone"))
            if pod is not None and bound:
                pod["spec"]["nodeName"] = binding.node_name
                self._put(pod)

    def _carry_out(self, effect: LifecycleEffect) -> None:
        match effect:
            case PodCreation():
                manifest = copy.deepcopy(dict(effect.manifest))
                if ("Pod", f"{manifest['metadata']['namespace']}/{manifest['metadata']['name']}") not in self.objects:
                    self._put(manifest)
            case PodDeletion():
                self._delete(self.objects[("Pod", f"{effect.namespace}/{effect.name}")])
            case PodRemoval():
                self._remove(f"{effect.namespace}/{effect.name}", effect.pod_uid)
            case PodStatusWrite():
                pod = self.objects[("Pod", f"{effect.namespace}/{effect.name}")]
                pod["status"]["phase"] = effect.phase
                if effect.start_time is not None:
                    pod["status"]["startTime"] = text_of(effect.start_time)
                self._put(pod)
            case NodeCordon():
                node = self.objects[("Node", effect.node_name)]
                node["spec"]["unschedulable"] = effect.unschedulable
                self._put(node)

    def _delete(self, pod: Manifest) -> None:
        metadata = pod["metadata"]
        if not pod["spec"].get("nodeName"):
            self._remove(f"{metadata['namespace']}/{metadata['name']}", metadata["uid"])
        else:
            metadata["deletionTimestamp"] = text_of(self.now + 30 * SECOND)
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
        manifest["spec"].setdefault("schedulerName", "default-scheduler")
        obj = manifests.decode(manifest)
        self.objects[(obj.kind, obj.key)] = manifest
        self._changes.append(ObjectPut(obj))


def text_of(now: int) -> str:
    moment = datetime.fromtimestamp(0, UTC) + timedelta(microseconds=now)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
