"""Virtual days of a cluster in which much happens to nodes and workloads, and what must hold all the time.

What happens is drawn from a seed: kubelets fall silent and come back, nodes are tainted, cordoned, drained, under
pressure, deleted and added; workloads are scaled, changed and deleted, pods deleted and evicted; controllers are made
anew, or absent for a while. `Observer` sees every change; `EventfulDay.check` looks at the cluster between the events.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from hashlib import sha256
from random import Random
from typing import Any

from scheduler_core.api.manifests import decode
from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.api.policy import PodDisruptionBudget
from scheduler_core.api.quantity import parse
from scheduler_core.api.selectors import parse_label_selector
from scheduler_core.api.times import microseconds, time_text
from scheduler_core.apiserver.answers import Outcome
from scheduler_core.apiserver.requests import Delete, Evict, Patch, PatchType, Propagation, Request
from scheduler_core.apiserver.server import Answer
from scheduler_core.controllers.drain import DRAIN
from scheduler_core.controllers.node_agent import KUBELET, KUBELET_SINCE, KUBELET_UNTIL, agent_of
from scheduler_core.controllers.workloads.readiness import is_ready
from tests.core.controllers.job_clusters import job
from tests.core.controllers.simulation import SECOND, Manifest, Simulation, workload
from tests.property.observers import Missed, Observer

HOUR = 3600
SILENT_SECONDS = 50 + 5 + 5  # grace of a heartbeat, period of the controller, its writes
TOLERATED_SECONDS = 300
STOPPED_SECONDS = 45  # the longest grace period, and what a kubelet takes
MAINTENANCE = {"key": "example.com/maintenance", "value": "yes", "effect": "NoExecute"}
UNREACHABLE = "node.kubernetes.io/unreachable"
CORDONED = "node.kubernetes.io/unschedulable"


class EventfulDay(Simulation):
    """A cluster with workloads of every kind, to which things happen."""

    def __init__(self, seed: int) -> None:
        self.draws = Random(seed)
        self.observer = Observer()
        self.evictions = 0
        self._numbers = 0
        super().__init__(0, seed=seed)
        self._ask: Callable[..., list[Answer]] = self.world.request
        self.world.request = self._watched  # type: ignore[method-assign]
        for _ in range(self.draws.randint(4, 7)):
            self.grow()
        self._create_workloads()

    def _controllers(self) -> list[Any]:
        return [*super()._controllers(), self.observer]

    # What is there

    def grow(self) -> None:
        """Add a node."""
        self._numbers += 1
        name = f"n{self._numbers}"
        self.add_node(name)
        capacity = {"cpu": "4", "memory": "8Gi", "pods": "20"}
        labels = {"topology.kubernetes.io/zone": f"z{self._numbers % 2}"}
        self.patch("Node", name, {"metadata": {"labels": labels}})
        self.patch("Node", name, {"status": {"capacity": capacity, "allocatable": capacity}}, subresource="status")

    def _create_workloads(self) -> None:
        draws = self.draws
        for name in ("web", "api"):
            self.create(_sized(workload("Deployment", name, replicas=draws.randint(1, 5)), "250m"))
        patient = _sized(workload("Deployment", "patient", replicas=2), "100m")
        patient["spec"]["template"]["spec"]["tolerations"] = [
            {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": HOUR}
        ]
        self.create(patient)
        self.create(_sized(workload("DaemonSet", "agent", replicas=None), "50m"))
        self.create(_sized(workload("StatefulSet", "db", replicas=draws.randint(1, 3), serviceName="s"), "100m"))
        parallel = workload("StatefulSet", "cache", replicas=draws.randint(1, 4), serviceName="s")
        parallel["spec"]["podManagementPolicy"] = "Parallel"
        self.create(_sized(parallel, "100m"))
        budgets: list[tuple[str, dict[str, Any]]] = [
            ("web", {"minAvailable": draws.randint(0, 2)}),
            ("api", {"maxUnavailable": draws.choice([1, "50%"])}),
            ("db", {"maxUnavailable": 1}),
        ]
        for name, spec in budgets:
            selector = {"matchLabels": {"app": name}}
            metadata = {"name": name, "namespace": "default"}
            budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata}
            self.create({**budget, "spec": {"selector": selector, **spec}})

    @property
    def nodes(self) -> list[Node]:
        return [node for node in map(decode, self.all("Node")) if isinstance(node, Node)]

    def typed_pods(self) -> list[Pod]:
        return [pod for pod in map(decode, self.all("Pod")) if isinstance(pod, Pod)]

    # What happens

    def happen(self) -> None:
        """Let one thing happen, and some time pass."""
        node = self.draws.choice(self.nodes)
        things: list[tuple[int, Callable[[Node], None]]] = [
            (4, self._silence), (2, self._taint), (2, self._untaint), (2, self._cordon), (2, self._uncordon),
            (2, self._drain), (1, self._press), (1, self._lose_node), (4, self._scale), (2, self._change),
            (3, self._delete_pod), (3, self._evict), (2, self._start_job), (1, self._delete_workload),
            (2, self._restart), (2, self._fail_pod), (2, self._work_unseen),
        ]  # fmt: skip
        weights = [weight for weight, _ in things]
        (_, thing), = self.draws.choices(things, weights)  # fmt: skip
        thing(node)
        self.run(self.draws.choice([0.1, 3, 30, 120, 400, HOUR, 3 * HOUR]))

    def _silence(self, node: Node) -> None:
        state = self.draws.choice(["stopped", "partitioned", "off"])
        until = self.world.now + self.draws.choice([20, 90, 500, 2 * HOUR]) * SECOND
        self._annotate(node, {KUBELET: state, KUBELET_UNTIL: time_text(until)})

    def _taint(self, node: Node) -> None:
        taints = [taint for taint in self._taints(node) if taint["key"] != MAINTENANCE["key"]]
        self._set_taints(node, [*taints, MAINTENANCE])

    def _untaint(self, node: Node) -> None:
        self._set_taints(node, [taint for taint in self._taints(node) if taint["key"] != MAINTENANCE["key"]])

    def _taints(self, node: Node) -> list[Manifest]:
        found: list[Manifest] = self.get("Node", node.name)["spec"].get("taints", [])
        return found

    def _set_taints(self, node: Node, taints: list[Manifest]) -> None:
        body = {"spec": {"taints": taints or None}}
        self.request(Patch(self.key("Node", node.name), body, PatchType.MERGE))

    def _cordon(self, node: Node) -> None:
        self.patch("Node", node.name, {"spec": {"unschedulable": True}})

    def _uncordon(self, node: Node) -> None:
        self.patch("Node", node.name, {"spec": {"unschedulable": None}})

    def _drain(self, node: Node) -> None:
        self._annotate(node, {DRAIN: "requested"})

    def _press(self, node: Node) -> None:
        is_on = any(one.type == "MemoryPressure" and one.status == "True" for one in node.status.conditions or ())
        at = time_text(self.world.now)
        condition = {"type": "MemoryPressure", "status": "False" if is_on else "True", "lastTransitionTime": at}
        self.patch("Node", node.name, {"status": {"conditions": [condition]}}, subresource="status")

    def _lose_node(self, node: Node) -> None:
        if len(self.nodes) > 3:
            self.delete("Node", node.name)
        else:
            self.grow()

    def _scale(self, node: Node) -> None:
        kind, name, most = self.draws.choice(
            [
                ("Deployment", "web", 6),
                ("Deployment", "api", 6),
                ("StatefulSet", "cache", 5),
                ("Deployment", "patient", 3),
            ]
        )
        if self.world.store.get(self.key(kind, name)) is not None:
            self.patch(kind, name, {"spec": {"replicas": self.draws.randint(0, most)}})

    def _change(self, node: Node) -> None:
        kind, name = self.draws.choice(
            [("Deployment", "web"), ("Deployment", "api"), ("DaemonSet", "agent"), ("StatefulSet", "cache")]
        )
        container = {"name": "c", "image": f"i:{self.draws.randint(1, 9)}"}
        if self.world.store.get(self.key(kind, name)) is not None:
            self.patch(kind, name, {"spec": {"template": {"spec": {"containers": [container]}}}})

    def _delete_pod(self, node: Node) -> None:
        pods = self.all("Pod")
        if pods:
            name = self.draws.choice(pods)["metadata"]["name"]
            self.world.request(Delete(self.key("Pod", name), self.draws.choice([None, None, 0, 5])))

    def _evict(self, node: Node) -> None:
        for pod in self.draws.sample(pods := self.pods(), min(3, len(pods))):
            self.world.request(
                Evict(self.key("Pod", pod["metadata"]["name"]), "EvictionByEvictionAPI", asks_budgets=True)
            )

    def _start_job(self, node: Node) -> None:
        self._numbers += 1
        spec: dict[str, Any] = {"completions": self.draws.randint(1, 4), "parallelism": 2, "backoffLimit": 50}
        spec["completionMode"] = self.draws.choice(["Indexed", "NonIndexed"])
        seconds = str(self.draws.choice([1, 60, 900]))
        made = job(f"job-{self._numbers}", annotations={"kschedweb.io/run-seconds": seconds}, **spec)
        self.create(_sized(made, "200m"))

    def _delete_workload(self, node: Node) -> None:
        kind, name = self.draws.choice([("Deployment", "patient"), ("StatefulSet", "cache"), ("Deployment", "api")])
        how = self.draws.choice([Propagation.BACKGROUND, Propagation.FOREGROUND])
        self.world.request(Delete(self.key(kind, name), propagation=how))

    def _restart(self, node: Node) -> None:
        self.restart()

    def _fail_pod(self, node: Node) -> None:
        """Write, as a client with the right to, that a pod has failed; deleted ones are the likelier choice."""
        pods = [pod for pod in self.typed_pods() if not pod.is_terminal]
        pods = [pod for pod in pods if pod.is_terminating] or pods
        if pods:
            self.patch("Pod", self.draws.choice(pods).name, {"status": {"phase": "Failed"}}, subresource="status")

    def _work_unseen(self, node: Node) -> None:
        """Let things happen while no controller is there."""
        self.world.controllers = [missed := Missed(), self.observer]
        for _ in range(self.draws.randint(1, 4)):
            there = self.draws.choice(self.nodes)
            thing = self.draws.choice(
                [self._bring_back, self._silence, self._delete_pod, self._delete_pod, self._untaint, self._scale,
                 self._taint, self._delete_workload, self._fail_pod]
            )  # fmt: skip
            thing(there)
            self.run(self.draws.choice([0.1, 30, 400]))
        self.restart(missed.gone)
        self.observer.silent_until |= {one.name: self.world.now for one in self.nodes}
        self.run(60)

    def _bring_back(self, node: Node) -> None:
        self._annotate(node, {KUBELET: None, KUBELET_UNTIL: None, KUBELET_SINCE: None})

    def _annotate(self, node: Node, annotations: dict[str, str | None]) -> None:
        self.patch("Node", node.name, {"metadata": {"annotations": annotations}})

    # What must hold

    def _watched(self, *requests: Request) -> list[Answer]:
        """Carry out requests; evictions that ask budgets leave these what they need."""
        asked = [one for one in requests if isinstance(one, Evict) and one.asks_budgets]
        if not asked:
            return self._ask(*requests)
        pods = {pod.name: pod for pod in self.typed_pods()}
        answers = self._ask(*requests)
        taken = [
            pods[request.key.name]
            for request, answer in zip(requests, answers, strict=True)
            if isinstance(request, Evict) and isinstance(answer, Outcome) and request.key.name in pods
        ]
        for budget in map(decode, self.all("PodDisruptionBudget")):
            assert isinstance(budget, PodDisruptionBudget)
            matcher = parse_label_selector(budget.spec.selector)
            matching = [pod for pod in pods.values() if matcher.matches(pod.labels)]
            healthy = [pod for pod in matching if is_ready(pod) and not pod.is_terminating]
            lost = [pod for pod in taken if pod in healthy and not pod.is_terminal]  # those that ended need no budget
            if lost and not any(self._has_just_changed(pod) for pod in matching):
                self.evictions += len(lost)
                assert len(healthy) - len(lost) >= budget.status.desired_healthy, f"{budget.name} is not respected"
        return answers

    def _has_just_changed(self, pod: Pod) -> bool:
        """Whether a budget's status may not have heard of it yet."""
        since = [one.last_transition_time for one in pod.status.conditions or () if one.type == "Ready"]
        asked = pod.metadata.deletion_timestamp
        if asked is not None:
            return self._age(asked) <= 1 - (pod.metadata.deletion_grace_period_seconds or 0)
        return any(time is not None and self._age(time) <= 1 for time in since)

    def _age(self, time: datetime | str) -> float:
        """How many seconds ago that was."""
        at = datetime.fromisoformat(time) if isinstance(time, str) else time
        return (self.world.now - microseconds(at)) / SECOND

    def check(self) -> None:
        """Hold the cluster against what is said of nodes and of pods."""
        nodes = {node.name: node for node in self.nodes}
        pods = self.typed_pods()
        for node in nodes.values():
            self._check_node(node)
            here = [pod for pod in pods if pod.spec.node_name == node.name and not pod.is_terminal]
            asked = sum(_cpu_milli(pod) for pod in here)
            assert asked <= 4000, f"{node.name} has pods that ask for {asked}m"
            assert len(here) <= 20
            for pod in here:
                self._check_pod(pod, node)

    def _check_node(self, node: Node) -> None:
        keys = {(taint.key, taint.effect) for taint in node.spec.taints or ()}
        agent, ready = agent_of(node), _condition(node, "Ready")
        assert ((CORDONED, "NoSchedule") in keys) == node.spec.unschedulable, node.name
        for key, condition in (("memory-pressure", "MemoryPressure"), ("disk-pressure", "DiskPressure")):
            has_taint = (f"node.kubernetes.io/{key}", "NoSchedule") in keys
            assert has_taint == (_condition(node, condition) == "True"), f"{node.name} {condition}"
        assert ((UNREACHABLE, "NoSchedule") in keys) == (ready == "Unknown"), f"{node.name} is {ready}"
        if not agent.is_heard and agent.since is not None and self.world.now - agent.since > SILENT_SECONDS * SECOND:
            assert ready == "Unknown", f"{node.name} is silent"
        if self._is_well(node, 10):
            assert ready == "True", f"{node.name} is well, but {node}"
            assert (UNREACHABLE, "NoExecute") not in keys, node.name

    def _check_pod(self, pod: Pod, node: Node) -> None:
        asked = pod.metadata.deletion_timestamp
        if asked is not None:
            is_over = self._age(asked) > STOPPED_SECONDS and self._is_well(node, STOPPED_SECONDS)
            assert not is_over, f"{pod.key} does not go"
            return
        bound = next((one for one in pod.status.conditions or () if one.type == "PodScheduled"), None)
        here = self._age(bound.last_transition_time) if bound is not None and bound.last_transition_time else HOUR * 99
        for taint in node.spec.taints or ():
            if taint.effect != "NoExecute" or taint.time_added is None:
                continue
            tolerations = [one for one in pod.spec.tolerations or () if _tolerates(one, taint)]
            if not tolerations:
                assert min(here, self._age(taint.time_added)) < 10, f"{pod.key} does not tolerate {taint.key}"
            elif all(one.toleration_seconds is not None for one in tolerations):
                longest = max(one.toleration_seconds or 0 for one in tolerations)
                assert min(here, self._age(taint.time_added)) < longest + 10, f"{pod.key} stays with {taint.key}"

    def _is_well(self, node: Node, seconds: int) -> bool:
        """Whether the node's kubelet has been heard of for so long."""
        if not agent_of(node).is_heard:
            return False
        return self.world.now - self.observer.silent_until.get(node.name, 0) > seconds * SECOND

    def calm(self) -> None:
        """Undo what was done to nodes, and let everything settle."""
        for node in self.nodes:
            self._annotate(node, {KUBELET: "running", DRAIN: None})
            self._untaint(node)
            self._uncordon(node)
            if _condition(node, "MemoryPressure") == "True":
                self._press(node)
        for _ in range(3):
            self.grow()
        self.run(3 * HOUR)

    def digest(self) -> str:
        """A number of all that is stored."""
        kinds = sorted({key.kind for key in self._keys()})
        stored = [one for kind in kinds for one in self.world.store.list(kind)]
        return sha256(json.dumps(stored, sort_keys=True).encode()).hexdigest()


def _sized(manifest: Manifest, cpu: str) -> Manifest:
    for container in manifest["spec"]["template"]["spec"]["containers"]:
        container["resources"] = {"requests": {"cpu": cpu, "memory": "64Mi"}}
    return manifest


def _cpu_milli(pod: Pod) -> int:
    zero = parse("0")
    requests = [(container.resources.requests or {}).get("cpu", zero) for container in pod.spec.containers]
    return sum(round(float(str(one).removesuffix("m")) * (1 if str(one).endswith("m") else 1000)) for one in requests)


def _condition(node: Node, type_: str) -> str:
    return next((one.status for one in node.status.conditions or () if one.type == type_), "")


def _tolerates(toleration: Any, taint: Any) -> bool:
    if toleration.effect not in ("", None, taint.effect):
        return False
    if toleration.operator == "Exists":
        return toleration.key in ("", None, taint.key)
    return bool(toleration.key == taint.key and (toleration.value or "") == (taint.value or ""))
