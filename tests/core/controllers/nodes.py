"""A cluster of some nodes in memory with all controllers, and what is written there, with its time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scheduler_core.api.manifests import KINDS, decode
from scheduler_core.api.times import time_text
from scheduler_core.apiserver.answers import Refused
from scheduler_core.apiserver.requests import Create, Delete, ObjectKey, Patch, PatchType, Request
from scheduler_core.build import build
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.node_agent import KUBELET, KUBELET_SINCE, KUBELET_UNTIL
from scheduler_core.model.changes import Change, ObjectPut
from scheduler_core.ports import SeededDraws
from scheduler_core.sim.world import World
from tests.builders import written
from tests.core.controllers.simulation import lasting_controllers

SECOND = 1_000_000
START = 1_893_456_000 * SECOND  # 2030-01-01
Manifest = dict[str, Any]


class Watcher:
    """A controller that asks for nothing and remembers what it is told, with the second."""

    name = actor = group = "watcher"

    def __init__(self) -> None:
        self.seen: list[tuple[float, Change]] = []

    def step(self, now: int, changes: Sequence[Change]) -> list[Request]:
        self.seen += [((now - START) / SECOND, change) for change in changes]
        return []

    def next_due(self) -> int | None:
        return None


class Nodes:
    """Nodes with 16 CPUs, ready from the start, at second 0."""

    def __init__(self, *names: str, zones: dict[str, str] | None = None) -> None:
        self.watcher = Watcher()
        controllers = lasting_controllers(ClusterOptions(started_at=START))
        self.world = World(build(draws=SeededDraws(1)), [*controllers, self.watcher], now=START)
        for name in names:
            self.add(name, (zones or {}).get(name, "a"))
        self.run(0.2)

    @property
    def now(self) -> float:
        return (self.world.now - START) / SECOND

    def restart(self) -> None:
        """Let new controllers go on from what is stored."""
        controllers = lasting_controllers(ClusterOptions(started_at=START))
        told: list[Change] = [ObjectPut(decode(one)) for one in self.world.store.list(*KINDS)]
        for controller in controllers:
            self.world.request(*controller.step(self.world.now, told))
        self.world.controllers = [*controllers, self.watcher]

    def ask(self, *requests: Request) -> None:
        refused = [one for one in self.world.request(*requests) if isinstance(one, Refused)]
        assert not refused, refused

    def run(self, second: float) -> None:
        """Let everything happen up to that second."""
        self.world.run_until(START + round(second * SECOND))

    def add(self, name: str, zone: str = "a", **status: Any) -> None:
        labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone}
        room = {"cpu": "16", "memory": "64Gi", "pods": "110"}
        status = {"capacity": room, "allocatable": room, **status}
        self.ask(Create(written("Node", name, metadata={"labels": labels}, status=status)))

    def pod(self, name: str, node: str = "", tolerations: Sequence[Manifest] = (), **metadata: Any) -> None:
        """A pod on the node, running a second later."""
        spec: Manifest = {"containers": [{"name": "c", "image": "i"}], "tolerations": list(tolerations)}
        spec |= {"nodeName": node} if node else {}
        self.ask(Create(written("Pod", name, metadata=metadata, spec=spec)))

    def annotate(self, name: str, **annotations: str | None) -> None:
        names = {"kubelet": KUBELET, "since": KUBELET_SINCE, "until": KUBELET_UNTIL}
        found = {names.get(short, short): value for short, value in annotations.items()}
        self.ask(Patch(ObjectKey("Node", "", name), {"metadata": {"annotations": found}}))

    def stop(self, name: str, state: str = "stopped", seconds: float | None = None) -> None:
        """Stop the node's kubelet, for so long if that is said."""
        until = None if seconds is None else time_text(self.world.now + round(seconds * SECOND))
        self.annotate(name, kubelet=state, until=until)

    def condition(self, name: str, kind: str, status: str) -> None:
        """Write a condition, as a kubelet does."""
        at = time_text(self.world.now)
        said = {"type": kind, "status": status, "reason": "Test", "message": "", "lastTransitionTime": at}
        said["lastHeartbeatTime"] = at
        key = ObjectKey("Node", "", name)
        self.ask(Patch(key, {"status": {"conditions": [said]}}, PatchType.STRATEGIC, "status"))

    def taint(self, name: str, *taints: Manifest) -> None:
        self.ask(Patch(ObjectKey("Node", "", name), {"spec": {"taints": list(taints) or None}}))

    def delete(self, kind: str, name: str, grace: int | None = None) -> None:
        self.ask(Delete(ObjectKey(kind, "" if kind == "Node" else "default", name), grace))

    def get(self, kind: str, name: str) -> Manifest | None:
        return self.world.store.get(ObjectKey(kind, "" if kind == "Node" else "default", name))

    def stored(self, kind: str, name: str) -> Manifest:
        found = self.get(kind, name)
        assert found is not None
        return found

    def node(self, name: str) -> Manifest:
        return self.stored("Node", name)

    def taints(self, name: str) -> set[str]:
        """`key:effect` of the node's taints; the prefix of built-in ones is left out."""
        taints = self.node(name)["spec"].get("taints", ())
        return {f"{one['key'].removeprefix('node.kubernetes.io/')}:{one['effect']}" for one in taints}

    def conditions(self, kind: str, name: str) -> dict[str, tuple[str, str, str]]:
        """Status, reason and message by type."""
        given = self.stored(kind, name)["status"].get("conditions", ())
        return {one["type"]: (one["status"], one.get("reason", ""), one.get("message", "")) for one in given}

    def events(self, reason: str) -> list[str]:
        """`kind/name source type: message` of the events with that reason."""
        found = [one for one in self.world.store.list("Event") if one["reason"] == reason]
        about = [one["involvedObject"] for one in found]
        return [
            f"{obj['kind']}/{obj['name']} {one['source']['component']} {one['type']}: {one['message']}"
            for one, obj in zip(found, about, strict=True)
        ]

    def deleted_at(self, name: str) -> float | None:
        """The second at which the pod was asked to go."""
        return self.first(name, lambda pod: pod.metadata.deletion_timestamp, "Pod")

    def first(self, name: str, condition: Any, kind: str = "Node") -> float | None:
        """The first second at which the object fulfils the condition."""
        for second, change in self.watcher.seen:
            obj = change.obj if isinstance(change, ObjectPut) else None
            if obj is not None and (obj.kind, obj.name) == (kind, name) and condition(obj):
                return second
        return None
