"""ReplicaSets keep as many pods as they say, adopt and release by label, and say how it goes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scheduler_core.apiserver.requests import Propagation
from tests.core.controllers.simulation import SECOND, Simulation, pod, quota, workload


def test_pods_are_made_from_the_template(cluster: Simulation) -> None:
    manifest = workload("ReplicaSet", "web", replicas=3)
    container = manifest["spec"]["template"]["spec"]["containers"][0]
    container["env"] = [{"name": "A", "value": "b"}]
    manifest["spec"]["template"]["metadata"]["annotations"] = {"a.example/b": "c"}
    owner = cluster.begin(manifest, 10)
    pods = cluster.pods(app="web")
    assert len(pods) == 3
    for each in pods:
        metadata = each["metadata"]
        assert metadata["generateName"] == "web-"
        assert len(metadata["name"]) == len("web-") + 5
        assert metadata["annotations"] == {"a.example/b": "c"}
        assert metadata["ownerReferences"] == [
            {
                "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": owner["metadata"]["uid"],
                "controller": True, "blockOwnerDeletion": True,
            }
        ]  # fmt: skip
        assert each["spec"]["containers"][0]["env"] == [{"name": "A", "value": "b"}]
        assert each["status"]["phase"] == "Running"
    status = cluster.get("ReplicaSet", "web")["status"]
    assert status == {
        "replicas": 3, "fullyLabeledReplicas": 3, "readyReplicas": 3, "availableReplicas": 3, "observedGeneration": 1,
    }  # fmt: skip
    created = cluster.events("SuccessfulCreate", "web")
    assert sorted(event["message"] for event in created) == [
        f"Created pod: {each['metadata']['name']}" for each in pods
    ]
    assert created[0]["source"] == {"component": "replicaset-controller"}


def test_scale_is_followed_both_ways_and_says_so(cluster: Simulation) -> None:
    cluster.begin(workload("ReplicaSet", "web", replicas=2), 10)
    cluster.patch("ReplicaSet", "web", {"spec": {"replicas": 5}})
    cluster.run(10)
    assert len(cluster.pods(app="web")) == 5
    cluster.patch("ReplicaSet", "web", {"spec": {"replicas": 0}})
    cluster.run(60)
    assert cluster.all("Pod") == []
    assert cluster.get("ReplicaSet", "web")["status"] == {"replicas": 0, "observedGeneration": 3}
    assert len(cluster.events("SuccessfulDelete", "web")) == 5


def test_pod_that_is_deleted_or_fails_is_replaced(cluster: Simulation) -> None:
    cluster.begin(workload("ReplicaSet", "web", replicas=2), 10)
    first, second = (each["metadata"]["name"] for each in cluster.pods(app="web"))
    cluster.delete("Pod", first)
    cluster.patch("Pod", second, {"status": {"phase": "Failed"}}, subresource="status")
    cluster.run(1)
    alive = {each["metadata"]["name"] for each in cluster.pods(app="web")}
    assert len(alive) == 2
    assert not alive & {first, second}


def test_batches_double(cluster: Simulation) -> None:
    cluster.create(workload("ReplicaSet", "web", replicas=10))
    counts = []
    while len(cluster.all("Pod")) < 10:
        cluster.world.step()
        counts.append(len(cluster.all("Pod")))
    assert [count for count in counts if count] == [1, 3, 7, 10]


def test_refused_pods_are_said_and_tried_again_until_there_is_room(cluster: Simulation) -> None:
    cluster.begin(quota(pods="2"), 1)
    cluster.begin(workload("ReplicaSet", "web", replicas=4), 600)
    assert len(cluster.pods(app="web")) == 2
    status = cluster.get("ReplicaSet", "web")["status"]
    assert (status["replicas"], status["readyReplicas"]) == (2, 2)
    (condition,) = status["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("ReplicaFailure", "True", "FailedCreate")
    assert condition["message"].endswith(
        "is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2"
    )
    tried = sum(event["count"] for event in cluster.events("FailedCreate", "web"))
    assert 10 <= tried <= 25  # after 5 ms, 10 ms, …
    version = cluster.version
    cluster.run(100)
    assert cluster.version - version <= 4  # an event or two
    cluster.patch("ResourceQuota", "q", {"spec": {"hard": {"pods": "9"}}})
    cluster.run(1_000)
    assert len(cluster.pods(app="web")) == 4
    assert "conditions" not in cluster.get("ReplicaSet", "web")["status"]


def test_orphan_is_adopted_and_pod_without_the_label_is_released(cluster: Simulation) -> None:
    cluster.create(pod("mine", app="web"))
    cluster.create(pod("other", app="else"))
    owner = cluster.begin(workload("ReplicaSet", "web", replicas=2), 10)
    assert cluster.get("Pod", "mine")["metadata"]["ownerReferences"][0]["uid"] == owner["metadata"]["uid"]
    assert "ownerReferences" not in cluster.get("Pod", "other")["metadata"]
    assert len(cluster.pods(app="web")) == 2
    cluster.patch("Pod", "mine", {"metadata": {"labels": {"app": "free"}}})
    cluster.run(10)
    assert "ownerReferences" not in cluster.get("Pod", "mine")["metadata"]
    assert len(cluster.pods(app="web")) == 2


def test_adoption_is_told_by_the_time_a_pod_gets_its_label(cluster: Simulation) -> None:
    cluster.create(workload("ReplicaSet", "web", replicas=0))
    cluster.begin(pod("stray", app="else"), 10)
    cluster.patch("Pod", "stray", {"metadata": {"labels": {"app": "web"}}})
    cluster.run(60)
    assert cluster.all("Pod") == []  # adopted, and one too many


def test_one_of_two_that_select_a_pod_adopts_it(cluster: Simulation) -> None:
    cluster.create(pod("both", app="web"))
    for name in ("one", "two"):
        manifest = workload("ReplicaSet", "web", replicas=1)
        cluster.create({**manifest, "metadata": {"name": name, "namespace": "default"}})
    cluster.run(10)
    assert len(cluster.get("Pod", "both")["metadata"]["ownerReferences"]) == 1
    assert len(cluster.pods(app="web")) == 2
    version = cluster.version
    cluster.run(1_800)
    assert cluster.version == version


def test_available_is_what_was_ready_for_long_enough(cluster: Simulation) -> None:
    cluster.begin(workload("ReplicaSet", "web", replicas=2, minReadySeconds=30), 10)
    status = cluster.get("ReplicaSet", "web")["status"]
    assert (status["readyReplicas"], status.get("availableReplicas", 0)) == (2, 0)
    cluster.run(25)
    assert cluster.get("ReplicaSet", "web")["status"]["availableReplicas"] == 2


@pytest.mark.parametrize(
    ("propagation", "left"), [(Propagation.BACKGROUND, 0), (Propagation.FOREGROUND, 0), (Propagation.ORPHAN, 2)]
)
def test_deleted_set_leaves_what_its_propagation_says(cluster: Simulation, propagation: Propagation, left: int) -> None:
    cluster.begin(workload("ReplicaSet", "web", replicas=2), 10)
    cluster.delete("ReplicaSet", "web", propagation)
    cluster.run(60)
    assert cluster.all("ReplicaSet") == []
    assert len(cluster.all("Pod")) == left
    cluster.begin(workload("ReplicaSet", "web", replicas=2), 10)
    assert len(cluster.pods(app="web")) == 2


def test_nothing_is_made_twice_by_controllers_made_anew(cluster: Simulation) -> None:
    cluster.create(workload("ReplicaSet", "web", replicas=20))
    for _ in range(8):
        cluster.world.step()
        cluster.restart()
    cluster.run(10)
    assert len(cluster.pods(app="web")) == 20


def test_calm_cluster_writes_nothing(cluster: Simulation) -> None:
    cluster.begin(workload("ReplicaSet", "web", replicas=3), 60)
    version = cluster.version
    cluster.run(1_800)
    assert cluster.version == version
    cluster.restart()
    cluster.run(1_800)
    assert cluster.version == version


Change = Callable[[Simulation, str], None]


def _status(**status: object) -> Change:
    return lambda cluster, name: cluster.patch("Pod", name, {"status": status}, subresource="status") and None


def test_order_of_deletion_is_the_recorded_one() -> None:
    """Unassigned, Pending, not ready, cost −5, ready most recently, more restarts, plain, cost +5."""
    cluster = Simulation(nodes=1, external=("kubelet",))
    names = ["plain", "cost-high", "restarts", "recent", "cost-low", "not-ready", "pending", "unassigned"]
    for name in names:
        cost = {"cost-high": "5", "cost-low": "-5"}.get(name)
        annotations = {"controller.kubernetes.io/pod-deletion-cost": cost} if cost else {}
        manifest = pod(name, app="web", annotations=annotations)
        if name == "unassigned":
            manifest["spec"]["schedulerName"] = "nobody"
        cluster.create(manifest)
    cluster.run(1)
    ready_at = {"recent": "2030-01-01T01:59:50Z"}
    cluster.run(7_200)
    for name in names:
        if name in ("unassigned", "pending"):
            continue
        condition = {
            "type": "Ready", "status": "False" if name == "not-ready" else "True",
            "lastTransitionTime": ready_at.get(name, "2030-01-01T00:00:05Z"),
        }  # fmt: skip
        container = {
            "name": "c", "restartCount": 3 if name == "restarts" else 0, "ready": True, "image": "i:1", "imageID": "",
            "state": {},
        }  # fmt: skip
        status = {"phase": "Running", "conditions": [condition], "containerStatuses": [container]}
        cluster.patch("Pod", name, {"status": status}, subresource="status")
    cluster.begin(workload("ReplicaSet", "web", replicas=len(names)), 1)
    gone = []
    for left in reversed(range(len(names))):
        cluster.patch("ReplicaSet", "web", {"spec": {"replicas": left}})
        cluster.run(1)
        marked = {each["metadata"]["name"] for each in cluster.all("Pod")} - {
            each["metadata"]["name"] for each in cluster.pods()
        }
        there = {each["metadata"]["name"] for each in cluster.all("Pod")}
        gone += [name for name in names if name not in gone and (name in marked or name not in there)]
    assert gone == ["unassigned", "pending", "not-ready", "cost-low", "recent", "restarts", "plain", "cost-high"]


def test_time_of_events_is_the_clusters(cluster: Simulation) -> None:
    cluster.run(3_600)
    cluster.begin(workload("ReplicaSet", "web", replicas=1), 1)
    (event,) = cluster.events("SuccessfulCreate")
    assert event["firstTimestamp"] == "2030-01-01T01:00:00Z"
    assert cluster.world.now > 3_600 * SECOND
