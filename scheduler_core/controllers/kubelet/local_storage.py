"""Pods that write more to local disks than their limits allow: they end at the next look, whatever the node has left.

Source: kubernetes v1.34.1, pkg/kubelet/eviction/eviction_manager.go (localStorageEviction).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from scheduler_core.api.pod import Pod
from scheduler_core.api.quantity import Quantity
from scheduler_core.api.resources import container_limits
from scheduler_core.controllers.kubelet.measured import Measured
from scheduler_core.controllers.kubelet.pod_usage import LOGS, VOLUMES, WRITABLE
from scheduler_core.controllers.kubelet.ranking import STORAGE, PodUse
from scheduler_core.controllers.kubelet.signals import Signal, first_below


class _Limit(msgspec.Struct, frozen=True):
    """Most bytes of the container or volume `of` (empty: of the pod), what counts, and what the status says then."""

    most: Quantity
    of: str
    parts: tuple[str, ...]
    message: str


def over_limit(uses: Sequence[PodUse], *, separate_images: bool) -> list[tuple[Pod, str]]:
    """Return the pods that use more than a limit, each with what its status says then."""
    found = []
    for one in uses:
        for limit in _limits(one.pod, separate_images) if one.amounts else ():
            amounts = (amount for name, part, amount in one.amounts if part in limit.parts and limit.of in ("", name))
            if sum(amounts) > limit.most.value():
                found.append((one.pod, limit.message))
                break
    return found


def first_over_limit(measured: Measured, begin: int, look_us: int) -> int | None:
    """Return the first look at which a pod may use more than a limit; None when none ever does."""
    pairs = []
    for pod in measured.pods():
        used = measured.used.get(pod.uid)
        for limit in _limits(pod, measured.separate_images) if used else ():
            terms = tuple(one for one in used or () if one.resource in limit.parts and limit.of in ("", one.container))
            pairs.append((Signal(limit.most.value(), 0, terms), 0))
    return first_below(pairs, begin, look_us)


def _limits(pod: Pod, separate_images: bool) -> Iterator[_Limit]:
    """Each limit, in the order in which they are looked at."""
    for volume in pod.spec.volumes or ():
        most = volume.empty_dir.size_limit if volume.empty_dir is not None else None
        if most is not None and most.nano > 0:
            text = f'Usage of EmptyDir volume "{volume.name}" exceeds the limit "{most}". '
            yield _Limit(most, volume.name, (VOLUMES,), text)
    whole = container_limits(pod.spec).get(STORAGE)
    if whole is not None:
        text = f"Pod ephemeral local storage usage exceeds the total limit of containers {whole}. "
        yield _Limit(whole, "", (WRITABLE, LOGS, VOLUMES), text)
    for container in pod.spec.containers:
        most = (container.resources.limits or {}).get(STORAGE)
        if most is not None and most.nano > 0:
            text = f'Container {container.name} exceeded its local ephemeral storage limit "{most}". '
            yield _Limit(most, container.name, (LOGS,) if separate_images else (WRITABLE, LOGS), text)
