"""Defaults by kind, in place.

Source: kubernetes v1.34.1, pkg/apis/*/v1/defaults.go.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Final

from scheduler_core.admission.context import Manifest
from scheduler_core.admission.defaults.kept import default_kept
from scheduler_core.admission.defaults.pods import default_pod, default_pod_spec, default_pod_status
from scheduler_core.admission.defaults.values import (
    default_claim_spec,
    default_resource_lists,
    default_volume_source,
    put,
)
from scheduler_core.api.kept import KEPT

NAME_LABEL: Final = "kubernetes.io/metadata.name"
_CLIENT_IP_SECONDS: Final = 10800
_MAX_INT32: Final = 2**31 - 1


def default(manifest: Manifest, kind: str) -> None:
    """Fill in what the API server would, in place; the manifest was read by the schema."""
    fill = default_kept if kind in KEPT else _DEFAULTS.get(kind)
    if fill is not None:
        fill(manifest)
    default_status(manifest, kind)


def default_status(manifest: Manifest, kind: str) -> None:
    """Fill in what the API server would in the status alone, in place."""
    fill = _DEFAULTS_OF_STATUS.get(kind)
    if fill is not None:
        fill(manifest)


def _namespace(manifest: Manifest) -> None:
    metadata = manifest["metadata"]
    if metadata.get("name"):
        metadata["labels"] = {**metadata.get("labels", {}), NAME_LABEL: metadata["name"]}


def _namespace_status(manifest: Manifest) -> None:
    manifest["status"].setdefault("phase", "Active")


def _node(manifest: Manifest) -> None:
    spec = manifest["spec"]
    if spec.get("podCIDR") and spec["podCIDR"] != (spec.get("podCIDRs") or [""])[0]:  # what old clients write counts
        spec["podCIDRs"] = [spec["podCIDR"]]
    elif spec.get("podCIDRs"):
        spec["podCIDR"] = spec["podCIDRs"][0]


def _node_status(manifest: Manifest) -> None:
    status = manifest["status"]
    default_resource_lists(status, ("capacity", "allocatable"))
    if "allocatable" not in status and status.get("capacity"):
        status["allocatable"] = dict(status["capacity"])


def _persistent_volume(manifest: Manifest) -> None:
    spec = manifest["spec"]
    default_resource_lists(spec, ("capacity",))
    default_volume_source(spec)
    put(spec, "persistentVolumeReclaimPolicy", "Retain")
    spec.setdefault("volumeMode", "Filesystem")


def _persistent_volume_status(manifest: Manifest) -> None:
    put(manifest["status"], "phase", "Pending")


def _persistent_volume_claim(manifest: Manifest) -> None:
    default_claim_spec(manifest["spec"])


def _persistent_volume_claim_status(manifest: Manifest) -> None:
    default_resource_lists(manifest["status"], ("capacity",))
    put(manifest["status"], "phase", "Pending")


def _limit_range(manifest: Manifest) -> None:
    for item in manifest["spec"].get("limits") or ():
        default_resource_lists(item, ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"))
        if item["type"] != "Container":
            continue
        limits = {**item.get("max", {}), **item.get("default", {})}
        requests = {**item.get("min", {}), **limits, **item.get("defaultRequest", {})}
        for field, values in (("default", limits), ("defaultRequest", requests)):
            if values:
                item[field] = values


def _resource_quota(manifest: Manifest) -> None:
    default_resource_lists(manifest["spec"], ("hard",))


def _resource_quota_status(manifest: Manifest) -> None:
    default_resource_lists(manifest["status"], ("hard", "used"))


def _service(manifest: Manifest) -> None:
    spec = manifest["spec"]
    put(spec, "sessionAffinity", "None")
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP":
        config = spec.setdefault("sessionAffinityConfig", {}).setdefault("clientIP", {})
        put(config, "timeoutSeconds", _CLIENT_IP_SECONDS)
    put(spec, "type", "ClusterIP")
    for port in spec.get("ports", ()):
        put(port, "protocol", "TCP")
        if port["targetPort"] in (0, ""):
            port["targetPort"] = port["port"]
    if spec["type"] in ("NodePort", "LoadBalancer"):
        put(spec, "externalTrafficPolicy", "Cluster")
    if spec["type"] in ("NodePort", "LoadBalancer", "ClusterIP"):
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if spec["type"] == "LoadBalancer":
        put(spec, "allocateLoadBalancerNodePorts", True)


def _service_status(manifest: Manifest) -> None:
    if manifest["spec"].get("type") == "LoadBalancer":
        for ingress in manifest["status"]["loadBalancer"].get("ingress", ()):
            if ingress.get("ip"):
                ingress.setdefault("ipMode", "VIP")


def _replication_controller(manifest: Manifest) -> None:
    spec = manifest["spec"]
    template = spec.get("template")
    labels = template["metadata"].get("labels") if template else None
    if labels:
        if not spec.get("selector"):
            spec["selector"] = dict(labels)
        if not manifest["metadata"].get("labels"):
            manifest["metadata"]["labels"] = dict(labels)
    put(spec, "replicas", 1)
    _template(manifest)


def _replica_set(manifest: Manifest) -> None:
    put(manifest["spec"], "replicas", 1)
    _template(manifest)


def _deployment(manifest: Manifest) -> None:
    spec = manifest["spec"]
    put(spec, "replicas", 1)
    strategy = spec["strategy"]
    put(strategy, "type", "RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        put(rolling, "maxUnavailable", "25%")
        put(rolling, "maxSurge", "25%")
    put(spec, "revisionHistoryLimit", 10)
    put(spec, "progressDeadlineSeconds", 600)
    _template(manifest)


def _daemon_set(manifest: Manifest) -> None:
    spec = manifest["spec"]
    strategy = spec["updateStrategy"]
    put(strategy, "type", "RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        put(rolling, "maxUnavailable", 1)
        put(rolling, "maxSurge", 0)
    put(spec, "revisionHistoryLimit", 10)
    _template(manifest)


def _stateful_set(manifest: Manifest) -> None:
    spec = manifest["spec"]
    put(spec, "podManagementPolicy", "OrderedReady")
    strategy = spec["updateStrategy"]
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
        strategy.setdefault("rollingUpdate", {}).setdefault("partition", 0)
    elif strategy["type"] == "RollingUpdate" and "rollingUpdate" in strategy:
        strategy["rollingUpdate"].setdefault("partition", 0)
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    put(retention, "whenDeleted", "Retain")
    put(retention, "whenScaled", "Retain")
    put(spec, "replicas", 1)
    put(spec, "revisionHistoryLimit", 10)
    for claim in spec.get("volumeClaimTemplates", ()):
        _persistent_volume_claim(claim)
        put(claim["status"], "phase", "Pending")
        claim.update({"kind": "PersistentVolumeClaim", "apiVersion": "v1"})
    _template(manifest)


def _job(manifest: Manifest) -> None:
    spec = manifest["spec"]
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    put(spec, "parallelism", 1)
    put(spec, "backoffLimit", _MAX_INT32 if "backoffLimitPerIndex" in spec else 6)
    labels = spec["template"]["metadata"].get("labels")
    if labels and not manifest["metadata"].get("labels"):
        manifest["metadata"]["labels"] = labels  # the very same: what the server adds to one, the other has too
    spec.setdefault("completionMode", "NonIndexed")
    put(spec, "suspend", False)
    put(spec, "manualSelector", False)
    spec.setdefault("podReplacementPolicy", "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed")
    for rule in spec.get("podFailurePolicy", {}).get("rules") or ():
        for pattern in rule.get("onPodConditions") or ():
            put(pattern, "status", "True")
    _template(manifest)


def _cron_job(manifest: Manifest) -> None:
    spec = manifest["spec"]
    put(spec, "concurrencyPolicy", "Allow")
    put(spec, "suspend", False)
    put(spec, "successfulJobsHistoryLimit", 3)
    put(spec, "failedJobsHistoryLimit", 1)
    default_pod_spec(spec["jobTemplate"]["spec"]["template"]["spec"])


def _secret(manifest: Manifest) -> None:
    """What is given as text is kept as bytes."""
    put(manifest, "type", "Opaque")
    texts = manifest.pop("stringData", None)
    if texts:
        encoded = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
        manifest["data"] = {**manifest.get("data", {}), **encoded}


def _endpoints(manifest: Manifest) -> None:
    for subset in manifest.get("subsets") or ():
        for port in subset.get("ports") or ():
            put(port, "protocol", "TCP")


def _endpoint_slice(manifest: Manifest) -> None:
    for port in manifest["ports"] or ():
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")


def _template(manifest: Manifest) -> None:
    template = manifest["spec"].get("template")
    if template is not None:
        default_pod_spec(template["spec"])


def _pod_template(manifest: Manifest) -> None:
    default_pod_spec(manifest["template"]["spec"])


def _storage_class(manifest: Manifest) -> None:
    manifest.setdefault("volumeBindingMode", "Immediate")
    manifest.setdefault("reclaimPolicy", "Delete")


def _csi_driver(manifest: Manifest) -> None:
    spec = manifest["spec"]
    put(spec, "attachRequired", True)
    for field in ("podInfoOnMount", "storageCapacity", "requiresRepublish", "seLinuxMount"):
        put(spec, field, False)
    spec.setdefault("fsGroupPolicy", "ReadWriteOnceWithFSType")
    if not spec.get("volumeLifecycleModes"):
        spec["volumeLifecycleModes"] = ["Persistent"]


def _priority_class(manifest: Manifest) -> None:
    manifest.setdefault("preemptionPolicy", "PreemptLowerPriority")


def _resource_claim(manifest: Manifest) -> None:
    _device_requests(manifest["spec"])


def _resource_claim_template(manifest: Manifest) -> None:
    _device_requests(manifest["spec"]["spec"])


def _device_requests(spec: Manifest) -> None:
    for request in spec["devices"].get("requests") or ():
        exact = [request["exactly"]] if "exactly" in request else []
        for one in [*exact, *request.get("firstAvailable", ())]:
            put(one, "allocationMode", "ExactCount")
            if one["allocationMode"] == "ExactCount" and not one.get("count"):
                one["count"] = 1
            for toleration in one.get("tolerations", ()):
                put(toleration, "operator", "Equal")


_DEFAULTS: Final[dict[str, Callable[[Manifest], None]]] = {
    "Namespace": _namespace,
    "Node": _node,
    "Pod": default_pod,
    "PersistentVolume": _persistent_volume,
    "PersistentVolumeClaim": _persistent_volume_claim,
    "LimitRange": _limit_range,
    "ResourceQuota": _resource_quota,
    "Service": _service,
    "ReplicationController": _replication_controller,
    "ReplicaSet": _replica_set,
    "Deployment": _deployment,
    "DaemonSet": _daemon_set,
    "StatefulSet": _stateful_set,
    "Job": _job,
    "CronJob": _cron_job,
    "Secret": _secret,
    "Endpoints": _endpoints,
    "EndpointSlice": _endpoint_slice,
    "PodTemplate": _pod_template,
    "StorageClass": _storage_class,
    "CSIDriver": _csi_driver,
    "PriorityClass": _priority_class,
    "ResourceClaim": _resource_claim,
    "ResourceClaimTemplate": _resource_claim_template,
}
_DEFAULTS_OF_STATUS: Final[dict[str, Callable[[Manifest], None]]] = {
    "Namespace": _namespace_status,
    "Node": _node_status,
    "Pod": default_pod_status,
    "PersistentVolume": _persistent_volume_status,
    "PersistentVolumeClaim": _persistent_volume_claim_status,
    "ResourceQuota": _resource_quota_status,
    "Service": _service_status,
}
