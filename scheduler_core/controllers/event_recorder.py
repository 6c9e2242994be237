"""Events that controllers write about objects; one that happens again is counted.

Source: client-go v0.34.1, tools/record: the key and the number of events that are remembered.
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
_NO_NAMESPACE: Final = "default"  # where events about objects of the cluster are


class EventRecorder:
    """Makes the requests for the events of one component; a new recorder counts from one again."""

    def __init__(self, component: str) -> None:
        self._component = component
        self._written: LruDict[tuple[str, ...], tuple[str, int]] = LruDict(REMEMBERED)  # (name, count)

    def record(
        self, obj: KubeObject, reason: str, message: str, *, now: int, kind: str = NORMAL, host: str = ""
    ) -> Request:
        """Return the request that writes the event; `host` is the node it was seen on."""
        namespace = obj.namespace or _NO_NAMESPACE
        alike = (obj.kind, obj.uid, namespace, obj.name, kind, reason, message, host)
        found = self._written.use(alike)
        at = time_text(now)
        if found is not None:
            name, count = found[0], found[1] + 1
            self._written[alike] = name, count
            return Patch(ObjectKey("Event", namespace, name), {"count": count, "lastTimestamp": at})
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
                "reportingComponent": self._component,
                "reportingInstance": host,
            }
        )
