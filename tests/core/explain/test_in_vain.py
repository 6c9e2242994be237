"""What waits in vain where no controller acts: each case stands still without controllers and goes on with them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from scheduler_core.apiserver.memory import MemoryStore
from scheduler_core.apiserver.requests import ObjectKey
from scheduler_core.controllers.registry import GROUPS
from scheduler_core.explain.in_vain import NAMES_SHOWN, REASONS, InVain, Waiting, grouped, waiting, waiting_for_pod
from tests.builders import written
from tests.cases import cases
from tests.core.controllers.simulation import Manifest, Simulation, pod, quota, workload

TEN_MINUTES = 700  # and bindTimeoutSeconds with them
LONG_AGO = "2029-01-01T00:00:00Z"
SIZE: Manifest = {"requests": {"storage": "1Gi"}}
PROTECTION = ["kubernetes.io/pvc-protection"], ["kubernetes.io/pv-protection"]


class Stored:
    """Those of a store in memory."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    def named(self, kind: str, namespace: str, names: Collection[str]) -> Mapping[str, Manifest]:
        found = {name: self._store.get(ObjectKey(kind, namespace, name)) for name in names}
        return {name: one for name, one in found.items() if one is not None}

    def of_kind(self, kind: str, namespace: str = "") -> Iterable[Manifest]:
        return [one for one in self._store.list(kind) if namespace in ("", one["metadata"].get("namespace"))]

    def leaving_pods(self, node_name: str) -> Iterable[Manifest]:
        pods = [one for one in self._store.list("Pod") if one["spec"].get("nodeName") == node_name]
        return [one for one in pods if "deletionTimestamp" in one["metadata"]]

    def tainted_nodes(self, keys: Collection[str]) -> Iterable[Manifest]:
        nodes = self._store.list("Node")
        return [one for one in nodes if any(each["key"] in keys for each in one["spec"].get("taints") or ())]


def frozen() -> Simulation:
    """A cluster in which no controller acts."""
    return Simulation(1, external=tuple(GROUPS))


def told(cluster: Simulation, kinds: Sequence[str]) -> list[tuple[str, str, str]]:
    stored = Stored(cluster.world.store)
    found = [each for kind in kinds for one in cluster.world.store.list(kind) for each in waiting(one, stored)]
    return [(each.reason, each.kind, each.key) for each in found]


def of_pod(cluster: Simulation, name: str) -> list[tuple[str, str]]:
    found = waiting_for_pod(cluster.get("Pod", name), Stored(cluster.world.store))
    return [(each.reason, each.key) for each in found]


def message(cluster: Simulation, name: str) -> str:
    conditions = cluster.get("Pod", name)["status"].get("conditions") or ()
    return next((str(one["message"]) for one in conditions if one["type"] == "PodScheduled"), "")


def volume(name: str = "v", **more: Any) -> Manifest:
    spec = {"storageClassName": "late", "capacity": {"storage": "2Gi"}, "accessModes": ["ReadWriteOnce"]}
    spec |= {"hostPath": {"path": "/d"}, **more}
    return written("PersistentVolume", name, spec=spec)


def storage_class(name: str, mode: str, provisioner: str = "csi.example.com") -> Manifest:
    return written("StorageClass", name, provisioner=provisioner, volumeBindingMode=mode)


CLASSES = [
    storage_class("late", "WaitForFirstConsumer"),
    storage_class("none", "WaitForFirstConsumer", "kubernetes.io/no-provisioner"),
    storage_class("now", "Immediate"),
]


def claim(class_name: str, name: str = "c") -> Manifest:
    spec = {"storageClassName": class_name, "accessModes": ["ReadWriteOnce"], "resources": SIZE}
    return written("PersistentVolumeClaim", name, spec=spec)


def using(source: Mapping[str, Any], name: str = "p") -> Manifest:
    made = pod(name, app="a")
    made["spec"]["volumes"] = [{"name": "d", **source}]
    return made


