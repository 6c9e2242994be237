"""What a pod requests, what resources are called, and which host ports a pod holds.

Sums and maxima are exact quantities; the integers of the engine are thousandths for cpu, whole units (bytes) for
all else, rounded up at the very end. Returned lists may be those of the pod itself: never change them.
Source: Kubernetes 1.34, component-helpers/resource and pkg/apis/core/v1/helper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from scheduler_core.api.meta import ResourceList
from scheduler_core.api.pod import Container, ContainerStatus, Pod, PodSpec
from scheduler_core.api.quantity import Quantity, parse
from scheduler_core.api.syntax import qualified_name_problem
from scheduler_core.api.text_cache import cached_by_text

CPU: Final = "cpu"
MEMORY: Final = "memory"
EPHEMERAL_STORAGE: Final = "ephemeral-storage"
PODS: Final = "pods"

DEFAULT_MILLI_CPU: Final = 100
DEFAULT_MEMORY: Final = 200 * 1024 * 1024
# What a container that names no value counts for where best-effort pods must not look free of charge.
NON_ZERO_DEFAULTS: Final[ResourceList] = {
    CPU: Quantity.of_milli(DEFAULT_MILLI_CPU),
    MEMORY: parse("200Mi"),
}

ANY_IP: Final = "0.0.0.0"
HostPort = tuple[str, str, int]  # (ip, protocol, port)

_NO_RESOURCES: Final[ResourceList] = {}


@cached_by_text(4096, longest=128)
def is_native(name: str) -> bool:
    """Resources of Kubernetes itself: no domain, or one of kubernetes.io."""
    return "/" not in name or "kubernetes.io/" in name


@cached_by_text(4096, longest=128)
def is_extended(name: str) -> bool:
    """Resources of others, such as `example.com/gpu`."""
    return (
        not is_native(name) and not name.startswith("requests.") and qualified_name_problem(f"requests.{name}") is None
    )


def is_hugepages(name: str) -> bool:
    return name.startswith("hugepages-")


@cached_by_text(4096, longest=128)
def is_scalar(name: str) -> bool:
    """Resources counted by name, next to cpu, memory, storage and pods."""
    return is_extended(name) or is_hugepages(name) or "kubernetes.io/" in name or name.startswith("attachable-volumes-")


def is_pod_level(name: str) -> bool:
    """Resources that `spec.resources` of a pod may name."""
    return name in (CPU, MEMORY) or is_hugepages(name)


def amount(name: str, quantity: Quantity) -> int:
    """The integer the engine counts with."""
    return quantity.milli_value() if name == CPU else quantity.value()


def has_pod_level_requests(spec: PodSpec) -> bool:
    """Whether `spec.resources.requests` names a resource it may name."""
    requests = spec.resources.requests if spec.resources is not None else None
    return bool(requests) and any(is_pod_level(name) for name in requests or ())


def pod_requests(
    pod: Pod, *, use_status: bool, use_pod_level: bool, non_missing: ResourceList | None = None
) -> ResourceList:
    """What the pod requests as a whole, overhead included.

    `use_status` counts what running containers still hold during a resize, `use_pod_level` lets `spec.resources`
    replace the sums, `non_missing` are values for containers that name none of their own.
    """
    spec = pod.spec
    statuses = _resized_statuses(pod) if use_status else {}
    infeasible = bool(statuses) and _is_resize_infeasible(pod)

    def base(container: Container, reads_status: bool) -> ResourceList:
        requests = container.resources.requests or _NO_RESOURCES
        status = statuses.get(container.name) if reads_status else None
        if status is not None and status.resources is not None:
            held = (status.resources.requests or _NO_RESOURCES, status.allocated_resources or _NO_RESOURCES)
            requests = _maximum(held if infeasible else (requests, *held))
        if non_missing is not None:
            missing = [name for name in non_missing if name not in requests]
            if missing:
                requests = {**requests, **{name: non_missing[name] for name in missing}}
        return requests

    total = _aggregate(spec.containers, spec.init_containers or (), base)
    if use_pod_level and spec.resources is not None and has_pod_level_requests(spec):
        replaced = {name: value for name, value in (spec.resources.requests or {}).items() if is_pod_level(name)}
        total = {**total, **replaced}
    if spec.overhead:
        total = _sum(total, spec.overhead)
    return total


def container_requests(spec: PodSpec) -> ResourceList:
    """Requests of the containers alone: no overhead, nothing from the pod level or the status."""
    return _aggregate(
        spec.containers, spec.init_containers or (), lambda container, _: container.resources.requests or _NO_RESOURCES
    )


def container_limits(spec: PodSpec) -> ResourceList:
    """Limits of the containers alone, added up like requests."""
    return _aggregate(
        spec.containers, spec.init_containers or (), lambda container, _: container.resources.limits or _NO_RESOURCES
    )


def node_sums(pod: Pod) -> tuple[ResourceList, int, int]:
    """What a node adds up for the pod: requests, and non-zero cpu (thousandths) and memory (bytes).

    A pod with requests of its own at pod level gets a default only for what its whole request lacks; any other pod
    gets both defaults for each container lacking them.
    """
    requests = pod_requests(pod, use_status=True, use_pod_level=True)
    defaults = NON_ZERO_DEFAULTS
    if has_pod_level_requests(pod.spec):
        defaults = {name: value for name, value in NON_ZERO_DEFAULTS.items() if name not in requests}
    non_zero = requests
    if defaults and (_resized_statuses(pod) or not _names_all(pod.spec, defaults)):
        non_zero = pod_requests(pod, use_status=True, use_pod_level=True, non_missing=defaults)
    cpu, memory = non_zero.get(CPU), non_zero.get(MEMORY)
    return (
        requests,
        cpu.milli_value() if cpu is not None else 0,
        memory.value() if memory is not None else 0,
    )


def host_ports(pod: Pod) -> tuple[HostPort, ...]:
    """Ports a pod holds on its node: of restartable init containers first, then of containers."""
    found: list[HostPort] = []
    for container in pod.spec.init_containers or ():
        if container.is_restartable_init:
            _add_host_ports(container, found)
    for container in pod.spec.containers:
        _add_host_ports(container, found)
    return tuple(found)


def ports_conflict(wanted: HostPort, used: HostPort) -> bool:
    """Whether two ports cannot be held together; 0.0.0.0 stands for every address."""
    return wanted[1:] == used[1:] and (wanted[0] == used[0] or ANY_IP in (wanted[0], used[0]))


def _add_host_ports(container: Container, found: list[HostPort]) -> None:
    for port in container.ports or ():
        if port.host_port > 0:
            found.append((port.host_ip or ANY_IP, port.protocol or "TCP", port.host_port))


def _aggregate(
    containers: Iterable[Container],
    init_containers: Iterable[Container],
    base: Callable[[Container, bool], ResourceList],
) -> ResourceList:
    """Containers added up; then the largest need of any moment of start-up, sidecars running on."""
    total: ResourceList = _NO_RESOURCES
    for container in containers:
        total = _sum(total, base(container, True))
    sidecars: ResourceList = _NO_RESOURCES
    start_up: ResourceList = _NO_RESOURCES
    for container in init_containers:
        own = base(container, container.is_restartable_init)
        if container.is_restartable_init:
            total = _sum(total, own)
            sidecars = _sum(sidecars, own)
            need = sidecars
        else:
            need = _sum(own, sidecars)
        start_up = _maximum((start_up, need))
    return _maximum((total, start_up)) if start_up else total


def _sum(left: ResourceList, right: ResourceList) -> ResourceList:
    if not left:
        return right
    if not right:
        return left
    total = dict(left)
    for name, quantity in right.items():
        total[name] = total[name] + quantity if name in total else quantity
    return total


def _maximum(lists: Iterable[Mapping[str, Quantity]]) -> ResourceList:
    """Element by element; a missing entry leaves the other side."""
    largest: ResourceList = {}
    for one in lists:
        for name, quantity in one.items():
            if name not in largest or largest[name] < quantity:
                largest[name] = quantity
    return largest


def _names_all(spec: PodSpec, defaults: ResourceList) -> bool:
    """Whether no container lacks any of the resources: then the defaults change nothing."""
    for container in (*spec.containers, *(spec.init_containers or ())):
        requests = container.resources.requests or _NO_RESOURCES
        if any(name not in requests for name in defaults):
            return False
    return True


def _resized_statuses(pod: Pod) -> dict[str, ContainerStatus]:
    """Container statuses that report resources, by container name."""
    status = pod.status
    if not status.container_statuses and not status.init_container_statuses:
        return {}
    listed = (*(status.container_statuses or ()), *(status.init_container_statuses or ()))
    return {one.name: one for one in listed if one.resources is not None}


def _is_resize_infeasible(pod: Pod) -> bool:
    for condition in pod.status.conditions or ():
        if condition.type == "PodResizePending":
            return condition.reason == "Infeasible"
    return False
