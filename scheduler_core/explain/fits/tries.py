"""An engine's own cycles for a pod, with changes that are undone afterwards.

Changes of nodes and pods reach the cache alone, those of claims the store: no queue hears of them. Extenders are not
asked, and nobody is evicted. Of several pods each is assumed on its node, and what it needs there reserved, before the
next is tried; then all of it is undone.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

import numpy as np

from scheduler_core.api.pod import Pod
from scheduler_core.cache.restoring import Before
from scheduler_core.cycle.cycle import Cycle
from scheduler_core.cycle.view import Int32Array
from scheduler_core.explain.fits.changes import Place, World
from scheduler_core.explain.pending import cycle_now, keeping
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
        self._before: Before  # of all tries
        self.count = 0

    @contextmanager
    def without_extenders(self) -> Iterator[None]:
        """All tries are made within."""
        engine = self._engine
        extenders, start, effects = engine.extenders, engine.next_start_node_index, engine.effects
        engine.extenders = Extenders([], engine.log)
        self._before = Before(engine.cache, engine.snapshot)
        try:
            yield
        finally:
            self._before.restore()
            engine.extenders, engine.next_start_node_index, engine.effects = extenders, start, effects

    @property
    def infos(self) -> list[NodeInfo]:
        """The nodes as they are now, in the engine's order."""
        self._engine.snapshot.update_snapshot(self._engine.cache)
        return [info for info in self._engine.snapshot.list() if info.node is not None]

    def feasible(self, world: World) -> list[NodeInfo]:
        """All nodes that the pod fits on, as they are in this world; of several pods those that they get together."""
        if world.others:
            with self._one_by_one(world) as (places, _):
                names = {node for _, node in places} if len(places) == len(world.pods) else set()
                return [info.copy() for info in self.infos if info.name in names]
        with self._in(world):
            cycle = self._cycle(world.pod)
            found = [] if cycle is None else [cycle.view.infos[node] for node in self._walk(cycle).tolist()]
            return [info.copy() for info in found] if world.is_elsewhere else found

    def placed(self, world: World) -> str:
        """The node that a cycle gives the pod; empty where it gives none, or one of the others gets none."""
        places = self.places(world)
        return places[0][1] if len(places) == len(world.pods) else ""

    def places(self, world: World) -> tuple[Place, ...]:
        """Of each pod the node that a cycle gives it, one after another; it ends before the first that gets none."""
        with self._one_by_one(world) as (places, _):
            return tuple(places)

    def nodes(self, world: World) -> list[str]:
        """The nodes that the pods get, each once; empty where one of them gets none."""
        places = self.places(world)
        return list(dict.fromkeys(node for _, node in places)) if len(places) == len(world.pods) else []

    @contextmanager
    def refusing(self, world: World) -> Iterator[Cycle | None]:
        """The cycle of the first pod that gets no node, in its world, those before it on their nodes; None: all do,
        or it has no cycle.
        """
        with self._one_by_one(world) as (_, refused):
            yield refused

    def keeping(self, world: World) -> set[frozenset[str]]:
        """Which plugins keep the first pod that gets no node from a node, of all nodes."""
        with self._one_by_one(world) as (places, _):
            pods = world.pods[len(places) :]
            cycle = cycle_now(self._engine, pods[0]) if pods else None
            return set() if cycle is None else {each for _, each in keeping(cycle)}

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
        cycle = self._cycle(pod)
        if cycle is None:
            return None, ""
        found = choose_node(self._engine, cycle)
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
    def _one_by_one(self, world: World) -> Iterator[tuple[Sequence[Place], Cycle | None]]:
        """The pods' nodes, until one gets none, and the cycle of that one; within, all but the last are on theirs."""
        places: list[Place] = []
        refused, pods = None, world.pods
        with self._in(world), ExitStack() as later:
            for pod in pods:
                cycle, node = self._chosen(pod)
                if cycle is None or not node or (pod is not pods[-1] and not self._settled(cycle, node, later)):
                    refused = cycle
                    break
                places.append((pod.key, node))
            yield places, refused

    def _settled(self, cycle: Cycle, node: str, later: ExitStack) -> bool:
        """Have the pod take its room on the node until later; whether what it needs there could be reserved."""
        engine, pod, assumed = self._engine, cycle.pod, cycle.pod.on_node(node)
        later.callback(engine.snapshot.update_snapshot, engine.cache)
        later.enter_context(self._before.around([node]))
        engine.cache.assume_pod(assumed, cycle.signature)
        later.callback(engine.cache.forget_pod, assumed)
        later.callback(engine.queue.nominator.load, engine.queue.nominator.dump())
        engine.queue.delete_nominated_pod_if_exists(pod)
        later.callback(cycle.profile.run_unreserve, cycle.state, assumed, node)
        return cycle.profile.run_reserve(cycle.state, assumed, node).is_success

    @contextmanager
    def _in(self, world: World) -> Iterator[None]:
        """The cache as it is in this world, and then as it was."""
        with self._before.around(_touched(world)), self._changed(world):
            yield
        if world.is_elsewhere:
            self._engine.snapshot.update_snapshot(self._engine.cache)

    @contextmanager
    def _changed(self, world: World) -> Iterator[None]:
        cache, start = self._engine.cache, self._engine.next_start_node_index
        gone = [cache.get_pod(pod) for pod in world.gone]
        for _, changed in world.objects:
            self._engine.store.put(changed)
        for before, after in world.nodes:
            cache.update_node(before, after)
        for pod in gone:
            cache.remove_pod(pod)
        for node in world.added:
            cache.add_node(node)
        try:
            yield
        finally:
            self._engine.next_start_node_index = start
            for node in reversed(world.added):
                cache.remove_node(node)
            for pod in reversed(gone):
                cache.add_pod(pod)
            for before, after in reversed(world.nodes):
                cache.update_node(after, before)
            for stored, _ in world.objects:
                self._engine.store.put(stored)


def _touched(world: World) -> list[str]:
    """The nodes that are otherwise in the world, of those that are there."""
    return [*(node.name for node, _ in world.nodes), *(pod.spec.node_name for pod in world.gone)]
