"""Lines of a watch and items of a list as things to store, in the order in which they happened."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

Manifest = dict[str, Any]

DELETED: Final = "DELETED"
BOOKMARK: Final = "BOOKMARK"
ERROR: Final = "ERROR"
_PUT: Final = ("ADDED", "MODIFIED")
# What only the other cluster's store knows, or what is of no use here.
_DROPPED: Final = ("resourceVersion", "managedFields", "selfLink")


class BrokenEventError(ValueError):
    """A line of a watch that cannot be understood; the watch has to begin anew."""


class Seen(msgspec.Struct, frozen=True):
    """An object as it is now, or as it was when it was deleted; `version` is the other cluster's."""

    manifest: Manifest
    is_deleted: bool
    version: str

    @property
    def key(self) -> tuple[str, str, str]:
        metadata = self.manifest["metadata"]
        return self.manifest["kind"], metadata.get("namespace", ""), metadata["name"]


class Failed(msgspec.Struct, frozen=True):
    """An error that came as an event."""

    code: int
    message: str


class Reached(msgspec.Struct, frozen=True):
    """A bookmark: everything up to this version has been sent."""

    version: str


def read_event(event: Any, kind: str, api_version: str) -> Seen | Reached | Failed:
    """One line of a watch, parsed; BrokenEventError."""
    if not isinstance(event, dict) or not isinstance(event.get("object"), dict):
        raise BrokenEventError("expected an object with type and object")
    type_, obj = event.get("type"), event["object"]
    if type_ == ERROR:
        code = obj.get("code")
        return Failed(code if isinstance(code, int) else 500, str(obj.get("message") or obj.get("reason") or "error"))
    metadata = obj.get("metadata")
    version = metadata.get("resourceVersion") if isinstance(metadata, dict) else None
    if not isinstance(version, str) or not version:
        raise BrokenEventError("metadata.resourceVersion: is required")
    if type_ == BOOKMARK:
        return Reached(version)
    if type_ in _PUT or type_ == DELETED:
        return Seen(stored_form(obj, kind, api_version), type_ == DELETED, version)
    raise BrokenEventError(f"type: {type_!r} is not known")


def read_item(item: Any, kind: str, api_version: str) -> Seen:
    """One item of a list, parsed; BrokenEventError."""
    metadata = item.get("metadata") if isinstance(item, dict) else None
    if not isinstance(metadata, dict):
        raise BrokenEventError("expected an object with metadata")
    return Seen(stored_form(item, kind, api_version), False, str(metadata.get("resourceVersion", "")))


def stored_form(obj: Manifest, kind: str, api_version: str) -> Manifest:
    """The object as it is kept: with its kind, which lists leave out, and without what only its own store knows."""
    metadata = {name: value for name, value in obj["metadata"].items() if name not in _DROPPED}
    if not isinstance(metadata.get("name"), str) or not isinstance(metadata.get("uid"), str) or not metadata["uid"]:
        raise BrokenEventError("metadata: name and uid are required")
    return {**obj, "apiVersion": api_version, "kind": kind, "metadata": metadata}


def in_order(seen: Iterable[Seen]) -> Sequence[Seen]:
    """What several watches brought, in the order of the other cluster's versions.

    Versions are numbers of one sequence for all kinds. Where one is not, everything stays as it came.
    """
    found = list(seen)
    if all(each.version.isascii() and each.version.isdigit() for each in found):
        found.sort(key=lambda each: int(each.version))
    return found
