"""Asks the API server to count what ResourceQuotas limit, whenever something in their namespace has changed.

The API server charges quotas with what it creates and takes nothing off; what is gone, has ended or was stored past
admission (uploads, imports) is counted here. It is the API server that counts, with the quota locked, so that no charge
is lost in between.

Source: kubernetes v1.34.1, pkg/controller/resourcequota.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from scheduler_core.api.custom import DEFINITION
from scheduler_core.api.pod import Pod
from scheduler_core.api.records import ResourceQuota
from scheduler_core.apiserver.requests import CountQuota, ObjectKey, Request
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.deadlines import Deadlines
from scheduler_core.controllers.object_index import Update
from scheduler_core.controllers.pod_index import PodIndex, PodReader
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut

# From the first change to the count, which takes in those that follow.
DELAY_US: Final = 500_000


class QuotaController(PodReader):
    """The quotas of one cluster."""

    name, actor, group = "quotas", "resourcequota-controller", "quotas"

    def __init__(self, cluster: ClusterOptions, pods: PodIndex | None = None) -> None:
        super().__init__(cluster, pods)
        self._quotas: dict[str, dict[str, ResourceQuota]] = {}  # by namespace and name
        self._deadlines = Deadlines()  # by namespace

    def step(self, now: int, changes: Sequence[Change]) -> list[Request]:
        """Take over the changes; return the counts that are due."""
        new: dict[ObjectKey, ResourceQuota] = {}
        for change in self.pods.follow(changes):
            if isinstance(change, Update):
                if change.obj.metadata.namespace in self._quotas and _is_other(change):
                    self._touch(change.obj.namespace, now)
            elif isinstance(change, ObjectPut):
                if isinstance(change.obj, ResourceQuota):
                    self._put_quota(change.obj, new)
                elif change.obj.kind == DEFINITION:
                    for namespace in self._quotas:  # they may limit objects of that kind
                        self._touch(namespace, now)
                elif change.obj.namespace in self._quotas:
                    self._touch(change.obj.namespace, now)
            elif isinstance(change, ObjectDeleted):
                self._remove(change, now)
                new.pop(ObjectKey(change.kind, change.namespace, change.name), None)
        due = {key: quota.uid for key, quota in new.items()}
        for namespace in self._deadlines.pop_due(now):
            for quota in self._quotas.get(namespace, {}).values():
                due[ObjectKey(quota.kind, namespace, quota.name)] = quota.uid
        return [CountQuota(key, uid) for key, uid in due.items()]

    def next_due(self) -> int | None:
        """Return when the first namespace is to be counted."""
        return self._deadlines.first()

    def _put_quota(self, quota: ResourceQuota, new: dict[ObjectKey, ResourceQuota]) -> None:
        """Remember the quota; one that limits something else than before is counted at once."""
        known = self._quotas.setdefault(quota.namespace, {})
        before = known.get(quota.name)
        known[quota.name] = quota
        if before is None or (before.uid, before.spec) != (quota.uid, quota.spec):
            new[ObjectKey(quota.kind, quota.namespace, quota.name)] = quota

    def _remove(self, change: ObjectDeleted, now: int) -> None:
        known = self._quotas.get(change.namespace)
        if known is None:
            return
        if change.kind == ResourceQuota.kind:
            known.pop(change.name, None)
            if not known:
                del self._quotas[change.namespace]
                self._deadlines.drop(change.namespace)
                return
        self._touch(change.namespace, now)

    def _touch(self, namespace: str, now: int) -> None:
        if namespace not in self._deadlines:
            self._deadlines.set(namespace, now + DELAY_US)


def _is_other(change: Update[Pod]) -> bool:
    """Whether the pod may need something else than before: most changes are of its status."""
    old, pod = change.old, change.obj
    if old is None or change.is_gone:
        return True
    return old.metadata.generation != pod.metadata.generation or old.is_terminal != pod.is_terminal