USING = using({"persistentVolumeClaim": {"claimName": "c"}})
EPHEMERAL = using({"ephemeral": {"volumeClaimTemplate": {"spec": claim("late")["spec"]}}})
BUDGET = written("PodDisruptionBudget", "b", spec={"minAvailable": 0, "selector": {"matchLabels": {"app": "a"}}})
TEMPLATE = written("ResourceClaimTemplate", "t", spec={"spec": {"devices": {}}})
BATCH = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
JOB = written("Job", "j", spec={"template": BATCH})
CRON_JOB: Manifest = {**JOB, "kind": "CronJob", "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": JOB["spec"]}}}


def from_template() -> Manifest:
    made = pod("p", app="a")
    made["spec"]["resourceClaims"] = [{"name": "d", "resourceClaimTemplateName": "t"}]
    return made


@cases(
    "objects, want",
    ("a volume without a phase", [volume()], [("volume-phase", "PersistentVolume", "v")]),
    ("a claim that is bound at once", [*CLASSES, claim("now"), USING],
     [("claim-unbound", "PersistentVolumeClaim", "default/c")]),
    ("a claim that is bound where its pod goes", [*CLASSES, claim("late"), USING],
     [("claim-placed", "PersistentVolumeClaim", "default/c")]),
    ("the claim of an ephemeral volume", [*CLASSES, EPHEMERAL],
     [("claim-not-made", "PersistentVolumeClaim", "default/p-d")]),
    ("the claim of a template", [TEMPLATE, from_template()], [("device-claim-not-made", "Pod", "default/p")]),
    ("a quota", [quota(pods="1")], [("quota-uncounted", "ResourceQuota", "default/q")]),
    ("a budget", [BUDGET], [("budget-uncounted", "PodDisruptionBudget", "default/b")]),
    ("a Deployment", [workload("Deployment", "w")], [("workload", "Deployment", "default/w")]),
    ("a ReplicaSet", [workload("ReplicaSet", "w", replicas=None)], [("workload", "ReplicaSet", "default/w")]),
    ("a controller of replicas", [workload("ReplicationController", "w")],
     [("workload", "ReplicationController", "default/w")]),
    ("a StatefulSet", [workload("StatefulSet", "w", serviceName="s")], [("workload", "StatefulSet", "default/w")]),
    ("a DaemonSet", [workload("DaemonSet", "w", replicas=None)], [("workload", "DaemonSet", "default/w")]),
    ("a Job", [JOB], [("workload", "Job", "default/j")]),
    ("a Deployment of none", [workload("Deployment", "w", replicas=0)], []),
    ("a Job that is suspended", [{**JOB, "spec": {"template": BATCH, "suspend": True}}], []),
    ("a quota of nothing", [quota()], []),
)  # fmt: skip
def test_new_object_waits_for_ever(objects: list[Manifest], want: list[tuple[str, str, str]]) -> None:
    kinds = list(dict.fromkeys(one["kind"] for one in objects))
    still, going = frozen(), Simulation(1)
    for each in objects:
        still.create(each)
        going.create(each)
    assert told(still, kinds) == want
    for cluster in (still, going):
        cluster.run(TEN_MINUTES)
    assert told(still, kinds) == want
    assert told(going, kinds) == []


def test_cron_job_never_makes_a_job() -> None:
    still = frozen()
    still.create(CRON_JOB)
    still.run(TEN_MINUTES)
    assert still.all("Job") == []
    assert told(still, ["CronJob"]) == [("workload", "CronJob", "default/j")]


def test_pod_is_refused_while_no_volume_is_available() -> None:
    still = frozen()
    for each in [*CLASSES, volume("v", storageClassName="none"), volume("other"), claim("none"), USING]:
        still.create(each)
    still.run(TEN_MINUTES)
    assert "didn't find available persistent volumes to bind" in message(still, "p")
    assert of_pod(still, "p") == [("claim-placed", "default/c"), ("volume-phase", "v")]


def test_volume_that_is_available_is_taken_and_not_bound() -> None:
    """A phase brings the pod as far as its node, where it waits until the time for binding is over."""
    still = frozen()
    for each in [*CLASSES, volume("v", storageClassName="none"), claim("none")]:
        still.create(each)
    available(still, "v")
    still.create(USING)
    still.run(TEN_MINUTES)
    assert of_all(still, "PersistentVolume", "v")["spec"]["claimRef"]["name"] == "c"
    assert "nodeName" not in still.get("Pod", "p")["spec"]
    assert of_pod(still, "p") == [("claim-placed", "default/c")]


