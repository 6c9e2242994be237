"""What is alike in pods of one signature, worked out once: what they ask of a node, and what their status tells.

Most pods that start are one of many of a workload, so that a start is little more than a look-up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from scheduler_core.api.pod import Pod
from scheduler_core.api.signature import Signature, signature
from scheduler_core.controllers.pod_status import Parts, status_parts
from scheduler_core.lru import LruDict
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import SUCCESS, Status
from scheduler_core.model.types import PodInfo
from scheduler_core.plugins.node_resources_fit import room_judge

_MOST: Final = 4096
_LONGEST: Final = 8192  # bytes of a signature; larger pods are worked out each time


class Blueprint:
    """Of the pods of one signature; `asks_for_room_only`: no affinity, selector or host port may refuse them."""

    __slots__ = ("_room", "asks_for_room_only", "parts")

    def __init__(self, info: PodInfo) -> None:
        spec = info.pod.spec
        self._room: Callable[[NodeInfo], Status] = room_judge(info.request)
        self.asks_for_room_only = not spec.node_selector and spec.affinity is None and not info.host_ports
        self.parts: Parts = status_parts(info.pod)

    def fits(self, node_info: NodeInfo) -> bool:
        """Return whether the node has room for one of them."""
        return self._room(node_info) is SUCCESS


class Blueprints:
    """Those of the pods seen lately."""

    def __init__(self) -> None:
        self._known: LruDict[Signature, Blueprint] = LruDict(_MOST)

    def of(self, pod: Pod) -> tuple[PodInfo, Blueprint]:
        """Return what the node adds up for the pod, and its blueprint."""
        key = signature(pod)
        info = PodInfo.of(pod, key)
        found = self._known.get(key)
        if found is None:
            found = Blueprint(info)
            if len(key) <= _LONGEST:
                self._known[key] = found
        return info, found
