"""A cluster in memory with scheduler and controllers, for tests of what comes of it in time."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from scheduler_core.api.manifests import decode
from scheduler_core.apiserver.answers import Outcome, Refused
from scheduler_core.apiserver.requests import Create, Delete, ObjectKey, Patch, PatchType, Propagation, Request
from scheduler_core.build import build
from scheduler_core.controllers.controller import ClusterOptions, Controller, tell, told_anew
from scheduler_core.controllers.event_expiry import EventExpiry
from scheduler_core.controllers.registry import controllers_of
from scheduler_core.model.changes import ObjectDeleted, ObjectPut
from scheduler_core.ports import SeededDraws
from scheduler_core.sim.world import World
from tests.builders import written

SECOND = 1_000_000
START = 1_893_456_000 * SECOND  # 2030-01-01
Manifest = dict[str, Any]


def lasting_controllers(options: ClusterOptions, external: Collection[str] = ()) -> list[Controller]:
    """All controllers of which events stay, to be looked at; nothing is written once everything rests."""
    return [each for each in controllers_of(options, external) if not isinstance(each, EventExpiry)]


class Simulation:
    """A cluster with all controllers and so many large nodes; its clock stands until `run`."""

    def __init__(self, nodes: int = 3, *, seed: int = 1, external: Sequence[str] = ()) -> None:
        self._options = ClusterOptions(seed=seed, started_at=START)
        self._external = external
        self.world = World(build(None, draws=SeededDraws(seed)), self._controllers(), now=START)
        for number in range(nodes):
            self.add_node(f"n{number}")

    def _controllers(self) -> list[Any]:
        return [*lasting_controllers(self._options, self._external)]

    def restart(self, gone: Sequence[ObjectDeleted] = ()) -> None:
        """Exchange all controllers for new ones, which are told everything stored and what went unseen."""
        self.world.controllers = self._controllers()
        kinds = dict.fromkeys(key.kind for key in self._keys())
        stored = [ObjectPut(decode(one)) for kind in kinds for one in self.world.store.list(kind)]
        told = told_anew(stored, gone)
        for controller in self.world.controllers:
            requests = controller.step(self.world.now, told)
            if requests:
                tell(controller, self.world.now, requests, self.world.request(*requests))

    def _keys(self) -> list[ObjectKey]:
        return [key for objects in self.world.store._objects.values() for key in objects]

    def run(self, seconds: float) -> None:
        """Let that much time pass."""
        self.world.run_until(self.world.now + round(seconds * SECOND))

    def request(self, request: Request) -> Manifest:
        """Have a request carried out, which must not be refused; return its answer."""
        (answer,) = self.world.request(request)
        assert isinstance(answer, Outcome), answer
        return answer.answer if isinstance(answer.answer, dict) else {}

    def refused(self, request: Request) -> Refused:
        """Have a request refused."""
        (answer,) = self.world.request(request)
        assert isinstance(answer, Refused), answer
        return answer

    def add_node(self, name: str, **spec: Any) -> None:
        """Add a node with room for a hundred pods that is ready."""
        capacity = {"cpu": "100", "memory": "100Gi", "pods": "100"}
        conditions = [{"type": "Ready", "status": "True"}]
        status = {"capacity": capacity, "allocatable": capacity, "conditions": conditions}
        self.create(written("Node", name, metadata={"labels": {"kubernetes.io/hostname": name}}, spec=spec))
        self.patch("Node", name, {"status": status}, subresource="status")

    def create(self, manifest: Manifest) -> Manifest:
        return self.request(Create(manifest))

    def begin(self, manifest: Manifest, seconds: float) -> Manifest:
        """Create an object, and let that much time pass."""
        made = self.create(manifest)
        self.run(seconds)
        return made

    def patch(self, kind: str, name: str, body: Manifest, *, subresource: str = "") -> Manifest:
        key = self.key(kind, name)
        return self.request(Patch(key, body, PatchType.STRATEGIC, subresource))

    def delete(self, kind: str, name: str, propagation: Propagation | None = None, grace: int | None = None) -> None:
        self.request(Delete(self.key(kind, name), grace, propagation))

    def key(self, kind: str, name: str) -> ObjectKey:
        return ObjectKey(kind, "" if kind == "Node" else "default", name)

    def get(self, kind: str, name: str) -> Manifest:
        found = self.world.store.get(self.key(kind, name))
        assert found is not None, f"{kind} {name} is not there"
        return found

    def all(self, kind: str, **labels: str) -> list[Manifest]:
        """Return the objects of a kind with these labels, by name."""
        found = self.world.store.list(kind)
        return [one for one in found if labels.items() <= (one["metadata"].get("labels") or {}).items()]

    def pods(self, **labels: str) -> list[Manifest]:
        """Return the pods with these labels that neither ended nor are being deleted."""
        return [
            pod
            for pod in self.all("Pod", **labels)
            if pod["status"].get("phase") not in ("Succeeded", "Failed") and "deletionTimestamp" not in pod["metadata"]
        ]

    def events(self, reason: str, name: str = "") -> list[Manifest]:
        """Return the events of a reason, about an object of that name if one is given, in order."""
        found = [
            one
            for one in self.all("Event")
            if one.get("reason") == reason and name in ("", one["involvedObject"]["name"])
        ]
        return sorted(found, key=lambda one: int(one["metadata"]["resourceVersion"]))

    @property
    def version(self) -> int:
        """The number of writes so far."""
        return self.world.store.rv


def workload(kind: str, name: str, *, replicas: int | None = 1, image: str = "i:1", **spec: Any) -> Manifest:
    """Return a workload whose pods are labelled `app: <name>`."""
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": image}]}}
    selector: Manifest = labels if kind == "ReplicationController" else {"matchLabels": labels}
    whole: Manifest = {"selector": selector, "template": template, **spec}
    if replicas is not None:
        whole["replicas"] = replicas
    return written(kind, name, spec=whole)


def image(name: str) -> Manifest:
    """Return the patch that gives a workload's template this image."""
    return {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": name}]}}}}


def quota(**hard: str) -> Manifest:
    """Return a quota `q`."""
    return written("ResourceQuota", "q", spec={"hard": hard})


def is_ready(pod: Manifest) -> bool:
    return any(one["type"] == "Ready" and one["status"] == "True" for one in pod["status"].get("conditions") or ())


def pod(name: str, *, app: str, **more: Any) -> Manifest:
    """Return a pod that nobody owns."""
    spec = {"containers": [{"name": "c", "image": "i:1"}]}
    return written("Pod", name, metadata={"labels": {"app": app}, **more}, spec=spec)
