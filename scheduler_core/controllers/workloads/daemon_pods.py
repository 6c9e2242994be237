"""Which nodes a DaemonSet's pods belong on, and what those pods look like.

A pod is pinned to its node by a required node affinity to `metadata.name`; the scheduler binds it. It tolerates what a
node may suffer from. Source: kubernetes v1.34.1, pkg/controller/daemon, its util.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Any, Final

from scheduler_core.api.affinity import Taint, Toleration
from scheduler_core.api.manifests import convert
from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod, PodSpec
from scheduler_core.api.selectors import RequiredNodeAffinity, SelectorError, required_node_affinity
from scheduler_core.api.workload import DaemonSet, RawTemplate
from scheduler_core.controllers.workloads.revisions import REVISION_HASH
from scheduler_core.controllers.workloads.templates import Manifest, pod_of_template

TEMPLATE_GENERATION: Final = "pod-template-generation"
GENERATION_ANNOTATION: Final = "deprecated.daemonset.template.generation"
_NO_EXECUTE: Final = "NoExecute"
_NO_SCHEDULE: Final = "NoSchedule"
_TOLERATED: Final = (
    ("node.kubernetes.io/not-ready", _NO_EXECUTE),
    ("node.kubernetes.io/unreachable", _NO_EXECUTE),
    ("node.kubernetes.io/disk-pressure", _NO_SCHEDULE),
    ("node.kubernetes.io/memory-pressure", _NO_SCHEDULE),
    ("node.kubernetes.io/pid-pressure", _NO_SCHEDULE),
    ("node.kubernetes.io/unschedulable", _NO_SCHEDULE),
)
_OF_HOST_NETWORK: Final = ("node.kubernetes.io/network-unavailable", _NO_SCHEDULE)
_MATCHED: Final = ("key", "operator", "value", "effect")


class Fit(Enum):
    """What a node means to a DaemonSet: its pod belongs there, may stay if it is there, or must not be there."""

    RUNS = 1
    STAYS = 2
    NOT = 3


class Placement:
    """A DaemonSet's template as its nodes are compared with it."""

    def __init__(self, owner: DaemonSet) -> None:
        template = owner.spec.template or RawTemplate({})
        spec = template.spec
        self._pod = Pod(spec=convert({**spec, "tolerations": tolerations_of(spec)}, PodSpec))
        self._affinity: RequiredNodeAffinity | None
        try:
            self._affinity = required_node_affinity(self._pod)
        except SelectorError:
            self._affinity = None

    def fit(self, node: Node) -> Fit:
        """Return what the node means to the DaemonSet."""
        pinned = self._pod.spec.node_name
        if pinned not in ("", node.name) or self._affinity is None or not self._affinity.matches_node(node):
            return Fit.NOT
        hard = [taint for taint in node.taints if taint.effect in (_NO_EXECUTE, _NO_SCHEDULE)]
        found = _untolerated(hard, self._pod.spec.tolerations or ())
        if not found:
            return Fit.RUNS
        return Fit.NOT if any(taint.effect == _NO_EXECUTE for taint in found) else Fit.STAYS


def tolerations_of(spec: Manifest) -> list[Manifest]:
    """Return the tolerations of a template's pods, with those every pod of a DaemonSet has."""
    found: list[Manifest] = list(spec.get("tolerations") or ())
    for key, effect in (*_TOLERATED, *([_OF_HOST_NETWORK] if spec.get("hostNetwork") else [])):
        added: Manifest = {"key": key, "operator": "Exists", "effect": effect}
        alike = [index for index, one in enumerate(found) if all(one.get(name) == added.get(name) for name in _MATCHED)]
        if alike:
            found[alike[0]] = added
        else:
            found.append(added)
    return found


def pod_for_node(owner: DaemonSet, template: RawTemplate, node: str, revision: str) -> Manifest:
    """Return the manifest of the pod for a node; `revision` is the hash of the template."""
    pod = pod_of_template(owner, template)
    labels = pod["metadata"]["labels"]
    generation = template_generation(owner)
    if generation:
        labels[TEMPLATE_GENERATION] = generation
    labels[REVISION_HASH] = revision
    spec = pod["spec"]
    affinity: dict[str, Any] = dict(spec.get("affinity") or {})
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    affinity["nodeAffinity"] = {
        **(affinity.get("nodeAffinity") or {}),
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]},
    }
    pod["spec"] = {**spec, "affinity": affinity, "tolerations": tolerations_of(spec)}
    return pod


def template_generation(owner: DaemonSet) -> str:
    """Return the number of the template that is annotated; empty when there is none."""
    text = owner.annotations.get(GENERATION_ANNOTATION, "")
    digits = text.removeprefix("-")
    return str(int(text)) if digits.isascii() and digits.isdecimal() and len(digits) < len(str(2**63)) else ""


def is_updated(pod: Pod, revision: str, generation: str) -> bool:
    """Return whether the pod was made from the template of this hash or number."""
    labels = pod.labels
    return bool(generation and labels.get(TEMPLATE_GENERATION) == generation) or labels.get(REVISION_HASH) == revision


def node_of(pod: Pod) -> str:
    """Return the node a pod is on or pinned to; empty when it is neither."""
    if pod.spec.node_name:
        return pod.spec.node_name
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity is not None else None
    for term in required.node_selector_terms if required is not None else ():
        for field in term.match_fields or ():
            if field.key == "metadata.name" and field.operator == "In" and len(field.values or ()) == 1:
                return (field.values or ("",))[0]
    return ""


def _untolerated(taints: Iterable[Taint], tolerations: Iterable[Toleration]) -> list[Taint]:
    tolerations = list(tolerations)
    return [taint for taint in taints if not any(each.tolerates(taint) for each in tolerations)]
