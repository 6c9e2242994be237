"""What waits in vain in a frozen cluster, where no controller acts and of itself only the scheduler writes.

Each rule is about one stored manifest: what a controller would do about it next, and nobody does. Subjects are kind and
key (`namespace/name`, or the name alone). What a client writes in a controller's place ends the wait just as well.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from scheduler_core.admission.admit import PROTECTED
from scheduler_core.admission.node import CONDITION_TAINTS, UNSCHEDULABLE
from scheduler_core.api import manifests
from scheduler_core.api.pod import Pod
from scheduler_core.api.resource_claims import DELETE_PROTECTION
from scheduler_core.api.storage import PersistentVolume, PersistentVolumeClaim
from scheduler_core.api.volumes import (
    WAIT_FOR_FIRST_CONSUMER,
    claim_class_name,
    claims_used,
    is_fully_bound,
    volume_class_name,
    volume_suits_claim,
)
from scheduler_core.controllers.garbage import FOREGROUND, ORPHAN
from scheduler_core.controllers.pod_claims import recorded_name
from scheduler_core.plugins.dynamic_resources.verdicts import CANNOT_ALLOCATE

Manifest = Mapping[str, Any]

VOLUME_PHASE: Final = "volume-phase"
CLAIM_UNBOUND: Final = "claim-unbound"
CLAIM_PLACED: Final = "claim-placed"
CLAIM_NOT_MADE: Final = "claim-not-made"
DEVICE_CLAIM_NOT_MADE: Final = "device-claim-not-made"
DEVICES_KEPT: Final = "devices-kept"
QUOTA: Final = "quota-uncounted"
BUDGET: Final = "budget-uncounted"
NODE_TAINT: Final = "node-taint"
POD_LEAVING: Final = "pod-leaving"
NAMESPACE_LEAVING: Final = "namespace-leaving"
FINALIZER: Final = "finalizer"
WORKLOAD: Final = "workload"

# What is said of the subjects, after a colon.
SENTENCES: Final[Mapping[str, str]] = {
    VOLUME_PHASE: "without a phase; no controller makes a volume Available, so the scheduler takes none of these for a"
    " claim. With status.phase Available it does, but the binding takes a controller too",
    CLAIM_UNBOUND: "not bound, and no controller binds or provisions; pods that use such a claim are refused",
    CLAIM_PLACED: "not bound, and no controller completes the binding or provisions: a pod that uses such a claim is"
    " given a node at most, waits there until bindTimeoutSeconds are over, and is tried again",
    CLAIM_NOT_MADE: "no controller makes the claim of an ephemeral volume; its pod is refused",
    DEVICE_CLAIM_NOT_MADE: "no controller makes a claim of devices from its template; its pod is refused",
    DEVICES_KEPT: "allocated though every pod it was for is gone or has ended; no controller gives the devices back",
    QUOTA: "limits nothing, as no controller counts what its namespace uses into the status",
    BUDGET: "without a status; no controller counts healthy pods, so no eviction is allowed, and preemption counts each"
    " of its pods as a violation",
    NODE_TAINT: "no controller takes the taint of a condition away or gives one, and none evicts for it",
    POD_LEAVING: "Terminating; no kubelet ends it, and it keeps its place until it is deleted with a grace period of 0",
    NAMESPACE_LEAVING: "Terminating; no controller deletes what is in it, nor lets it go",
    FINALIZER: "being deleted; no controller takes its finalizer away",
    WORKLOAD: "no controller makes the pods that it wants",
}
REASONS: Final = tuple(SENTENCES)
REMEDY: Final = "--lifecycle simulate makes controllers act; else a client has to write what they would"

NAMES_SHOWN: Final = 3
# The keys of the taints that controllers give and take.
TAINTS: Final = frozenset({key for taints in CONDITION_TAINTS.values() for key, _ in taints} | {UNSCHEDULABLE})
_FINALIZERS: Final = frozenset({*PROTECTED.values(), DELETE_PROTECTION, FOREGROUND, ORPHAN})
_ENDED: Final = ("Succeeded", "Failed")
_OVER: Final = ("Complete", "Failed", "FailureTarget")
_JOB_CONTROLLER: Final = "kubernetes.io/job-controller"


class Objects(Protocol):
    """Manifests of one cluster at one moment, asked for where a rule needs another object."""

    def named(self, kind: str, namespace: str, names: Collection[str]) -> Mapping[str, Manifest]:
        """By name, those that are there."""

    def of_kind(self, kind: str, namespace: str = "") -> Iterable[Manifest]:
        """All of a kind other than Pod and Node, in a namespace if one is given, by name."""

    def leaving_pods(self, node_name: str) -> Iterable[Manifest]:
        """The pods on a node that are being deleted and have not ended, by name."""

    def tainted_nodes(self, keys: Collection[str]) -> Iterable[Manifest]:
        """The nodes with a taint of one of the keys, by name."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """One object that waits, or is waited for though nobody makes it."""

    reason: str
    kind: str
    key: str


@dataclass(frozen=True, slots=True)
class InVain:
    """How many objects of a kind wait for the same, the first of them by key, and the sentence about it."""

    reason: str
    kind: str
    count: int
    names: tuple[str, ...]

    @property
    def message(self) -> str:
        shown = ", ".join(self.names)
        if self.count == 1:
            return f"{self.kind} {shown}: {SENTENCES[self.reason]}"
        more = ", …" if self.count > len(self.names) else ""
        return f"{self.count:,} of the kind {self.kind} ({shown}{more}): {SENTENCES[self.reason]}"


def grouped(found: Iterable[Waiting]) -> list[InVain]:
    """What waits by reason and kind, in the order of the reasons; each object once."""
    keys: dict[tuple[str, str], set[str]] = {}
    for each in found:
        keys.setdefault((each.reason, each.kind), set()).add(each.key)
    order = sorted(keys, key=lambda group: (REASONS.index(group[0]), group[1]))
    return [
        InVain(reason, kind, len(keys[reason, kind]), tuple(sorted(keys[reason, kind])[:NAMES_SHOWN]))
        for reason, kind in order
    ]


def waiting(obj: Manifest, objects: Objects) -> Iterator[Waiting]:
    """What the object waits for, by itself."""
    kind = obj["kind"]
    if kind == "Pod":
        yield from _of_pod(obj, objects)
        return
    rule = RULES.get(kind)
    for reason in () if rule is None else rule(obj, objects):
        yield _about(reason, obj)
    if kind != "Namespace" and _is_leaving(obj) and _FINALIZERS & {*(obj["metadata"].get("finalizers") or ())}:
        yield _about(FINALIZER, obj)


def waiting_for_pod(pod: Manifest, objects: Objects) -> Iterator[Waiting]:
    """The same of a pod and of what it refers to: its claims, what could be theirs, its namespace, its node."""
    yield from waiting(pod, objects)
    if _phase(pod) in _ENDED:
        return
    namespace, node_name = pod["metadata"]["namespace"], pod["spec"].get("nodeName")
    for found in objects.named("Namespace", "", [namespace]).values():
        yield from waiting(found, objects)
    yield from _of_claims(pod, objects)
    if node_name:
        for node in objects.named("Node", "", [node_name]).values():
            yield from waiting(node, objects)
        return
    for quota in objects.of_kind("ResourceQuota", namespace):
        yield from waiting(quota, objects)
    nominated, message = _status(pod).get("nominatedNodeName"), _last_rejection(pod)
    if nominated:
        for victim in objects.leaving_pods(nominated):
            yield from waiting(victim, objects)
    if CANNOT_ALLOCATE in message:
        for claim in objects.of_kind("ResourceClaim"):
            yield from waiting(claim, objects)
    if keys := {key for key in TAINTS if f"{{{key}:" in message}:
        for node in objects.tainted_nodes(keys):
            yield from waiting(node, objects)


def _of_pod(pod: Manifest, objects: Objects) -> Iterator[Waiting]:
    node_name, spec = pod["spec"].get("nodeName"), pod["spec"]
    if _is_leaving(pod):
        if node_name:
            yield _about(POD_LEAVING, pod)
        return
    asks = any("ephemeral" in one for one in spec.get("volumes") or ()) or spec.get("resourceClaims")
    if node_name or _phase(pod) in _ENDED or not asks:
        return
    typed = _typed_pod(pod)
    ephemeral = [use.name for use in claims_used(typed) if use.is_ephemeral]
    there = objects.named("PersistentVolumeClaim", typed.namespace, ephemeral) if ephemeral else {}
    for name in ephemeral:
        if name not in there:
            yield Waiting(CLAIM_NOT_MADE, "PersistentVolumeClaim", f"{typed.namespace}/{name}")
    for entry in typed.spec.resource_claims or ():
        if recorded_name(typed, entry) is None:
            yield Waiting(DEVICE_CLAIM_NOT_MADE, "Pod", typed.key)


def _of_claims(pod: Manifest, objects: Objects) -> Iterator[Waiting]:
    """Of the pod's claims, and of the volumes that would do for one that is not bound."""
    if not any("ephemeral" in one or "persistentVolumeClaim" in one for one in pod["spec"].get("volumes") or ()):
        return
    namespace, names = pod["metadata"]["namespace"], [use.name for use in claims_used(_typed_pod(pod))]
    unbound = []
    for manifest in objects.named("PersistentVolumeClaim", namespace, names).values():
        yield from waiting(manifest, objects)
        claim = manifests.convert(manifest, PersistentVolumeClaim)
        if not is_fully_bound(claim):
            unbound.append(claim)
    if not unbound:
        return
    for manifest in objects.of_kind("PersistentVolume"):
        if any(True for _ in _volume(manifest, objects)):
            volume = manifests.convert(manifest, PersistentVolume)
            if any(_would_do(volume, claim) for claim in unbound):
                yield _about(VOLUME_PHASE, manifest)


