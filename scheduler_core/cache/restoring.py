"""A cache and its snapshot put back as they were, after others have tried what would be if.

Nodes are put back after each try, which the next one then finds as the first did: pods in their order, totals as they
were added up, sizes of images. What no try looks at is put back once, by `restore`: generations, the order of recency,
that of pods, and the snapshot as it was taken. So the engine goes on as if nobody had asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from scheduler_core.cache.cache import Cache, CacheItem
from scheduler_core.cache.image_states import ImageState
from scheduler_core.cache.snapshot import Snapshot
from scheduler_core.model.node_info import NodeInfo


class Before:
    """The cache as it is, its snapshot brought up to date with it. Nobody else changes either until `restore`."""

    def __init__(self, cache: Cache, snapshot: Snapshot) -> None:
        snapshot.update_snapshot(cache)
        self._cache = cache
        self._snapshot = snapshot
        self._entries: dict[str, NodeInfo] = {}  # of the snapshot, by node, as they were before the first try
        self._generations: dict[str, int] = {}  # of the same nodes in the cache
        self._generation = cache.generation
        self._taken = snapshot.generation, snapshot.since, snapshot.dropped
        self._names = [info.name for info in snapshot.list()]
        self._recency = dict.fromkeys(cache.items)
        self._pod_states = dict(cache.pod_states)
        self._assumed_pods = dict(cache.assumed_pods)
        self._images = cache.image_states.names()

    @contextmanager
    def around(self, names: Iterable[str]) -> Iterator[None]:
        """Within, these nodes and their pods may change by the cache's own ways, to be taken back by the same."""
        kept = [(name, item, item.info.copy(), item.images) for name, item in self._items(names)]
        for name, _, info, _ in kept:
            if name in self._recency and name not in self._generations:  # nodes that come for a try go with it
                self._generations[name] = info.generation
                if name in self._snapshot.node_info_map:
                    self._entries[name] = self._snapshot.node_info_map[name].copy()
        try:
            yield
        finally:
            for each in kept:
                self._put_back(*each)

    def restore(self) -> None:
        """All that the tries left otherwise."""
        cache, snapshot = self._cache, self._snapshot
        snapshot.update_snapshot(cache)
        for name, before in self._entries.items():
            entry = snapshot.node_info_map[name]
            entry.assign(before)
            snapshot.table.upsert(entry)
        if self._entries or [info.name for info in snapshot.list()] != self._names:
            snapshot.set_list(self._names)
        snapshot.generation, snapshot.since, snapshot.dropped = self._taken
        cache.generation = self._generation
        for name, generation in self._generations.items():
            cache.items[name].info.generation = generation
        if self._generations:
            for name in self._recency:
                cache.items.move_to_end(name)
            cache.pod_states = self._pod_states
            cache.assumed_pods = self._assumed_pods
            cache.image_states.put_in_order(self._images)

    def _items(self, names: Iterable[str]) -> Iterator[tuple[str, CacheItem]]:
        for name in dict.fromkeys(names):
            item = self._cache.items.get(name)
            if item is not None:
                yield name, item

    def _put_back(self, name: str, item: CacheItem, info: NodeInfo, images: dict[str, ImageState]) -> None:
        cache = self._cache
        item.info.assign(info)
        item.info.generation = cache.next_generation()
        cache.image_states.put_back(name, images)
        item.images, item.summary_version = images, -1
        cache.items[name] = item
        cache.move_to_head(name)
