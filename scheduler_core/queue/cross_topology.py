"""Older form (hints off): which waiting pods an assigned pod may help, namely those that count their neighbours.

Source: kubernetes v1.34.1, scheduling_queue.go (getUnschedulablePodsWithCrossTopologyTerm).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from scheduler_core.api.affinity import PodAffinityTerm
from scheduler_core.api.pod import Pod
from scheduler_core.api.selectors import SelectorError, parse_label_selector
from scheduler_core.model.types import QueuedPodInfo

NamespaceLabels = Callable[[str], Mapping[str, str]]
"""Name of a namespace → its labels; empty for one that is not known."""

POD_TOPOLOGY_SPREAD = "PodTopologySpread"


def may_be_helped(info: QueuedPodInfo, assigned: Pod, namespace_labels: NamespaceLabels) -> bool:
    """Refused by spreading in the same namespace, or asking by affinity for just such a pod."""
    if POD_TOPOLOGY_SPREAD in info.unschedulable_plugins and assigned.namespace == info.pod.namespace:
        return True
    affinity = info.pod.spec.affinity
    pod_affinity = affinity.pod_affinity if affinity is not None else None
    if pod_affinity is None:
        return False
    labels = namespace_labels(assigned.namespace)
    try:
        return any(
            _matches(term, info.pod, assigned, labels)
            for term in pod_affinity.required_during_scheduling_ignored_during_execution or ()
        )
    except SelectorError:
        return False  # a pod whose terms cannot be read has none


def _matches(term: PodAffinityTerm, owner: Pod, pod: Pod, namespace_labels: Mapping[str, str]) -> bool:
    namespaces = term.namespaces or ()
    if not namespaces and term.namespace_selector is None:
        namespaces = (owner.namespace,)
    in_namespace = pod.namespace in namespaces or parse_label_selector(term.namespace_selector).matches(
        namespace_labels
    )
    return parse_label_selector(term.label_selector).matches(pod.labels) and in_namespace
