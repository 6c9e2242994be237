"""An API server in memory: it does at once what a step asks for, and answers with the changes that follow.

Bindings are never refused, victims leave without a grace period.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from msgspec.structs import replace

from scheduler_core.api.pod import Pod, PodCondition
from scheduler_core.model.changes import BindingVerdict, Change, EvictionVerdict, ObjectDeleted, ObjectPut
from scheduler_core.model.effects import Effects, PodStatusPatch
from scheduler_core.scheduler.failure import POD_SCHEDULED


@dataclass(slots=True)
class InMemoryCluster:
    """The pods that are to be scheduled, by uid, as last written; all others are never written."""

    pods: dict[str, Pod] = field(default_factory=dict)
    _version: int = 0

    def create(self, pods: Iterable[Pod]) -> list[Change]:
        """New pods, each with the change that tells of it."""
        return [self._put(pod) for pod in pods]

    def carry_out(self, effects: Effects) -> list[Change]:
        """Status patches, evictions with their verdicts, bindings with theirs."""
        changes: list[Change] = [self._patch(patch) for patch in effects.status_patches if patch.pod_uid in self.pods]
        for eviction in effects.evictions:
            self.pods.pop(eviction.pod_uid, None)
            changes.append(ObjectDeleted(Pod.kind, eviction.namespace, eviction.name, eviction.pod_uid))
        for preemptor_uid in dict.fromkeys(eviction.preemptor_uid for eviction in effects.evictions):
            changes.append(EvictionVerdict(preemptor_uid, done=True))
        for binding in effects.bindings:
            bound = self.pods[binding.pod_uid].on_node(binding.node_name)
            changes.append(self._put(_with_condition(bound, PodCondition(POD_SCHEDULED, "True"))))
            changes.append(BindingVerdict(binding.pod_uid, binding.node_name, bound=True))
        return changes

    def _patch(self, patch: PodStatusPatch) -> Change:
        pod = self.pods[patch.pod_uid]
        if patch.condition_status:
            condition = PodCondition(POD_SCHEDULED, patch.condition_status, patch.reason, patch.message)
            pod = _with_condition(pod, condition)
        if patch.nominated_node_name is not None:
            pod = replace(pod, status=replace(pod.status, nominated_node_name=patch.nominated_node_name))
        return self._put(pod)

    def _put(self, pod: Pod) -> ObjectPut:
        self._version += 1
        pod = replace(pod, metadata=replace(pod.metadata, resource_version=str(self._version)))
        self.pods[pod.uid] = pod
        return ObjectPut(pod)


def _with_condition(pod: Pod, condition: PodCondition) -> Pod:
    others = tuple(each for each in pod.status.conditions or () if each.type != condition.type)
    return replace(pod, status=replace(pod.status, conditions=(*others, condition)))
