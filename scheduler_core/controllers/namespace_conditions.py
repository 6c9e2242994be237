"""What the status of a namespace says while its content is being deleted: five conditions, each always there.

While pods remain the two that count what is left say that nothing is: a fault of Kubernetes 1.34 that is kept.
Source: kubernetes v1.34.1, pkg/controller/namespace/deletion/status_condition_utils.go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from scheduler_core.api.custom import is_custom
from scheduler_core.api.manifests import encode_part
from scheduler_core.api.times import moment_of
from scheduler_core.api.workload import Namespace, NamespaceCondition
from scheduler_core.apiserver.kinds import KINDS
from scheduler_core.apiserver.requests import ObjectKey, Patch

_SECOND_US: Final = 1_000_000
CONTENT_FAILURE: Final = "NamespaceDeletionContentFailure"
CONTENT_REMAINING: Final = "NamespaceContentRemaining"
FINALIZERS_REMAINING: Final = "NamespaceFinalizersRemaining"
# Nothing fails here in discovery and in the parsing of versions.
_FINE: Final = tuple(
    NamespaceCondition(type_, "False", None, reason, message)
    for type_, reason, message in (
        ("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"),
        (
            "NamespaceDeletionGroupVersionParsingFailure",
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        (CONTENT_FAILURE, "ContentDeleted", "All content successfully deleted, may be waiting on finalization"),
        (CONTENT_REMAINING, "ContentRemoved", "All content successfully removed"),
        (FINALIZERS_REMAINING, "ContentHasNoFinalizers", "All content-preserving finalizers finished"),
    )
)


def pods_failure(namespace: str) -> NamespaceCondition:
    """Pods that nothing keeps are there longer than they may take to end."""
    detail = f"unexpected items still remain in namespace: {namespace} for gvr: /v1, Resource=pods"
    message = f"Failed to delete all resource types, 1 remaining: {detail}"
    return NamespaceCondition(CONTENT_FAILURE, "True", None, "ContentDeletionFailed", message)


def remaining(kinds: Iterable[str], finalizers: Iterable[str], defined: Mapping[str, str]) -> list[NamespaceCondition]:
    """Of what is left: the kind of each object, and all their finalizers.

    `defined`: the resources of kinds that the cluster defines.
    """
    found: list[NamespaceCondition] = []
    named = Counter(_resource(kind, defined) for kind in kinds)
    resources = sorted(f"{resource} has {count} resource instances" for resource, count in named.items())
    if resources:
        message = f"Some resources are remaining: {', '.join(resources)}"
        found.append(NamespaceCondition(CONTENT_REMAINING, "True", None, "SomeResourcesRemain", message))
    keeping = sorted(f"{name} in {count} resource instances" for name, count in Counter(finalizers).items())
    if keeping:
        message = f"Some content in the namespace has finalizers remaining: {', '.join(keeping)}"
        found.append(NamespaceCondition(FINALIZERS_REMAINING, "True", None, "SomeFinalizersRemain", message))
    return found


def conditions_patch(namespace: Namespace, bad: Iterable[NamespaceCondition], now: int) -> list[Patch]:
    """Say that all is well but for these conditions; nothing where the status says so already."""
    said = {each.type: each for each in namespace.status.conditions or ()}
    after = _updated(said, {each.type: each for each in _FINE} | {each.type: each for each in bad}, now)
    if after == said:
        return []
    body = {"status": {"conditions": [encode_part(each) for each in after.values()]}}
    key = ObjectKey(Namespace.kind, "", namespace.name)
    return [Patch(key, body, subresource="status", uid=namespace.metadata.uid)]


def _updated(
    said: Mapping[str, NamespaceCondition], wanted: Mapping[str, NamespaceCondition], now: int
) -> dict[str, NamespaceCondition]:
    """The conditions in their order, new ones last; each with the time since when its status is what it is."""
    updated = dict(said)
    for type_, condition in wanted.items():
        before = said.get(type_)
        since = moment_of(now // _SECOND_US * _SECOND_US)
        if before is not None and before.status == condition.status and before.last_transition_time is not None:
            since = before.last_transition_time
        updated[type_] = msgspec.structs.replace(condition, last_transition_time=since)
    return updated


def _resource(kind: str, defined: Mapping[str, str]) -> str:
    if is_custom(kind):
        return defined.get(kind, kind)
    cls = KINDS[kind].cls
    return f"{cls.plural}.{KINDS[kind].group}"
