"""An engine in a state of shortly before: changes are taken back in its store and cache, and put back afterwards.

Queues and plugins hear nothing of it. Pods are taken back in the cache alone: no cycle looks for others in the store.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.cycle.cycle import Cycle
from scheduler_core.model.effects import Attempt, Effects
from scheduler_core.model.types import QueuedPodInfo
from scheduler_core.ports import FirstDraws
from scheduler_core.scheduler.engine import Engine
from scheduler_core.scheduler.failure import Failure
from scheduler_core.scheduler.recent import Changed
from scheduler_core.scheduler.schedule_one import choose_node, open_cycle


@contextmanager
def rewound(engine: Engine, changes: Sequence[Changed]) -> Iterator[None]:
    """Within, the changes have not happened; the newest first."""
    order = _NodeOrder(engine) if any(each.kind == Node.kind for each in changes) else None
    done: list[tuple[KubeObject | None, KubeObject | None]] = []
    try:
        for each in changes:
            now = _now(engine, each.obj)
            _turn(engine, now, each.old)
            done.append((now, each.old))
        yield
    finally:
        for now, old in reversed(done):
            _turn(engine, old, now)
        if order is not None:
            order.restore()


class _NodeOrder:
    """The order of nodes as it is: it follows a node to another zone only when another one comes or goes."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        engine.snapshot.update_snapshot(engine.cache)
        self._tree = copy.deepcopy(engine.cache.tree.dump())
        self._names = [info.name for info in engine.snapshot.list()]

    def restore(self) -> None:
        snapshot, cache = self._engine.snapshot, self._engine.cache
        cache.tree.load(self._tree)
        snapshot.update_snapshot(cache)
        if [info.name for info in snapshot.list()] != self._names:
            snapshot.set_list(self._names)


def decide_aside(engine: Engine, queued: QueuedPodInfo) -> tuple[Attempt, Cycle] | None:
    """What the engine decides now, looking at every node, without a trace of it; None where there is no deciding."""
    kept = engine.effects, engine.draws, engine.keeper, engine.recorder, engine.next_start_node_index
    engine.effects, engine.draws, engine.keeper, engine.recorder = Effects(), FirstDraws(), None, None
    try:
        attempt, cycle = open_cycle(engine, queued)
        if cycle is None:
            return None
        cycle.is_exhaustive = True
        cycle.profile = copy.copy(cycle.profile)
        cycle.profile.post_filter = []
        chosen = choose_node(engine, cycle)
        if not isinstance(chosen, Failure):
            attempt.node_name = chosen
        return attempt, cycle
    finally:
        engine.effects, engine.draws, engine.keeper, engine.recorder, engine.next_start_node_index = kept


def _now(engine: Engine, obj: KubeObject) -> KubeObject | None:
    """The object as it stands, None when it does not; a pod counts where it has a node."""
    if isinstance(obj, Pod):
        state = engine.cache.pod_states.get(obj.uid)
        return None if state is None else state.pod
    return engine.store.get(obj.kind, obj.key)


def _turn(engine: Engine, now: KubeObject | None, then: KubeObject | None) -> None:
    """Have what stands `now` be `then`."""
    if isinstance(now, Pod) or isinstance(then, Pod):
        _turn_pod(engine, now, then)
        return
    if then is not None:
        engine.store.put(then)
    elif now is not None:
        engine.store.remove(now.kind, now.key)
    if isinstance(then, Node):
        if isinstance(now, Node):
            engine.cache.update_node(now, then)
        else:
            engine.cache.add_node(then)
    elif isinstance(now, Node):
        engine.cache.remove_node(now)


def _turn_pod(engine: Engine, now: KubeObject | None, then: KubeObject | None) -> None:
    if isinstance(now, Pod) and isinstance(then, Pod) and now.spec.node_name == then.spec.node_name:
        engine.cache.update_pod(now, then)
        return
    if isinstance(now, Pod):
        engine.cache.remove_pod(now)
    if isinstance(then, Pod):
        engine.cache.add_pod(then)
