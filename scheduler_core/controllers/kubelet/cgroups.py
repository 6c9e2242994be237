"""The control group of a pod, as its kubelet would set it up: shares, quota and limits, overhead counted.

Source: kubernetes v1.34.1, pkg/kubelet/cm/helpers_linux.go.
"""

from __future__ import annotations

from typing import Final

import msgspec

from scheduler_core.admission.qos import BEST_EFFORT, GUARANTEED, qos_class
from scheduler_core.api.meta import ResourceList
from scheduler_core.api.pod import Pod
from scheduler_core.api.resources import container_limits, pod_requests

PERIOD_US: Final = 100_000
LEAST_SHARES: Final = 2
MOST_SHARES: Final = 262_144
_SHARES_PER_CPU: Final = 1024
_LEAST_QUOTA_US: Final = 1_000


class PodCgroup(msgspec.Struct, frozen=True, gc=False):
    """None where there is no limit."""

    cpu_shares: int
    cpu_quota_us: int | None = None  # of each period of PERIOD_US
    memory_limit_bytes: int | None = None


def pod_cgroup(pod: Pod) -> PodCgroup:
    """Return the values of the pod's own group; a limit counts only when every container has one."""
    quality = qos_class(pod.spec)
    if quality == BEST_EFFORT:
        return PodCgroup(LEAST_SHARES)
    requests = pod_requests(pod, use_status=False, use_pod_level=True)
    cpu, limits = requests.get("cpu"), _limits(pod)
    shares = _shares(cpu.milli_value() if cpu is not None else 0)
    quota, memory = limits.get("cpu"), limits.get("memory")
    return PodCgroup(
        shares,
        _quota_us(quota.milli_value()) if quota is not None and _all_have(pod, quality, "cpu") else None,
        memory.value() if memory is not None and _all_have(pod, quality, "memory") else None,
    )


def _limits(pod: Pod) -> ResourceList:
    """Of the pod as a whole; overhead is added to limits that there are."""
    limits = dict(container_limits(pod.spec))
    if pod.spec.resources is not None:
        limits |= pod.spec.resources.limits or {}
    overhead = pod.spec.overhead or {}
    return {name: limit + overhead[name] if name in overhead else limit for name, limit in limits.items()}


def _all_have(pod: Pod, quality: str, resource: str) -> bool:
    if quality == GUARANTEED:
        return True
    whole = (pod.spec.resources.limits or {}).get(resource) if pod.spec.resources is not None else None
    if whole is not None and whole.nano > 0:
        return True
    containers = (*pod.spec.containers, *(pod.spec.init_containers or ()))
    listed = [(one.resources.limits or {}).get(resource) for one in containers]
    return all(one is not None and one.nano > 0 for one in listed)


def _shares(milli_cpu: int) -> int:
    return min(MOST_SHARES, max(LEAST_SHARES, milli_cpu * _SHARES_PER_CPU // 1000))


def _quota_us(milli_cpu: int) -> int | None:
    return max(_LEAST_QUOTA_US, milli_cpu * PERIOD_US // 1000) if milli_cpu else None
