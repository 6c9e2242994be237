"""Watches: what a client is told of the changes of the objects it asked for.

`start` gives a `Watch`, which begins with events of its own (`initial`) and goes on with the log: the shell calls
`events(entries)` for what `History.logged_after(kind, watch.position)` gives, and keeps `watch.position` at the last
entry it has passed. Objects that come into the selection are ADDED, those that leave it DELETED, with what they were
before. `bookmark()` tells a client how far it has come.

Source: kubernetes v1.34.1, staging/src/k8s.io/apiserver/pkg/storage/{cacher,etcd3} and endpoints/handlers/get.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from scheduler_core.api import field_errors
from scheduler_core.api.field_errors import forbidden
from scheduler_core.api.schema import read
from scheduler_core.apiserver.answers import Cause, Refused, Status, internal_error
from scheduler_core.apiserver.kinds import KINDS
from scheduler_core.apiserver.lists import ListQuery, options_refused
from scheduler_core.apiserver.numbers import NumberError, parse_uint
from scheduler_core.apiserver.replies import Shown
from scheduler_core.apiserver.selection import Selection
from scheduler_core.apiserver.store import History, Logged, Operation, Stored

ADDED, MODIFIED, DELETED, BOOKMARK, ERROR = "ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"
INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"
_NOT_OLDER: Final = "NotOlderThan"
_MATCH: Final = "resourceVersionMatch"


class WatchEvent(msgspec.Struct, frozen=True):
    """`manifest` is the object, a bookmark's empty object, or a Status for ERROR, after which the stream ends."""

    type: str
    manifest: Mapping[str, Any]


class Watch(msgspec.Struct):
    """A watch under way. `timeout_seconds` 0 means the shell's own; `is_over`: only `initial` is told.

    `shown`: how objects are, of a kind that a cluster defines.
    """

    selection: Selection
    position: int
    initial: list[WatchEvent]
    tells_bookmarks: bool = False
    timeout_seconds: int = 0
    is_over: bool = False
    shown: Shown | None = None

    def events(self, entries: Iterable[Logged]) -> list[WatchEvent]:
        """What these entries of the log, which follow each other, are to the client; the position goes on."""
        told = []
        for entry in entries:
            event = _event(self.selection, entry)
            if event is not None:
                told.append(event)
            self.position = max(self.position, entry.rv)
        return told

    def bookmark(self, position: int, *, ends_initial: bool = False) -> WatchEvent:
        """That everything up to the position has been told."""
        return _bookmark(self.selection, position, ends_initial=ends_initial)


def start(store: History, query: ListQuery) -> Watch | Refused:
    """The watch that a query asks for, with its first events."""
    wants_initial, bookmarks = query.wants_initial, query.wants_bookmarks
    problem = _problem(query, wants_initial)
    if problem is not None:
        return problem
    version = query.resource_version
    try:
        wanted = parse_uint(version or "0")
    except NumberError as error:
        return internal_error(f"resourceVersion: {field_errors.invalid(version, str(error))}")
    watch = Watch(query.selection, store.position(), [], bookmarks, max(0, query.timeout_seconds))
    if wants_initial or (version in ("", "0") and wants_initial is not False):
        chosen = store.list(query.selection.kind, namespace=query.selection.namespace)
        watch.initial = [WatchEvent(ADDED, manifest) for manifest in chosen if query.selection.matches(manifest)]
        if wants_initial and bookmarks:
            watch.initial.append(watch.bookmark(watch.position, ends_initial=True))
        return watch
    if version in ("", "0"):
        return watch
    if wanted < store.oldest_position():
        watch.initial, watch.is_over = [too_old(wanted, store.oldest_position())], True
        return watch
    watch.position = wanted
    return watch


def too_old(wanted: int, oldest: int) -> WatchEvent:
    """That a watch cannot begin at this version: clients list anew."""
    return WatchEvent(ERROR, Status(410, "Expired", f"too old resource version: {wanted} ({oldest})").manifest())


def _event(selection: Selection, entry: Logged) -> WatchEvent | None:
    was = entry.before is not None and selection.matches(entry.before)
    is_now = entry.operation != Operation.DELETED and selection.matches(entry.manifest)
    if is_now:
        return WatchEvent(MODIFIED if was else ADDED, entry.manifest)
    if not was:
        return None
    if entry.operation == Operation.DELETED:
        return WatchEvent(DELETED, entry.manifest)
    assert entry.before is not None
    return WatchEvent(DELETED, _numbered(entry.before, entry.rv))


def _numbered(manifest: Stored, rv: int) -> Stored:
    return {**manifest, "metadata": {**manifest["metadata"], "resourceVersion": str(rv)}}


def _bookmark(selection: Selection, position: int, *, ends_initial: bool) -> WatchEvent:
    metadata: dict[str, Any] = {"resourceVersion": str(position)}
    if ends_initial:
        metadata["annotations"] = {INITIAL_EVENTS_END: "true"}
    if selection.said_as is not None:
        version, said = selection.said_as
        return WatchEvent(BOOKMARK, {"kind": said, "apiVersion": version, "metadata": metadata})
    kind = selection.kind
    manifest, _ = read({"metadata": metadata}, KINDS[kind].cls.api_version, kind)
    return WatchEvent(BOOKMARK, manifest)


def _problem(query: ListQuery, wants_initial: bool | None) -> Refused | None:
    match = query.version_match
    if wants_initial is None and not match and query.resource_version in ("", "0"):
        wants_initial, match = True, _NOT_OLDER  # what a watch from now on means
    details: list[str] = []
    if wants_initial is not None and match != _NOT_OLDER:
        details.append(forbidden(f"sendInitialEvents requires setting resourceVersionMatch to {_NOT_OLDER}"))
    if match and wants_initial is None:
        details.append(forbidden("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"))
    if match and match != _NOT_OLDER:
        details.append(field_errors.unsupported(match, (_NOT_OLDER,)))
    if match and query.continued:
        details.append(forbidden("resourceVersionMatch is forbidden when continue is provided"))
    return options_refused("ListOptions", [Cause.of(_MATCH, detail) for detail in details]) if details else None
