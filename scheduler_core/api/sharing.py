"""Lets equal parts of pods be one object: pods of one owner say the same in most of what they say.

A process that holds a large cluster needs half as much room then. Parts are found by a digest of what they say, to the
last field. Objects are values: nothing can tell a shared part from one of its own.
"""

from __future__ import annotations

import sys
from datetime import datetime
from hashlib import blake2b
from typing import Any, Final

import msgspec
from msgspec.structs import force_setattr

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod

MOST_PARTS: Final = 200_000  # known at a time; when there are more, sharing begins anew
_OF_METADATA: Final = ("labels", "annotations", "owner_references")
_OF_SPEC: Final = (
    "containers",
    "init_containers",
    "tolerations",
    "affinity",
    "topology_spread_constraints",
    "node_selector",
)
_OF_STATUS: Final = ("container_statuses", "init_container_statuses")
_WORDS: Final = ("node_name", "scheduler_name", "priority_class_name", "preemption_policy", "restart_policy")
_encoder = msgspec.msgpack.Encoder(enc_hook=str)


class Sharing:
    """The parts seen so far."""

    def __init__(self, most: int = MOST_PARTS) -> None:
        self._known: dict[tuple[str, bytes], Any] = {}
        self._most = most

    def share(self, obj: KubeObject) -> None:
        """Exchange parts of an object that was just made for equal ones of objects before it."""
        if not isinstance(obj, Pod):
            return
        if len(self._known) > self._most:
            self._known.clear()
        for part, names in ((obj.metadata, _OF_METADATA), (obj.spec, _OF_SPEC), (obj.status, _OF_STATUS)):
            for name in names:
                if value := getattr(part, name):
                    digest = blake2b(_encoder.encode(value), digest_size=16).digest()
                    force_setattr(part, name, self._known.setdefault((name, digest), value))
        for name in _WORDS:
            if isinstance(word := getattr(obj.spec, name), str):
                force_setattr(obj.spec, name, sys.intern(word))
        force_setattr(obj.metadata, "namespace", sys.intern(obj.metadata.namespace))
        times: dict[datetime, datetime] = {}  # of this pod: other pods have others
        for condition in obj.status.conditions or ():
            force_setattr(condition, "type", sys.intern(condition.type))
            force_setattr(condition, "status", sys.intern(condition.status))
            if time := condition.last_transition_time:
                force_setattr(condition, "last_transition_time", times.setdefault(time, time))
