"""Admission plugins for pods that the operator of a service may switch on or off.

    MemoryPressureToleration           a new pod that is not BestEffort tolerates nodes under memory pressure
    LimitPodHardAntiAffinityTopology   required anti-affinity only by host name

The first works where nodes are simulated; it is a part of upstream's PodTolerationRestriction, which kube-apiserver
leaves off by default, as the second.
Source: kubernetes v1.34.1, plugin/pkg/admission/{podtolerationrestriction,antiaffinity}.
"""

from __future__ import annotations

from typing import Final

from scheduler_core.admission.context import AdmissionContext, Manifest, refused
from scheduler_core.admission.qos import BEST_EFFORT, qos_class
from scheduler_core.api.derived import HOSTNAME
from scheduler_core.api.manifests import convert
from scheduler_core.api.pod import PodSpec

MEMORY_PRESSURE_TOLERATION: Final = "MemoryPressureToleration"
LIMIT_ANTI_AFFINITY: Final = "LimitPodHardAntiAffinityTopology"
PLUGINS: Final = (MEMORY_PRESSURE_TOLERATION, LIMIT_ANTI_AFFINITY)
DEFAULT_PLUGINS: Final = frozenset({MEMORY_PRESSURE_TOLERATION})

_TOLERATION: Final = {"key": "node.kubernetes.io/memory-pressure", "operator": "Exists", "effect": "NoSchedule"}


def tolerate_memory_pressure(pod: Manifest, context: AdmissionContext) -> None:
    """Let the pod tolerate memory pressure, unless it is BestEffort: it is evicted last by its requests."""
    if MEMORY_PRESSURE_TOLERATION not in context.plugins or not context.is_simulated:
        return
    tolerations = pod["spec"].get("tolerations", [])
    if _TOLERATION not in tolerations and qos_class(convert(pod["spec"], PodSpec, path="spec")) != BEST_EFFORT:
        pod["spec"]["tolerations"] = [*tolerations, dict(_TOLERATION)]


def limit_anti_affinity(pod: Manifest, context: AdmissionContext) -> None:
    """Refuse required anti-affinity over anything but nodes, which would keep others out of whole zones."""
    if LIMIT_ANTI_AFFINITY not in context.plugins:
        return
    affinity = (pod["spec"].get("affinity") or {}).get("podAntiAffinity") or {}
    for term in affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ():
        key = term.get("topologyKey", "")
        if key != HOSTNAME:
            message = (
                f"affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey {key} but only key {HOSTNAME} is"
                " allowed"
            )
            raise refused("spec.affinity.podAntiAffinity", message)
