"""The simulated volume controller and provisioner: binds claims, creates volumes for them, releases volumes.

    Pending volume ──▶ Available ──claim binds──▶ Bound ──claim gone──▶ Released, or removed (reclaim policy Delete)
    Pending claim ──a volume set aside, or found──▶ Bound
                  ──placed on a node, or nothing found──provisioning delay──▶ a new volume, Bound

A claim of a class that waits for its consumer is matched by the scheduler alone: here it is only completed, or
provisioned once it carries the selected node. Volumes are made in the node's zone. Times are microseconds.
Source of the rules: kubernetes v1.34.1, pkg/controller/volume/persistentvolume.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from scheduler_core.api import manifests
from scheduler_core.api.derived import ZONE
from scheduler_core.api.meta import KubeObject
from scheduler_core.api.node import Node
from scheduler_core.api.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from scheduler_core.api.syntax import subdomain_problem
from scheduler_core.api.volumes import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    NO_PROVISIONER,
    SELECTED_NODE,
    STORAGE,
    WAIT_FOR_FIRST_CONSUMER,
    belongs_to_claim,
    bound_to_claim,
    claim_class_name,
    is_fully_bound,
    mismatch,
    requested_storage,
    volume_class_name,
)
from scheduler_core.apiserver.requests import Create, Delete, ObjectKey, Patch, Request
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.deadlines import Deadlines
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut
from scheduler_core.plugins.volume_binding.binder import candidates
from scheduler_core.plugins.volume_binding.claims import BindingError

PROVISION_DELAY_US = 500_000
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
_LONGEST_DRIVER_NAME: Final = 63
_FOLLOWED: Final = (PersistentVolumeClaim, PersistentVolume, StorageClass, Node)


class VolumeController:
    """All claims and volumes of one cluster."""

    name, actor, group = "volumes", "volumes", "volumes"

    def __init__(self, cluster: ClusterOptions) -> None:
        self._claims: dict[str, PersistentVolumeClaim] = {}  # by key
        self._volumes: dict[str, PersistentVolume] = {}
        self._classes: dict[str, StorageClass] = {}
        self._nodes: dict[str, Node] = {}
        self._to_make = Deadlines()  # by claim key

    def step(self, now: int, changes: Sequence[Change]) -> list[Request]:
        """Take over the changes; return what follows from them, and what is due at `now`."""
        requests: list[Request] = []
        touched = False
        for change in changes:
            if isinstance(change, ObjectPut):
                if isinstance(change.obj, _FOLLOWED):
                    touched |= self._put(change.obj)
            elif isinstance(change, ObjectDeleted):
                touched |= self._deleted(change, requests)
        if touched:
            requests += self._correct_phases()
            set_aside = self._set_aside()
            for claim in list(self._claims.values()):
                requests += self._settle(claim, set_aside.get(claim.key, []), now)
        for key in self._to_make.pop_due(now):
            requests += self._provision(self._claims[key])
        return requests

    def next_due(self) -> int | None:
        """Return when the next volume is ready, in microseconds."""
        return self._to_make.first()

    # What is known

    def _put(self, obj: KubeObject) -> bool:
        """Remember the object; return whether it can matter to a claim."""
        if isinstance(obj, PersistentVolumeClaim):
            self._claims[obj.key] = obj
        elif isinstance(obj, PersistentVolume):
            self._volumes[obj.name] = obj
        elif isinstance(obj, StorageClass):
            self._classes[obj.name] = obj
        elif isinstance(obj, Node):
            self._nodes[obj.name] = obj
            return False
        return True

    def _deleted(self, change: ObjectDeleted, requests: list[Request]) -> bool:
        if change.kind == Node.kind:
            self._nodes.pop(change.name, None)
        elif change.kind == StorageClass.kind:
            self._classes.pop(change.name, None)
        elif change.kind == PersistentVolume.kind:
            self._volumes.pop(change.name, None)
            requests += self._lose(change.name)
        elif change.kind == PersistentVolumeClaim.kind:
            key = f"{change.namespace}/{change.name}"
            self._to_make.drop(key)
            self._claims.pop(key, None)
            requests += self._give_back(change.uid)
            return True
        return False

    # What follows

    def _correct_phases(self) -> Iterator[Request]:
        for volume in list(self._volumes.values()):
            reference = volume.spec.claim_ref
            if volume.status.phase not in ("", "Pending"):
                if reference is not None and volume.status.phase == "Bound" and reference.uid:
                    claim = self._claims.get(f"{reference.namespace}/{reference.name}")
                    if claim is not None and claim.uid != reference.uid:
                        yield from self._give_back(reference.uid)
                continue
            if reference is None:
                yield self._volume_phase(volume, "Available")
                continue
            claim = self._claims.get(f"{reference.namespace}/{reference.name}")
            if claim is not None and is_fully_bound(claim) and claim.spec.volume_name == volume.name:
                yield self._volume_phase(volume, "Bound")

    def _set_aside(self) -> dict[str, list[PersistentVolume]]:
        """Volumes that name a claim, by the claim's key."""
        found: dict[str, list[PersistentVolume]] = {}
        for volume in self._volumes.values():
            reference = volume.spec.claim_ref
            if reference is not None:
                found.setdefault(f"{reference.namespace}/{reference.name}", []).append(volume)
        return found

    def _settle(self, claim: PersistentVolumeClaim, set_aside: list[PersistentVolume], now: int) -> Iterator[Request]:
        """Bind the claim to what is there, or begin to make something."""
        if is_fully_bound(claim) or claim.status.phase == "Lost" or claim.metadata.deletion_timestamp is not None:
            self._to_make.drop(claim.key)
            return
        volume = self._volume_for(claim, set_aside)
        if volume is not None:
            self._to_make.drop(claim.key)
            yield from self._bind(claim, volume)
        elif self._is_to_be_made(claim):
            if claim.key not in self._to_make:
                self._to_make.set(claim.key, now + PROVISION_DELAY_US)
        else:
            self._to_make.drop(claim.key)

    def _volume_for(self, claim: PersistentVolumeClaim, set_aside: list[PersistentVolume]) -> PersistentVolume | None:
        if claim.spec.volume_name:
            volume = self._volumes.get(claim.spec.volume_name)
            if volume is None:
                return None
            is_free = volume.spec.claim_ref is None and not mismatch(volume, claim)
            return volume if is_free or belongs_to_claim(volume, claim) else None
        class_name = claim_class_name(claim)
        waits = self._waits_for_consumer(class_name)
        volumes = set_aside if waits else self._volumes.values()
        of_class = [each for each in volumes if volume_class_name(each) == class_name]
        try:
            for_claim, others = candidates(claim, sorted(of_class, key=lambda each: each.name))
        except BindingError:
            return None  # a selector nobody can read finds nothing
        if for_claim:
            return for_claim[0]
        return others[0] if others and not waits else None

    def _waits_for_consumer(self, class_name: str) -> bool:
        storage_class = self._classes.get(class_name)
        return storage_class is not None and storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER

    def _is_to_be_made(self, claim: PersistentVolumeClaim) -> bool:
        class_name = claim_class_name(claim)
        storage_class = self._classes.get(class_name)
        if claim.spec.volume_name or storage_class is None or storage_class.provisioner in ("", NO_PROVISIONER):
            return False
        return SELECTED_NODE in claim.annotations or not self._waits_for_consumer(class_name)

    def _bind(self, claim: PersistentVolumeClaim, volume: PersistentVolume) -> Iterator[Request]:
        bound = bound_to_claim(volume, claim)
        bound = replace(bound, status=replace(bound.status, phase="Bound"))
        if bound != volume:
            self._volumes[volume.name] = bound
            written = manifests.encode(bound)
            yield from _patches(
                bound,
                {
                    "metadata": {"annotations": written["metadata"].get("annotations", {})},
                    "spec": {"claimRef": written["spec"]["claimRef"]},
                    "status": {"phase": "Bound"},
                },
            )
        yield from self._claim_bound(claim, bound)

    def _provision(self, claim: PersistentVolumeClaim) -> Iterator[Request]:
        manifest = self._made_for(claim)
        self._volumes[manifest["metadata"]["name"]] = made = _typed(manifest)
        yield Create(manifest)
        yield from self._claim_bound(claim, made)

    def _claim_bound(self, claim: PersistentVolumeClaim, volume: PersistentVolume) -> Iterator[Request]:
        annotations = {BIND_COMPLETED: "yes"}
        if not claim.spec.volume_name:
            annotations[BOUND_BY_CONTROLLER] = "yes"
        self._claims[claim.key] = replace(
            claim,
            metadata=replace(claim.metadata, annotations={**claim.annotations, **annotations}),
            spec=replace(claim.spec, volume_name=volume.name),
            status=replace(claim.status, phase="Bound"),
        )
        written = manifests.encode(volume)["spec"]
        status = {"phase": "Bound", "capacity": written.get("capacity"), "accessModes": written.get("accessModes")}
        yield from _patches(
            claim,
            {
                "metadata": {"annotations": annotations},
                "spec": {"volumeName": volume.name},
                "status": {name: value for name, value in status.items() if value is not None},
            },
        )

    def _made_for(self, claim: PersistentVolumeClaim) -> dict[str, Any]:
        """The manifest of a volume of the claim's class, as its driver would make it."""
        storage_class = self._classes[claim_class_name(claim)]
        written = manifests.encode(claim)
        name = f"pvc-{claim.uid}"
        spec: dict[str, Any] = {
            "capacity": {STORAGE: str(requested_storage(claim))},
            "accessModes": written["spec"].get("accessModes", []),
            "storageClassName": storage_class.name,
            "volumeMode": claim.spec.volume_mode or "Filesystem",
            "persistentVolumeReclaimPolicy": storage_class.reclaim_policy or "Delete",
            **_source(storage_class.provisioner, name),
            "claimRef": manifests.encode(bound_to_claim(PersistentVolume(), claim))["spec"]["claimRef"],
        }
        if claim.spec.volume_attributes_class_name:
            spec["volumeAttributesClassName"] = claim.spec.volume_attributes_class_name
        topology = self._topology(claim, storage_class)
        if topology:
            terms = [{"key": key, "operator": "In", "values": values} for key, values in topology.items()]
            spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": terms}]}}
        return {
            "apiVersion": PersistentVolume.api_version,
            "kind": PersistentVolume.kind,
            "metadata": {"name": name, "annotations": {PROVISIONED_BY: storage_class.provisioner}},
            "spec": spec,
        }

    def _topology(self, claim: PersistentVolumeClaim, storage_class: StorageClass) -> dict[str, list[str]]:
        """Labels of the nodes the new volume can be reached from: the selected node's zone, else the class's first."""
        node = self._nodes.get(claim.annotations.get(SELECTED_NODE, ""))
        if node is not None:
            return {ZONE: [node.labels[ZONE]]} if ZONE in node.labels else {}
        for term in storage_class.allowed_topologies or ():
            expressions = term.match_label_expressions or ()
            if expressions:
                return {each.key: list(each.values[:1]) for each in expressions}
        return {}

    def _give_back(self, claim_uid: str) -> Iterator[Request]:
        """The claim is gone: its volume is removed or kept for its administrator."""
        for volume in list(self._volumes.values()):
            reference = volume.spec.claim_ref
            if reference is None or not reference.uid or reference.uid != claim_uid:
                continue
            if volume.status.phase != "Released":
                yield self._volume_phase(volume, "Released")
            if volume.spec.persistent_volume_reclaim_policy == "Delete":
                del self._volumes[volume.name]
                yield Delete(ObjectKey(volume.kind, "", volume.name), uid=volume.uid)

    def _lose(self, volume_name: str) -> Iterator[Request]:
        """The volume is gone: a claim bound to it is lost."""
        for claim in list(self._claims.values()):
            if claim.spec.volume_name == volume_name and is_fully_bound(claim) and claim.status.phase != "Lost":
                self._claims[claim.key] = replace(claim, status=replace(claim.status, phase="Lost"))
                yield _status_patch(claim, {"phase": "Lost"})

    def _volume_phase(self, volume: PersistentVolume, phase: str) -> Patch:
        self._volumes[volume.name] = replace(volume, status=replace(volume.status, phase=phase))
        return _status_patch(volume, {"phase": phase})


def _typed(manifest: Mapping[str, Any]) -> PersistentVolume:
    volume = manifests.decode(manifest)
    assert isinstance(volume, PersistentVolume)
    return volume


def _patches(obj: KubeObject, patch: Mapping[str, Any]) -> Iterator[Patch]:
    """The object's patch, then that of its status."""
    yield Patch(_key(obj), {name: value for name, value in patch.items() if name != "status"}, uid=obj.uid)
    yield _status_patch(obj, patch["status"])


def _status_patch(obj: KubeObject, status: Mapping[str, Any]) -> Patch:
    return Patch(_key(obj), {"status": status}, subresource="status", uid=obj.uid)


def _key(obj: KubeObject) -> ObjectKey:
    return ObjectKey(obj.kind, obj.namespace, obj.name)


def _source(provisioner: str, volume_name: str) -> dict[str, Any]:
    """What the volume is made of: a CSI volume, unless the provisioner's name is none of a CSI driver."""
    if len(provisioner) <= _LONGEST_DRIVER_NAME and subdomain_problem(provisioner) is None:
        return {"csi": {"driver": provisioner, "volumeHandle": volume_name}}
    return {"hostPath": {"path": f"/var/lib/volumes/{volume_name}"}}
