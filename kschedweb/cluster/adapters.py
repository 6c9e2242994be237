"""Manifests to columns: what the tables keep of a node, a pod or any other object beside the manifest itself.

Quantities become integers here: cpu in thousandths, everything else in base units, rounded up.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kschedweb.cluster.choices import PodPhase
from scheduler_core.api import manifests, resources
from scheduler_core.api.meta import KubeObject, ResourceList
from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod

Manifest = dict[str, Any]

ZONE_LABELS = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
REGION_LABELS = ("topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region")
POD_SCHEDULED = "PodScheduled"


@dataclass(frozen=True, slots=True)
class NodeColumns:
    zone: str
    region: str
    unschedulable: bool
    ready: bool
    allocatable: dict[str, int]


@dataclass(frozen=True, slots=True)
class PodColumns:
    node_name: str
    phase: str
    priority: int
    scheduler_name: str
    nominated_node_name: str
    gated: bool
    deletion_timestamp: datetime | None
    requests: dict[str, int]
    start_time: datetime | None
    condition_reason: str
    condition_message: str


def decode(manifest: Mapping[str, Any], kind: str | None = None) -> KubeObject:
    """The typed object; ManifestError says where the manifest is wrong."""
    return manifests.decode(manifest, kind=kind)


def pod_of(manifest: Mapping[str, Any]) -> Pod:
    """The pod of a stored manifest."""
    return manifests.convert(manifest, Pod)


def node_of(manifest: Mapping[str, Any]) -> Node:
    """The node of a stored manifest."""
    return manifests.convert(manifest, Node)


def node_columns(node: Node) -> NodeColumns:
    labels = node.labels
    ready = next((item.status for item in node.status.conditions or () if item.type == "Ready"), "True")
    return NodeColumns(
        zone=_first(labels, ZONE_LABELS),
        region=_first(labels, REGION_LABELS),
        unschedulable=node.spec.unschedulable,
        ready=ready == "True",
        allocatable=amounts(node.status.allocatable or {}),
    )


def pod_columns(pod: Pod) -> PodColumns:
    scheduled = next((item for item in pod.status.conditions or () if item.type == POD_SCHEDULED), None)
    return PodColumns(
        node_name=pod.spec.node_name,
        phase=pod.status.phase or PodPhase.PENDING,
        priority=pod.priority,
        scheduler_name=pod.spec.scheduler_name or "default-scheduler",
        nominated_node_name=pod.status.nominated_node_name,
        gated=bool(pod.spec.scheduling_gates),
        deletion_timestamp=pod.metadata.deletion_timestamp,
        requests=pod_requests(pod),
        start_time=pod.status.start_time,
        condition_reason=scheduled.reason if scheduled else "",
        condition_message=scheduled.message if scheduled else "",
    )


def pod_requests(pod: Pod) -> dict[str, int]:
    """What the pod takes on a node."""
    return amounts(resources.node_sums(pod)[0])


def amounts(quantities: ResourceList) -> dict[str, int]:
    """The integers the engine counts with."""
    return {name: resources.amount(name, quantity) for name, quantity in quantities.items()}


def taint_text(taint: Mapping[str, Any]) -> str:
    """A taint as kubectl prints it: `key=value:Effect`, without `=` when there is no value."""
    value = taint.get("value")
    return f"{taint.get('key', '')}{f'={value}' if value else ''}:{taint.get('effect', '')}"


def format_time(moment: datetime) -> str:
    """A time as manifests carry it: whole seconds in UTC."""
    return manifests.format_time(moment.replace(microsecond=0))


def _first(labels: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((labels[name] for name in names if labels.get(name)), "")
