"""Says what unbound claims wait for: a volume, a class, a pod, or whoever makes their volume.

Each event is written once for as long as it holds; upstream repeats them every 15 s. A claim whose volume comes from
elsewhere is also annotated with who makes it. What a pod that is not scheduled yet changes is said at the next pass,
every 15 s.
Source: kubernetes v1.34.1, pkg/controller/volume/persistentvolume/pv_controller.go (syncUnboundClaim).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from scheduler_core.api.pod import Pod
from scheduler_core.api.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from scheduler_core.api.volumes import (
    NO_PROVISIONER,
    SELECTED_NODE,
    WAIT_FOR_FIRST_CONSUMER,
    belongs_to_claim,
    claim_class_name,
    claims_used,
    is_fully_bound,
    mismatch,
)
from scheduler_core.apiserver.requests import ObjectKey, Patch, Request
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.deadlines import Deadlines
from scheduler_core.controllers.event_recorder import NORMAL, WARNING, EventRecorder
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut

PASS_US: Final = 15_000_000
PROVISIONER_ANNOTATIONS: Final = (
    "volume.kubernetes.io/storage-provisioner",
    "volume.beta.kubernetes.io/storage-provisioner",
)
LOST: Final = "Lost"
Told = tuple[str, str, str]  # type, reason, message
_CLAIM_LOST: Final = (
    WARNING,
    "ClaimLost",
    "Bound claim has lost its PersistentVolume. Data on the volume is lost!",
)
_NO_CLASS: Final = (
    NORMAL,
    "FailedBinding",
    "no persistent volumes available for this claim and no storage class is set",
)
_FIRST_CONSUMER: Final = (
    NORMAL,
    "WaitForFirstConsumer",
    "waiting for first consumer to be created before binding",
)
_EXTERNAL: Final = (
    "Waiting for a volume to be created either by the external provisioner '{}' or manually by the system"
    " administrator. If volume creation is delayed, please verify that the provisioner is running and correctly"
    " registered."
)


class PendingClaims:
    """The claims of one cluster that are not bound."""

    name, actor, group = "pending-claims", "volumes", "volumes"

    def __init__(self, cluster: ClusterOptions) -> None:
        self._started_at = cluster.started_at
        self._claims: dict[str, PersistentVolumeClaim] = {}  # not bound, or not bound when seen last; by key
        self._volumes: dict[str, PersistentVolume] = {}
        self._classes: dict[str, StorageClass] = {}
        self._pods: dict[str, dict[str, None]] = {}  # names of pods without a node, by key of a claim they name
        self._claims_of: dict[str, tuple[str, ...]] = {}  # of such pods, by key
        self._told: dict[str, Told] = {}  # by key of the claim
        self._looks = Deadlines()  # by key of the claim
        self._is_new = True  # what it is told first was there before it
        self._events = EventRecorder("persistentvolume-controller")

    def step(self, now: int, changes: Sequence[Change]) -> list[Request]:
        """Take over the changes; return events about claims that still wait, since the step before or longer."""
        due = list(self._looks.pop_due(now))
        for change in changes:
            if isinstance(change, ObjectPut):
                obj = change.obj
                if isinstance(obj, Pod):
                    if obj.spec.volumes:
                        self._put_pod(obj, now)
                elif isinstance(obj, PersistentVolumeClaim):
                    self._put_claim(obj, now)
                elif isinstance(obj, PersistentVolume):
                    self._volumes[obj.name] = obj
                    self._look_at_all(now)
                elif isinstance(obj, StorageClass):
                    self._classes[obj.name] = obj
                    self._look_at_all(now)
            elif isinstance(change, ObjectDeleted):
                self._deleted(change, now)
        self._is_new = False
        requests: list[Request] = []
        for key in due:
            claim = self._claims.get(key)
            if claim is not None and key not in self._looks:
                requests += self._tell(claim, now)
        return requests

    def next_due(self) -> int | None:
        """Return when the next claim is looked at, in microseconds."""
        return self._looks.first()

    def _put_claim(self, claim: PersistentVolumeClaim, now: int) -> None:
        if is_fully_bound(claim) and claim.status.phase != LOST:
            self._forget(claim.key)
            return
        self._claims[claim.key] = claim
        if self._is_new and claim.status.phase == LOST:
            self._told[claim.key] = _CLAIM_LOST  # it was said when it happened
        self._looks.set(claim.key, now)

    def _put_pod(self, pod: Pod, now: int) -> None:
        if pod.spec.node_name or pod.is_terminal:
            self._forget_pod(pod.key)
        elif pod.key not in self._claims_of:
            keys = tuple(f"{pod.namespace}/{use.name}" for use in claims_used(pod))
            self._claims_of[pod.key] = keys
            for key in keys:
                self._pods.setdefault(key, {})[pod.name] = None
                if key in self._claims and key not in self._looks:
                    self._looks.set(key, now + PASS_US - (now - self._started_at) % PASS_US)

    def _forget_pod(self, pod_key: str) -> None:
        name = pod_key.rpartition("/")[2]
        for key in self._claims_of.pop(pod_key, ()):
            names = self._pods.get(key)
            if names is not None:
                names.pop(name, None)
                if not names:
                    del self._pods[key]

    def _forget(self, key: str) -> None:
        self._claims.pop(key, None)
        self._told.pop(key, None)
        self._looks.drop(key)

    def _deleted(self, change: ObjectDeleted, now: int) -> None:
        key = f"{change.namespace}/{change.name}"
        if change.kind == Pod.kind:
            self._forget_pod(key)
        elif change.kind == PersistentVolumeClaim.kind:
            self._forget(key)
        elif change.kind == PersistentVolume.kind:
            self._volumes.pop(change.name, None)
            self._look_at_all(now)
        elif change.kind == StorageClass.kind:
            self._classes.pop(change.name, None)
            self._look_at_all(now)

    def _look_at_all(self, now: int) -> None:
        for key in self._claims:
            self._looks.set(key, now)

    def _tell(self, claim: PersistentVolumeClaim, now: int) -> list[Request]:
        told = self._waits_for(claim)
        requests: list[Request] = []
        if told is None or self._told.get(claim.key) == told:
            return requests
        self._told[claim.key] = told
        kind, reason, message = told
        if reason == "ExternalProvisioning":
            requests += _annotated(claim, self._classes[claim_class_name(claim)].provisioner)
        return [*requests, *self._events.record(claim, reason, message, now=now, kind=kind)]

    def _waits_for(self, claim: PersistentVolumeClaim) -> Told | None:
        if claim.status.phase == LOST:
            return _CLAIM_LOST
        if claim.metadata.deletion_timestamp is not None:
            return None
        if claim.spec.volume_name:
            return self._cannot_have(claim, claim.spec.volume_name)
        class_name = claim_class_name(claim)
        storage_class = self._classes.get(class_name)
        waits = storage_class is not None and storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER
        if waits and SELECTED_NODE not in claim.annotations:
            names = sorted(self._pods.get(claim.key, ()))
            if not names:
                return _FIRST_CONSUMER
            which = f"pod {names[0]}" if len(names) == 1 else f"pods {','.join(names)}"
            return NORMAL, "WaitForPodScheduled", f"waiting for {which} to be scheduled"
        if not class_name:
            return _NO_CLASS
        if storage_class is None:
            return WARNING, "ProvisioningFailed", f'storageclass.storage.k8s.io "{class_name}" not found'
        if storage_class.provisioner == NO_PROVISIONER:
            return WARNING, "ProvisioningFailed", f"no volume plugin matched name: {NO_PROVISIONER}"
        return NORMAL, "ExternalProvisioning", _EXTERNAL.format(storage_class.provisioner)

    def _cannot_have(self, claim: PersistentVolumeClaim, name: str) -> Told | None:
        volume = self._volumes.get(name)
        if volume is None:
            return None
        if volume.spec.claim_ref is not None:
            is_its_own = belongs_to_claim(volume, claim)
            text = f'volume "{name}" already bound to a different claim.'
            return None if is_its_own else (WARNING, "FailedBinding", text)
        problem = mismatch(volume, claim)
        text = f'Cannot bind to requested volume "{name}": {problem}'
        return (WARNING, "VolumeMismatch", text) if problem else None


def _annotated(claim: PersistentVolumeClaim, provisioner: str) -> list[Request]:
    annotations = {name: provisioner for name in PROVISIONER_ANNOTATIONS if name not in claim.annotations}
    if not annotations:
        return []
    key = ObjectKey(claim.kind, claim.namespace, claim.name)
    return [Patch(key, {"metadata": {"annotations": annotations}}, uid=claim.uid)]
