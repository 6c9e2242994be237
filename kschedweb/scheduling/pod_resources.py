"""What pods ask for and may use, as kube-scheduler exposes it, and a configuration as it came out of its defaults.

CPU is in cores, sizes are in bytes, everything else is a count. Pods that have ended are left out.
Source: kubernetes v1.34.1, pkg/scheduler/metrics/resources/resources.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector, CollectorRegistry

from kschedweb.cluster.models import Pod
from kschedweb.scheduling.leadership import Leadership
from scheduler_core import config
from scheduler_core.api import manifests
from scheduler_core.api import pod as core
from scheduler_core.api.meta import KubeObject
from scheduler_core.api.quantity import Quantity
from scheduler_core.api.resources import container_limits, is_hugepages, pod_requests

LABELS = ("namespace", "pod", "node", "scheduler", "priority", "resource", "unit")
OVERHEAD_LABELS = ("namespace", "pod", "uid", "node")
ENDED = ("Succeeded", "Failed")
SIZES = ("memory", "storage", "ephemeral-storage")
MILLI = 1000


def internal_configuration(text: str) -> dict[str, Any]:
    """The configuration a text (nothing: all defaults) comes to."""
    loaded = config.load_stored(text)
    found: dict[str, Any] = msgspec.to_builtins(loaded, enc_hook=str)
    return found


def exposed(led: Sequence[Leadership]) -> bytes:
    """Requests, limits and overhead of the pods of these clusters in the text format."""
    rows = (
        Pod.objects.filter(cluster_id__in=[one.cluster_id for one in led])
        .exclude(phase__in=ENDED)
        .order_by("cluster_id", "pk")
        .values_list("manifest", flat=True)
    )
    return exposed_pods(manifests.decode(manifest) for manifest in rows.iterator(chunk_size=500))


def exposed_pods(pods: Iterable[KubeObject]) -> bytes:
    """The same of these pods."""
    registry = CollectorRegistry()
    registry.register(_Resources(pods))
    return generate_latest(registry)


class _Resources(Collector):
    def __init__(self, pods: Iterable[KubeObject]) -> None:
        self._pods = pods

    def describe(self) -> list[Metric]:
        return []  # what there is is collected once

    def collect(self) -> Iterator[Metric]:
        request = GaugeMetricFamily(
            "kube_pod_resource_request",
            "Resources requested by workloads on the cluster, broken down by pod. This shows the resource usage the"
            " scheduler and kubelet expect per pod for resources along with the unit for the resource if any.",
            labels=LABELS,
        )
        limit = GaugeMetricFamily(
            "kube_pod_resource_limit",
            "Resources limit for workloads on the cluster, broken down by pod. This shows the resource usage the"
            " scheduler and kubelet expect per pod for resources along with the unit for the resource if any.",
            labels=LABELS,
        )
        cpu = GaugeMetricFamily(
            "kube_pod_overhead_cpu_cores", "CPU overhead of running the pod.", labels=OVERHEAD_LABELS
        )
        memory = GaugeMetricFamily(
            "kube_pod_overhead_memory_bytes", "Memory overhead of running the pod.", labels=OVERHEAD_LABELS
        )
        for pod in self._pods:
            assert isinstance(pod, core.Pod)
            for family, quantities in (
                (request, pod_requests(pod, use_status=True, use_pod_level=True)),
                (limit, _limits(pod)),
            ):
                for name, quantity in sorted(quantities.items()):
                    number, unit = _number(name, quantity)
                    if number:
                        family.add_metric([*_labels(pod), name, unit], number)
            for family, name in ((cpu, "cpu"), (memory, "memory")):
                overhead = (pod.spec.overhead or {}).get(name)
                if overhead is not None:
                    labels = [pod.namespace, pod.name, pod.uid, pod.spec.node_name]
                    family.add_metric(labels, _number(name, overhead)[0])
        yield from (request, limit, cpu, memory)


def _labels(pod: core.Pod) -> list[str]:
    priority = "" if pod.spec.priority is None else str(pod.spec.priority)
    return [pod.namespace, pod.name, pod.spec.node_name, pod.spec.scheduler_name, priority]


def _limits(pod: core.Pod) -> dict[str, Quantity]:
    limits = dict(container_limits(pod.spec))
    overhead: Mapping[str, Quantity] = pod.spec.overhead or {}
    # A resource without a limit stays without one, whatever the overhead.
    return {name: value + overhead[name] if name in overhead else value for name, value in limits.items()}


def _number(name: str, quantity: Quantity) -> tuple[float, str]:
    if name == "cpu":
        return quantity.milli_value() / MILLI, "cores"
    if name in SIZES or is_hugepages(name) or name.startswith("attachable-volumes-"):
        return float(quantity.value()), "integer" if name.startswith("attachable-volumes-") else "bytes"
    return float(quantity.value()), "integer"
