"""From which nodes a volume can be reached, parsed once per volume and asked of one node or of all rows.

In-tree volumes are read in their driver's terms on nodes where the driver has taken over.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from scheduler_core.api.csi_migration import in_tree_source, with_csi_topology
from scheduler_core.api.node import Node
from scheduler_core.api.selectors import NodeSelectorMatcher
from scheduler_core.api.storage import PersistentVolume, VolumeNodeAffinity
from scheduler_core.api.volumes import is_reached_from, migrated_plugins, required_reach
from scheduler_core.framework.storage_lister import StorageLister
from scheduler_core.lru import LruDict
from scheduler_core.plugins.helpers import BoolArray, Rows
from scheduler_core.table.node_table import NodeTable
from scheduler_core.table.selection import rows_accepted

_MAX_PARSED: Final = 65_536
_MAX_PLACES: Final = 4_000_000  # 16 MB


class Reach:
    """Kept parsed as long as the volume's affinity is the same object, and its rows while the nodes are the same."""

    def __init__(self, storage: StorageLister) -> None:
        self._storage = storage
        self._rows: dict[str, tuple[VolumeNodeAffinity, Rows]] = {}  # by volume
        self._num_places = 0  # cached in `_rows` together
        self._rows_of: tuple[NodeTable | None, int] = (None, 0)  # table, and its version of nodes
        # By volume; volumes come and go by name.
        self._parsed: LruDict[str, tuple[VolumeNodeAffinity, NodeSelectorMatcher | None]] = LruDict(_MAX_PARSED)

    def reaches(self, volume: PersistentVolume, node: Node) -> bool:
        """Whether a pod on the node can use a volume that is not bound yet: as it is written."""
        return is_reached_from(self._selector(volume), node.labels)

    def reaches_bound(self, volume: PersistentVolume, node: Node) -> bool:
        """Like `reaches`, of a bound volume, as the node's drivers see it."""
        source = in_tree_source(volume.spec)
        if source is not None and source.plugin in migrated_plugins(self._storage.csi_node(node.name)):
            return is_reached_from(required_reach(with_csi_topology(volume, source.plugin)), node.labels)
        return self.reaches(volume, node)

    def text(self, volume: PersistentVolume) -> str:
        """The volume's name, and from where it can be reached as it is written."""
        selector = self._selector(volume)
        terms = [",".join(map(str, term.requirements)) for term in selector.terms] if selector is not None else []
        return f"{volume.name} ({' or '.join(terms)})"

    def rows(self, volume: PersistentVolume, table: NodeTable) -> BoolArray | None:
        """`reaches` of all rows, None for every one."""
        selector = self._selector(volume)
        return None if selector is None else _rows_reached(table, selector)

    def places(self, volume: PersistentVolume, table: NodeTable) -> Rows | None:
        """Like `rows`, as row numbers, and cached: a volume may be looked at for every claim of its class."""
        affinity = volume.spec.node_affinity
        if affinity is None:
            return None
        if self._rows_of[0] is not table or self._rows_of[1] != table.nodes_version:
            self._rows.clear()
            self._num_places = 0
            self._rows_of = (table, table.nodes_version)
        cached = self._rows.get(volume.name)
        if cached is not None and cached[0] is affinity:
            return cached[1]
        reached = self.rows(volume, table)
        if reached is None:
            return None
        places: Rows = np.flatnonzero(reached).astype(np.int32)
        if self._num_places + len(places) > _MAX_PLACES:
            self._rows.clear()
            self._num_places = 0
        self._num_places += len(places)
        self._rows[volume.name] = affinity, places
        return places

    def rows_bound(self, volume: PersistentVolume, table: NodeTable) -> BoolArray | None:
        """`reaches_bound` of all rows, None for every one."""
        source = in_tree_source(volume.spec)
        if source is None:
            return self.rows(volume, table)
        reached = self.rows(volume, table)
        result = np.ones(table.n_rows, dtype=np.bool_) if reached is None else reached
        selector = required_reach(with_csi_topology(volume, source.plugin))
        translated = np.ones(table.n_rows, dtype=np.bool_) if selector is None else _rows_reached(table, selector)
        for csi_node in self._storage.csi_nodes():
            row = table.row_of.get(csi_node.name)
            if row is not None and source.plugin in migrated_plugins(csi_node):
                result[row] = translated[row]
        return result

    def _selector(self, volume: PersistentVolume) -> NodeSelectorMatcher | None:
        affinity = volume.spec.node_affinity
        if affinity is None:
            return None
        cached = self._parsed.get(volume.name)
        if cached is not None and cached[0] is affinity:
            return cached[1]
        selector = required_reach(volume)
        self._parsed[volume.name] = affinity, selector
        return selector


def _rows_reached(table: NodeTable, selector: NodeSelectorMatcher) -> BoolArray:
    """Rows that fulfil a term; node names are unknown to volumes, so matchFields do not count."""
    reached: BoolArray = np.zeros(table.n_rows, dtype=np.bool_)
    for term in selector.terms:
        if term.errors or term.is_empty:
            continue
        matching: BoolArray = np.ones(table.n_rows, dtype=np.bool_)
        for requirement in term.requirements:
            matching &= rows_accepted(table, requirement)
        reached |= matching
    return reached
