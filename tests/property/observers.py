"""What takes part in eventful days as a controller: it asks for nothing, and looks at every change."""

from __future__ import annotations

from collections.abc import Sequence

from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.apiserver.requests import Request
from scheduler_core.controllers.node_agent import agent_of
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut


class Observer:
    """A controller that asks for nothing, and holds every change against the one before."""

    name = actor = group = "observer"

    def __init__(self) -> None:
        self.pods: dict[str, Pod] = {}  # by uid
        self.silent_until: dict[str, int] = {}  # when a node was last seen silent, by name

    def step(self, now: int, changes: Sequence[Change]) -> list[Request]:
        for change in changes:
            if isinstance(change, ObjectPut) and isinstance(change.obj, Pod):
                self._put(change.obj)
            elif isinstance(change, ObjectPut) and isinstance(change.obj, Node):
                if not agent_of(change.obj).is_heard:
                    self.silent_until[change.obj.name] = now
                elif change.obj.name in self.silent_until:
                    self.silent_until[change.obj.name] = max(now, self.silent_until[change.obj.name])
            elif isinstance(change, ObjectDeleted) and change.kind == Pod.kind:
                self.pods.pop(change.uid, None)
        return []

    def next_due(self) -> int | None:
        return None

    def _put(self, pod: Pod) -> None:
        before = self.pods.get(pod.uid)
        self.pods[pod.uid] = pod
        if before is None:
            return
        if before.is_assigned:
            assert pod.spec.node_name == before.spec.node_name, f"{pod.key} moved"
        if before.is_terminal:
            assert pod.status.phase == before.status.phase, f"{pod.key} ended as {before.status.phase}"
        asked, asked_before = pod.metadata.deletion_timestamp, before.metadata.deletion_timestamp
        if asked_before is not None:
            assert asked is not None, f"{pod.key} is deleted no more"
            assert asked <= asked_before, f"{pod.key} has longer to stop"


class Missed:
    """In the place of all controllers: it remembers what goes, and does nothing."""

    name = actor = group = "missed"

    def __init__(self) -> None:
        self.gone: list[ObjectDeleted] = []

    def step(self, now: int, changes: Sequence[Change]) -> list[Request]:
        self.gone += [change for change in changes if isinstance(change, ObjectDeleted)]
        return []

    def next_due(self) -> int | None:
        return None
