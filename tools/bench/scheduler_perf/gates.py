"""Feature gates that workloads set: which values this engine can be run with, and what they change.

    SchedulerQueueingHints         the engine is built with it
    SchedulerAsyncAPICalls         both: it changes how upstream calls its API server, not what is decided
    all others                     only as they are in the engine, which is as they are in 1.34 unless told otherwise

Source: kubernetes v1.34.1, pkg/features/kube_features.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from scheduler_core.config.feature_gates import QUEUEING_HINTS
from tools.bench.scheduler_perf.problems import NotSupported

DEVICES: Final = "DynamicResourceAllocation"
_EITHER: Final = frozenset({QUEUEING_HINTS, "SchedulerAsyncAPICalls"})
_AS_THEY_ARE: Final[Mapping[str, bool]] = {
    DEVICES: True,
    "DRAConsumableCapacity": False,
    "DRADeviceTaints": False,
    "DRAExtendedResource": False,
    "DRAPartitionableDevices": False,
    "DRAPrioritizedList": True,
    "DRAResourceClaimDeviceStatus": True,
    "InPlacePodVerticalScaling": True,
    "NodeInclusionPolicyInPodTopologySpread": True,
    "SchedulerAsyncPreemption": True,
}


def engine_gates(asked: Mapping[str, bool]) -> dict[str, bool]:
    """The gates to build the engine with; NotSupported names all that it has not, or not with that value."""
    missing = [
        f"{name}={str(value).lower()}"
        for name, value in asked.items()
        if name not in _EITHER and _AS_THEY_ARE.get(name) is not value
    ]
    if missing:
        raise NotSupported(f"feature gate {', '.join(missing)}")
    return {name: value for name, value in asked.items() if name == QUEUEING_HINTS}
