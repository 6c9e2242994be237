"""What is sent to an extender and what comes back, as JSON.

Keys are upstream's field names (`NodeNames`), inside Kubernetes objects those of manifests. Objects go out as the
engine knows them. Keys are sorted, so that equal questions are equal bytes. Answers are read in any letter case; a
null is an absent value. An answer that cannot be read, or is nested or larger beyond any use, raises `ExtenderError`;
reasons are cut to what can be stored.
Source: kubernetes v1.34.1, staging/src/k8s.io/kube-scheduler/extender/v1/types.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

import msgspec

from scheduler_core import typed
from scheduler_core.api import manifests
from scheduler_core.api.json_shape import json_shape
from scheduler_core.api.meta import KubeObject
from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.errors import ExtenderError, ManifestError, extender_text
from scheduler_core.lru import LruDict
from scheduler_core.model.node_info import NodeInfo

Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
T = TypeVar("T")

# Whether an answer can be read must not depend on how deep the stack is at that moment.
MAX_DEPTH = 64
_SPARE_TEXTS = 1000  # nodes written down beyond twice those asked about
MAX_VALUES = 4_000_000  # 5,000 whole nodes have some 2,000,000

_encoder = msgspec.json.Encoder(order="sorted")


@dataclass(frozen=True, slots=True)
class Victims:
    """Pods that would have to leave a node, the most important first."""

    pods: tuple[Pod, ...]
    num_pdb_violations: int


class FilterResult(msgspec.Struct, frozen=True):
    """`node_names` and `nodes` are None where the answer has none; only one of them is looked at."""

    node_names: tuple[str, ...] | None = msgspec.field(default=None, name="nodenames")
    nodes: dict[str, Any] | None = None
    failed_nodes: dict[str, str] = msgspec.field(default_factory=dict, name="failednodes")
    failed_and_unresolvable: dict[str, str] = msgspec.field(default_factory=dict, name="failedandunresolvablenodes")
    error: str = ""


class HostPriority(msgspec.Struct, frozen=True):
    """The score of one node, meant to lie in 0..10."""

    host: str = ""
    score: Int64 = 0


class MetaVictims(msgspec.Struct, frozen=True):
    """Victims by uid."""

    uids: tuple[str, ...]
    num_pdb_violations: int


class _BindingResult(msgspec.Struct, frozen=True):
    error: str = ""


class _NodeList(msgspec.Struct, frozen=True):
    items: tuple[dict[str, Any], ...] = ()


class _PreemptionResult(msgspec.Struct, frozen=True):
    victims: dict[str, dict[str, Any] | None] = msgspec.field(default_factory=dict, name="nodenametometavictims")


class _MetaVictims(msgspec.Struct, frozen=True):
    pods: tuple[dict[str, Any], ...] = ()
    num_pdb_violations: Int64 = msgspec.field(default=0, name="numpdbviolations")


class _MetaPod(msgspec.Struct, frozen=True):
    uid: str = ""


class NodeTexts:
    """Nodes as JSON, each written once for as long as the node stays what it is."""

    def __init__(self) -> None:
        self._texts: LruDict[str, tuple[Node, msgspec.Raw]] = LruDict(_SPARE_TEXTS)

    def of(self, node: Node) -> msgspec.Raw:
        known = self._texts.get(node.name)
        if known is None or known[0] is not node:
            known = self._texts[node.name] = node, msgspec.Raw(_encoder.encode(_plain(node)))
        return known[1]

    def list(self, nodes: Sequence[NodeInfo]) -> list[msgspec.Raw]:
        """The nodes; those that have left go once they are the greater part."""
        self._texts.limit = 2 * len(nodes) + _SPARE_TEXTS
        return [self.of(info.node) for info in nodes if info.node is not None]


def extender_args(pod: Pod, nodes: Sequence[NodeInfo], texts: NodeTexts | None) -> bytes:
    """The question of filter and prioritize: names only when `texts` is None."""
    names = node_list = None
    if texts is None:
        names = [info.name for info in nodes]
    else:
        node_list = {"metadata": {}, "items": texts.list(nodes)}
    return _encoder.encode({"Pod": _plain(pod), "Nodes": node_list, "NodeNames": names})


def binding_args(pod: Pod, node_name: str) -> bytes:
    args = {"PodName": pod.name, "PodNamespace": pod.namespace, "PodUID": pod.uid, "Node": node_name}
    return _encoder.encode(args)


def preemption_args(pod: Pod, victims: Mapping[str, Victims], *, uids_only: bool) -> bytes:
    """The question of preempt: victims by node, as whole pods or by uid."""
    whole = meta = None
    if uids_only:
        meta = {
            name: {"Pods": [{"UID": each.uid} for each in found.pods], "NumPDBViolations": found.num_pdb_violations}
            for name, found in victims.items()
        }
    else:
        whole = {
            name: {"Pods": [_plain(each) for each in found.pods], "NumPDBViolations": found.num_pdb_violations}
            for name, found in victims.items()
        }
    return _encoder.encode({"Pod": _plain(pod), "NodeNameToVictims": whole, "NodeNameToMetaVictims": meta})


def read_filter_result(answer: bytes) -> FilterResult:
    result = _convert(_json(answer), FilterResult)
    return msgspec.structs.replace(
        result,
        failed_nodes={name: extender_text(text) for name, text in result.failed_nodes.items()},
        failed_and_unresolvable={name: extender_text(text) for name, text in result.failed_and_unresolvable.items()},
    )


def read_nodes(node_list: Mapping[str, Any]) -> list[Node]:
    """The nodes of a NodeList: what its items say that they are is not looked at, as upstream does not."""
    try:
        return [manifests.convert(item, Node) for item in _convert(node_list, _NodeList).items]
    except ManifestError as error:
        raise _unreadable(str(error)) from None


def read_priorities(answer: bytes) -> list[HostPriority]:
    items = _json(answer)
    if not isinstance(items, list):
        if items is None:
            return []
        raise _unreadable("expected a list")
    return [_convert(item, HostPriority) for item in items if item is not None]


def read_binding_error(answer: bytes) -> str:
    """Why the pod was not bound; empty when it was."""
    return _convert(_json(answer), _BindingResult).error


def read_victims(answer: bytes) -> dict[str, MetaVictims]:
    """Victims by node, in the order of the answer."""
    found: dict[str, MetaVictims] = {}
    for name, given in _convert(_json(answer), _PreemptionResult).victims.items():
        victims = _convert(given, _MetaVictims)
        uids = tuple(_convert(pod, _MetaPod).uid for pod in victims.pods)
        found[name] = MetaVictims(uids, victims.num_pdb_violations)
    return found


def _plain(obj: KubeObject) -> manifests.Manifest:
    """Without kind and apiVersion, which upstream's objects have lost by then."""
    return {key: value for key, value in manifests.encode(obj).items() if key not in ("kind", "apiVersion")}


def _json(answer: bytes) -> Any:
    shape = json_shape(answer)
    if shape.depth > MAX_DEPTH:
        raise _unreadable(f"it is nested more than {MAX_DEPTH} deep")
    if shape.values > MAX_VALUES:
        raise _unreadable(f"it has more than {MAX_VALUES:,} values")
    try:
        return msgspec.json.decode(answer)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _unreadable(str(error)) from None


def _convert(value: Any, cls: type[T]) -> T:
    """The value with its own keys in lower case, those of its parts left alone."""
    folded = value
    if value is None:
        folded = {}
    elif isinstance(value, dict):
        folded = {key.lower(): item for key, item in value.items() if item is not None}
    try:
        return typed.convert(folded, cls)
    except msgspec.ValidationError as error:
        raise _unreadable(str(error)) from None


def _unreadable(detail: str) -> ExtenderError:
    return ExtenderError(f"the extender's answer cannot be read: {detail}")
