"""Addresses of pods: each of the cluster's range is given to one pod at a time."""

from __future__ import annotations

from typing import Final
from zlib import crc32

from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.apiserver.addresses import draw
from scheduler_core.controllers.pod_status import Addresses

POD_NUMBERS: Final = range(1, 64 * 65_536)  # 10.0.0.1 and on, below the addresses of services


class PodAddresses:
    """Which address each pod has, by uid."""

    def __init__(self) -> None:
        self._of: dict[str, str] = {}
        self._taken: set[str] = set()

    def hold(self, uid: str, address: str) -> None:
        """Note that the pod has the address."""
        self._of[uid] = address
        self._taken.add(address)

    def release(self, uid: str) -> None:
        """Let others have the address of the pod."""
        self._taken.discard(self._of.pop(uid, ""))

    def of(self, pod: Pod, node: Node | None) -> Addresses:
        """Return the addresses of the pod and of its node; a pod without one is given the first free one."""
        host = node.internal_ip if node is not None else ""
        if pod.spec.host_network:
            return Addresses(host, host)
        address = self._of.get(pod.uid, "")
        if not address:
            start = crc32(pod.uid.encode())
            address = _address(draw(start, POD_NUMBERS, lambda number: _address(number) in self._taken))
            self.hold(pod.uid, address)
        return Addresses(address, host)


def _address(number: int) -> str:
    return f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
