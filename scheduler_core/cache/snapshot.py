"""The cluster as one scheduling cycle sees it, brought up to date in place from what changed since the last cycle.

Only nodes changed since are copied; an entry keeps its identity for as long as its node is in the snapshot. `order`
(int32, shape (n_nodes,)) names the rows of `table` in node order. The list order follows the node tree only when a
node comes or goes: a node that merely changes its zone is moved at the next such rebuild, as upstream.
Source: kubernetes v1.34.1, pkg/scheduler/backend/cache/cache.go (UpdateSnapshot), snapshot.go.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from scheduler_core.cache.cache import Cache
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.ports import LogSink, discard_log
from scheduler_core.table.node_table import NodeTable


class Snapshot:
    """Lives as long as the scheduler; readers change nothing."""

    def __init__(self, log: LogSink = discard_log) -> None:
        self.table = NodeTable()
        self.order: npt.NDArray[np.int32] = np.zeros(0, dtype=np.int32)
        self.generation = 0
        # Of the last update, for who looks in: the generation before it (None: not known), and the nodes it dropped.
        self.since: int | None = None
        self.dropped: tuple[str, ...] = ()
        self.node_info_map: dict[str, NodeInfo] = {}
        self._list: list[NodeInfo] = []
        # Derived from the list when somebody asks; None once they may differ.
        self._with_affinity: list[NodeInfo] | None = None
        self._with_required_anti_affinity: list[NodeInfo] | None = None
        self._used_pvcs: frozenset[str] | None = None
        self._log = log

    # -- what cycles read ----------------------------------------------------------------------------------------------

    def list(self) -> Sequence[NodeInfo]:
        return self._list

    def have_pods_with_affinity_list(self) -> Sequence[NodeInfo]:
        if self._with_affinity is None:
            self._with_affinity = [info for info in self._list if info.pods_with_affinity]
        return self._with_affinity

    def have_pods_with_required_anti_affinity_list(self) -> Sequence[NodeInfo]:
        if self._with_required_anti_affinity is None:
            self._with_required_anti_affinity = [info for info in self._list if info.pods_with_required_anti_affinity]
        return self._with_required_anti_affinity

    def get(self, node_name: str) -> NodeInfo | None:
        return self.node_info_map.get(node_name)

    def is_pvc_used_by_pods(self, key: str) -> bool:
        if self._used_pvcs is None:
            self._used_pvcs = frozenset(claim for info in self._list for claim in info.pvc_ref_counts)
        return key in self._used_pvcs

    def num_nodes(self) -> int:
        return len(self._list)

    # -- keeping up ----------------------------------------------------------------------------------------------------

    def update_snapshot(self, cache: Cache) -> str:
        """Copy what changed. A text when the result does not hold together: this cycle fails, the next one works."""
        rebuild = False
        self.since, self.dropped = self.generation, ()
        for item in reversed(cache.items.values()):
            info = item.info
            if info.generation <= self.generation:
                break
            if info.node is None:
                continue
            entry = self.node_info_map.get(info.node.name)
            if entry is None:
                rebuild = True
                self.node_info_map[info.node.name] = entry = cache.copy_of(item)
            else:
                self._note_changes(entry, info)
                cache.copy_into(entry, item)
            self.table.upsert(entry)
        if cache.items:
            self.generation = cache.items[next(reversed(cache.items))].info.generation

        if len(self.node_info_map) > cache.tree.num_nodes:
            self._drop_deleted(cache)
            rebuild = True
        if rebuild:
            self._rebuild_list(cache)
        if len(self._list) == cache.tree.num_nodes:
            return ""
        message = (
            f"snapshot state is not consistent, length of NodeInfoList={len(self._list)} not equal to length of nodes"
            f" in tree={cache.tree.num_nodes} , length of NodeInfoMap={len(self.node_info_map)}, length of nodes in"
            f" cache={len(cache.items)}, trying to recover"
        )
        self._log(message, {"err": None})
        self._rebuild_list(cache)
        return message

    def set_list(self, names: Sequence[str]) -> None:
        """Take the entries of these names, in this order."""
        self._list = [self.node_info_map[name] for name in names]
        row_of = self.table.row_of
        self.order = np.array([row_of[name] for name in names], dtype=np.int32)
        self._with_affinity = self._with_required_anti_affinity = self._used_pvcs = None

    def _note_changes(self, entry: NodeInfo, info: NodeInfo) -> None:
        """Drop the collections the node enters or leaves by becoming what `info` is."""
        if bool(entry.pods_with_affinity) != bool(info.pods_with_affinity):
            self._with_affinity = None
        if bool(entry.pods_with_required_anti_affinity) != bool(info.pods_with_required_anti_affinity):
            self._with_required_anti_affinity = None
        if (entry.pvc_ref_counts or info.pvc_ref_counts) and entry.pvc_ref_counts.keys() != info.pvc_ref_counts.keys():
            self._used_pvcs = None

    def _rebuild_list(self, cache: Cache) -> None:
        names, error = cache.tree.list()
        if error:
            self._log("Error occurred while retrieving the list of names of the nodes from node tree", {"err": error})
        known = []
        for name in names:
            if name in self.node_info_map:
                known.append(name)
            else:
                message = "Node exists in nodeTree but not in NodeInfoMap, this should not happen"
                self._log(message, {"node": name, "err": None})
        self.set_list(known)

    def _drop_deleted(self, cache: Cache) -> None:
        surplus = len(self.node_info_map) - cache.tree.num_nodes
        dropped = []
        for name in list(self.node_info_map):
            if surplus <= 0:
                break
            item = cache.items.get(name)
            if item is None or item.info.node is None:
                del self.node_info_map[name]
                self.table.remove(name)
                dropped.append(name)
                surplus -= 1
        self.dropped = tuple(dropped)
