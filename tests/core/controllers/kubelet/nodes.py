"""Simulated kubelets with an API server: what the tests of this folder do with them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from scheduler_core.api.manifests import KINDS, decode
from scheduler_core.apiserver.answers import Outcome
from scheduler_core.apiserver.requests import Create, Delete, ObjectKey, Patch, PatchType, Request
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.kubelet.kubelet import Kubelet
from scheduler_core.model.changes import Change, ObjectPut
from tests.builders import written
from tests.core.apiserver.asking import empty_server

SECOND = 1_000_000
NOW = int(datetime(2030, 1, 1, tzinfo=UTC).timestamp()) * SECOND
ROOM = {"cpu": "4", "memory": "10Gi", "pods": "10"}
SMALL_ROOM = {"cpu": "8", "memory": "1Gi", "ephemeral-storage": "100Gi", "pods": "20"}
CRITICAL = {"priorityClassName": "system-cluster-critical"}
Manifest = dict[str, Any]


class Nodes:
    """Objects, and the kubelets that follow them; `now` moves with `run_for`."""

    def __init__(self, *names: str, room: dict[str, str] | None = None) -> None:
        self.server = empty_server()
        self.store = self.server.store
        self.now = NOW
        self.writes = 0
        self._read = 0
        self._stored: list[Change] = []
        self.restart()
        self.ask(Create(written("PriorityClass", "high", value=10)))
        for name in names or ("n1",):
            self.node(name, room or ROOM)

    def restart(self, *, pods_first: bool = False) -> None:
        """A new controller takes over: it is told what is stored."""
        self.kubelet, self._read = Kubelet(ClusterOptions()), self.store.rv
        kinds = [kind for kind in KINDS if kind not in ("Node", "Pod")]
        kinds += ["Pod", "Node"] if pods_first else ["Node", "Pod"]
        self._stored = [ObjectPut(decode(one)) for kind in kinds for one in self.store.list(kind)]

    def ask(self, *requests: Request) -> None:
        for answer in self.server.carry_out(requests, self.now):
            assert isinstance(answer, Outcome), answer

    def node(self, name: str, room: dict[str, str], **metadata: Any) -> None:
        status = {"capacity": room, "allocatable": room}
        self.ask(Create(written("Node", name, metadata=metadata, status=status)))

    def pod(self, name: str = "p", *, on: str = "n1", requests: dict[str, str] | None = None, **given: Any) -> None:
        """Create a pod on the node; `given` are annotations, labels, finalizers and members of the spec."""
        members = ("annotations", "labels", "finalizers")
        metadata = {member: given.pop(member) for member in members if member in given}
        container: Manifest = {"name": "main", "image": "main:1"}
        limits = given.pop("limits", None)
        resources = {"requests": requests, "limits": limits}
        container["resources"] = {key: value for key, value in resources.items() if value}
        spec = {"nodeName": on, "containers": [container], **given}
        self.ask(Create(written("Pod", name, metadata=metadata, spec=spec)))
        self.turn()

    def delete(self, name: str = "p", grace: int | None = None) -> None:
        self.ask(Delete(ObjectKey("Pod", "default", name), grace))
        self.turn()

    def patch_node(self, body: Manifest, name: str = "n1", subresource: str = "") -> None:
        self.ask(Patch(ObjectKey("Node", "", name), body, PatchType.STRATEGIC, subresource))
        self.turn()

    def annotate(self, annotations: dict[str, str | None], name: str = "n1") -> None:
        """Annotate the node; the prefix of our own annotations goes without saying."""
        own = {f"kschedweb.io/{key}": value for key, value in annotations.items()}
        self.patch_node({"metadata": {"annotations": own}}, name)

    def configure(self, text: str, name: str = "n1") -> None:
        self.annotate({"kubelet-config": text}, name)

    def agent(self, state: str, name: str = "n1", since: str = "2030-01-01T00:00:00Z") -> None:
        self.annotate({"kubelet": state, "kubelet-since": since}, name)

    def note(self, text: str) -> None:
        """Write how the kubelet was that is back, as if nobody had been there since."""
        body = {"metadata": {"annotations": {"kschedweb.io/kubelet-was": text}}}
        self.ask(Patch(ObjectKey("Node", "", "n1"), body))

    def turn(self) -> None:
        """Let the kubelets act until nothing is left to do now."""
        for _ in range(20):
            changes = [*self._stored, *self.store.changes_after(self._read)]
            self._stored, self._read = [], self.store.rv
            requests = self.kubelet.step(self.now, changes)
            if not requests and self._read == self.store.rv:
                return
            self.writes += len(requests)
            self.ask(*requests)
        raise AssertionError("the kubelets do not come to rest")

    def run_for(self, seconds: float) -> None:
        """Let that time pass, acting whenever something is due."""
        end = self.now + round(seconds * SECOND)
        self.turn()
        while (due := self.kubelet.next_due()) is not None and due <= end:
            self.now = max(self.now, due)
            self.turn()
        self.now = end

    def get(self, name: str = "p", kind: str = "Pod") -> Any:
        return self.store.get(ObjectKey(kind, "default" if kind == "Pod" else "", name))

    def exists(self, name: str = "p") -> bool:
        return self.get(name) is not None

    def status(self, name: str = "p") -> Any:
        return self.get(name)["status"]

    def phase(self, name: str = "p") -> str:
        return str(self.status(name)["phase"])

    def container(self, name: str = "main", pod: str = "p") -> Any:
        status = self.status(pod)
        listed = [*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ())]
        return next(one for one in listed if one["name"] == name)

    def condition(self, kind: str, pod: str = "p") -> Any:
        return next((one for one in self.status(pod).get("conditions", ()) if one["type"] == kind), None)

    def node_condition(self, kind: str, name: str = "n1") -> Any:
        conditions = self.get(name, "Node")["status"].get("conditions", ())
        return next((one for one in conditions if one["type"] == kind), {"status": "absent"})

    def events(self) -> list[tuple[str, str]]:
        found = self.store.list("Event")
        return [(one["reason"], one["message"]) for one in found]
