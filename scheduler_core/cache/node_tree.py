"""The order in which nodes are looked at: one from each zone in turn.

A zone that loses its last node and comes back goes to the end.
Source: kubernetes v1.34.1, pkg/scheduler/backend/cache/node_tree.go.
"""

from __future__ import annotations

from typing import Any

from scheduler_core.api.derived import zone_key
from scheduler_core.api.node import Node
from scheduler_core.ports import LogSink

EXHAUSTED = "all zones exhausted before reaching count of nodes expected"


class NodeTree:
    """Zone → node names in order of arrival. `num_nodes` counts additions less removals, as upstream."""

    def __init__(self, log: LogSink) -> None:
        self.num_nodes = 0
        self._zones: dict[str, list[str]] = {}
        self._members: dict[str, set[str]] = {}  # the same names, for membership only
        self._log = log

    def add_node(self, node: Node) -> None:
        zone = zone_key(node)
        members = self._members.get(zone)
        if members is None:
            self._zones[zone] = [node.name]
            self._members[zone] = {node.name}
        elif node.name in members:
            self._log("Did not add to the NodeTree because it already exists", {"node": node.name})
            return
        else:
            self._zones[zone].append(node.name)
            members.add(node.name)
        self.num_nodes += 1

    def remove_node(self, node: Node) -> str:
        """Empty, or what is wrong."""
        zone = zone_key(node)
        members = self._members.get(zone)
        if members is None or node.name not in members:
            return f'node "{node.name}" in group "{_quoted(zone)}" was not found'
        members.remove(node.name)
        self._zones[zone].remove(node.name)
        if not members:
            del self._zones[zone]
            del self._members[zone]
        self.num_nodes -= 1
        return ""

    def update_node(self, old: Node | None, new: Node) -> None:
        """Follow a node to another zone; one that is not in its old zone is just added."""
        if old is not None:
            if zone_key(old) == zone_key(new):
                return
            self.remove_node(old)
        self.add_node(new)

    def list(self) -> tuple[list[str], str]:
        """All names, zones taking turns; and what is wrong, if anything."""
        names: list[str] = []
        turn = 0
        zones = list(self._zones.values())
        while len(names) < self.num_nodes:
            zones = [zone for zone in zones if turn < len(zone)]
            if not zones:
                return names, EXHAUSTED
            names += [zone[turn] for zone in zones]
            turn += 1
        return names, ""

    def dump(self) -> dict[str, Any]:
        return {"zones": [[zone, names] for zone, names in self._zones.items()], "num_nodes": self.num_nodes}

    def load(self, dumped: dict[str, Any]) -> None:
        self._zones = {zone: [*names] for zone, names in dumped["zones"]}
        self._members = {zone: set(names) for zone, names in self._zones.items()}
        self.num_nodes = dumped["num_nodes"]


def _quoted(zone: str) -> str:
    """The zone key as Go prints it with %q: the NUL between region and zone escaped."""
    return zone.replace("\\", "\\\\").replace('"', '\\"').replace("\x00", "\\x00")
