"""The pods of a cluster for all of its controllers that look them up: by name, by node, by what controls them.

Controllers of one cluster share an index. Each calls `follow` with the changes of its step; the first one that does has
them taken over, so that the index is that of the end of the step for all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from scheduler_core.api.pod import Pod
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.object_index import ObjectIndex, Update, join, leave
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut

Followed = Change | Update[Pod]


class PodIndex(ObjectIndex[Pod]):
    """All pods of one cluster; the nodes they are on need not exist."""

    def __init__(self) -> None:
        super().__init__(Pod)
        self._by_node: dict[str, dict[str, Pod]] = {}  # by name of the node and uid
        self._changes: Sequence[Change] = ()  # of the last step
        self._followed: Sequence[Followed] = ()

    def follow(self, changes: Sequence[Change]) -> Sequence[Followed]:
        """Return the changes with updates in place of those of pods.

        The same object that another reader has handed in is not taken over again.
        """
        if changes is not self._changes:
            followed: list[Followed] = []
            for change in changes:
                if isinstance(change, ObjectPut) and isinstance(change.obj, Pod):
                    followed += self.put(change.obj)
                elif isinstance(change, ObjectDeleted) and change.kind == Pod.kind:
                    followed += self.remove(change)
                else:
                    followed.append(change)
            self._changes, self._followed = changes, followed
        return self._followed

    def on(self, node: str) -> Collection[Pod]:
        """Return the pods of the node, in the order they came there."""
        return self._by_node.get(node, {}).values()

    def _moved(self, old: Pod | None, obj: Pod) -> Update[Pod]:
        node, was = obj.spec.node_name, "" if old is None else old.spec.node_name
        if old is not None and was and was != node:
            leave(self._by_node, was, old)
        if node:
            join(self._by_node, node, obj)
        return super()._moved(old, obj)

    def _gone(self, obj: Pod) -> Update[Pod]:
        if obj.is_assigned:
            leave(self._by_node, obj.spec.node_name, obj)
        return super()._gone(obj)


class PodReader:
    """Base of controllers that look pods up, in an index of their own or in one that is shared."""

    def __init__(self, cluster: ClusterOptions, pods: PodIndex | None = None) -> None:
        self.pods = PodIndex() if pods is None else pods
