"""Keeps claims that pods use and volumes that are bound, although somebody deleted them, until that is over.

    a claim or volume without its finalizer     gets it, unless it is being deleted
    a deleted claim that no assigned pod names  loses its finalizer, and goes
    a deleted volume that is not Bound          the same

A pod uses its claims as long as it is there, also when it has ended; claims made for it alone until it has stopped for
good.
Source: kubernetes v1.34.1, pkg/controller/volume/pvcprotection and pvprotection.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from scheduler_core.admission.admit import PROTECTED
from scheduler_core.api.derived import claim_belongs_to
from scheduler_core.api.pod import Pod
from scheduler_core.api.storage import PersistentVolume, PersistentVolumeClaim
from scheduler_core.api.volumes import claims_used
from scheduler_core.apiserver.requests import ObjectKey, Patch, PatchType, Request
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut

BOUND: Final = "Bound"
Protected = PersistentVolumeClaim | PersistentVolume


class VolumeProtection:
    """All claims and volumes of one cluster."""

    name, actor, group = "volume-protection", "volumes", "volumes"

    def __init__(self, cluster: ClusterOptions) -> None:
        self._going: dict[str, PersistentVolumeClaim] = {}  # deleted claims with the finalizer, by key
        self._pods: dict[str, Pod] = {}  # assigned ones that name claims, by key
        self._users: dict[str, dict[str, None]] = {}  # their keys, by that of the claim

    def step(self, now: int, changes: Sequence[Change]) -> list[Request]:
        """Take over the changes; return what gives and takes finalizers."""
        requests: list[Request] = []
        touched: dict[str, None] = {}  # deleted claims to look at, by key
        for change in changes:
            if isinstance(change, ObjectPut):
                obj = change.obj
                if isinstance(obj, Pod):
                    if obj.spec.volumes and obj.spec.node_name:
                        self._put_pod(obj, touched)
                elif isinstance(obj, Protected):
                    requests += self._put(obj, touched)
            elif isinstance(change, ObjectDeleted):
                key = f"{change.namespace}/{change.name}"
                if change.kind == Pod.kind:
                    self._forget_pod(key, touched)
                elif change.kind == PersistentVolumeClaim.kind:
                    self._going.pop(key, None)
        for key in touched:
            claim = self._going.get(key)
            if claim is not None and not any(_uses(self._pods[user], claim) for user in self._users.get(key, ())):
                requests.append(_without_finalizer(claim))
        return requests

    def next_due(self) -> None:
        """Nothing is due without a change."""

    def _put(self, obj: Protected, touched: dict[str, None]) -> Iterator[Request]:
        has_finalizer = PROTECTED[obj.kind] in (obj.metadata.finalizers or ())
        is_going = obj.metadata.deletion_timestamp is not None
        if not is_going:
            if isinstance(obj, PersistentVolumeClaim):
                self._going.pop(obj.key, None)
            if not has_finalizer:
                yield _with_finalizer(obj)
        elif has_finalizer and isinstance(obj, PersistentVolumeClaim):
            self._going[obj.key] = obj
            touched[obj.key] = None
        elif has_finalizer and obj.status.phase != BOUND:
            yield _without_finalizer(obj)

    def _put_pod(self, pod: Pod, touched: dict[str, None]) -> None:
        before = self._pods.get(pod.key)
        if before is not None and before.uid != pod.uid:
            self._forget_pod(pod.key, touched)
        names = [use.name for use in claims_used(pod)]
        if not names:
            return
        self._pods[pod.key] = pod
        for name in names:
            key = f"{pod.namespace}/{name}"
            self._users.setdefault(key, {})[pod.key] = None
            if key in self._going:
                touched[key] = None

    def _forget_pod(self, pod_key: str, touched: dict[str, None]) -> None:
        pod = self._pods.pop(pod_key, None)
        if pod is None:
            return
        for use in claims_used(pod):
            key = f"{pod.namespace}/{use.name}"
            users = self._users.get(key)
            if users is not None:
                users.pop(pod_key, None)
                if not users:
                    del self._users[key]
            touched[key] = None


def _uses(pod: Pod, claim: PersistentVolumeClaim) -> bool:
    is_shut_down = pod.is_terminating and pod.metadata.deletion_grace_period_seconds == 0
    return any(
        use.name == claim.name and (not use.is_ephemeral or (not is_shut_down and claim_belongs_to(claim, pod)))
        for use in claims_used(pod)
    )


def _with_finalizer(obj: Protected) -> Patch:
    return _finalizers(obj, {"finalizers": [PROTECTED[obj.kind]]})


def _without_finalizer(obj: Protected) -> Patch:
    return _finalizers(obj, {"$deleteFromPrimitiveList/finalizers": [PROTECTED[obj.kind]]})


def _finalizers(obj: Protected, metadata: dict[str, list[str]]) -> Patch:
    key = ObjectKey(obj.kind, obj.namespace, obj.name)
    return Patch(key, {"metadata": metadata}, PatchType.STRATEGIC, uid=obj.uid)
