"""Between stored manifests and the core: what a manifest says as columns, and admission with a cluster's own classes.

Quantities become integers here: cpu in thousandths, everything else in base units, rounded up.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from django.conf import settings

from kschedweb.cluster.choices import PodPhase
from kschedweb.common.packing import kept_json
from scheduler_core.admission import accept_existing, explain_unreadable
from scheduler_core.admission.validation.metadata import name_problems
from scheduler_core.api import manifests, resources
from scheduler_core.api.meta import KubeObject, ResourceList
from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.api.schema import DecodeError
from scheduler_core.apiserver import admission as apiserver
from scheduler_core.apiserver.addresses import Addresses
from scheduler_core.apiserver.kinds import ADMISSION_KINDS, CONFIDENTIAL_KINDS, KINDS
from scheduler_core.apiserver.other_kinds import LeftOut, why_left_out
from scheduler_core.errors import AdmissionError, ManifestError

__all__ = [
    "ADMISSION_KINDS",
    "CONFIDENTIAL_KINDS",
    "REFUSALS",
    "Addresses",
    "Admission",
    "AdmissionError",
    "KubeObject",
    "LeftOut",
    "ManifestError",
    "Node",
    "Pod",
    "why_left_out",
]

Manifest = dict[str, Any]

ZONE_LABELS = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
REGION_LABELS = ("topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region")
POD_SCHEDULED = "PodScheduled"

# An escaped character 0, not the text of such an escape.
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*+\\u0000")
_ESCAPED_NUL = rb"\u0000"

# A name which every rule for names allows.
_PLAIN_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")

_PLACE_OF_CUSTOM = 20  # behind the definitions
_ALIKE_KEPT = 1_000  # templates of one import, each with what its pods become
_PHASES = tuple(PodPhase.values)

REFUSALS = (ManifestError, AdmissionError)


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
    owner: str


@dataclass(frozen=True, slots=True)
class AlikePods:
    """What was made of one pod, for all that differ from it by name, uid and the node they run on only."""

    _kept: dict[bytes, tuple[bytes, Mapping[str, Any]]]
    _template: bytes
    _node_name: str  # empty where it is none or belongs to the template

    def made(self, *, name: str, uid: str) -> tuple[bytes, Mapping[str, Any]] | None:
        """The manifest of such a pod as it is stored, as JSON, and its columns; None while none was admitted."""
        kept = self._kept.get(self._template)
        if kept is None:
            return None
        manifest: Manifest = orjson.loads(kept[0])
        manifest["metadata"] |= {"name": name, "uid": uid}
        columns = kept[1]
        if self._node_name:
            manifest["spec"]["nodeName"] = self._node_name
            columns = {**columns, "node_name": self._node_name}
        return kept_json(manifest), columns

    def keep(self, text: bytes, columns: Mapping[str, Any]) -> None:
        """This is what one was made."""
        if len(self._kept) >= _ALIKE_KEPT:
            self._kept.clear()
        self._kept[self._template] = text, columns


class Admission(apiserver.Admission):
    """Admission of many objects at once, most of them equal but for their names."""

    def __init__(self, existing: Iterable[Manifest]) -> None:
        self._alike: dict[bytes, tuple[bytes, Mapping[str, Any]]] = {}
        super().__init__(lambda: "", map(decode, existing), plugins=settings.ADMISSION_PLUGINS)

    def alike(self, manifest: Manifest, now: int) -> "AlikePods | None":
        """Pods that differ from this one by name, uid and the node they run on only; None where a name may matter.

        A controller makes its pods from one template, and what becomes of one is what becomes of all.
        """
        metadata = manifest["metadata"]
        if not _PLAIN_NAME.fullmatch(metadata["name"]):
            return None
        rest = {key: value for key, value in metadata.items() if key not in ("name", "uid")}
        template, node_name = {**manifest, "metadata": rest}, ""
        match manifest.get("spec"):
            case {"nodeName": str(given), **spec} if not name_problems("Node", given):
                template, node_name = {**template, "spec": spec}, given
        return AlikePods(self._alike, kept_json((template, bool(node_name), now)), node_name)

    def create(self, manifest: Mapping[str, Any], uid: str, now: int) -> Manifest:
        """The manifest as its creation stores it; raises one of REFUSALS, which say where the problem is."""
        try:
            return super().create(manifest, uid, now)
        except DecodeError as error:
            raise explain_unreadable(dict(manifest), error) from None

    def check(self, manifest: Manifest) -> Manifest:
        """The manifest of an object that a cluster has admitted before; raises one of REFUSALS."""
        return accept_existing(manifest, manifest["kind"])

    def remember(self, obj: KubeObject) -> None:
        """Let what follows be admitted by this class or range, in place of a namesake."""
        if obj.kind in ADMISSION_KINDS:
            self._alike.clear()
        super().remember(obj)


def version_of(kind: str) -> str:
    """The apiVersion of a kind; empty when the scheduler knows no such kind."""
    return KINDS[kind].cls.api_version if kind in KINDS else ""


def is_read(kind: str) -> bool:
    """Whether there is a version in which objects of this kind are taken from uploads."""
    return kind in KINDS and kind not in CONFIDENTIAL_KINDS


def is_namespaced(kind: str) -> bool:
    return KINDS[kind].namespaced


def is_freely_named(kind: str) -> bool:
    """Whether objects of this kind may have any name that can stand in a path, as roles do."""
    return not name_problems(kind, "system:any")


def put_order(kind: str) -> int:
    """Objects are put in this order: what admission looks up first, kinds before their objects, nodes before pods."""
    return KINDS[kind].place if kind in KINDS else _PLACE_OF_CUSTOM


def storage_problem(manifest: Mapping[str, Any]) -> str:
    """Why the manifest cannot be stored as jsonb; empty when it can."""
    try:
        text = orjson.dumps(manifest)
    except (TypeError, orjson.JSONEncodeError) as error:
        return f"cannot be written as JSON: {error}"
    # The pattern alone takes as long as everything else that is done to an object of a large import.
    found = _ESCAPED_NUL in text and _NUL.search(text)
    return "has a character of code 0, which cannot be stored" if found else ""


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
    if pod.status.phase and pod.status.phase not in _PHASES:
        raise ManifestError("status.phase", f"expected one of {', '.join(_PHASES)}, got {pod.status.phase!r}")
    if pod.spec.node_name and pod.spec.scheduling_gates:
        raise ManifestError("spec.nodeName", "cannot be set until all schedulingGates have been cleared")
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
        owner=next((f"{one.kind}/{one.name}" for one in pod.metadata.owner_references or () if one.controller), ""),
    )


def stored_pod_columns(manifest: Manifest) -> PodColumns:
    """What `pod_columns` says of a stored pod, without making the typed pod: frames are full of such."""
    spec = manifest["spec"]
    return PodColumns(
        priority=spec.get("priority") or 0,
        scheduler_name=spec.get("schedulerName") or "default-scheduler",
        requests=_stored_requests(manifest, spec, manifest.get("status") or {}),
        **changing_pod_columns(manifest),
    )


def _phase(phase: str | None) -> str:
    """The column's phase: requests may set one that Kubernetes does not know, and the manifest keeps it."""
    return PodPhase.PENDING.value if not phase else phase if phase in _PHASES else PodPhase.UNKNOWN.value


