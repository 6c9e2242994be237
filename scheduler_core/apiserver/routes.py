"""Paths of the Kubernetes API: which kind, which object, which part of it.

Source: kubernetes v1.34.1, staging/src/k8s.io/apiserver/pkg/endpoints/installer.go.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

import msgspec

from scheduler_core.apiserver.kinds import KINDS, Kind

_PATH: Final = re.compile(
    r"/(?:api|apis/(?P<group>[^/]+))/(?P<version>[^/]+)(?:/namespaces/(?P<namespace>[^/]+))?"
    r"/(?P<plural>[^/]+)(?:/(?P<name>[^/]+))?(?:/(?P<subresource>[a-z]+))?/?"
)
_WATCH: Final = re.compile(r"^(/api/[^/]+|/apis/[^/]+/[^/]+)/watch/")
EVENTS_GROUP: Final = "events.k8s.io"
_COLLECTION: Final = ("GET", "POST", "DELETE")
_OBJECT: Final = ("GET", "PUT", "PATCH", "DELETE")
_PART: Final = ("GET", "PUT", "PATCH")
# Parts of objects beside status and scale, and what may be done with them.
_PARTS: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "Pod": {
        "binding": ("POST",),
        "eviction": ("POST",),
        "resize": _PART,
        "ephemeralcontainers": _PART,
        "log": ("GET",),
        "exec": ("GET", "POST"),
        "attach": ("GET", "POST"),
        "portforward": ("GET", "POST"),
        "proxy": ("GET", "POST", "PUT", "PATCH", "DELETE"),
    },
    "Namespace": {"finalize": ("PUT",)},
}


class Route(msgspec.Struct, frozen=True):
    """What a path names. `api_version` is the version of the path, which events have two of.

    `is_bindings`: the collection to which bindings of pods are posted. `definition` is the name of that of a kind which
    the cluster defines, and `warning` what is said of its version.
    """

    kind: Kind
    api_version: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    is_bindings: bool = False
    definition: str | None = None
    warning: str = ""

    def methods(self) -> tuple[str, ...]:
        """What may be done there; nothing where the kind has no such part."""
        if self.is_bindings:
            return ("POST",)
        if self.subresource == "status":
            return _PART if self.kind.has_status else ()
        if self.subresource == "scale":
            return _PART if self.kind.has_scale else ()
        if self.subresource:
            return _PARTS.get(self.kind.name, {}).get(self.subresource, ())
        if self.name:
            return _OBJECT
        if self.kind.namespaced and not self.namespace:
            return ("GET",)
        return _COLLECTION if self.kind.name != "Namespace" else ("GET", "POST")


class Place(NamedTuple):
    """The parts of a path."""

    group: str
    version: str
    namespace: str
    plural: str
    name: str
    subresource: str


def place_of(path: str) -> Place | None:
    """The parts of a path of an object or of several; None when it is no such path."""
    match = _PATH.fullmatch(_WATCH.sub(r"\1/", path))  # an old form of `?watch=1`, see `asks_watch`
    return None if match is None else Place(*(match[name] or "" for name in Place._fields))


def route(path: str) -> Route | None:
    """What the path names; None when it is no path of a built-in kind."""
    place = place_of(path)
    if place is None:
        return None
    group, version, namespace, plural, name, subresource = place
    api_version = f"{group}/{version}" if group else version
    if not group and plural in ("status", "finalize") and namespace and not name:
        # A part of the namespace itself.
        plural, name, subresource, namespace = "namespaces", namespace, plural, ""
    if plural == "bindings" and api_version == "v1" and namespace:
        return None if name else Route(KINDS["Pod"], api_version, namespace, is_bindings=True)
    kind = _KINDS.get((api_version, plural))
    if kind is None or (namespace and not kind.namespaced) or (name and kind.namespaced and not namespace):
        return None
    return Route(kind, api_version, namespace, name, subresource)


def asks_watch(path: str) -> bool:
    """Whether the path itself asks for a watch, as old clients write it."""
    return bool(_WATCH.match(path))


_KINDS: Final = {
    **{(kind.cls.api_version, kind.cls.plural): kind for kind in KINDS.values() if kind.is_served},
    (f"{EVENTS_GROUP}/v1", "events"): KINDS["Event"],
}
