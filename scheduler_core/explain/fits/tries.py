"""An engine's own cycles for a pod, with changes that are undone afterwards.

Changes reach the cache alone: no queue and no store hears of them. Extenders are not asked, and nobody is evicted.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from scheduler_core.api.pod import Pod
from scheduler_core.cycle.cycle import Cycle
from scheduler_core.cycle.view import Int32Array
from scheduler_core.explain.fits.changes import World
from scheduler_core.explain.pending import cycle_now
from scheduler_core.framework.extenders import Extenders
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.plugins.default_preemption import DefaultPreemption
from scheduler_core.preemption.tried import Choice
from scheduler_core.scheduler.engine import Engine
from scheduler_core.scheduler.failure import Failure
from scheduler_core.scheduler.schedule_one import choose_node

_NO_NODES: Int32Array = np.zeros(0, dtype=np.int32)


class Tries:
    """Tries of pods; `count`: how many there were."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.count = 0

    @contextmanager
    def without_extenders(self) -> Iterator[None]:
        """All tries are made within."""
        engine = self._engine
        extenders, start, effects = engine.extenders, engine.next_start_node_index, engine.effects
        engine.extenders = Extenders([], engine.log)
        try:
            yield
        finally:
            engine.extenders, engine.next_start_node_index, engine.effects = extenders, start, effects
            engine.snapshot.update_snapshot(engine.cache)

    @property
    def infos(self) -> list[NodeInfo]:
        """The nodes as they are now, in the engine's order."""
        self._engine.snapshot.update_snapshot(self._engine.cache)
        return [info for info in self._engine.snapshot.list() if info.node is not None]

    def feasible(self, world: World) -> list[NodeInfo]:
        """All nodes that the pod fits on, as they are in this world."""
        with self._in(world):
            cycle = self._cycle(world.pod)
            found = [] if cycle is None else [cycle.view.infos[node] for node in self._walk(cycle).tolist()]
            return [info.copy() for info in found] if world.is_elsewhere else found

    def placed(self, world: World) -> str:
        """The node that a cycle gives the pod; empty where it gives none."""
        with self._in(world):
            return self._chosen(world.pod)[1]

    def refused(self, world: World) -> Cycle | None:
        """The cycle that gives the pod no node, with what refused it; None where it gets one, or has no cycle."""
        with self._in(world):
            cycle, node = self._chosen(world.pod)
            return None if node else cycle

    def preempting(self, world: World) -> Choice | None:
        """The node and the victims that preemption would take for the pod as it is; None where there is none."""
        with self._in(world):
            cycle, node = self._chosen(world.pod)
            if cycle is None or node:
                return None
            for plugin in self._engine.frameworks[cycle.profile.name].post_filter:
                if isinstance(plugin, DefaultPreemption):
                    return plugin.choice_for(cycle.state, world.pod, cycle.diagnosis.node_to_status)
        return None

    def _cycle(self, pod: Pod) -> Cycle | None:
        self.count += 1
        cycle = cycle_now(self._engine, pod)
        if cycle is None or not cycle.view.order.names:
            return None
        cycle.profile = copy.copy(cycle.profile)
        cycle.profile.post_filter = []
        return cycle

    def _chosen(self, pod: Pod) -> tuple[Cycle | None, str]:
        engine, start = self._engine, self._engine.next_start_node_index
        cycle = self._cycle(pod)
        if cycle is None:
            return None, ""
        try:
            found = choose_node(engine, cycle)
        finally:
            engine.next_start_node_index = start
        return cycle, "" if isinstance(found, Failure) else found

    def _walk(self, cycle: Cycle) -> Int32Array:
        runner = self._engine.runners[cycle.profile.name].runner_of(cycle)
        outcome = runner.pre_filter(cycle)
        if not outcome.status.is_success:
            return _NO_NODES
        named = None if outcome.node_names is None else cycle.view.named(outcome.node_names)
        cycle.is_exhaustive, cycle.wanted = True, len(cycle.view.rows if named is None else named)
        return runner.filter(cycle, named).feasible

    @contextmanager
    def _in(self, world: World) -> Iterator[None]:
        """The cache as it is in this world, and then as it was, but for the order of pods that come back."""
        cache = self._engine.cache
        gone = [cache.get_pod(pod) for pod in world.gone]
        for before, after in world.nodes:
            cache.update_node(before, after)
        for pod in gone:
            cache.remove_pod(pod)
        for node in world.added:
            cache.add_node(node)
        try:
            yield
        finally:
            for node in reversed(world.added):
                cache.remove_node(node)
            for pod in reversed(gone):
                cache.add_pod(pod)
            for before, after in reversed(world.nodes):
                cache.update_node(after, before)
            if world.is_elsewhere:
                self._engine.snapshot.update_snapshot(cache)
