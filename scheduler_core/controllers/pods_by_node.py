"""The assigned pods of a cluster, by their node."""

from __future__ import annotations

from collections.abc import Collection

from scheduler_core.api.pod import Pod


class PodsByNode:
    """Pods that have a node, as they are now; the node need not exist."""

    def __init__(self) -> None:
        self._pods: dict[str, dict[str, Pod]] = {}  # by node and key
        self._nodes: dict[str, str] = {}  # by key of the pod

    def put(self, pod: Pod) -> Pod | None:
        """Take over the pod; return it as it was on the same node, None when it is new there."""
        key, node = pod.key, pod.spec.node_name
        before = self._nodes.get(key)
        if before is not None and before != node:
            self.remove(key)
        if not node:
            return None
        self._nodes[key] = node
        pods = self._pods.setdefault(node, {})
        known = pods.get(key)
        pods[key] = pod
        return known if known is not None and known.uid == pod.uid else None

    def remove(self, key: str) -> Pod | None:
        """Forget the pod `namespace/name`; return it, None when it had no node."""
        node = self._nodes.pop(key, None)
        if node is None:
            return None
        pods = self._pods[node]
        pod = pods.pop(key)
        if not pods:
            del self._pods[node]
        return pod

    def get(self, key: str) -> Pod | None:
        """Return the pod `namespace/name` if it has a node."""
        node = self._nodes.get(key)
        return None if node is None else self._pods[node].get(key)

    def on(self, node: str) -> Collection[Pod]:
        """Return the pods of the node, in the order they came."""
        return self._pods.get(node, {}).values()

    def nodes(self) -> Collection[str]:
        """Return the names of the nodes that have pods."""
        return self._pods.keys()