def available(cluster: Simulation, name: str) -> None:
    cluster.world.load([{**of_all(cluster, "PersistentVolume", name), "status": {"phase": "Available"}}])


def of_all(cluster: Simulation, kind: str, name: str) -> Manifest:
    """Return an object that has no namespace."""
    found = cluster.world.store.get(ObjectKey(kind, "", name))
    assert found is not None
    return found


@pytest.mark.parametrize("made", [claim("late"), claim("now")], ids=["placed", "at once"])
def test_provisioner_makes_nothing(made: Manifest) -> None:
    still = frozen()
    for each in [*CLASSES, made, USING]:
        still.create(each)
    still.run(TEN_MINUTES)
    assert still.all("PersistentVolume") == []
    assert "nodeName" not in still.get("Pod", "p")["spec"]


def test_deleted_pod_keeps_its_place_and_the_one_it_was_preempted_for_waits() -> None:
    still = frozen()
    low, high = pod("low", app="a"), pod("high", app="b")
    for one, priority in ((low, 0), (high, 10)):
        one["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "90"}}
        one["spec"]["priority"] = priority
        one["spec"]["schedulerName"] = "default-scheduler"
    still.world.load([placed(low, "n0"), stored(high)])
    still.run(TEN_MINUTES)
    assert "deletionTimestamp" in still.get("Pod", "low")["metadata"]
    assert "nodeName" not in still.get("Pod", "high")["spec"]
    assert of_pod(still, "high") == [("pod-leaving", "default/low")]
    still.delete("Pod", "low", grace=0)
    still.run(TEN_MINUTES)
    assert still.get("Pod", "high")["spec"]["nodeName"] == "n0"
    assert of_pod(still, "high") == []


def stored(manifest: Manifest, **metadata: Any) -> Manifest:
    """Return the manifest as of an object that is there."""
    own = {"uid": manifest["metadata"]["name"], "creationTimestamp": "2029-01-01T00:00:00Z"}
    return {"status": {}, **manifest, "metadata": {**manifest["metadata"], **own, **metadata}}


def placed(manifest: Manifest, node: str, **status: Any) -> Manifest:
    spec = {**manifest["spec"], "nodeName": node, "terminationGracePeriodSeconds": 30}
    return stored({**manifest, "spec": spec, "status": {"phase": "Running", **status}})


@pytest.mark.parametrize("key", ["not-ready", "unreachable", "memory-pressure", "unschedulable"])
def test_taint_of_a_condition_stays(key: str) -> None:
    clusters = [frozen(), Simulation(1)]
    for cluster in clusters:
        taint = {"key": f"node.kubernetes.io/{key}", "effect": "NoSchedule"}
        cluster.patch("Node", "n0", {"spec": {"taints": [taint]}})
        cluster.run(TEN_MINUTES)
        cluster.create(pod("p", app="a"))
        cluster.run(TEN_MINUTES)
    still, going = clusters
    assert told(still, ["Node"]) == [("node-taint", "Node", "n0")]
    assert of_pod(still, "p") == [("node-taint", "n0")]
    assert told(going, ["Node"]) == []
    assert going.get("Pod", "p")["spec"]["nodeName"] == "n0"


@pytest.mark.parametrize("spec", [{"unschedulable": True}, {"taints": [{"key": "mine", "effect": "NoSchedule"}]}])
def test_what_somebody_wants_of_a_node_is_no_wait(spec: Manifest) -> None:
    still = frozen()
    still.patch("Node", "n0", {"spec": spec})
    still.run(TEN_MINUTES)
    assert told(still, ["Node"]) == []


def test_namespace_that_was_deleted_stays_and_what_is_in_it_says_so() -> None:
    ending = {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Terminating"}}
    namespace = written("Namespace", "other", **ending)
    left = pod("p", app="a")
    left["metadata"]["namespace"] = "other"
    clusters = [frozen(), Simulation(1)]
    for cluster in clusters:
        cluster.world.load([stored(namespace, deletionTimestamp=LONG_AGO), stored(left)])
        cluster.run(TEN_MINUTES)
    still, going = clusters
    assert told(still, ["Namespace"]) == [("namespace-leaving", "Namespace", "other")]
    found = waiting_for_pod(still.all("Pod")[0], Stored(still.world.store))
    assert [*found] == [Waiting("namespace-leaving", "Namespace", "other")]
    assert (told(going, ["Namespace"]), going.all("Pod")) == ([], [])


@cases(
    "finalizers, want",
    ("that of a controller", PROTECTION, [("finalizer", "PersistentVolumeClaim", "default/c"),
                                          ("finalizer", "PersistentVolume", "v")]),
    ("somebody's own", (["example.com/mine"], ["example.com/mine"]), []),
)  # fmt: skip
def test_what_was_deleted_keeps_a_finalizer(
    finalizers: tuple[list[str], list[str]], want: list[tuple[str, str, str]]
) -> None:
    clusters, kinds = [frozen(), Simulation(1)], ["PersistentVolumeClaim", "PersistentVolume"]
    for cluster in clusters:
        for made, kept in zip((claim("late"), volume()), finalizers, strict=True):
            cluster.world.load([stored(made, deletionTimestamp=LONG_AGO, finalizers=kept)])
        cluster.run(TEN_MINUTES)
    still, going = clusters
    assert told(still, kinds) == want
    assert told(going, kinds) == []


def device_claim(**consumer: str) -> Manifest:
    results = [{"request": "r", "driver": "d.example.com", "pool": "n0", "device": "x"}]
    status = {"allocation": {"devices": {"results": results}}, "reservedFor": [{"resource": "pods", **consumer}]}
    made = written("ResourceClaim", "rc", spec={}, status=status)
    return stored(made, finalizers=["resource.kubernetes.io/delete-protection"])


@cases(
    "consumer, want",
    ("a pod that is gone", {"name": "gone", "uid": "gone"}, ["devices-kept"]),
    ("a namesake of it", {"name": "runs", "uid": "another"}, ["devices-kept"]),
    ("a pod that has ended", {"name": "ended", "uid": "ended"}, ["devices-kept"]),
    ("a pod that runs", {"name": "runs", "uid": "runs"}, []),
    ("something else", {"name": "gone", "uid": "gone", "apiGroup": "x.example.com"}, []),
)
def test_devices_of_pods_that_are_gone(consumer: dict[str, str], want: list[str]) -> None:
    clusters = [frozen(), Simulation(1)]
    for cluster in clusters:
        pods = [placed(pod("runs", app="a"), "n0"), placed(pod("ended", app="a"), "n0", phase="Succeeded")]
        cluster.world.load([*pods, device_claim(**consumer)])
        cluster.run(TEN_MINUTES)
    still, going = clusters
    assert [reason for reason, _, _ in told(still, ["ResourceClaim"])] == want
    assert told(going, ["ResourceClaim"]) == []


def test_what_waits_is_counted_by_reason_and_kind() -> None:
    found = [Waiting("workload", "Job", f"d/{name}") for name in "edcba"]
    found += [Waiting("volume-phase", "PersistentVolume", "v")] * 2
    volumes, jobs = grouped(found)
    assert (volumes.reason, volumes.count, volumes.names) == ("volume-phase", 1, ("v",))
    assert (jobs.reason, jobs.count, jobs.names) == ("workload", 5, ("d/a", "d/b", "d/c"))
    assert len(jobs.names) == NAMES_SHOWN
    assert volumes.message.startswith("PersistentVolume v: without a phase")
    assert jobs.message == "5 of the kind Job (d/a, d/b, d/c, …): no controller makes the pods that it wants"


def test_every_reason_has_a_sentence_and_is_documented() -> None:
    documented = (Path(__file__).parents[3] / "docs" / "lifecycle.md").read_text()
    for reason in REASONS:
        assert f"| `{reason}` |" in documented
        assert InVain(reason, "Pod", 1, ("d/p",)).message.startswith("Pod d/p: ")
