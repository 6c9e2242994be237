"""What an object takes of a resource quota, by the names that quotas use, and which objects a scope selects.

Source: kubernetes v1.34.1, pkg/quota/v1/evaluator/core and staging/src/k8s.io/apiserver/pkg/quota/v1/generic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from scheduler_core.admission.context import Manifest
from scheduler_core.admission.qos import BEST_EFFORT, qos_class
from scheduler_core.admission.storage_class import class_of_claim
from scheduler_core.api.manifests import CLASSES, convert
from scheduler_core.api.meta import ResourceList
from scheduler_core.api.pod import Pod, PodSpec
from scheduler_core.api.quantity import Quantity, parse
from scheduler_core.api.resources import (
    CPU,
    EPHEMERAL_STORAGE,
    MEMORY,
    container_limits,
    is_extended,
    is_hugepages,
    is_native,
    is_pod_level,
    pod_requests,
)

_COMPUTE: Final = (CPU, MEMORY, EPHEMERAL_STORAGE)
_POD_NAMES: Final = frozenset(
    {"count/pods", "pods", *(f"{prefix}{name}" for prefix in ("", "requests.", "limits.") for name in _COMPUTE)}
)
_SERVICE_NAMES: Final = frozenset({"count/services", "services", "services.nodeports", "services.loadbalancers"})
_CLAIM_NAMES: Final = ("persistentvolumeclaims", "requests.storage")
_BY_STORAGE_CLASS: Final = ".storageclass.storage.k8s.io/"
_BY_DEVICE_CLASS: Final = ".deviceclass.resource.k8s.io/devices"
_MOST_DEVICES: Final = 32  # of one claim; what a request for all of them counts for
# Kinds that quotas also count under the name they had first.
_OLD_NAMES: Final = {
    "ConfigMap": "configmaps", "ResourceQuota": "resourcequotas", "ReplicationController": "replicationcontrollers",
    "Secret": "secrets",
}  # fmt: skip
_ONE: Final = Quantity.of(1)


def count_name(kind: str) -> str:
    """How quotas count objects of a kind: `count/deployments.apps`."""
    cls = CLASSES[kind]
    group = cls.api_version.rpartition("/")[0]
    return f"count/{cls.plural}.{group}" if group else f"count/{cls.plural}"


def names_for(kind: str, names: Iterable[str]) -> list[str]:
    """Those of the names of a quota that objects of the kind use."""
    return [name for name in names if _is_for(kind, name)]


def _is_for(kind: str, name: str) -> bool:
    if kind == "Pod":
        if name in _POD_NAMES or is_hugepages(name.removeprefix("requests.")):
            return True
        return name.startswith("requests.") and not is_native(name)
    if kind == "Service":
        return name in _SERVICE_NAMES
    if name == count_name(kind):
        return True
    if kind == "PersistentVolumeClaim":
        return name in _CLAIM_NAMES or any(name.endswith(f"{_BY_STORAGE_CLASS}{one}") for one in _CLAIM_NAMES)
    if kind == "ResourceClaim":
        return name.endswith(_BY_DEVICE_CLASS)
    return name == _OLD_NAMES.get(kind)


def usage_of(manifest: Manifest) -> ResourceList:
    """Everything the object uses, whether a quota limits it or not."""
    kind = manifest["kind"]
    measure = _USAGES.get(kind)
    used: ResourceList = {count_name(kind): _ONE}
    if kind in _OLD_NAMES:
        used[_OLD_NAMES[kind]] = _ONE
    return used if measure is None else {**used, **measure(manifest)}


def _pod(manifest: Manifest) -> ResourceList:
    """A pod that has ended counts as an object only."""
    if (manifest.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return {}
    pod = convert(manifest, Pod)
    return {"pods": _ONE, **_computed(pod_requests(pod, use_status=True, use_pod_level=True), _limits(pod.spec))}


def _limits(spec: PodSpec) -> ResourceList:
    limits = dict(container_limits(spec))
    if spec.resources is not None:
        own = spec.resources.limits or {}
        limits |= {name: quantity for name, quantity in own.items() if is_pod_level(name)}
    for name, quantity in (spec.overhead or {}).items():
        if name in limits and not limits[name].is_zero:
            limits[name] += quantity
    return limits


def _computed(requests: ResourceList, limits: ResourceList) -> ResourceList:
    used: ResourceList = {}
    for name in _COMPUTE:
        if name in requests:
            used[name] = used[f"requests.{name}"] = requests[name]
        if name in limits:
            used[f"limits.{name}"] = limits[name]
    for name, quantity in requests.items():
        if is_hugepages(name):
            used[name] = quantity
        if is_hugepages(name) or is_extended(name):
            used[f"requests.{name}"] = quantity
    return used


def names_of_container(container: Manifest) -> set[str]:
    """The names of cpu and memory for which the container says what it needs."""
    resources = container.get("resources") or {}
    requests, limits = (dict.fromkeys(resources.get(field) or {}, _ONE) for field in ("requests", "limits"))
    return set(_computed(requests, limits))


def _service(manifest: Manifest) -> ResourceList:
    spec = manifest["spec"]
    ports = spec.get("ports") or ()
    kind = spec.get("type")
    node_ports = 0
    if kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is False:
        node_ports = sum(1 for port in ports if port.get("nodePort"))
    elif kind in ("NodePort", "LoadBalancer"):
        node_ports = len(ports)
    return {
        "services": _ONE,
        "services.nodeports": Quantity.of(node_ports),
        "services.loadbalancers": Quantity.of(int(kind == "LoadBalancer")),
    }


def _volume_claim(manifest: Manifest) -> ResourceList:
    used = {"persistentvolumeclaims": _ONE}
    requested = ((manifest["spec"].get("resources") or {}).get("requests") or {}).get("storage")
    if requested is not None:
        used["requests.storage"] = _whole(parse(requested))
        allocated = ((manifest.get("status") or {}).get("allocatedResources") or {}).get("storage")
        if allocated is not None and parse(allocated) > used["requests.storage"]:
            used["requests.storage"] = _whole(parse(allocated))
    name = class_of_claim(manifest)
    return used | {f"{name}{_BY_STORAGE_CLASS}{one}": quantity for one, quantity in used.items() if name}


def _whole(quantity: Quantity) -> Quantity:
    """Rounded up to whole bytes."""
    return quantity if quantity.nano % 10**9 == 0 else Quantity.of(quantity.value(), quantity.format)


def _device_claim(manifest: Manifest) -> ResourceList:
    used: ResourceList = {}
    for request in manifest["spec"].get("devices", {}).get("requests") or ():
        alternatives = request.get("firstAvailable") or [request.get("exactly") or {}]
        most: dict[str, int] = {}
        for one in alternatives:
            name = one.get("deviceClassName")
            if name is not None:
                most[name] = max(most.get(name, 0), _devices(one))
        for name, count in most.items():
            key = f"{name}{_BY_DEVICE_CLASS}"
            used[key] = used.get(key, Quantity.of(0)) + Quantity.of(count)
    return used


def _devices(request: Manifest) -> int:
    mode = request.get("allocationMode")
    return int(request.get("count", 0)) if mode == "ExactCount" else _MOST_DEVICES if mode == "All" else 0


_USAGES: Final[dict[str, Callable[[Manifest], ResourceList]]] = {
    "Pod": _pod,
    "Service": _service,
    "PersistentVolumeClaim": _volume_claim,
    "ResourceClaim": _device_claim,
}


def is_in_scope(selector: Mapping[str, object], manifest: Manifest) -> bool:
    """Whether one requirement (scopeName, operator, values) of a quota holds for the object."""
    scope = selector["scopeName"]
    if manifest["kind"] == "PersistentVolumeClaim":
        return scope == "VolumeAttributesClass" and _selects(selector, _attribute_classes(manifest))
    if manifest["kind"] != "Pod":
        return False
    spec = manifest["spec"]
    if scope in ("Terminating", "NotTerminating"):
        return is_bounded_in_time(manifest) == (scope == "Terminating")
    if scope in ("BestEffort", "NotBestEffort"):
        quality = qos_class(convert(spec, PodSpec, path="spec"))
        return (quality == BEST_EFFORT) == (scope == "BestEffort")
    if scope == "PriorityClass":
        return _selects(selector, {spec.get("priorityClassName", "")} - {""})
    return scope == "CrossNamespacePodAffinity" and _reaches_other_namespaces(spec)


def is_bounded_in_time(pod: Manifest) -> bool:
    """Whether the pod is one of those that end by themselves after some time, which quotas call terminating."""
    return bool(pod["spec"].get("activeDeadlineSeconds", -1) >= 0)


def _selects(selector: Mapping[str, object], values: set[str]) -> bool:
    operator, wanted = selector["operator"], selector.get("values") or ()
    assert isinstance(wanted, (list, tuple))
    if operator == "In":
        return bool(values.intersection(wanted))
    if operator == "NotIn":
        return not values or bool(values.difference(wanted))
    return bool(values) == (operator == "Exists")


def _attribute_classes(claim: Manifest) -> set[str]:
    status = claim.get("status") or {}
    names = {
        claim["spec"].get("volumeAttributesClassName"),
        status.get("currentVolumeAttributesClassName"),
        (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName"),
    }
    return {name for name in names if name}


def _reaches_other_namespaces(spec: Manifest) -> bool:
    for one in ("podAffinity", "podAntiAffinity"):
        affinity = (spec.get("affinity") or {}).get(one) or {}
        terms = list(affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ())
        weighted = affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        terms += [term["podAffinityTerm"] for term in weighted]
        if any(term.get("namespaces") or "namespaceSelector" in term for term in terms):
            return True
    return False
