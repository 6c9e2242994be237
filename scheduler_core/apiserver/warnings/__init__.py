"""What the API server warns of when it stores an object: things that are allowed and mostly not meant.

Source: kubernetes v1.34.1, pkg/registry/*/strategy.go and pkg/api/*/{util,warnings}.go.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from typing import Final

from scheduler_core.api.custom import DEFINITION, is_custom, stored_kind
from scheduler_core.api.quantity import parse
from scheduler_core.api.syntax import label_problems
from scheduler_core.apiserver.store import Stored
from scheduler_core.apiserver.warnings.addresses import address_warnings, network_warnings
from scheduler_core.apiserver.warnings.definitions import definition_warnings
from scheduler_core.apiserver.warnings.kept import NOT_ACTED_BY
from scheduler_core.apiserver.warnings.node_labels import label_warnings, message_of_label, term_warnings
from scheduler_core.apiserver.warnings.pods import REMOVED_VOLUMES, app_armor_warnings, pod_warnings

# Kinds whose every use is warned of.
DEPRECATED: Final = {"Endpoints": "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"}
_BETA_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_VOLUME_ANNOTATIONS: Final = {
    _BETA_CLASS: 'deprecated since v1.8; use "storageClassName" attribute instead',
    "volume.beta.kubernetes.io/mount-options": 'deprecated since v1.31; use "mountOptions" attribute instead',
}
_MOUNTABLE: Final = "kubernetes.io/enforce-mountable-secrets"
_TOPOLOGY_HINTS: Final = "service.kubernetes.io/topology-aware-hints"
_TOPOLOGY_MODE: Final = "service.kubernetes.io/topology-mode"
_RECYCLE: Final = (
    "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is"
    " to use dynamic provisioning."
)
# In the order in which they are looked for.
_REMOVED_SOURCES: Final = ("cephfs", "photonPersistentDisk", "scaleIO", "storageos", "glusterfs", "rbd")
_MANY_INDEXES: Final = (
    "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might"
    " not be able to track completedIndexes when a big number of indexes fail"
)
_SLICE_MAKERS: Final = ("endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io")

Warnings = Iterator[str]


def object_warnings(new: Stored, old: Stored | None, subresource: str = "") -> tuple[str, ...]:
    """Of an object as it was stored in place of `old`, in the order in which they are noticed."""
    kind = stored_kind(new)
    if is_custom(kind):
        return ()
    if subresource == "status":
        return tuple(_STATUS_CHECKS[kind](new)) if kind in _STATUS_CHECKS else ()
    if kind in NOT_ACTED_BY:
        return (f"{kind} {new['metadata']['name']} is {NOT_ACTED_BY[kind]}",)
    check = _CHECKS.get(kind)
    return tuple(check(new, old)) if check is not None and not subresource else ()


def _pod(new: Stored, old: Stored | None) -> Warnings:
    """Of new pods alone: it is mostly programs that change one."""
    if old is None:
        yield from app_armor_warnings(new)
        yield from _name(new, "the Pod's hostname")
        yield from pod_warnings("", new["metadata"], new["spec"])


def _name(new: Stored, use: str = "Pod names and hostnames") -> Warnings:
    problems = label_problems(new["metadata"]["name"])
    if problems:
        advice = f"a DNS label is recommended: [{' '.join(problems)}]"
        yield f"metadata.name: this is used in {use}, which can result in surprising behavior; {advice}"


def _template(holder: Stored, path: str) -> Warnings:
    template = holder["template"]
    yield from pod_warnings(f"{path}.template.", template.get("metadata") or {}, template["spec"])


def _is_same_generation(new: Stored, old: Stored) -> bool:
    return bool(new["metadata"].get("generation") == old["metadata"].get("generation"))


def _workload(new: Stored, old: Stored | None) -> Warnings:
    if old is None:
        if new["kind"] != "DaemonSet":
            yield from _name(new)
        yield from _template(new["spec"], "spec")
    elif new["kind"] == "ReplicationController":
        if not _is_same_generation(new, old):
            yield from _template(old["spec"], "spec")  # the server looks at the one that is replaced
    elif new["spec"]["template"] != old["spec"]["template"] or (
        new["kind"] != "DaemonSet" and not _is_same_generation(new, old)
    ):
        yield from _template(new["spec"], "spec")


def _pod_template(new: Stored, old: Stored | None) -> Warnings:
    if old is None or not _is_same_generation(new, old):
        template = new["template"]
        yield from pod_warnings("template.", template.get("metadata") or {}, template["spec"])


def _stateful_set(new: Stored, old: Stored | None) -> Warnings:
    if old is None or not _is_same_generation(new, old):
        yield from _template(new["spec"], "spec")
    for index, claim in enumerate(new["spec"].get("volumeClaimTemplates") or ()):
        path = f"spec.volumeClaimTemplates[{index}]" + ("" if old is None else ".Spec")
        yield from _claim_spec(path, claim["spec"])
    if new["spec"].get("revisionHistoryLimit", 0) < 0:
        advice = "a negative value retains all historical revisions; a value >= 0 is recommended"
        yield f"spec.revisionHistoryLimit: {advice}"


def _job_spec(spec: Stored, path: str) -> Warnings:
    if (
        spec.get("completionMode") == "Indexed"
        and spec.get("completions", 0) > 100_000
        and spec.get("parallelism", 0) > 10_000
    ):
        yield f"{path}: {_MANY_INDEXES}"
    yield from _template(spec, path)


def _job(new: Stored, old: Stored | None) -> Warnings:
    if old is None:
        yield from _name(new)
    if old is None or not _is_same_generation(new, old):
        yield from _job_spec(new["spec"], "spec")


def _cron_job(new: Stored, old: Stored | None) -> Warnings:
    if old is None:
        yield from _name(new)
    if old is None or not _is_same_generation(new, old):
        yield from _job_spec(new["spec"]["jobTemplate"]["spec"], "spec.jobTemplate.spec")
    if old is not None and "TZ" in new["spec"]["schedule"]:
        page = "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/"
        yield f"cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see {page} for more details"


def _volume(new: Stored, old: Stored | None) -> Warnings:
    annotations, spec = new["metadata"].get("annotations") or {}, new["spec"]
    for key, text in _VOLUME_ANNOTATIONS.items():
        if key in annotations:
            yield f"metadata.annotations[{key}]: {text}"
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        yield _RECYCLE
    terms = ((spec.get("nodeAffinity") or {}).get("required") or {}).get("nodeSelectorTerms") or ()
    for index, term in enumerate(terms):
        yield from term_warnings(f"spec.nodeAffinity.required.nodeSelectorTerms[{index}]", term)
    for source in _REMOVED_SOURCES:
        if source in spec:
            yield f"spec.{REMOVED_VOLUMES[source]}"


def _claim(new: Stored, old: Stored | None) -> Warnings:
    if _BETA_CLASS in (new["metadata"].get("annotations") or {}):
        yield f"metadata.annotations[{_BETA_CLASS}]: {_VOLUME_ANNOTATIONS[_BETA_CLASS]}"
    yield from _claim_spec("spec", new["spec"])


def _claim_spec(path: str, spec: Stored) -> Warnings:
    for field in ("requests", "limits"):
        text = ((spec.get("resources") or {}).get(field) or {}).get("storage")
        if text is not None and parse(text).milli_value() % 1000:
            reason = f'fractional byte value "{parse(text)}" is invalid, must be an integer'
            yield f"{path}.resources.{field}[storage]: {reason}"


def _service(new: Stored, old: Stored | None) -> Warnings:
    spec = new["spec"]
    if _TOPOLOGY_HINTS in (new["metadata"].get("annotations") or {}):
        yield f"annotation {_TOPOLOGY_HINTS} is deprecated, please use {_TOPOLOGY_MODE} instead"
    is_headless = spec.get("type") == "ClusterIP" and spec.get("clusterIP") == "None"
    if spec.get("clusterIP") not in (None, "", "None"):
        for index, address in enumerate(spec.get("clusterIPs") or ()):
            yield from address_warnings(f"spec.clusterIPs[{index}]", address)
    if is_headless:
        for field, name in (("loadBalancerIP",) * 2, ("externalIPs",) * 2, ("sessionAffinity", "SessionAffinity")):
            if spec.get(field):
                yield f"spec.{name} is ignored for headless services"
    for index, address in enumerate(spec.get("externalIPs") or ()):
        yield from address_warnings(f"spec.externalIPs[{index}]", address)
    if spec.get("loadBalancerIP"):
        yield from address_warnings("spec.loadBalancerIP", spec["loadBalancerIP"])
    for index, network in enumerate(spec.get("loadBalancerSourceRanges") or ()):
        yield from network_warnings(f"spec.loadBalancerSourceRanges[{index}]", network)
    if spec.get("type") == "ExternalName" and spec.get("externalIPs"):
        yield 'spec.externalIPs is ignored when spec.type is "ExternalName"'
    if spec.get("type") != "ExternalName" and spec.get("externalName"):
        yield 'spec.externalName is ignored when spec.type is not "ExternalName"'


def _node(new: Stored, old: Stored | None) -> Warnings:
    spec = new["spec"]
    if "configSource" in spec:
        yield "spec.configSource: the feature is removed"
    if spec.get("externalID"):
        yield "spec.externalID: this field is deprecated, and is unused by Kubernetes"
    for index, network in enumerate(spec.get("podCIDRs") or ()):
        yield from network_warnings(f"spec.podCIDRs[{index}]", network)


def _runtime_class(new: Stored, old: Stored | None) -> Warnings:
    for key in (new.get("scheduling") or {}).get("nodeSelector") or ():
        message = message_of_label(key)
        if message:
            yield f"scheduling.nodeSelector: {message}"


def _storage_class(new: Stored, old: Stored | None) -> Warnings:
    for index, topology in enumerate(new.get("allowedTopologies") or ()):
        for number, one in enumerate(topology.get("matchLabelExpressions") or ()):
            message = message_of_label(one["key"])
            if message:
                yield f"allowedTopologies[{index}].matchLabelExpressions[{number}].key: {message}"


def _storage_capacity(new: Stored, old: Stored | None) -> Warnings:
    yield from label_warnings("nodeTopology", new.get("nodeTopology") or {})


def _secret(new: Stored, old: Stored | None) -> Warnings:
    """Of a certificate that is none; what is wrong with it otherwise is not looked at."""
    if new.get("type") != "kubernetes.io/tls":
        return
    for key, name in (("tls.crt", "certificate"), ("tls.key", "key")):
        if b"-----BEGIN " not in base64.b64decode(new["data"][key]):
            yield f"tls: failed to find any PEM data in {name} input"
            return


def _service_account(new: Stored, old: Stored | None) -> Warnings:
    has_it, had_it = (
        one is not None and _MOUNTABLE in (one["metadata"].get("annotations") or {}) for one in (new, old)
    )
    if has_it and not had_it:
        reason = "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
        yield f"metadata.annotations[{_MOUNTABLE}]: {reason}"


def _endpoints(new: Stored, old: Stored | None) -> Warnings:
    if (new["metadata"].get("labels") or {}).get("endpoints.kubernetes.io/managed-by") == "endpoint-controller":
        return
    for index, subset in enumerate(new.get("subsets") or ()):
        for field in ("addresses", "notReadyAddresses"):
            for number, one in enumerate(subset.get(field) or ()):
                yield from address_warnings(f"subsets[{index}].{field}[{number}].ip", one["ip"])


def _endpoint_slice(new: Stored, old: Stored | None) -> Warnings:
    if old is None and new["addressType"] == "FQDN":
        yield "spec.addressType: FQDN endpoints are deprecated"
    if (new["metadata"].get("labels") or {}).get("endpointslice.kubernetes.io/managed-by") in _SLICE_MAKERS:
        return
    for index, endpoint in enumerate(new["endpoints"] or ()):
        for number, text in enumerate(endpoint["addresses"] or ()):
            yield from address_warnings(f"endpoints[{index}].addresses[{number}]", text)


def _pod_status(new: Stored) -> Warnings:
    for field in ("podIPs", "hostIPs"):
        for index, one in enumerate(new["status"].get(field) or ()):
            yield from address_warnings(f"status.{field}[{index}].ip", one.get("ip", ""))


def _service_status(new: Stored) -> Warnings:
    for index, one in enumerate((new["status"].get("loadBalancer") or {}).get("ingress") or ()):
        if one.get("ip"):
            yield from address_warnings(f"status.loadBalancer.ingress[{index}]", one["ip"])


_CHECKS: Final[dict[str, Callable[[Stored, Stored | None], Warnings]]] = {
    "Pod": _pod,
    "ReplicationController": _workload,
    "ReplicaSet": _workload,
    "Deployment": _workload,
    "DaemonSet": _workload,
    "StatefulSet": _stateful_set,
    "Job": _job,
    "CronJob": _cron_job,
    "PodTemplate": _pod_template,
    "PersistentVolume": _volume,
    "PersistentVolumeClaim": _claim,
    "Service": _service,
    "Node": _node,
    "RuntimeClass": _runtime_class,
    "StorageClass": _storage_class,
    "CSIStorageCapacity": _storage_capacity,
    "Secret": _secret,
    "ServiceAccount": _service_account,
    "Endpoints": _endpoints,
    "EndpointSlice": _endpoint_slice,
    DEFINITION: definition_warnings,
}
_STATUS_CHECKS: Final[dict[str, Callable[[Stored], Warnings]]] = {"Pod": _pod_status, "Service": _service_status}
