"""The configurations of all kubelets of a cluster, and what follows from them for what is allocatable of each node.

A configuration that cannot be read counts as not given, and an event of the node says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from scheduler_core.api.meta import ResourceList
from scheduler_core.api.node import Node
from scheduler_core.api.quantity import Quantity
from scheduler_core.apiserver.requests import ObjectKey, Patch, PatchType, Request
from scheduler_core.controllers.event_recorder import WARNING, EventRecorder
from scheduler_core.controllers.kubelet.configuration import (
    ANNOTATION,
    MEMORY_AVAILABLE,
    NODEFS_AVAILABLE,
    KubeletConfig,
    read_config,
)
from scheduler_core.errors import ConfigError
from scheduler_core.lru import LruDict

INVALID: Final = "InvalidKubeletConfiguration"
_MOST: Final = 1024
_EVICTION: Final = {"memory": MEMORY_AVAILABLE, "ephemeral-storage": NODEFS_AVAILABLE}
_RESERVABLE: Final = ("cpu", "memory", "ephemeral-storage")


class Configurations:
    """Each node's, made of its annotation and of what is common to all."""

    def __init__(self, events: EventRecorder) -> None:
        self._common = ""
        self._events = events
        self._read: LruDict[tuple[str, str], tuple[KubeletConfig, str]] = LruDict(_MOST)  # with what is wrong
        self._warned: dict[str, str] = {}  # by node

    def put_common(self, text: str) -> None:
        """Take over what is common to all nodes."""
        self._common = text

    def of(self, node: Node) -> KubeletConfig:
        """Return the configuration of the node."""
        return self._find(node)[0]

    def allocatable(self, node: Node, now: int) -> Sequence[Request]:
        """Return what makes the node's allocatable resources follow its configuration; nothing without one."""
        if not self._common and ANNOTATION not in node.annotations:
            return ()
        config, problem = self._find(node)
        requests: list[Request] = []
        if problem != self._warned.get(node.name, ""):
            self._warned[node.name] = problem
            if problem:
                requests += self._events.record(node, INVALID, problem, now=now, kind=WARNING, host=node.name)
        has = node.status.allocatable or {}
        wanted = _allocatable(config, node.status.capacity or {}) if config.says_reserved else {}
        changed = {name: str(quantity) for name, quantity in wanted.items() if has.get(name) != quantity}
        if changed:
            body = {"status": {"allocatable": changed}}
            key = ObjectKey(Node.kind, "", node.name)
            requests.append(Patch(key, body, PatchType.MERGE, "status", node.uid))
        return requests

    def _find(self, node: Node) -> tuple[KubeletConfig, str]:
        key = node.annotations.get(ANNOTATION, ""), self._common
        found = self._read.use(key)
        if found is None:
            try:
                found = read_config(*key), ""
            except ConfigError as error:
                found = read_config(), str(error)
            self._read[key] = found
        return found


def _allocatable(config: KubeletConfig, capacity: ResourceList) -> ResourceList:
    """Capacity less what is reserved, less the hard threshold."""
    found = {}
    for name in _RESERVABLE:
        whole = capacity.get(name)
        if whole is None:
            continue
        left = whole
        for reserved in (config.kube_reserved, config.system_reserved):
            if name in reserved:
                left = left - reserved[name]
        for one in config.thresholds:
            if one.is_hard and one.signal == _EVICTION.get(name):
                left = left - one.quantity(whole.value())
        found[name] = left if left.nano > 0 else Quantity.of(0)
    return found
