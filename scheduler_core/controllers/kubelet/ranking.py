"""Which pod of a node under pressure ends first, and what its status says then.

    memory, disks   uses more than it requests, first; then low priority; then the most above its request
    processes       low priority; then the most processes

Source: kubernetes v1.34.1, pkg/kubelet/eviction/helpers.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from scheduler_core.api.pod import Pod
from scheduler_core.api.quantity import BINARY_SI, Quantity
from scheduler_core.api.resources import pod_requests
from scheduler_core.controllers.kubelet.configuration import (
    ALLOCATABLE_MEMORY,
    IMAGEFS_AVAILABLE,
    IMAGEFS_INODES,
    MEMORY_AVAILABLE,
    NODEFS_AVAILABLE,
    NODEFS_INODES,
    PID_AVAILABLE,
    Threshold,
)
from scheduler_core.controllers.kubelet.pod_usage import INODES, LOGS, MEMORY, PIDS, VOLUMES, WRITABLE, Used
from scheduler_core.controllers.kubelet.signals import Observed

STORAGE: Final = "ephemeral-storage"
RESOURCE_OF: Final = {
    MEMORY_AVAILABLE: "memory",
    ALLOCATABLE_MEMORY: "memory",
    NODEFS_AVAILABLE: STORAGE,
    IMAGEFS_AVAILABLE: STORAGE,
    NODEFS_INODES: "inodes",
    IMAGEFS_INODES: "inodes",
    PID_AVAILABLE: "pids",
}
_DISK_PARTS: Final = {  # by signal, what of a pod's disk use counts where images have a file system of their own
    NODEFS_AVAILABLE: (LOGS, VOLUMES),
    IMAGEFS_AVAILABLE: (WRITABLE,),
    NODEFS_INODES: (),
    IMAGEFS_INODES: (INODES,),
}


class PodUse(msgspec.Struct, frozen=True):
    """A pod of the node with what its containers use now: (container, resource, amount)."""

    pod: Pod
    amounts: tuple[tuple[str, str, int], ...] = ()

    def of(self, *resources: str) -> int:
        """Return the sum of these resources."""
        return sum(amount for _, name, amount in self.amounts if name in resources)


def pod_use(pod: Pod, used: Sequence[Used], now: int) -> PodUse:
    """Return what the pod uses at that time."""
    return PodUse(pod, tuple((one.container, one.resource, one.at(now)) for one in used))


def ranked(pods: Sequence[PodUse], signal: str, *, separate_images: bool) -> list[PodUse]:
    """Return the pods in the order in which they end."""
    resource = RESOURCE_OF[signal]
    if resource == "pids":
        return sorted(pods, key=lambda one: (one.pod.priority, -one.of(PIDS)))

    def key(one: PodUse) -> tuple[bool, int, int]:
        requests = pod_requests(one.pod, use_status=False, use_pod_level=True)
        request = requests.get(resource)
        wanted = 0 if request is None else request.value()
        amount = one.of(*_parts(signal, resource, separate_images))
        # Inodes are held against the request of storage, as upstream does.
        less = requests.get(STORAGE) if resource == "inodes" else request
        return amount <= wanted, one.pod.priority, (0 if less is None else less.value()) - amount

    return sorted(pods, key=key)


def _parts(signal: str, resource: str, separate_images: bool) -> tuple[str, ...]:
    if resource == "memory":
        return (MEMORY,)
    if separate_images:
        return _DISK_PARTS[signal]
    return (INODES,) if resource == "inodes" else (WRITABLE, LOGS, VOLUMES)


def eviction_message(one: PodUse, resource: str, met: Sequence[tuple[Threshold, Observed]]) -> str:
    """Return what the status of the evicted pod says; `met` are the thresholds that were, with what was left."""
    message = f"The node was low on resource: {resource}. "
    for threshold, observed in met:
        if RESOURCE_OF[threshold.signal] == resource:
            left = Quantity.of(observed.available, BINARY_SI) if resource in ("memory", STORAGE) else observed.available
            message += f"Threshold quantity: {threshold.quantity(observed.capacity)}, available: {left}. "
            break
    if resource not in ("memory", STORAGE):
        return message
    for container in (*one.pod.spec.containers, *(one.pod.spec.init_containers or ())):
        parts = (MEMORY,) if resource == "memory" else (WRITABLE, LOGS)
        amounts = [amount for name, part, amount in one.amounts if name == container.name and part in parts]
        request = (container.resources.requests or {}).get(resource)
        if amounts and sum(amounts) > (0 if request is None else request.value()):
            using = Quantity.of(sum(amounts), BINARY_SI)
            message += (
                f"Container {container.name} was using {using}, request is {0 if request is None else request},"
                f" has larger consumption of {resource}. "
            )
    return message
