"""What must hold of workloads when nobody changes anything any more, whatever was done to them before.

Random schedules of creations, scales, templates, labels, deletions, taints and restarts of the controllers; then half
an hour of calm, in which everything comes to its number, and another in which nothing is written.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from scheduler_core.api.manifests import decode
from scheduler_core.api.node import Node
from scheduler_core.api.workload import DaemonSet, Deployment, ReplicaSet, ReplicationController
from scheduler_core.apiserver.requests import Propagation
from scheduler_core.controllers.workloads.daemon_pods import Fit, Placement, node_of
from scheduler_core.controllers.workloads.rollout import new_set
from scheduler_core.controllers.workloads.selection import matcher_of
from tests.core.controllers.simulation import Simulation, pod, workload
from tests.examples import seeds

KINDS = ("Deployment", "ReplicaSet", "ReplicationController", "DaemonSet")
CALM_SECONDS = 1_800
Act = Callable[[], None]


class Schedule:
    """Random acts on a cluster."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.cluster = Simulation(nodes=self.chance.randint(1, 5), seed=seed)
        self._names = 0

    def run(self, acts: int) -> None:
        choices: list[Act] = [
            self._create, self._create, self._scale, self._scale, self._template, self._template, self._delete,
            self._delete_pod, self._delete_pod, self._fail_pod, self._label_pod, self._stray, self._taint, self._pause,
            self._label_node, self._restart, self._strategy,
        ]  # fmt: skip
        for _ in range(acts):
            self.chance.choice(choices)()
            self._pass_time()

    def settle(self) -> None:
        for one in self.cluster.all("Deployment"):
            self.cluster.patch("Deployment", one["metadata"]["name"], {"spec": {"paused": False}})
        self.cluster.patch("Node", "n0", {"spec": {"taints": [], "unschedulable": False}})  # room for everything
        self.cluster.run(CALM_SECONDS)

    def _pass_time(self) -> None:
        for _ in range(self.chance.randint(0, 4)):
            self.cluster.world.step()
        if self.chance.random() < 0.6:
            self.cluster.run(self.chance.choice([0.1, 0.7, 2, 5, 40]))

    def _one_of(self, kind: str) -> dict[str, Any] | None:
        found = self.cluster.all(kind)
        return self.chance.choice(found) if found else None

    def _create(self) -> None:
        kind = self.chance.choice(KINDS)
        self._names += 1
        name = f"w{self._names}"
        if kind == "DaemonSet":
            self.cluster.create(workload(kind, name, replicas=None))
            return
        spec: dict[str, Any] = {}
        if kind == "Deployment" and self.chance.random() < 0.3:
            spec["strategy"] = {"type": "Recreate"}
        if self.chance.random() < 0.2:
            spec["minReadySeconds"] = self.chance.choice([1, 5])
        self.cluster.create(workload(kind, name, replicas=self.chance.randint(0, 9), **spec))

    def _scale(self) -> None:
        kind = self.chance.choice(KINDS[:3])
        one = self._one_of(kind)
        if one is not None and not one["metadata"].get("ownerReferences"):
            body = {"spec": {"replicas": self.chance.randint(0, 12)}}
            self.cluster.patch(kind, one["metadata"]["name"], body)

    def _template(self) -> None:
        kind = self.chance.choice(["Deployment", "Deployment", "DaemonSet"])
        one = self._one_of(kind)
        if one is not None:
            containers = [{"name": "c", "image": f"i:{self.chance.randint(1, 3)}"}]
            body = {"spec": {"template": {"spec": {"containers": containers}}}}
            self.cluster.patch(kind, one["metadata"]["name"], body)

    def _strategy(self) -> None:
        one = self._one_of("Deployment")
        if one is not None and one["spec"]["strategy"]["type"] == "RollingUpdate":
            bounds = self.chance.choice([("25%", "25%"), (0, 1), (1, 0), ("100%", 0), (3, "50%")])
            update = {"maxSurge": bounds[0], "maxUnavailable": bounds[1]}
            body = {"spec": {"strategy": {"rollingUpdate": update}}}
            self.cluster.patch("Deployment", one["metadata"]["name"], body)
        daemon = self._one_of("DaemonSet")
        if daemon is not None:
            update = self.chance.choice([{"maxSurge": 1, "maxUnavailable": 0}, {"maxSurge": 0, "maxUnavailable": 2}])
            body = {"spec": {"updateStrategy": {"rollingUpdate": update}}}
            self.cluster.patch("DaemonSet", daemon["metadata"]["name"], body)

    def _pause(self) -> None:
        one = self._one_of("Deployment")
        if one is not None:
            self.cluster.patch("Deployment", one["metadata"]["name"], {"spec": {"paused": self.chance.random() < 0.5}})

    def _delete(self) -> None:
        kind = self.chance.choice(KINDS)
        one = self._one_of(kind)
        if one is not None and "deletionTimestamp" not in one["metadata"] and self.chance.random() < 0.5:
            self.cluster.delete(kind, one["metadata"]["name"], self.chance.choice(list(Propagation)))

    def _delete_pod(self) -> None:
        one = self._one_of("Pod")
        if one is not None:
            grace = self.chance.choice([0, None])
            self.cluster.delete("Pod", one["metadata"]["name"], grace=grace)

    def _fail_pod(self) -> None:
        one = self._one_of("Pod")
        if one is not None and "deletionTimestamp" not in one["metadata"]:
            self.cluster.patch("Pod", one["metadata"]["name"], {"status": {"phase": "Failed"}}, subresource="status")

    def _label_pod(self) -> None:
        one = self._one_of("Pod")
        if one is not None:
            app = self.chance.choice(["free", f"w{self.chance.randint(1, max(1, self._names))}"])
            self.cluster.patch("Pod", one["metadata"]["name"], {"metadata": {"labels": {"app": app}}})

    def _stray(self) -> None:
        self._names += 1
        app = f"w{self.chance.randint(1, self._names)}"
        self.cluster.create(pod(f"stray{self._names}", app=app))

    def _taint(self) -> None:
        one = self._one_of("Node")
        assert one is not None
        taints = self.chance.choice(
            [[], [], [{"key": "k", "effect": "NoSchedule"}], [{"key": "k", "effect": "NoExecute"}]]
        )
        spec = {"taints": taints, "unschedulable": self.chance.random() < 0.2}
        self.cluster.patch("Node", one["metadata"]["name"], {"spec": spec})

    def _label_node(self) -> None:
        self._names += 1
        if self.chance.random() < 0.5:
            self.cluster.add_node(f"m{self._names}")

    def _restart(self) -> None:
        self.cluster.restart()


