"""The namespace controller: empties a namespace that is being deleted, then lets it go.

Source: kubernetes v1.34.1, pkg/controller/namespace.
"""

from __future__ import annotations

from collections.abc import Sequence

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod
from scheduler_core.api.workload import Namespace
from scheduler_core.apiserver.requests import Delete, ObjectKey, Patch, Propagation, Request
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.object_index import Update
from scheduler_core.controllers.pod_index import PodIndex, PodReader
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut


class NamespaceController(PodReader):
    """The namespaces of one cluster."""

    name, actor, group = "namespaces", "namespace-controller", "namespaces"

    def __init__(self, cluster: ClusterOptions, pods: PodIndex | None = None) -> None:
        super().__init__(cluster, pods)
        self._content: dict[str, dict[ObjectKey, str]] = {}  # uids of all but pods, by namespace and key
        self._going: dict[str, Namespace] = {}  # namespaces that are being deleted
        self._asked: set[str] = set()  # uids whose deletion was asked for

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
        requests: list[Request] = []
        for name in touched:
            if name in self._going:
                requests += self._emptied(self._going[name])
        return requests

    def next_due(self) -> None:
        """Nothing is due without a change."""

    def _put(self, obj: KubeObject) -> str:
        if isinstance(obj, Namespace):
            if obj.metadata.deletion_timestamp is not None:
                self._going[obj.name] = obj
            else:
                self._going.pop(obj.name, None)
            return obj.name
        if obj.namespace:
            content = self._content.setdefault(obj.namespace, {})
            content[ObjectKey(obj.kind, obj.namespace, obj.name)] = obj.metadata.uid
        return obj.namespace

    def _remove(self, change: ObjectDeleted) -> str:
        if change.kind == Namespace.kind:
            self._going.pop(change.name, None)
            return change.name
        content = self._content.get(change.namespace, {})
        self._asked.discard(content.pop(ObjectKey(change.kind, change.namespace, change.name), ""))
        if not content:
            self._content.pop(change.namespace, None)
        return change.namespace

    def _emptied(self, namespace: Namespace) -> list[Request]:
        pods = self.pods.in_namespace(namespace.name)
        content = {ObjectKey(Pod.kind, pod.namespace, pod.name): pod.uid for pod in pods}
        content |= self._content.get(namespace.name, {})
        if content:
            new = {key: uid for key, uid in content.items() if uid not in self._asked}
            self._asked.update(new.values())
            return [Delete(key, propagation=Propagation.BACKGROUND, uid=uid) for key, uid in new.items()]
        return [_finalized(namespace)]


def _finalized(namespace: Namespace) -> Patch:
    """The namespace without what keeps it."""
    key = ObjectKey(Namespace.kind, "", namespace.name)
    return Patch(key, {"spec": {"finalizers": None}}, subresource="finalize", uid=namespace.metadata.uid)
