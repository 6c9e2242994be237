"""Events that controllers write about objects; one that happens again is counted, similar ones are combined.

After nine events about an object with the same reason and other messages, all that follow within ten minutes share one
event, whose message is the last one's. A component writes no more than 25 events about an object at once, and one more
every five minutes: those beyond are counted, and the next one written tells the count.
Source: client-go v0.34.1, tools/record: the keys, and the number of events that are remembered.
"""

from __future__ import annotations

from typing import Final
from uuid import NAMESPACE_OID, uuid5
from zlib import crc32

import msgspec

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.times import time_text
from scheduler_core.apiserver.requests import Create, ObjectKey, Patch, Request
from scheduler_core.controllers.event_expiry import TTL_US
from scheduler_core.lru import LruDict

NORMAL: Final = "Normal"
WARNING: Final = "Warning"
REMEMBERED: Final = 4096
SIMILAR: Final = 10  # with so many messages events are combined
SIMILAR_FOR_US: Final = 600 * 1_000_000
BURST: Final = 25
ONE_MORE_US: Final = 300 * 1_000_000
COMBINED: Final = "(combined from similar events): "
LONGEST_NAME: Final = 253
_NO_NAMESPACE: Final = "default"  # where events about objects of the cluster are


class _Seen(msgspec.Struct, gc=False):
    """An event that was recorded; times are microseconds, `written` is None while it was held back."""

    name: str
    first: int
    count: int = 0
    written: int | None = None


class EventRecorder:
    """Makes the requests for the events of one component; a new recorder counts from one again."""

    def __init__(self, component: str) -> None:
        self._component = component
        self._seen: LruDict[tuple[str, ...], _Seen] = LruDict(REMEMBERED)
        self._similar: LruDict[tuple[str, ...], tuple[set[str], int]] = LruDict(REMEMBERED)  # (messages, last time)
        self._left: LruDict[tuple[str, ...], tuple[float, int]] = LruDict(REMEMBERED)  # (events, as of that time)

    def record(
        self, obj: KubeObject, reason: str, message: str, *, now: int, kind: str = NORMAL, host: str = ""
    ) -> list[Request]:
        """Return the request that writes the event; none when there were too many about the object lately.

        `host` is the node it was seen on.
        """
        namespace = obj.namespace or _NO_NAMESPACE
        similar = (obj.kind, obj.uid, namespace, obj.name, kind, reason, host)
        is_combined = self._is_one_of_many(similar, message, now)
        alike = similar if is_combined else (*similar, message)
        message = f"{COMBINED}{message}" if is_combined else message
        seen = self._seen.use(alike)
        if seen is None:
            # The number of nanoseconds, as upstream has it; the digits below a microsecond tell events of one moment
            # apart.
            name = _name(f"{obj.name}.{now * 1000 + crc32(repr(alike).encode()) % 1000:x}")
            seen = self._seen[alike] = _Seen(name, now)
        seen.count += 1
        if self._is_one_too_many((obj.kind, obj.uid, namespace, obj.name, host), now):
            return []
        is_there = seen.written is not None and now - seen.written < TTL_US
        seen.written = now - now % 1_000_000  # as the event tells it, and as it expires
        if is_there:
            changed = {"count": seen.count, "lastTimestamp": time_text(now)}
            if is_combined:
                changed["message"] = message
            return [Patch(ObjectKey("Event", namespace, seen.name), changed)]
        source = {"component": self._component, **({"host": host} if host else {})}
        involved = {
            "kind": obj.kind, "apiVersion": obj.api_version, "name": obj.name, "uid": obj.uid,
            **({"namespace": obj.namespace} if obj.namespace else {}),
        }  # fmt: skip
        return [
            Create(
                {
                    "apiVersion": "v1",
                    "kind": "Event",
                    "metadata": {"name": seen.name, "namespace": namespace},
                    "involvedObject": involved,
                    "reason": reason,
                    "message": message,
                    "type": kind,
                    "count": seen.count,
                    "firstTimestamp": time_text(seen.first),
                    "lastTimestamp": time_text(now),
                    "source": source,
                    "reportingComponent": "" if is_combined else self._component,
                    "reportingInstance": "" if is_combined else host,
                }
            )
        ]

    def _is_one_too_many(self, about: tuple[str, ...], now: int) -> bool:
        """Take an event from what is left for the object; return whether none was."""
        left, since = self._left.use(about) or (float(BURST), now)
        left = min(float(BURST), left + (now - since) / ONE_MORE_US)
        is_none_left = left < 1
        self._left[about] = left if is_none_left else left - 1, now
        return is_none_left

    def _is_one_of_many(self, similar: tuple[str, ...], message: str, now: int) -> bool:
        messages, last = self._similar.use(similar) or (set[str](), now)
        if now - last > SIMILAR_FOR_US:
            messages = set()
        is_new = message not in messages
        if is_new and len(messages) < SIMILAR - 1:
            messages.add(message)
            is_new = False
        self._similar[similar] = messages, now
        return is_new


def _name(wanted: str) -> str:
    """Return the name of an event; a uuid where the object's own name leaves no room, as upstream."""
    return wanted if len(wanted) <= LONGEST_NAME else str(uuid5(NAMESPACE_OID, wanted))
