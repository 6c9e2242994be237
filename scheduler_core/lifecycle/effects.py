"""What a controller asks for. Carrying out an effect again, or one whose object has changed or gone, does no harm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class PodStatusWrite:
    """Write phase and conditions of a pod. `start_time` in microseconds, None leaves it; `conditions` by type."""

    pod_uid: str
    namespace: str
    name: str
    phase: str
    start_time: int | None = None
    conditions: Mapping[str, tuple[str, str, str]] = field(default_factory=dict)  # (status, reason, message)


@dataclass(frozen=True, slots=True)
class PodRemoval:
    """The pod is over: remove its row at once."""

    pod_uid: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class PodDeletion:
    """Ask for the pod's graceful deletion, as a user would."""

    pod_uid: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class PodCreation:
    """Create this pod, unless one of its name is there already."""

    manifest: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class NodeCordon:
    """Close a node to new pods, or open it again."""

    node_name: str
    unschedulable: bool


@dataclass(frozen=True, slots=True)
class ObjectCreation:
    """Create this object, unless one of its name is there already."""

    manifest: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ObjectPatch:
    """Lay a JSON merge patch over an object that is neither a pod nor a node."""

    kind: str
    namespace: str
    name: str
    uid: str
    patch: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ObjectRemoval:
    """Remove an object that is neither a pod nor a node, if it is still the one with this uid."""

    kind: str
    namespace: str
    name: str
    uid: str


LifecycleEffect = (
    PodStatusWrite | PodRemoval | PodDeletion | PodCreation | NodeCordon | ObjectCreation | ObjectPatch | ObjectRemoval
)
