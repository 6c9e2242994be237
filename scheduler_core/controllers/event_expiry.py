"""Deletes events an hour after they were last written, as kube-apiserver's store does.

Source: kubernetes v1.34.1, cmd/kube-apiserver: `--event-ttl`. Times are microseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from scheduler_core.api.records import Event
from scheduler_core.api.times import microseconds
from scheduler_core.apiserver.requests import Delete, ObjectKey, Request
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.deadlines import Deadlines
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut

TTL_US: Final = 3_600_000_000


class EventExpiry:
    """The events of one cluster that are stored as objects."""

    name, actor, group = "event-expiry", "event-expiry", "garbage"

    def __init__(self, cluster: ClusterOptions) -> None:
        self._deadlines = Deadlines()  # by uid
        self._keys: dict[str, ObjectKey] = {}  # by uid

    def step(self, now: int, changes: Sequence[Change]) -> list[Request]:
        """Take over the changes; return the deletions of events whose hour is over."""
        for change in changes:
            if isinstance(change, ObjectPut):
                if isinstance(change.obj, Event):
                    self._put(change.obj)
            elif isinstance(change, ObjectDeleted) and change.kind == Event.kind:
                self._keys.pop(change.uid, None)
                self._deadlines.drop(change.uid)
        due = [(uid, self._keys.pop(uid)) for uid in self._deadlines.pop_due(now)]
        return [Delete(key, uid=uid) for uid, key in due]

    def next_due(self) -> int | None:
        """Return when the hour of the next event is over."""
        return self._deadlines.first()

    def _put(self, event: Event) -> None:
        written = event.last_written
        if written is not None:
            self._keys[event.uid] = ObjectKey(Event.kind, event.namespace, event.name)
            self._deadlines.set(event.uid, microseconds(written) + TTL_US)
