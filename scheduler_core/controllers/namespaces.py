"""The namespace controller: empties a namespace that is being deleted, then lets it go.

    pods are there            they are deleted, and nothing else is until they are gone
    only other objects        they are deleted
    nothing is left           the namespace loses its finalizer

What was asked for is told by the next step, so that conditions are written of what is left then. Pods without
finalizers that stay longer than the longest of their grace periods are a failure; when that is looked at is upstream's,
which comes back after half of the time and a second.
Source: kubernetes v1.34.1, pkg/controller/namespace/deletion. Times are microseconds.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import chain
from typing import Final

from scheduler_core.api.kept import CustomResourceDefinition
from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod
from scheduler_core.api.times import microseconds
from scheduler_core.api.workload import Namespace
from scheduler_core.apiserver.requests import Delete, ObjectKey, Patch, Propagation, Request
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.deadlines import Deadlines
from scheduler_core.controllers.namespace_conditions import conditions_patch, pods_failure, remaining
from scheduler_core.controllers.object_index import Update
from scheduler_core.controllers.pod_index import PodIndex, PodReader
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut

_SECOND_US: Final = 1_000_000


class NamespaceController(PodReader):
    """The namespaces of one cluster."""

    name, actor, group = "namespaces", "namespace-controller", "namespaces"

    def __init__(self, cluster: ClusterOptions, pods: PodIndex | None = None) -> None:
        super().__init__(cluster, pods)
        self._content: dict[str, dict[ObjectKey, str]] = {}  # uids of all but pods, by namespace and key
        self._finalizers: dict[str, tuple[str, ...]] = {}  # of those that have any, by uid
        self._going: dict[str, Namespace] = {}  # namespaces that are being deleted
        self._asked: set[str] = set()  # uids whose deletion was asked for
        self._defined: dict[str, str] = {}  # resources of kinds that the cluster defines, by what they are stored under
        self._again = Deadlines()  # names of namespaces to look at without a change

    def step(self, now: int, changes: Sequence[Change]) -> list[Request]:
        """Take over the changes; return deletions of content, and the end of namespaces that are empty."""
        touched: dict[str, None] = {}
        for change in self.pods.follow(changes):
            if isinstance(change, Update):
                meta = change.obj.metadata
                if meta.namespace in self._going:
                    touched[meta.namespace] = None
                    if change.is_gone:
                        self._asked.discard(meta.uid)
            elif isinstance(change, ObjectPut):
                touched[self._put(change.obj)] = None
            elif isinstance(change, ObjectDeleted):
                touched[self._remove(change)] = None
        touched |= dict.fromkeys(self._again.pop_due(now))
        requests: list[Request] = []
        for name in touched:
            self._again.drop(name)
            if name in self._going:
                requests += self._emptied(self._going[name], now)
        return requests

    def next_due(self) -> int | None:
        """Return when a namespace is to be looked at again."""
        return self._again.first()

    def _put(self, obj: KubeObject) -> str:
        if isinstance(obj, Namespace):
            if obj.metadata.deletion_timestamp is not None:
                self._going[obj.name] = obj
            else:
                self._going.pop(obj.name, None)
            return obj.name
        if isinstance(obj, CustomResourceDefinition):
            self._defined[f"{obj.spec.names.kind}.{obj.spec.group}"] = obj.name
        meta = obj.metadata
        if meta.namespace:
            content = self._content.setdefault(meta.namespace, {})
            key = ObjectKey(obj.kind, meta.namespace, meta.name)
            before = content.get(key)
            if before is not None:
                self._finalizers.pop(before, None)
            content[key] = meta.uid
            if meta.finalizers:
                self._finalizers[meta.uid] = tuple(meta.finalizers)
        return meta.namespace

    def _remove(self, change: ObjectDeleted) -> str:
        if change.kind == Namespace.kind:
            self._going.pop(change.name, None)
            return change.name
        content = self._content.get(change.namespace, {})
        uid = content.pop(ObjectKey(change.kind, change.namespace, change.name), "")
        self._asked.discard(uid)
        self._finalizers.pop(uid, None)
        if not content:
            self._content.pop(change.namespace, None)
        return change.namespace

    def _emptied(self, namespace: Namespace, now: int) -> Sequence[Request]:
        """The next step of emptying it."""
        pods = self.pods.in_namespace(namespace.name)
        content = {_key_of(pod): pod.uid for pod in pods} if pods else self._content.get(namespace.name, {})
        new = {key: uid for key, uid in content.items() if uid not in self._asked}
        if new:
            self._asked.update(new.values())
            self._again.set(namespace.name, now)
            return [Delete(key, propagation=Propagation.BACKGROUND, uid=uid) for key, uid in new.items()]
        if pods:
            return self._waiting(namespace, pods, now)
        finalizers = chain.from_iterable(self._finalizers.get(uid, ()) for uid in content.values())
        told = conditions_patch(namespace, remaining((key.kind for key in content), finalizers, self._defined), now)
        return told if content else [*told, _finalized(namespace)]

    def _waiting(self, namespace: Namespace, pods: Collection[Pod], now: int) -> Sequence[Request]:
        """What the status says while pods that were asked to go are there."""
        if any(pod.metadata.finalizers for pod in pods):
            return conditions_patch(namespace, (), now)
        deleted = namespace.metadata.deletion_timestamp
        assert deleted is not None
        late_at = microseconds(deleted) + _patience(pods)
        if now >= late_at:
            return conditions_patch(namespace, (pods_failure(namespace.name),), now)
        self._again.set(namespace.name, late_at)
        return conditions_patch(namespace, (), now)


def _patience(pods: Collection[Pod]) -> int:
    """How long after the namespace's deletion pods may be there."""
    graces = (pod.spec.termination_grace_period_seconds or 0 for pod in pods if not pod.is_terminal)
    longest = max(graces, default=0)
    period = longest // 2 + 1
    return -(-longest // period) * period * _SECOND_US


def _key_of(pod: Pod) -> ObjectKey:
    return ObjectKey(Pod.kind, pod.namespace, pod.name)


def _finalized(namespace: Namespace) -> Patch:
    """The namespace without what keeps it."""
    key = ObjectKey(Namespace.kind, "", namespace.name)
    return Patch(key, {"spec": {"finalizers": None}}, subresource="finalize", uid=namespace.metadata.uid)
