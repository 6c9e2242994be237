"""Events that controllers write about objects; one that happens again is counted, similar ones are combined.

After nine events about an object with the same reason and other messages, all that follow within ten minutes share one
event, whose message is the last one's. `sparing` also writes no more than 25 events about an object at once, and one
more every five minutes.
Source: client-go v0.34.1, tools/record: the keys, and the number of events that are remembered.
"""

from __future__ import annotations

from typing import Final
from zlib import crc32

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.times import time_text
from scheduler_core.apiserver.requests import Create, ObjectKey, Patch, Request
from scheduler_core.lru import LruDict

NORMAL: Final = "Normal"
WARNING: Final = "Warning"
REMEMBERED: Final = 4096
SIMILAR: Final = 10  # with so many messages events are combined
SIMILAR_FOR_US: Final = 600 * 1_000_000
BURST: Final = 25
ONE_MORE_US: Final = 300 * 1_000_000
COMBINED: Final = "(combined from similar events): "
_NO_NAMESPACE: Final = "default"  # where events about objects of the cluster are


class EventRecorder:
    """Makes the requests for the events of one component; a new recorder counts from one again."""

    def __init__(self, component: str) -> None:
        self._component = component
        self._written: LruDict[tuple[str, ...], tuple[str, int]] = LruDict(REMEMBERED)  # (name, count)
        self._similar: LruDict[tuple[str, ...], tuple[set[str], int]] = LruDict(REMEMBERED)  # (messages, last time)
        self._left: LruDict[tuple[str, ...], tuple[float, int]] = LruDict(REMEMBERED)  # (events, as of that time)

    def record(
        self, obj: KubeObject, reason: str, message: str, *, now: int, kind: str = NORMAL, host: str = ""
    ) -> Request:
        """Return the request that writes the event; `host` is the node it was seen on."""
        namespace = obj.namespace or _NO_NAMESPACE
        similar = (obj.kind, obj.uid, namespace, obj.name, kind, reason, host)
        is_combined = self._is_one_of_many(similar, message, now)
        alike = similar if is_combined else (*similar, message)
        message = f"{COMBINED}{message}" if is_combined else message
        found = self._written.use(alike)
        at = time_text(now)
        if found is not None:
            name, count = found[0], found[1] + 1
            self._written[alike] = name, count
            changed = {"count": count, "lastTimestamp": at, **({"message": message} if is_combined else {})}
            return Patch(ObjectKey("Event", namespace, name), changed)
        # The number of nanoseconds, as upstream has it; the digits below a microsecond tell events of one moment apart.
        name = f"{obj.name}.{now * 1000 + crc32(repr(alike).encode()) % 1000:x}"
        self._written[alike] = name, 1
        source = {"component": self._component, **({"host": host} if host else {})}
        involved = {
            "kind": obj.kind, "apiVersion": obj.api_version, "name": obj.name, "uid": obj.uid,
            **({"namespace": obj.namespace} if obj.namespace else {}),
        }  # fmt: skip
        return Create(
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"name": name, "namespace": namespace},
                "involvedObject": involved,
                "reason": reason,
                "message": message,
                "type": kind,
                "count": 1,
                "firstTimestamp": at,
                "lastTimestamp": at,
                "source": source,
                "reportingComponent": "" if is_combined else self._component,
                "reportingInstance": host,
            }
        )

    def sparing(
        self, obj: KubeObject, reason: str, message: str, *, now: int, kind: str = NORMAL, host: str = ""
    ) -> list[Request]:
        """Return the request that writes the event; none when there were too many about the object lately."""
        about = (obj.kind, obj.uid, host)
        left, since = self._left.get(about, (float(BURST), now))
        left = min(float(BURST), left + (now - since) / ONE_MORE_US)
        if left < 1:
            return []
        self._left[about] = left - 1, now
        return [self.record(obj, reason, message, now=now, kind=kind, host=host)]

    def _is_one_of_many(self, similar: tuple[str, ...], message: str, now: int) -> bool:
        messages, last = self._similar.get(similar, (set[str](), now))
        if now - last > SIMILAR_FOR_US:
            messages = set()
        is_new = message not in messages
        if is_new and len(messages) < SIMILAR - 1:
            messages.add(message)
            is_new = False
        self._similar[similar] = messages, now
        return is_new
