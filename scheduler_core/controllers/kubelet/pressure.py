"""Node pressure of all nodes: which of them are watched, when each is looked at, and what the kubelet does about it.

Watched are nodes of which something is said: pods with a usage, annotations about the node, a condition that a
kubelet reported. All others cost nothing. Times are microseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final

from scheduler_core.api.node import ContainerImage, Node
from scheduler_core.api.pod import Pod
from scheduler_core.apiserver.requests import ObjectKey, Patch, PatchType, Request
from scheduler_core.controllers.deadlines import Deadlines
from scheduler_core.controllers.event_recorder import WARNING, EventRecorder
from scheduler_core.controllers.kubelet.configurations import Configurations
from scheduler_core.controllers.kubelet.measured import Measured
from scheduler_core.controllers.kubelet.node_conditions import is_unknown, report, reported
from scheduler_core.controllers.kubelet.node_pressure import Evicted, NodePressure
from scheduler_core.controllers.kubelet.pod_usage import has_usage, used_by
from scheduler_core.controllers.kubelet.signals import is_described, signals_of

RECLAIMS: Final = "EvictionThresholdMet"

PodsOf = Callable[[str], Sequence[Pod]]  # pods of a node that run and that nobody ends yet, the oldest first


class Pressure:
    """The eviction managers of the kubelets of one cluster."""

    def __init__(self, pods_of: PodsOf, events: EventRecorder) -> None:
        self.configurations = Configurations(events)
        self._pods_of = pods_of
        self._events = events
        self._nodes: dict[str, Node] = {}  # that are heard and of which something is said or was reported
        self._users: dict[str, dict[str, Pod]] = {}  # pods that use something, by node and uid
        self._watched: dict[str, NodePressure] = {}
        self._measured: dict[str, Measured] = {}
        self._changed: dict[str, None] = {}
        self._looks = Deadlines()

    def put_pod(self, pod: Pod) -> None:
        """Take over a pod that a kubelet took."""
        name = pod.spec.node_name
        if has_usage(pod):
            self._users.setdefault(name, {})[pod.uid] = pod
            self._changed[name] = None

    def drop_pod(self, pod: Pod) -> None:
        """Forget a pod."""
        users = self._users.get(pod.spec.node_name)
        if users is not None and users.pop(pod.uid, None) is not None:
            self._changed[pod.spec.node_name] = None
            if not users:
                del self._users[pod.spec.node_name]

    def put_node(self, node: Node, now: int) -> Sequence[Request]:
        """Take over a node whose kubelet is heard; return what its configuration asks for, and what sets it right."""
        name = node.name
        self._nodes[name] = node
        if name in self._watched or name in self._users or is_described(node) or reported(node):
            self._changed[name] = None
        requests = [*self.configurations.allocatable(node, now)]
        if is_unknown(node):
            watched = self._watched.get(name)
            requests += report(node, watched.pressures if watched is not None else (), now, self._events)
        return requests

    def drop_node(self, name: str, *, forgets: bool = False) -> None:
        """Look no more at a node whose kubelet is not heard; `forgets`: what it knew is lost."""
        self._nodes.pop(name, None)
        self._measured.pop(name, None)
        self._changed.pop(name, None)
        self._looks.drop(name)
        if forgets:
            self._watched.pop(name, None)

    def put_common(self, text: str, now: int) -> list[Request]:
        """Take over the configuration of all nodes."""
        self.configurations.put_common(text)
        self._changed |= dict.fromkeys(self._watched)
        return [request for node in self._nodes.values() for request in self.configurations.allocatable(node, now)]

    def next_due(self) -> int | None:
        """Return when the next node is looked at."""
        return self._looks.first()

    def step(self, now: int) -> tuple[list[Request], list[Evicted]]:
        """Return what is due at `now`, and the pods that end."""
        requests: list[Request] = []
        evicted: list[Evicted] = []
        if self._changed:
            changed, self._changed = self._changed, {}
            for name in changed:
                self._measure(name, now)
        for name in self._looks.pop_due(now):
            self._look(name, now, requests, evicted)
        return requests, evicted

    def _measure(self, name: str, now: int) -> None:
        node = self._nodes.get(name)
        if node is None:
            return
        watched = self._watched.get(name)
        users = self._users.get(name, {})
        if watched is None:
            if not users and not is_described(node) and not reported(node):
                return
            watched = self._watched[name] = NodePressure(node, now)
        elif watched.is_calm and not users and not is_described(node):
            del self._watched[name]
            self._measured.pop(name, None)
            self._looks.drop(name)
            return
        used = {uid: used_by(pod) for uid, pod in users.items() if not pod.is_terminating}
        config = self.configurations.of(node)
        signals = signals_of(node, config, (one for listed in used.values() for one in listed))
        measured = Measured(node, config, signals, used, partial(self._pods_of, name))
        self._measured[name] = measured
        self._set_look(name, watched.next_look(measured, now))

    def _look(self, name: str, now: int, requests: list[Request], evicted: list[Evicted]) -> None:
        watched, measured = self._watched[name], self._measured[name]
        node = measured.node
        outcome = watched.look(measured, now)
        requests += report(node, watched.pressures, now, self._events)
        if outcome.starved:
            message = f"Attempting to reclaim {outcome.starved}"
            requests += self._events.record(node, RECLAIMS, message, now=now, kind=WARNING, host=name)
        if outcome.keeps_images is not None:
            requests.append(_keep_images(node, outcome.keeps_images))
        for one in outcome.evicted:
            requests += self._events.record(one.pod, "Evicted", one.message, now=now, kind=WARNING, host=name)
        evicted += outcome.evicted
        self._set_look(name, watched.next_look(measured, now))

    def _set_look(self, name: str, at: int | None) -> None:
        if at is None:
            self._looks.drop(name)
        else:
            self._looks.set(name, at)


def _keep_images(node: Node, names: Iterable[str]) -> Request:
    kept = [_image(image) for image in node.status.images or () if image.names and image.names[0] in names]
    body = {"status": {"images": kept}}
    return Patch(ObjectKey(Node.kind, "", node.name), body, PatchType.MERGE, "status", node.uid)


def _image(image: ContainerImage) -> dict[str, object]:
    return {"names": list(image.names or ()), "sizeBytes": image.size_bytes}