def _would_do(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    return volume_class_name(volume) == claim_class_name(claim) and volume_suits_claim(volume, claim)


# One kind each


def _volume(volume: Manifest, objects: Objects) -> Iterator[str]:
    """A volume that is set aside for a claim is taken for it whatever its phase."""
    if _phase(volume) in ("", "Pending") and not volume["spec"].get("claimRef") and not _is_leaving(volume):
        yield VOLUME_PHASE


def _claim(manifest: Manifest, objects: Objects) -> Iterator[str]:
    claim = manifests.convert(manifest, PersistentVolumeClaim)
    if is_fully_bound(claim) or claim.status.phase == "Lost" or claim.metadata.deletion_timestamp is not None:
        return
    name = claim_class_name(claim)
    storage_class = objects.named("StorageClass", "", [name]).get(name) if name else None
    is_late = storage_class is not None and storage_class.get("volumeBindingMode") == WAIT_FOR_FIRST_CONSUMER
    yield CLAIM_PLACED if is_late and not claim.spec.volume_name else CLAIM_UNBOUND


def _device_claim(claim: Manifest, objects: Objects) -> Iterator[str]:
    status = _status(claim)
    reserved = status.get("reservedFor") or ()
    if not status.get("allocation") or not reserved:
        return
    if any(one.get("apiGroup") or one.get("resource") != "pods" for one in reserved):
        return  # others than pods are not known here
    pods = objects.named("Pod", claim["metadata"]["namespace"], [one["name"] for one in reserved])
    if not any(_may_run(pods.get(one["name"]), one.get("uid")) for one in reserved):
        yield DEVICES_KEPT


def _quota(quota: Manifest, objects: Objects) -> Iterator[str]:
    hard = quota["spec"].get("hard") or {}
    if hard.keys() - (_status(quota).get("hard") or {}).keys():
        yield QUOTA


def _budget(budget: Manifest, objects: Objects) -> Iterator[str]:
    if _is_unseen(budget):
        yield BUDGET


def _node(node: Manifest, objects: Objects) -> Iterator[str]:
    taints = {one.get("key") for one in node["spec"].get("taints") or ()} & TAINTS
    if node["spec"].get("unschedulable"):
        taints -= {UNSCHEDULABLE}  # which is as somebody wants it
    if taints:
        yield NODE_TAINT


def _namespace(namespace: Manifest, objects: Objects) -> Iterator[str]:
    if _is_leaving(namespace):
        yield NAMESPACE_LEAVING


def _replicated(workload: Manifest, objects: Objects) -> Iterator[str]:
    wanted = workload["spec"].get("replicas")
    if (1 if wanted is None else wanted) > (_status(workload).get("replicas") or 0) and not _is_leaving(workload):
        yield WORKLOAD


def _daemon_set(workload: Manifest, objects: Objects) -> Iterator[str]:
    status = _status(workload)
    lacks = (status.get("currentNumberScheduled") or 0) < (status.get("desiredNumberScheduled") or 0)
    if (lacks or _is_unseen(workload)) and not _is_leaving(workload):
        yield WORKLOAD


def _job(job: Manifest, objects: Objects) -> Iterator[str]:
    spec, status = job["spec"], _status(job)
    is_over = any(one.get("type") in _OVER and one.get("status") == "True" for one in status.get("conditions") or ())
    is_ours = spec.get("managedBy") in (None, _JOB_CONTROLLER)
    is_wanted = not spec.get("suspend") and spec.get("parallelism") != 0 and not _is_leaving(job)
    if is_ours and is_wanted and not is_over and not status.get("active"):
        yield WORKLOAD


def _cron_job(cron_job: Manifest, objects: Objects) -> Iterator[str]:
    if not cron_job["spec"].get("suspend") and not _is_leaving(cron_job):
        yield WORKLOAD


RULES: Final[Mapping[str, Callable[[Manifest, Objects], Iterator[str]]]] = {
    "PersistentVolume": _volume,
    "PersistentVolumeClaim": _claim,
    "ResourceClaim": _device_claim,
    "ResourceQuota": _quota,
    "PodDisruptionBudget": _budget,
    "Node": _node,
    "Namespace": _namespace,
    "Deployment": _replicated,
    "ReplicaSet": _replicated,
    "ReplicationController": _replicated,
    "StatefulSet": _replicated,
    "DaemonSet": _daemon_set,
    "Job": _job,
    "CronJob": _cron_job,
}


# What manifests say


def _about(reason: str, obj: Manifest) -> Waiting:
    metadata = obj["metadata"]
    namespace, name = metadata.get("namespace"), metadata["name"]
    return Waiting(reason, obj["kind"], f"{namespace}/{name}" if namespace else name)


def _status(obj: Manifest) -> Manifest:
    status: Manifest = obj.get("status") or {}
    return status


def _phase(obj: Manifest) -> str:
    return _status(obj).get("phase") or ""


def _is_leaving(obj: Manifest) -> bool:
    return bool(obj["metadata"].get("deletionTimestamp"))


def _is_unseen(obj: Manifest) -> bool:
    """Whether no controller has said that it saw the spec."""
    return (_status(obj).get("observedGeneration") or 0) < (obj["metadata"].get("generation") or 1)


def _may_run(pod: Manifest | None, uid: str | None) -> bool:
    if pod is None or pod["metadata"]["uid"] != uid or _phase(pod) in _ENDED:
        return False
    return bool(pod["spec"].get("nodeName")) or not _is_leaving(pod)


def _last_rejection(pod: Manifest) -> str:
    conditions = _status(pod).get("conditions") or ()
    found = (one.get("message") for one in conditions if one["type"] == "PodScheduled" and one.get("status") == "False")
    return next(found, "") or ""


def _typed_pod(pod: Manifest) -> Pod:
    return manifests.convert(pod, Pod)
