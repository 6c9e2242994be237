"""Pods that write more to local disks than their limits allow: they end at the next look, whatever the node has left.

Source: kubernetes v1.34.1, pkg/kubelet/eviction/eviction_manager.go (localStorageEviction).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scheduler_core.api.pod import Pod
from scheduler_core.api.quantity import Quantity
from scheduler_core.api.resources import container_limits
from scheduler_core.controllers.kubelet.measured import Measured
from scheduler_core.controllers.kubelet.pod_usage import LOGS, VOLUMES, WRITABLE
from scheduler_core.controllers.kubelet.ranking import STORAGE, PodUse
from scheduler_core.controllers.kubelet.signals import Signal, first_below


def over_limit(uses: Sequence[PodUse], *, separate_images: bool) -> list[tuple[Pod, str]]:
    """Return the pods that use more than a limit, each with what its status says then."""
    found = []
    for one in uses:
        for limit, container, parts in _limits(one.pod, separate_images) if one.amounts else ():
            amounts = (amount for name, part, amount in one.amounts if part in parts and container in ("", name))
            if sum(amounts) > limit.value():
                found.append((one.pod, _message(container, limit)))
                break
    return found


def first_over_limit(measured: Measured, begin: int, look_us: int) -> int | None:
    """Return the first look at which a pod may use more than a limit; None when none ever does."""
    pairs = []
    for pod in measured.pods():
        used = measured.used.get(pod.uid)
        for limit, container, parts in _limits(pod, measured.separate_images) if used else ():
            terms = tuple(one for one in used or () if one.resource in parts and container in ("", one.container))
            pairs.append((Signal(limit.value(), 0, terms), 0))
    return first_below(pairs, begin, look_us)


def _limits(pod: Pod, separate_images: bool) -> Iterator[tuple[Quantity, str, tuple[str, ...]]]:
    """Each limit, the container it is of (empty: the pod), and what counts."""
    whole = container_limits(pod.spec).get(STORAGE)
    if whole is not None:
        yield whole, "", (WRITABLE, LOGS, VOLUMES)
    for container in pod.spec.containers:
        limit = (container.resources.limits or {}).get(STORAGE)
        if limit is not None and limit.nano > 0:
            yield limit, container.name, (LOGS,) if separate_images else (WRITABLE, LOGS)


def _message(container: str, limit: Quantity) -> str:
    if container:
        return f'Container {container} exceeded its local ephemeral storage limit "{limit}". '
    return f"Pod ephemeral local storage usage exceeds the total limit of containers {limit}. "
