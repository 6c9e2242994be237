"""What the API server itself writes when an object is created or changed: status, generation, fields out of reach.

Each kind has a `Strategy`, which is data where kinds agree and a function where one has a rule of its own.
Source: kubernetes v1.34.1, pkg/registry/*/strategy.go.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from scheduler_core.admission.app_armor import copy_annotations
from scheduler_core.admission.context import Manifest
from scheduler_core.admission.defaults import merge_label_keys
from scheduler_core.admission.dropped import drop_disabled, drop_disabled_status
from scheduler_core.admission.gates import gated_condition
from scheduler_core.admission.qos import qos_class
from scheduler_core.api.manifests import convert
from scheduler_core.api.pod import PodSpec
from scheduler_core.api.schema import empty

TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"
_MOST_DIGITS: Final = 18  # of a generation
_JOB_NAME_LABELS: Final = ("job-name", "batch.kubernetes.io/job-name")
_CONTROLLER_UID: Final = "batch.kubernetes.io/controller-uid"
_METADATA_OF_SPEC: Final = ("deletionTimestamp", "generation", "labels", "annotations", "finalizers", "ownerReferences")


def _nothing(new: Manifest, old: Manifest | None, now: str) -> None:
    """No rule of its own."""


@dataclass(frozen=True, slots=True)
class Strategy:
    """`born` is the generation of a new object, 0 for none; `counts` the fields whose change raises it.

    A new object's status comes from the server (`resets_status`), and in updates from the old one (`has_status`).
    `prepare` writes what is particular to the kind, in place, before disabled fields are dropped.
    """

    born: int = 0
    counts: tuple[str, ...] = ()
    has_status: bool = True
    resets_status: bool = True
    status_keeps_metadata: bool = False
    prepare: Callable[[Manifest, Manifest | None, str], None] = _nothing
    prepare_status: Callable[[Manifest, Manifest, str], None] = _nothing


def prepare_create(manifest: Manifest, kind: str, now: str) -> None:
    """A defaulted manifest as its creation starts to store it, in place; `now` is the time as text."""
    strategy = STRATEGIES.get(kind, _WITHOUT_STATUS)
    if strategy.resets_status and "status" in manifest:
        manifest["status"] = empty(manifest["apiVersion"], kind, "status")
    metadata = manifest["metadata"]
    metadata.pop("generation", None)
    if strategy.born:
        metadata["generation"] = strategy.born
    strategy.prepare(manifest, None, now)
    drop_disabled(manifest, None, kind)


def prepare_update(new: Manifest, old: Manifest, kind: str, now: str) -> None:
    """A defaulted manifest that replaces `old`, in place: status as it was, generation counted."""
    strategy = STRATEGIES.get(kind, _WITHOUT_STATUS)
    if strategy.has_status and "status" in old:
        new["status"] = old["status"]
    strategy.prepare(new, old, now)
    drop_disabled(new, old, kind)
    _count(new, old, strategy)


def prepare_status_update(new: Manifest, old: Manifest, kind: str, now: str) -> None:
    """A manifest whose status replaces that of `old`, in place: everything else as it was, mostly but for metadata."""
    strategy = STRATEGIES.get(kind, _WITHOUT_STATUS)
    for field in old.keys() - {"metadata", "status"}:
        new[field] = old[field]
    for field in new.keys() - old.keys() - {"metadata", "status"}:
        del new[field]
    metadata, before = new["metadata"], old["metadata"]
    if strategy.status_keeps_metadata:
        for field in _METADATA_OF_SPEC:
            _keep(metadata, before, field)
    _keep(metadata, before, "generation")
    strategy.prepare_status(new, old, now)
    drop_disabled_status(new, old, kind)


def _count(new: Manifest, old: Manifest, strategy: Strategy) -> None:
    """The generation counts changes; clients do not write it."""
    metadata, before = new["metadata"], old["metadata"]
    _keep(metadata, before, "generation")
    if any(_at(new, path) != _at(old, path) for path in strategy.counts):
        metadata["generation"] = (before.get("generation") or strategy.born) + 1


def _at(manifest: Manifest, path: str) -> Any:
    value: Any = manifest
    for step in path.split("."):
        value = value.get(step) or {}
    return value


def _keep(new: Manifest, old: Manifest, field: str) -> None:
    if field in old:
        new[field] = old[field]
    else:
        new.pop(field, None)


def _pod(new: Manifest, old: Manifest | None, now: str) -> None:
    if new["spec"].get("terminationGracePeriodSeconds", 0) < 0:
        new["spec"]["terminationGracePeriodSeconds"] = 1
    if old is not None:
        return
    copy_annotations(new)
    status: Manifest = {"phase": "Pending", "qosClass": qos_class(convert(new["spec"], PodSpec, path="spec"))}
    if new["spec"].get("schedulingGates"):
        status["conditions"] = [gated_condition() | {"lastProbeTime": None, "lastTransitionTime": now}]
    new["status"] = status
    merge_label_keys(new)


def _pod_status(new: Manifest, old: Manifest, now: str) -> None:
    _keep(new["metadata"], old["metadata"], "ownerReferences")
    status, before = new["status"], old["status"]
    for field in ("qosClass", "observedGeneration"):
        if not status.get(field) and before.get(field):
            status[field] = before[field]
    seen: dict[str, list[int]] = {}
    for condition in before.get("conditions", ()):
        seen.setdefault(condition["type"], []).append(condition.get("observedGeneration", 0))
    for condition in status.get("conditions", ()):
        generations = seen.get(condition["type"])
        known = generations.pop(0) if generations else 0
        if not condition.get("observedGeneration") and known:
            condition["observedGeneration"] = known


def _namespace(new: Manifest, old: Manifest | None, now: str) -> None:
    spec = new["spec"]
    if old is not None:
        _keep(spec, old["spec"], "finalizers")
        return
    new["status"] = {"phase": "Active"}
    finalizers = spec.get("finalizers", [])
    spec["finalizers"] = finalizers if "kubernetes" in finalizers else [*finalizers, "kubernetes"]


def _persistent_volume(new: Manifest, old: Manifest | None, now: str) -> None:
    if old is None:
        new["status"] = {"phase": "Pending", "lastPhaseTransitionTime": now}


def _persistent_volume_status(new: Manifest, old: Manifest, now: str) -> None:
    field, status, before = "lastPhaseTransitionTime", new["status"], old["status"]
    if status.get("phase") == before.get("phase"):
        if not status.get(field) and before.get(field):
            status[field] = before[field]
    elif not status.get(field) or status[field] == before.get(field):
        status[field] = now


def _persistent_volume_claim(new: Manifest, old: Manifest | None, now: str) -> None:
    if old is None:
        new["status"] = {"phase": "Pending"}
    normalize_data_sources(new["spec"], (old or {}).get("spec"))


def normalize_data_sources(spec: Manifest, old: Manifest | None) -> None:
    """`dataSource` and `dataSourceRef` say the same; a source that is neither claim nor snapshot is dropped."""
    reference = spec.get("dataSourceRef")
    if reference is not None:
        reference.pop("namespace", None)
    source = spec.get("dataSource")
    if source is not None and not (old or {}).get("dataSource"):
        group, kind = source.get("apiGroup") or "", source.get("kind")
        if (group, kind) not in (("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot")):
            spec.pop("dataSource")
            source = None
    if source is not None and reference is None:
        spec["dataSourceRef"] = dict(source)
    elif source is None and reference is not None:
        group, kind = reference.get("apiGroup") or "", reference.get("kind")
        if (group, kind) in (("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot")):
            spec["dataSource"] = dict(reference)


def _daemon_set(new: Manifest, old: Manifest | None, now: str) -> None:
    if old is not None:
        generation = _template_generation(old) + (new["spec"]["template"] != old["spec"]["template"])
    else:
        generation = max(1, _template_generation(new))
    new["metadata"]["annotations"] = {
        **(new["metadata"].get("annotations") or {}),
        TEMPLATE_GENERATION: str(generation),
    }


def _template_generation(manifest: Manifest) -> int:
    """What the annotation says; 0 without one, and when it is no number, as in objects that were imported."""
    text = (manifest["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else 0


def _deployment_status(new: Manifest, old: Manifest, now: str) -> None:
    _keep(new["metadata"], old["metadata"], "labels")


def _job(new: Manifest, old: Manifest | None, now: str) -> None:
    """A new job selects its pods by its own uid, unless its selector is made by hand."""
    if old is not None or new["spec"].get("manualSelector"):
        return
    metadata, spec = new["metadata"], new["spec"]
    labels = spec["template"]["metadata"].setdefault("labels", {})
    for label in _JOB_NAME_LABELS:
        labels.setdefault(label, metadata.get("name", ""))
    for label in ("controller-uid", _CONTROLLER_UID):
        labels.setdefault(label, metadata["uid"])
    if metadata.get("labels") is labels:
        metadata["labels"] = dict(labels)
    spec.setdefault("selector", {}).setdefault("matchLabels", {}).setdefault(_CONTROLLER_UID, metadata["uid"])


def _service(new: Manifest, old: Manifest | None, now: str) -> None:
    if old is None:
        return
    spec, before = new["spec"], old["spec"]
    addressed = ("ClusterIP", "NodePort", "LoadBalancer")
    open_types = ("NodePort", "LoadBalancer")
    if before["type"] in addressed and spec["type"] not in addressed:
        for field in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"):
            _drop_same(spec, before, field)
    ports = [port.get("nodePort") for port in spec.get("ports", ())]
    if before["type"] in open_types and spec["type"] not in open_types:
        if ports == [port.get("nodePort") for port in before.get("ports", ())]:
            for port in spec.get("ports", ()):
                port.pop("nodePort", None)
        _drop_same(spec, before, "externalTrafficPolicy")
    if before["type"] == "LoadBalancer" and spec["type"] != "LoadBalancer":
        for field in ("healthCheckNodePort", "allocateLoadBalancerNodePorts", "loadBalancerClass"):
            _drop_same(spec, before, field)
        new["status"] = {**new["status"], "loadBalancer": {}}


def _drop_same(spec: Manifest, before: Manifest, field: str) -> None:
    if spec.get(field) == before.get(field):
        spec.pop(field, None)


def _service_account(new: Manifest, old: Manifest | None, now: str) -> None:
    if new.get("secrets"):
        new["secrets"] = [{"name": one.get("name", "")} if one.get("name") else {} for one in new["secrets"]]


def _secret(new: Manifest, old: Manifest | None, now: str) -> None:
    if old is not None and not new.get("type") and old.get("type"):
        new["type"] = old["type"]


def _endpoint_slice(new: Manifest, old: Manifest | None, now: str) -> None:
    """Labels of nodes have no place in this version any more."""
    if old is None or new["endpoints"] != old["endpoints"]:
        for endpoint in new["endpoints"] or ():
            endpoint.pop("deprecatedTopology", None)


def _signing_request(new: Manifest, old: Manifest | None, now: str) -> None:
    """What was asked for stays."""
    if old is not None:
        new["spec"] = old["spec"]


def _definition(new: Manifest, old: Manifest | None, now: str) -> None:
    """Which versions objects may be stored in: the one in which they are stored now, and those before it."""
    if old is None:
        new["status"] = {"conditions": [], "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": []}
    status = new["status"]
    stored = next((one["name"] for one in new["spec"]["versions"] or () if one["storage"]), "")
    if stored and stored not in (status.get("storedVersions") or ()):
        new["status"] = {**status, "storedVersions": [*(status.get("storedVersions") or ()), stored]}


_SPEC: Final = ("spec",)
_COUNTED: Final = Strategy(born=1, counts=_SPEC)
_COUNTED_WITHOUT_STATUS: Final = Strategy(born=1, counts=_SPEC, has_status=False, resets_status=False)
_COUNTING_WEBHOOKS: Final = Strategy(born=1, counts=("webhooks",), has_status=False, resets_status=False)
_WITHOUT_STATUS: Final = Strategy(has_status=False, resets_status=False)

# Kinds that are not named have no status and no rule of their own.
STRATEGIES: Final[dict[str, Strategy]] = {
    "Namespace": Strategy(prepare=_namespace),
    "Node": Strategy(resets_status=False),
    "Pod": Strategy(born=1, counts=_SPEC, prepare=_pod, prepare_status=_pod_status),
    "PersistentVolume": Strategy(prepare=_persistent_volume, prepare_status=_persistent_volume_status),
    "PersistentVolumeClaim": Strategy(prepare=_persistent_volume_claim),
    "ResourceQuota": Strategy(),
    "Service": Strategy(prepare=_service),
    "ReplicationController": _COUNTED,
    "ReplicaSet": _COUNTED,
    "StatefulSet": _COUNTED,
    "Deployment": Strategy(born=1, counts=("spec", "metadata.annotations"), prepare_status=_deployment_status),
    "DaemonSet": Strategy(born=1, counts=_SPEC, prepare=_daemon_set),
    "Job": Strategy(born=1, counts=_SPEC, prepare=_job),
    "CronJob": _COUNTED,
    "Secret": Strategy(has_status=False, resets_status=False, prepare=_secret),
    "ServiceAccount": Strategy(has_status=False, resets_status=False, prepare=_service_account),
    "EndpointSlice": Strategy(
        born=1,
        counts=("metadata.labels", "addressType", "endpoints", "ports"),
        has_status=False,
        resets_status=False,
        prepare=_endpoint_slice,
    ),
    "PodTemplate": Strategy(born=1, counts=("template",), has_status=False, resets_status=False),
    "PodDisruptionBudget": _COUNTED,
    "PriorityClass": Strategy(born=1, has_status=False, resets_status=False),
    "CSIDriver": Strategy(counts=_SPEC, has_status=False, resets_status=False),
    "VolumeAttachment": Strategy(status_keeps_metadata=True),
    "ResourceClaim": Strategy(status_keeps_metadata=True),
    "ResourceSlice": Strategy(born=1, counts=_SPEC, has_status=False, resets_status=False),
    "DeviceClass": Strategy(born=1, counts=_SPEC, has_status=False, resets_status=False),
    "Ingress": _COUNTED,
    "IngressClass": _COUNTED_WITHOUT_STATUS,
    "NetworkPolicy": _COUNTED_WITHOUT_STATUS,
    "ServiceCIDR": Strategy(),
    "HorizontalPodAutoscaler": Strategy(),
    "MutatingWebhookConfiguration": _COUNTING_WEBHOOKS,
    "ValidatingWebhookConfiguration": _COUNTING_WEBHOOKS,
    "ValidatingAdmissionPolicy": _COUNTED,
    "ValidatingAdmissionPolicyBinding": _COUNTED_WITHOUT_STATUS,
    "CertificateSigningRequest": Strategy(prepare=_signing_request),
    "FlowSchema": _COUNTED,
    "PriorityLevelConfiguration": _COUNTED,
    "APIService": Strategy(),
    "CustomResourceDefinition": Strategy(born=1, counts=_SPEC, prepare=_definition),
}