def check(cluster: Simulation) -> None:
    """Assert what must hold in the end."""
    pods = cluster.all("Pod")
    owners = {one["metadata"]["uid"]: one for kind in KINDS for one in cluster.all(kind)}
    active = cluster.pods()
    owned: dict[str, list[dict[str, Any]]] = {}
    for one in active:
        references = [each for each in one["metadata"].get("ownerReferences") or () if each.get("controller")]
        assert len(references) <= 1
        labels = one["metadata"].get("labels") or {}
        if references:
            assert references[0]["uid"] in owners, "a pod of an owner that is gone"
            owned.setdefault(references[0]["uid"], []).append(one)
            assert matcher_of(decode(owners[references[0]["uid"]])).matches(labels), "a pod its owner does not select"
        else:
            for owner in owners.values():
                if owner["kind"] != "Deployment":
                    assert not matcher_of(decode(owner)).matches(labels), "an orphan that an owner selects"
    assert len({one["metadata"]["uid"] for one in pods}) == len(pods)
    for uid, owner in owners.items():
        _check_owner(cluster, owner, owned.get(uid, []))


def _check_owner(cluster: Simulation, owner: dict[str, Any], owned: list[dict[str, Any]]) -> None:
    typed = decode(owner)
    status = owner["status"]
    assert status["observedGeneration"] == owner["metadata"]["generation"], owner["metadata"]["name"]
    if isinstance(typed, ReplicaSet | ReplicationController):
        assert len(owned) == typed.spec.replicas == status["replicas"]
    elif isinstance(typed, Deployment):
        sets = [
            one
            for one in map(decode, cluster.all("ReplicaSet"))
            if isinstance(one, ReplicaSet) and (one.metadata.owner_references or ())
            if (one.metadata.owner_references or ())[0].uid == typed.uid
        ]
        new = new_set(typed, sets)
        assert new is not None
        assert new.spec.replicas == typed.spec.replicas
        assert all(one.spec.replicas == 0 for one in sets if one.uid != new.uid)
        assert status.get("updatedReplicas", 0) == status.get("replicas", 0) == typed.spec.replicas
    elif isinstance(typed, DaemonSet):
        _check_daemon(cluster, typed, owned)


def _check_daemon(cluster: Simulation, owner: DaemonSet, owned: list[dict[str, Any]]) -> None:
    placement = Placement(owner)
    nodes = [one for one in map(decode, cluster.all("Node")) if isinstance(one, Node)]
    there = [node_of(decode(one)) for one in owned]  # type: ignore[arg-type]
    assert len(set(there)) == len(there), "two pods on a node"
    fits = {node.name: placement.fit(node) for node in nodes}
    assert {name for name, fit in fits.items() if fit == Fit.RUNS} <= set(there)
    assert not {name for name, fit in fits.items() if fit == Fit.NOT} & set(there)
    assert owner.spec.template is not None
    image = owner.spec.template.spec["containers"][0]["image"]
    running = [one for one in owned if fits.get(node_of(decode(one))) == Fit.RUNS]  # type: ignore[arg-type]
    assert {one["spec"]["containers"][0]["image"] for one in running} <= {image}


@pytest.mark.parametrize("seed", seeds(16, 40))
def test_everything_comes_to_its_number_and_then_rests(seed: int) -> None:
    schedule = Schedule(seed)
    schedule.run(acts=30)
    schedule.settle()
    check(schedule.cluster)
    version = schedule.cluster.version
    schedule.cluster.run(CALM_SECONDS)
    assert schedule.cluster.version == version
