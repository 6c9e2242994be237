"""Creates the claims of generic ephemeral volumes, and deletes them with their pod.

A claim of the name that is there already is left alone, whoever owns it.
Source: kubernetes v1.34.1, pkg/controller/volume/ephemeral; removal with the owner is the garbage collector's part.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scheduler_core.api.derived import controller_of, ephemeral_claim_name
from scheduler_core.api.pod import Pod
from scheduler_core.api.storage import PersistentVolumeClaim
from scheduler_core.apiserver.requests import Create, Delete, ObjectKey, Request
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.object_index import Update
from scheduler_core.controllers.pod_index import PodIndex, PodReader
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut


class EphemeralClaims(PodReader):
    """Generic ephemeral volumes of one cluster's pods."""

    name, actor, group = "ephemeral-volumes", "volumes", "volumes"

    def __init__(self, cluster: ClusterOptions, pods: PodIndex | None = None) -> None:
        super().__init__(cluster, pods)
        self._claims: dict[str, PersistentVolumeClaim] = {}  # by key

    def step(self, now: int, changes: Sequence[Change]) -> list[Request]:
        """Take over the changes; return the claims to create and to delete."""
        requests: list[Request] = []
        wanting: dict[str, Pod] = {}
        for change in self.pods.follow(changes):
            if isinstance(change, Update):
                pod = change.obj
                if pod.spec.volumes and any(volume.ephemeral is not None for volume in pod.spec.volumes):
                    if change.is_gone:
                        wanting.pop(pod.key, None)
                        requests += self._owned_by(pod)
                    else:
                        wanting[pod.key] = pod
            elif isinstance(change, ObjectPut):
                if isinstance(change.obj, PersistentVolumeClaim):
                    self._claims[change.obj.key] = change.obj
            elif isinstance(change, ObjectDeleted) and change.kind == PersistentVolumeClaim.kind:
                self._claims.pop(f"{change.namespace}/{change.name}", None)
        for pod in wanting.values():
            if not pod.is_terminal and not pod.is_terminating:
                requests += self._missing(pod)
        return requests

    def next_due(self) -> None:
        """Nothing is due without a change."""

    def _missing(self, pod: Pod) -> list[Request]:
        requests: list[Request] = []
        for volume in pod.spec.volumes or ():
            name = ephemeral_claim_name(pod, volume.name)
            if volume.ephemeral is None or f"{pod.namespace}/{name}" in self._claims:
                continue
            template = volume.ephemeral.get("volumeClaimTemplate") or {}
            requests.append(Create(_claim(pod, name, template)))
        return requests

    def _owned_by(self, pod: Pod) -> list[Request]:
        return [
            Delete(ObjectKey(claim.kind, claim.namespace, claim.name), uid=claim.uid)
            for claim in self._claims.values()
            if (owner := controller_of(claim)) is not None and owner.kind == Pod.kind and owner.uid == pod.uid
        ]


def _claim(pod: Pod, name: str, template: dict[str, Any]) -> dict[str, Any]:
    owner = {"apiVersion": Pod.api_version, "kind": Pod.kind, "name": pod.name, "uid": pod.uid}
    given = template.get("metadata") or {}
    return {
        "apiVersion": PersistentVolumeClaim.api_version,
        "kind": PersistentVolumeClaim.kind,
        "metadata": {
            **{key: given[key] for key in ("labels", "annotations") if key in given},
            "name": name,
            "namespace": pod.namespace,
            "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
        },
        "spec": template.get("spec") or {},
    }
