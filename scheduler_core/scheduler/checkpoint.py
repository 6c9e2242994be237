"""An engine's whole state as bytes, and back into a fresh engine of the same configuration: both go on in the same way.

MessagePack of plain values; every object is written once, as its manifest, and referred to by its place. What
plugins left in the cycle state of a pod being bound is left out: nothing that runs after Permit may need it.
Raises CheckpointError for bytes of another version or shape.
"""

from __future__ import annotations

from typing import Any

import msgspec

from scheduler_core.api import manifests
from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod
from scheduler_core.cache.checkpoint import dump_cache, dump_snapshot, load_cache, load_snapshot
from scheduler_core.errors import CheckpointError, CoreError
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.roles import StatefulPlugin
from scheduler_core.framework.waiting_pods import WaitingPod
from scheduler_core.queue.checkpoint import dump_entry, load_entry
from scheduler_core.scheduler.engine import BindingCycle, BindingStage, Engine
from scheduler_core.scheduler.scheduler import Scheduler

VERSION = 2


class _ObjectTable:
    """Objects by place. The objects are alive while they are written, so identity tells them apart."""

    def __init__(self) -> None:
        self.manifests: list[msgspec.Raw] = []  # written at once: as values they take ten times the room
        self._places: dict[int, int] = {}

    def place_of(self, obj: KubeObject) -> int:
        place = self._places.get(id(obj))
        if place is None:
            place = self._places[id(obj)] = len(self.manifests)
            self.manifests.append(msgspec.Raw(msgspec.msgpack.encode(manifests.encode(obj))))
        return place


def dump(scheduler: Scheduler) -> bytes:
    """Everything the engine knows between two steps."""
    engine = scheduler.engine
    table = _ObjectTable()
    encode = table.place_of
    state = {
        "store": [encode(obj) for obj in engine.store],
        "cache": dump_cache(engine.cache, encode),
        "snapshot": dump_snapshot(engine.snapshot, engine.cache, encode),
        "queue": engine.queue.dump(encode),
        "waiting_pods": [[pod.uid, pod.since, list(pod.timeouts_us.items())] for pod in engine.waiting_pods],
        "bindings": [_dump_binding(cycle, table) for cycle in engine.bindings.values()],
        "restored_bindings": list(engine.restored_bindings.items()),
        "write_limit": None if engine.write_limit is None else [engine.write_limit.level, engine.write_limit.at],
        "next_start_node_index": engine.next_start_node_index,
        "now": engine.now,
        "plugins": [[name, plugin.name, plugin.dump_state()] for name, plugin in _stateful_plugins(engine)],
    }
    return msgspec.msgpack.encode({"version": VERSION, "objects": table.manifests, **state})


def load(scheduler: Scheduler, data: bytes) -> None:
    """Bring a fresh scheduler, built from the same configuration, to the state of the dump."""
    try:
        state = msgspec.msgpack.decode(data)
        if not isinstance(state, dict) or state.get("version") != VERSION:
            raise CheckpointError(f"expected a checkpoint of version {VERSION}")
        _load(scheduler.engine, state)
    except (KeyError, IndexError, TypeError, ValueError, AssertionError, msgspec.DecodeError) as error:
        raise CheckpointError(f"the checkpoint cannot be read: {error!r}") from error
    except CoreError as error:
        if isinstance(error, CheckpointError):
            raise
        raise CheckpointError(f"the checkpoint cannot be read: {error}") from error


def _load(engine: Engine, state: dict[str, Any]) -> None:
    objects = [manifests.decode(manifest) for manifest in state["objects"]]

    def decode(place: int) -> KubeObject:
        return objects[place]

    for place in state["store"]:
        engine.store.put(decode(place))
    engine.cache = load_cache(state["cache"], decode, log=engine.log)
    engine.snapshot = load_snapshot(state["snapshot"], engine.cache, decode, log=engine.log)
    engine.queue.load(state["queue"], decode)
    for uid, since, timeouts in state["waiting_pods"]:
        engine.waiting_pods.add(WaitingPod(uid, since, dict(timeouts)))
    for dumped in state["bindings"]:
        cycle = _load_binding(dumped, objects)
        if cycle.profile not in engine.frameworks:
            raise CheckpointError(f'the checkpoint has a pod of profile "{cycle.profile}", the configuration does not')
        engine.bindings[cycle.pod.uid] = cycle
    engine.restored_bindings = dict(state["restored_bindings"])
    if engine.write_limit is not None and state.get("write_limit") is not None:  # not in those of earlier releases
        engine.write_limit.level, engine.write_limit.at = state["write_limit"]
    engine.next_start_node_index = state["next_start_node_index"]
    engine.now = state["now"]
    plugins = {(name, plugin.name): plugin for name, plugin in _stateful_plugins(engine)}
    for profile, name, dumped in state["plugins"]:
        if (profile, name) not in plugins:
            raise CheckpointError(f'the checkpoint has state of plugin "{name}" in profile "{profile}", we have none')
        plugins[profile, name].load_state(dumped)


def _stateful_plugins(engine: Engine) -> list[tuple[str, StatefulPlugin]]:
    """With the names of their profiles."""
    return [
        (name, plugin)
        for name, framework in engine.frameworks.items()
        for plugin in framework.instances.values()
        if isinstance(plugin, StatefulPlugin)
    ]


def _dump_binding(cycle: BindingCycle, table: _ObjectTable) -> dict[str, Any]:
    return {
        "queued": dump_entry(cycle.queued, table.place_of),
        "pod": table.place_of(cycle.pod),
        "profile": cycle.profile,
        "skip_pre_bind_plugins": sorted(cycle.state.skip_pre_bind_plugins),
        "pods_to_activate": list(cycle.state.pods_to_activate),
        "node_name": cycle.node_name,
        "stage": int(cycle.stage),
        "next_pre_bind": cycle.next_pre_bind,
        "bind_plugin": cycle.bind_plugin,
        "awaited_plugin": cycle.awaited_plugin,
        "deadline": cycle.deadline,
    }


def _load_binding(dumped: dict[str, Any], objects: list[KubeObject]) -> BindingCycle:
    pod = objects[dumped["pod"]]
    assert isinstance(pod, Pod)
    state = CycleState()
    state.skip_pre_bind_plugins = frozenset(dumped["skip_pre_bind_plugins"])
    state.pods_to_activate = dict.fromkeys(dumped["pods_to_activate"])
    return BindingCycle(
        queued=load_entry(dumped["queued"], lambda place: objects[place]),
        pod=pod,
        profile=dumped["profile"],
        state=state,
        node_name=dumped["node_name"],
        stage=BindingStage(dumped["stage"]),
        next_pre_bind=dumped["next_pre_bind"],
        bind_plugin=dumped["bind_plugin"],
        awaited_plugin=dumped["awaited_plugin"],
        deadline=dumped["deadline"],
    )