def changing_pod_columns(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a stored pod that change after its creation."""
    spec, status = manifest["spec"], manifest.get("status") or {}
    scheduled: Manifest = next(
        (item for item in status.get("conditions") or () if item.get("type") == POD_SCHEDULED), {}
    )
    return {
        "node_name": spec.get("nodeName") or "",
        "phase": _phase(status.get("phase")),
        "nominated_node_name": status.get("nominatedNodeName") or "",
        "gated": bool(spec.get("schedulingGates")),
        "deletion_timestamp": moment_of(manifest["metadata"].get("deletionTimestamp")),
        "start_time": moment_of(status.get("startTime")),
        "condition_reason": scheduled.get("reason") or "",
        "condition_message": scheduled.get("message") or "",
        "owner": owner_of(manifest),
    }


def owner_of(manifest: Mapping[str, Any]) -> str:
    """Kind/name of the controller of a stored object; empty without one."""
    references = manifest["metadata"].get("ownerReferences") or ()
    return next((f"{one['kind']}/{one['name']}" for one in references if one.get("controller")), "")


def moment_of(text: str | None) -> datetime | None:
    """A time as manifests carry it."""
    return datetime.fromisoformat(text) if text else None


def milliseconds(moment: datetime) -> int:
    """A time as views carry it: milliseconds since the Unix epoch."""
    return int(moment.timestamp() * 1000)


_requests_of: dict[bytes, dict[str, int]] = {}
_REQUESTS_KEPT = 1_000  # of pods whose containers are the same
_ASKED = 4  # fields of the spec that say what a pod asks for
_LONGEST_KEY = 8_192  # bytes of containers; those of larger pods are worked out each time


def _stored_requests(manifest: Manifest, spec: Manifest, status: Manifest) -> dict[str, int]:
    """`pod_requests` of a stored pod. Pods of one template ask for the same, and status counts after a resize only."""
    asking = [spec.get(name) for name in ("containers", "initContainers", "overhead", "resources")]
    for field in ("containerStatuses", "initContainerStatuses"):
        for one in status.get(field) or ():
            if "resources" in one:
                asking.append([one.get(name) for name in ("name", "resources", "allocatedResources")])
    if len(asking) > _ASKED and any(one.get("type") == "PodResizePending" for one in status.get("conditions") or ()):
        return pod_requests(pod_of(manifest))
    key = kept_json(asking)
    found = _requests_of.get(key)
    if found is None:
        found = pod_requests(pod_of(manifest))
        if len(key) <= _LONGEST_KEY:
            if len(_requests_of) >= _REQUESTS_KEPT:
                _requests_of.clear()
            _requests_of[key] = found
    return found


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


def _first(labels: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((labels[name] for name in names if labels.get(name)), "")
