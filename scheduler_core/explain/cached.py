"""What the scheduler's cache holds: pods assumed and confirmed, and nodes beside the snapshot the last cycle read.

`looked_in` only reads the engine. A node is changed by every pod and update that it gets, and each change has a
generation, a number that only grows; the snapshot takes over the nodes whose generation is above its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, islice

from scheduler_core.cache.cache import Cache, PodState
from scheduler_core.scheduler.engine import BindingStage, Engine


class Stage(StrEnum):
    """How far a pod in the cache has come."""

    PERMIT = "permit"  # assumed; Permit plugins have not agreed yet
    PRE_BIND = "preBind"  # assumed; a PreBind plugin's work is not done yet
    BINDING = "binding"  # assumed; its binding was asked for
    BOUND = "bound"  # assumed; bound, but the pod was not seen on its node yet
    CONFIRMED = "confirmed"  # seen on its node


@dataclass(frozen=True, slots=True)
class CachedPod:
    """A pod on its node. `attempt`: the number of the attempt that assumed it, while its binding is under way.

    `awaits`: the plugins it waits for; `until`: when the first of them gives up, or the assumption ends, in µs.
    """

    uid: str
    key: str
    node: str
    stage: Stage
    attempt: int | None = None
    awaits: tuple[str, ...] = ()
    until: int | None = None


@dataclass(frozen=True, slots=True)
class CachedNode:
    """A node with its generations in the cache and in the snapshot; None: it is not there.

    `is_ghost`: its object is gone, and pods are left. `changed`: whether the last update of the snapshot took it over;
    None: not known.
    """

    name: str
    generation: int | None
    snapshot_generation: int | None
    is_ghost: bool
    pods: int
    assumed: int
    changed: bool | None


@dataclass(frozen=True, slots=True)
class Cached:
    """`since`: the generation of the snapshot before its last update; None: not known, as no cycle has run since.

    `dropped`: nodes that this update took out. `snapshot_nodes`: how many are in it. `nodes` and `pods`: those that
    are listed. Nodes that changed last come first, those that are only in the snapshot at the end; assumed pods come
    first, longest assumed first, then confirmed ones, last changed first. `pods_found`: how many there are of what was
    sought.
    """

    generation: int
    snapshot_generation: int
    since: int | None
    dropped: tuple[str, ...]
    snapshot_nodes: int
    cache_nodes: int
    changed: int | None
    behind: int  # nodes that the next update will take over
    assumed: int
    confirmed: int
    nodes: tuple[CachedNode, ...]
    pods: tuple[CachedPod, ...]
    pods_found: int


def looked_in(engine: Engine, *, sought: str = "", most_pods: int) -> Cached:
    """The cache as it is; of pods the first `most_pods` whose key or node contains `sought`, of nodes all so named."""
    cache, snapshot = engine.cache, engine.snapshot
    nodes = list(_nodes(engine))
    pods = [each for each in _states(cache) if sought in each.pod.key or sought in each.pod.spec.node_name]
    assumed = len(cache.assumed_pods)
    return Cached(
        generation=cache.generation,
        snapshot_generation=snapshot.generation,
        since=snapshot.since,
        dropped=snapshot.dropped,
        snapshot_nodes=len(snapshot.node_info_map),
        cache_nodes=len(cache.items),
        changed=None if snapshot.since is None else sum(node.changed is True for node in nodes),
        behind=sum(_is_behind(node) for node in nodes),
        assumed=assumed,
        confirmed=len(cache.pod_states) - assumed,
        nodes=tuple(node for node in nodes if sought in node.name),
        pods=tuple(_pod(engine, state) for state in islice(pods, most_pods)),
        pods_found=len(pods),
    )


def _nodes(engine: Engine) -> Iterator[CachedNode]:
    cache, snapshot = engine.cache, engine.snapshot
    assumed: dict[str, int] = {}
    for uid in cache.assumed_pods:
        name = cache.pod_states[uid].pod.spec.node_name
        assumed[name] = assumed.get(name, 0) + 1
    for name, item in reversed(cache.items.items()):
        info, entry = item.info, snapshot.node_info_map.get(name)
        yield CachedNode(
            name=name,
            generation=info.generation,
            snapshot_generation=None if entry is None else entry.generation,
            is_ghost=info.node is None,
            pods=len(info.pods),
            assumed=assumed.get(name, 0),
            changed=_changed(snapshot.since, None if entry is None else entry.generation),
        )
    for name, entry in snapshot.node_info_map.items():
        if name not in cache.items:
            yield CachedNode(name, None, entry.generation, False, 0, 0, _changed(snapshot.since, entry.generation))


def _is_behind(node: CachedNode) -> bool:
    """A ghost is in no snapshot any more once that is updated."""
    if node.is_ghost:
        return node.snapshot_generation is not None
    return node.generation != node.snapshot_generation


def _changed(since: int | None, generation: int | None) -> bool | None:
    """An entry keeps the generation that its node had when it was taken over."""
    if since is None:
        return None
    return generation is not None and generation > since


def _states(cache: Cache) -> Iterator[PodState]:
    states = cache.pod_states
    assumed = (states[uid] for uid in cache.assumed_pods)
    return chain(assumed, (state for uid, state in reversed(states.items()) if uid not in cache.assumed_pods))


def _pod(engine: Engine, state: PodState) -> CachedPod:
    pod = state.pod
    said = pod.uid, pod.key, pod.spec.node_name
    if pod.uid not in engine.cache.assumed_pods:
        return CachedPod(*said, Stage.CONFIRMED)
    cycle = engine.bindings.get(pod.uid)
    if cycle is None:
        return CachedPod(*said, Stage.BOUND, until=state.deadline)
    number = cycle.queued.attempts
    if cycle.stage is BindingStage.PERMIT:
        waiting = engine.waiting_pods.get(pod.uid)
        awaits = () if waiting is None else tuple(sorted(waiting.timeouts_us))
        return CachedPod(*said, Stage.PERMIT, number, awaits, None if waiting is None else waiting.deadline())
    if cycle.stage is BindingStage.PRE_BIND:
        awaits = (cycle.awaited_plugin,) if cycle.awaited_plugin else ()
        return CachedPod(*said, Stage.PRE_BIND, number, awaits, cycle.deadline)
    return CachedPod(*said, Stage.BINDING, number)
