"""What the kubelet of a node may not write, though its role would let it: other nodes, and labels that steer pods.

Source: kubernetes v1.34.1, plugin/pkg/admission/noderestriction; k8s.io/kubelet/pkg/apis for its labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from scheduler_core.apiserver import answers
from scheduler_core.apiserver.answers import Outcome, Refused
from scheduler_core.apiserver.requests import Create, Delete, Evict, ObjectKey, Request
from scheduler_core.apiserver.store import Stored

NODE_LEASES: Final = "kube-node-lease"
MIRROR: Final = "kubernetes.io/config.mirror"
_RESTRICTED: Final = "node-restriction.kubernetes.io"
_KUBELET_LABELS: Final = frozenset(
    {
        "kubernetes.io/hostname", "topology.kubernetes.io/zone", "topology.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region",
        "beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type", "kubernetes.io/os",
        "kubernetes.io/arch", "beta.kubernetes.io/os", "beta.kubernetes.io/arch",
    }
)  # fmt: skip
_KUBELET_DOMAINS: Final = ("kubelet.kubernetes.io", "node.kubernetes.io")


def restriction(node: str, request: Request, key: ObjectKey, stored: Stored | None, outcome: Outcome) -> Refused | None:
    """The refusal of what the node's kubelet asks for, if it is none of its business; `outcome` is what would be."""
    new = outcome.changes[-1].manifest if outcome.changes else stored or {}
    check = _CHECKS.get(key.kind)
    problem = next(check(node, request, key, stored or {}, new), None) if check is not None else None
    return None if problem is None else answers.forbidden(key, problem)


def _node(node: str, request: Request, key: ObjectKey, old: Stored, new: Stored) -> Iterator[str]:
    if key.name != node:
        yield f'node "{node}" is not allowed to modify node "{key.name}"'
    if isinstance(request, Delete):
        return
    labels = sorted(_forbidden_labels(_labels(old), _labels(new)))
    if isinstance(request, Create):
        if labels:
            yield f'node "{node}" is not allowed to set the following labels: {", ".join(labels)}'
        return
    if (old["spec"].get("taints") or []) != (new["spec"].get("taints") or []):
        yield f'node "{node}" is not allowed to modify taints'
    if (old["metadata"].get("ownerReferences") or []) != (new["metadata"].get("ownerReferences") or []):
        yield f'node "{node}" is not allowed to modify ownerReferences'
    if labels:
        yield f"is not allowed to modify labels: {', '.join(labels)}"


def _pod(node: str, request: Request, key: ObjectKey, old: Stored, new: Stored) -> Iterator[str]:
    subresource = getattr(request, "subresource", "")
    is_own = old.get("spec", {}).get("nodeName") == node
    if isinstance(request, Evict):
        if not is_own:
            yield f"node {node} can only evict pods with spec.nodeName set to itself"
    elif isinstance(request, Delete):
        if not is_own:
            yield f'node "{node}" can only delete pods with spec.nodeName set to itself'
    elif isinstance(request, Create):
        yield from _mirror_pod(node, new)
    elif subresource == "status":
        if not is_own:
            yield f'node "{node}" can only update pod status for pods with spec.nodeName set to itself'
        if _labels(old) != _labels(new):
            yield f'node "{node}" cannot update labels through pod status'
        if _claims(old) != _claims(new):
            yield f'node "{node}" cannot update resource claim statues'
    elif subresource:
        yield f"unexpected pod subresource \"{subresource}\", only 'status' and 'eviction' are allowed"
    else:
        yield f'unexpected operation "UPDATE", node "{node}" can only create and delete mirror pods'


def _mirror_pod(node: str, pod: Stored) -> Iterator[str]:
    metadata = pod["metadata"]
    owners = metadata.get("ownerReferences") or []
    if MIRROR not in (metadata.get("annotations") or {}):
        yield f'pod does not have "{MIRROR}" annotation, node "{node}" can only create mirror pods'
    if pod["spec"].get("nodeName") != node:
        yield f'node "{node}" can only create pods with spec.nodeName set to itself'
    if len(owners) > 1:
        yield f'node "{node}" can only create pods with a single owner reference set to itself'
    if not owners or (owners[0]["apiVersion"], owners[0]["kind"], owners[0]["name"]) != ("v1", "Node", node):
        yield f'node "{node}" can only create pods with an owner reference set to itself'
    if not owners[0].get("controller"):
        yield f'node "{node}" can only create pods with a controller owner reference set to itself'
    if owners[0].get("blockOwnerDeletion"):
        yield f'node "{node}" must not set blockOwnerDeletion on an owner reference'


def _claim(node: str, request: Request, key: ObjectKey, old: Stored, new: Stored) -> Iterator[str]:
    if getattr(request, "subresource", "") != "status":
        yield "may only update PVC status"


def _lease(node: str, request: Request, key: ObjectKey, old: Stored, new: Stored) -> Iterator[str]:
    if key.namespace != NODE_LEASES:
        yield f'can only access leases in the "{NODE_LEASES}" system namespace'
    if key.name != node:
        yield "can only access node lease with the same name as the requesting node"


def _csi_node(node: str, request: Request, key: ObjectKey, old: Stored, new: Stored) -> Iterator[str]:
    if key.name != node:
        yield "can only access CSINode with the same name as the requesting node"


def _slice(node: str, request: Request, key: ObjectKey, old: Stored, new: Stored) -> Iterator[str]:
    if isinstance(request, Create) and new["spec"].get("nodeName") != node:
        yield "can only create ResourceSlice with the same NodeName as the requesting node"
    if isinstance(request, Delete) and old.get("spec", {}).get("nodeName") != node:
        yield "can only delete ResourceSlice with the same NodeName as the requesting node"


_CHECKS: Final = {
    "Node": _node,
    "Pod": _pod,
    "PersistentVolumeClaim": _claim,
    "Lease": _lease,
    "CSINode": _csi_node,
    "ResourceSlice": _slice,
}


def _labels(obj: Stored) -> Mapping[str, str]:
    return obj.get("metadata", {}).get("labels") or {}


def _claims(pod: Stored) -> Any:
    return pod.get("status", {}).get("resourceClaimStatuses") or []


def _forbidden_labels(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[str]:
    for label in old.keys() | new.keys():
        if old.get(label) == new.get(label):
            continue
        domain = label.rpartition("/")[0]
        is_kubelets = label in _KUBELET_LABELS or _is_below(domain, *_KUBELET_DOMAINS)
        if _is_below(domain, _RESTRICTED) or (_is_below(domain, "kubernetes.io", "k8s.io") and not is_kubelets):
            yield label


def _is_below(domain: str, *parents: str) -> bool:
    return any(domain == parent or domain.endswith(f".{parent}") for parent in parents)
