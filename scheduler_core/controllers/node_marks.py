"""What controllers write about nodes and nobody here reads: events of their coming and going, a TTL, old labels.

    a node comes, or goes                        event RegisteredNode or RemovingNode, at the next pass (every 5 s)
    `kubernetes.io/os` and `…/arch` are there    `beta.kubernetes.io/os` and `…/arch` are the same
    any node                                     annotation `node.alpha.kubernetes.io/ttl`: seconds for which kubelets
                                                 may keep Secrets and ConfigMaps, more where there are more nodes
Source: kubernetes v1.34.1, pkg/controller/nodelifecycle and pkg/controller/ttl. Times are microseconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from scheduler_core.api.node import Node
from scheduler_core.api.times import microseconds
from scheduler_core.apiserver.requests import ObjectKey, Patch, Request
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.event_recorder import EventRecorder
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut

PERIOD_US: Final = 5_000_000
TTL: Final = "node.alpha.kubernetes.io/ttl"
# Fewest nodes, most nodes, seconds: a size is left when there are fewer, or more.
SIZES: Final = ((0, 100, 0), (90, 500, 15), (450, 1000, 30), (900, 2000, 60), (1800, None, 300))
OLD_LABELS: Final = {
    "kubernetes.io/os": "beta.kubernetes.io/os",
    "kubernetes.io/arch": "beta.kubernetes.io/arch",
}


class NodeMarks:
    """All nodes of one cluster."""

    name, actor, group = "node-marks", "node-controller", "nodes"

    def __init__(self, cluster: ClusterOptions) -> None:
        self._started_at = cluster.started_at
        self._nodes: dict[str, Node] = {}
        self._size = 0  # index in SIZES
        self._known: dict[str, Node] = {}  # to the last pass
        self._changed: dict[str, None] = {}  # names of nodes that came or went since
        self._pass_at: int | None = None
        self._events = EventRecorder("node-controller")
        self._is_new = True  # what it is told first was there before it

    def step(self, now: int, changes: Sequence[Change]) -> list[Request]:
        """Take over the changes; return what nodes lack, and the events of a pass that is due."""
        touched: dict[str, None] = {}
        for change in changes:
            if isinstance(change, ObjectPut):
                if isinstance(change.obj, Node):
                    self._put(change.obj, now)
                    touched[change.obj.name] = None
            elif isinstance(change, ObjectDeleted) and change.kind == Node.kind and change.name in self._nodes:
                del self._nodes[change.name]
                self._note(change.name, now)
        if touched:
            self._is_new = False
        requests: list[Request] = []
        for name in self._nodes if self._has_other_size() else touched:
            if name in self._nodes:
                requests += _missing(self._nodes[name], SIZES[self._size][2])
        if self._pass_at is not None and self._pass_at <= now:
            self._pass_at = None
            requests += self._pass(now)
        return requests

    def next_due(self) -> int | None:
        """Return when the next pass has something to say, in microseconds."""
        return self._pass_at

    def _put(self, node: Node, now: int) -> None:
        if node.name not in self._nodes:
            created = node.metadata.creation_timestamp
            if self._is_new and created is not None and microseconds(created) <= now - PERIOD_US:
                self._known[node.name] = node
            else:
                self._note(node.name, now)
        self._nodes[node.name] = node

    def _note(self, name: str, now: int) -> None:
        self._changed[name] = None
        if self._pass_at is None:
            self._pass_at = now + PERIOD_US - (now - self._started_at) % PERIOD_US

    def _has_other_size(self) -> bool:
        """Return whether the number of nodes is one of another size now."""
        before, count = self._size, len(self._nodes)
        while (most := SIZES[self._size][1]) is not None and count > most:
            self._size += 1
        while count < SIZES[self._size][0]:
            self._size -= 1
        return self._size != before

    def _pass(self, now: int) -> Iterator[Request]:
        changed, self._changed = self._changed, {}
        for name in changed:
            before, node = self._known.pop(name, None), self._nodes.get(name)
            if before is not None and node is None:
                text = f"Node {name} event: Removing Node {name} from Controller"
                yield from self._events.record(before, "RemovingNode", text, now=now)
            if node is not None:
                self._known[name] = node
                if before is None:
                    text = f"Node {name} event: Registered Node {name} in Controller"
                    yield from self._events.record(node, "RegisteredNode", text, now=now)


def _missing(node: Node, ttl_seconds: int) -> Iterator[Request]:
    metadata: dict[str, dict[str, str]] = {}
    if node.annotations.get(TTL) != str(ttl_seconds):
        metadata["annotations"] = {TTL: str(ttl_seconds)}
    labels = node.labels
    old = {old: labels[name] for name, old in OLD_LABELS.items() if name in labels and labels.get(old) != labels[name]}
    if old:
        metadata["labels"] = old
    if metadata:
        yield Patch(ObjectKey(Node.kind, "", node.name), {"metadata": metadata}, uid=node.uid)
