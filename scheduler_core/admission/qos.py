"""The quality-of-service class of a pod, from cpu and memory of its containers.

Source: kubernetes v1.34.1, pkg/apis/core/helper/qos.
"""

from __future__ import annotations

from typing import Final

from scheduler_core.api.meta import ResourceList
from scheduler_core.api.pod import PodSpec, ResourceRequirements

GUARANTEED: Final = "Guaranteed"
BURSTABLE: Final = "Burstable"
BEST_EFFORT: Final = "BestEffort"
_COUNTED: Final = ("cpu", "memory")


def qos_class(spec: PodSpec) -> str:
    """Guaranteed when each container's requests equal its limits, BestEffort when none has any, else Burstable.

    Resources of the pod as a whole, empty ones too, stand for those of its containers.
    """
    lists = [container.resources for container in (*spec.containers, *(spec.init_containers or ()))]
    if spec.resources is not None:
        lists = [spec.resources]
    if not any(_counted(one.requests) or _counted(one.limits) for one in lists):
        return BEST_EFFORT
    return GUARANTEED if all(_is_guaranteed(one) for one in lists) else BURSTABLE


def _is_guaranteed(resources: ResourceRequirements) -> bool:
    requests, limits = _counted(resources.requests), _counted(resources.limits)
    return len(limits) == len(_COUNTED) and all(requests.get(name, limit) == limit for name, limit in limits.items())


def _counted(resources: ResourceList | None) -> ResourceList:
    return {name: quantity for name, quantity in (resources or {}).items() if name in _COUNTED and quantity.nano > 0}
