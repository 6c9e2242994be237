"""StatefulSets keep pods by their ordinals: in order, with claims of their own, replaced from the highest down."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from scheduler_core.apiserver.requests import Delete, Propagation
from tests.cases import cases
from tests.core.controllers.simulation import Manifest, Simulation, image, is_ready, workload
from tests.examples import seeds

CLAIMS = [{"metadata": {"name": "data", "labels": {"l": "m"}},
           "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]  # fmt: skip
CALM_SECONDS = 1800


def stateful(replicas: int = 3, **spec: Any) -> Manifest:
    return workload("StatefulSet", "db", replicas=replicas, serviceName="svc", **spec)


def change(cluster: Simulation, **spec: Any) -> None:
    cluster.patch("StatefulSet", "db", {"spec": spec})


def names(cluster: Simulation) -> list[str]:
    return [pod["metadata"]["name"] for pod in cluster.pods()]


def images(cluster: Simulation) -> list[str]:
    return [pod["spec"]["containers"][0]["image"] for pod in cluster.pods()]


def status(cluster: Simulation) -> Manifest:
    found: Manifest = cluster.get("StatefulSet", "db")["status"]
    return found


def created(pod: Manifest) -> str:
    time: str = pod["metadata"]["creationTimestamp"]
    return time


def test_pods_come_in_order_and_know_who_they_are(cluster: Simulation) -> None:
    cluster.begin(stateful(), 0.5)
    assert names(cluster) == ["db-0"]
    cluster.run(20)
    assert names(cluster) == ["db-0", "db-1", "db-2"]
    times = [created(pod) for pod in cluster.pods()]
    assert times == sorted(set(times)), "each waits for the one before"
    revision = status(cluster)["currentRevision"]
    for ordinal, pod in enumerate(cluster.pods()):
        metadata, spec = pod["metadata"], pod["spec"]
        assert metadata["labels"] == {
            "app": "db", "controller-revision-hash": revision,
            "statefulset.kubernetes.io/pod-name": f"db-{ordinal}", "apps.kubernetes.io/pod-index": str(ordinal),
        }  # fmt: skip
        assert (metadata["generateName"], spec["hostname"], spec["subdomain"]) == ("db-", f"db-{ordinal}", "svc")
        assert metadata["ownerReferences"][0]["controller"] is True
    assert status(cluster) == {
        "observedGeneration": 1, "replicas": 3, "readyReplicas": 3, "currentReplicas": 3, "updatedReplicas": 3,
        "availableReplicas": 3, "currentRevision": revision, "updateRevision": revision, "collisionCount": 0,
    }  # fmt: skip
    texts = [event["message"] for event in cluster.events("SuccessfulCreate", "db")]
    assert texts == [f"create Pod db-{ordinal} in StatefulSet db successful" for ordinal in range(3)]
    (kept,) = cluster.all("ControllerRevision")
    assert (kept["metadata"]["name"], kept["revision"]) == (revision, 1)
    assert kept["metadata"]["labels"] == {"app": "db", "controller.kubernetes.io/hash": revision.removeprefix("db-")}


def test_parallel_pods_come_at_once(cluster: Simulation) -> None:
    cluster.begin(stateful(podManagementPolicy="Parallel"), 0.5)
    assert names(cluster) == ["db-0", "db-1", "db-2"]
    change(cluster, replicas=0)
    cluster.run(0.5)
    assert names(cluster) == []


def test_scaled_down_one_by_one_from_the_highest(cluster: Simulation) -> None:
    cluster.begin(stateful(), 20)
    change(cluster, replicas=1)
    cluster.run(0.5)
    assert names(cluster) == ["db-0", "db-1"]
    assert len(cluster.all("Pod")) == 3, "db-2 is on its way out"
    cluster.run(20)
    assert names(cluster) == ["db-0"]
    texts = [event["message"] for event in cluster.events("SuccessfulDelete", "db")]
    assert texts == ["delete Pod db-2 in StatefulSet db successful", "delete Pod db-1 in StatefulSet db successful"]


def test_deleted_pod_comes_back_under_its_name_when_it_is_gone(cluster: Simulation) -> None:
    manifest = stateful()
    manifest["spec"]["template"]["metadata"]["annotations"] = {"kschedweb.io/stop-seconds": "20"}
    cluster.begin(manifest, 20)
    uid = cluster.get("Pod", "db-1")["metadata"]["uid"]
    cluster.delete("Pod", "db-1")
    cluster.run(15)
    assert names(cluster) == ["db-0", "db-2"]
    cluster.run(10)
    assert names(cluster) == ["db-0", "db-1", "db-2"]
    assert cluster.get("Pod", "db-1")["metadata"]["uid"] != uid


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_pod_that_ended_is_replaced(cluster: Simulation, phase: str) -> None:
    cluster.begin(stateful(2), 20)
    uid = cluster.get("Pod", "db-0")["metadata"]["uid"]
    cluster.patch("Pod", "db-0", {"status": {"phase": phase}}, subresource="status")
    cluster.run(10)
    pod = cluster.get("Pod", "db-0")
    assert pod["metadata"]["uid"] != uid
    assert pod["status"]["phase"] == "Running"


def test_update_goes_from_the_highest_down(cluster: Simulation) -> None:
    cluster.begin(stateful(), 20)
    before = status(cluster)["currentRevision"]
    cluster.patch("StatefulSet", "db", image("i:2"))
    seen = set()
    for _ in range(200):
        cluster.run(0.2)
        if len(images(cluster)) == 3:
            seen.add(tuple(images(cluster)))
    assert seen == {("i:1", "i:1", "i:2"), ("i:1", "i:2", "i:2"), ("i:2",) * 3}
    assert status(cluster)["currentRevision"] == status(cluster)["updateRevision"] != before
    cluster.patch("StatefulSet", "db", image("i:1"))
    cluster.run(60)
    assert images(cluster) == ["i:1"] * 3
    assert status(cluster)["currentRevision"] == before
    assert sorted(one["revision"] for one in cluster.all("ControllerRevision")) == [2, 3], "the first one is used again"


def test_partition_keeps_pods_below_it(cluster: Simulation) -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
    cluster.begin(stateful(updateStrategy=strategy), 20)
    cluster.patch("StatefulSet", "db", image("i:2"))
    cluster.run(30)
    assert images(cluster) == ["i:1", "i:1", "i:2"]
    cluster.delete("Pod", "db-0")
    cluster.run(20)
    assert images(cluster) == ["i:1", "i:1", "i:2"], "a pod below comes back as it was"
    assert (status(cluster)["currentReplicas"], status(cluster)["updatedReplicas"]) == (2, 1)
    change(cluster, updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 0}})
    cluster.run(60)
    assert images(cluster) == ["i:2"] * 3


def test_on_delete_waits_for_the_user(cluster: Simulation) -> None:
    cluster.begin(stateful(2, updateStrategy={"type": "OnDelete"}), 20)
    cluster.patch("StatefulSet", "db", image("i:2"))
    cluster.run(60)
    assert images(cluster) == ["i:1", "i:1"]
    cluster.delete("Pod", "db-0")
    cluster.run(20)
    assert images(cluster) == ["i:2", "i:1"]


def test_ordinals_may_start_anywhere(cluster: Simulation) -> None:
    cluster.begin(stateful(2, ordinals={"start": 5}), 20)
    assert names(cluster) == ["db-5", "db-6"]
    change(cluster, ordinals={"start": 6})
    cluster.run(30)
    assert names(cluster) == ["db-6", "db-7"]


def test_next_pod_waits_until_the_one_before_is_available(cluster: Simulation) -> None:
    cluster.begin(stateful(2, minReadySeconds=30), 30)
    assert names(cluster) == ["db-0"]
    cluster.run(5)
    assert names(cluster) == ["db-0", "db-1"]
    assert (status(cluster)["readyReplicas"], status(cluster)["availableReplicas"]) == (2, 1)
    cluster.run(40)
    assert status(cluster)["availableReplicas"] == 2


def test_claims_are_made_and_kept(cluster: Simulation) -> None:
    cluster.begin(stateful(2, volumeClaimTemplates=CLAIMS), 3)
    claims = cluster.all("PersistentVolumeClaim")
    assert claims[0]["metadata"]["name"] == "data-db-0"
    assert claims[0]["metadata"]["labels"] == {"app": "db", "l": "m"}
    assert "ownerReferences" not in claims[0]["metadata"]
    volume = cluster.get("Pod", "db-0")["spec"]["volumes"][0]
    assert volume == {"name": "data", "persistentVolumeClaim": {"claimName": "data-db-0"}}
    (event,) = [one for one in cluster.events("SuccessfulCreate", "db") if "Claim" in one["message"]]
    assert event["message"] == "create Claim data-db-0 Pod db-0 in StatefulSet db success"
    cluster.delete("StatefulSet", "db")
    cluster.run(40)
    assert [claim["metadata"]["name"] for claim in cluster.all("PersistentVolumeClaim")] == ["data-db-0"]


@cases(
    "scaled, deleted, after_scaling, after_deletion",
    ("deleted with the set", "Retain", "Delete", 2, 0),
    ("deleted with the pod", "Delete", "Retain", 1, 1),
    ("deleted with either", "Delete", "Delete", 1, 0),
)
def test_claims_go_as_the_policy_says(
    cluster: Simulation, scaled: str, deleted: str, after_scaling: int, after_deletion: int
) -> None:
    policy = {"whenScaled": scaled, "whenDeleted": deleted}
    manifest = stateful(2, volumeClaimTemplates=CLAIMS, persistentVolumeClaimRetentionPolicy=policy)
    provide(cluster)
    cluster.begin(manifest, 40)
    assert names(cluster) == ["db-0", "db-1"]
    change(cluster, replicas=1)
    cluster.run(40)
    assert len(cluster.all("PersistentVolumeClaim")) == after_scaling
    cluster.delete("StatefulSet", "db", Propagation.BACKGROUND)
    cluster.run(60)
    assert len(cluster.all("PersistentVolumeClaim")) == after_deletion


def provide(cluster: Simulation) -> None:
    """Have volumes made for claims."""
    metadata = {"name": "fast", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}
    kind = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": metadata}
    cluster.create({**kind, "provisioner": "csi.example.com"})


def test_claims_follow_a_policy_that_changes(cluster: Simulation) -> None:
    provide(cluster)
    cluster.begin(stateful(2, volumeClaimTemplates=CLAIMS), 20)
    change(cluster, persistentVolumeClaimRetentionPolicy={"whenDeleted": "Delete", "whenScaled": "Retain"})
    cluster.run(5)
    owners = [claim["metadata"]["ownerReferences"][0]["name"] for claim in cluster.all("PersistentVolumeClaim")]
    assert owners == ["db", "db"]
    texts = [event["message"] for event in cluster.events("SuccessfulUpdate", "db")]
    assert texts == [f"update Pod db-{ordinal} in StatefulSet db successful" for ordinal in range(2)]
    change(cluster, persistentVolumeClaimRetentionPolicy={"whenDeleted": "Retain", "whenScaled": "Retain"})
    cluster.run(5)
    assert not any("ownerReferences" in claim["metadata"] for claim in cluster.all("PersistentVolumeClaim"))


def test_history_is_kept_to_its_limit(cluster: Simulation) -> None:
    cluster.create(stateful(1, revisionHistoryLimit=2))
    for number in range(2, 8):
        cluster.run(10)
        cluster.patch("StatefulSet", "db", image(f"i:{number}"))
    cluster.run(10)
    assert sorted(one["revision"] for one in cluster.all("ControllerRevision")) == [5, 6, 7]


@pytest.mark.parametrize("policy", [Propagation.FOREGROUND, Propagation.BACKGROUND])
def test_deleted_set_takes_everything_along(cluster: Simulation, policy: Propagation) -> None:
    cluster.begin(stateful(2), 20)
    version = cluster.version
    cluster.delete("StatefulSet", "db", policy)
    cluster.run(60)
    assert [cluster.all(kind) for kind in ("StatefulSet", "Pod", "ControllerRevision")] == [[], [], []]
    assert cluster.version - version < 30


def test_orphaned_pods_are_adopted_by_a_namesake(cluster: Simulation) -> None:
    cluster.begin(stateful(2), 20)
    uids = [pod["metadata"]["uid"] for pod in cluster.pods()]
    cluster.delete("StatefulSet", "db", Propagation.ORPHAN)
    cluster.run(5)
    assert len(cluster.pods()) == 2
    cluster.begin(stateful(2), 20)
    assert [pod["metadata"]["uid"] for pod in cluster.pods()] == uids
    assert len(cluster.all("ControllerRevision")) == 1


def test_pod_that_lost_its_label_gets_it_back(cluster: Simulation) -> None:
    cluster.begin(stateful(1), 10)
    cluster.patch("Pod", "db-0", {"metadata": {"labels": {"statefulset.kubernetes.io/pod-name": None}}})
    cluster.run(5)
    assert cluster.get("Pod", "db-0")["metadata"]["labels"]["statefulset.kubernetes.io/pod-name"] == "db-0"


@pytest.mark.parametrize("seed", seeds(5, 12))
def test_sets_settle_whatever_happened(seed: int) -> None:
    draws = Random(seed)
    cluster = Simulation(seed=seed)
    policy = draws.choice(["OrderedReady", "Parallel"])
    cluster.create(stateful(draws.randint(0, 5), podManagementPolicy=policy))
    latest = "i:1"
    for _ in range(50):
        match draws.randrange(8):
            case 0:
                change(cluster, replicas=draws.randint(0, 6))
            case 1:
                latest = f"i:{draws.randint(1, 3)}"
                cluster.patch("StatefulSet", "db", image(latest))
            case 2 if cluster.pods():
                cluster.delete("Pod", draws.choice(names(cluster)), grace=draws.choice([None, 0]))
            case 3 if cluster.pods():
                failed = {"status": {"phase": draws.choice(["Failed", "Succeeded"])}}
                cluster.patch("Pod", draws.choice(names(cluster)), failed, subresource="status")
            case 4:
                cluster.restart()
            case 5:
                change(cluster, ordinals={"start": draws.randint(0, 2)})
            case 6 if cluster.all("ControllerRevision") and draws.random() < 0.3:
                gone = draws.choice(cluster.all("ControllerRevision"))["metadata"]["name"]
                cluster.world.request(Delete(cluster.key("ControllerRevision", gone)))
            case _:
                cluster.run(draws.choice([0.3, 2, 10]))
    # Two pods beyond the range that never become ready block an OrderedReady set: have all within it first.
    change(cluster, replicas=9, ordinals={"start": 0})
    cluster.run(600)
    change(cluster, replicas=draws.randint(0, 6), ordinals={"start": draws.randint(0, 2)})
    cluster.run(600)
    spec = cluster.get("StatefulSet", "db")["spec"]
    start, replicas = spec.get("ordinals", {}).get("start", 0), spec["replicas"]
    assert names(cluster) == [f"db-{ordinal}" for ordinal in range(start, start + replicas)]
    assert images(cluster) == [latest] * replicas
    assert len(cluster.all("Pod")) == replicas
    told = status(cluster)
    assert [told.get(field, 0) for field in ("replicas", "readyReplicas", "updatedReplicas", "currentReplicas")] == (
        [replicas] * 4
    )
    assert told["currentRevision"] == told["updateRevision"]
    version = cluster.version
    cluster.run(CALM_SECONDS)
    assert cluster.version == version, "something moves on its own"


def test_update_of_a_parallel_set_takes_one_pod_at_a_time(cluster: Simulation) -> None:
    cluster.begin(stateful(podManagementPolicy="Parallel"), 20)
    cluster.patch("StatefulSet", "db", image("i:2"))
    fewest = 3
    for _ in range(100):
        cluster.run(0.2)
        fewest = min(fewest, sum(map(is_ready, cluster.pods())))
    assert fewest == 2 and images(cluster) == ["i:2"] * 3


def owned_claim(kind: str, name: str, **more: Any) -> Manifest:
    """A claim of the first pod that another object owns."""
    owner = {"apiVersion": "v1", "kind": kind, "name": name, "uid": "another", **more}
    metadata = {"name": "data-db-0", "namespace": "default", "ownerReferences": [owner]}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata}
    return {**claim, "spec": CLAIMS[0]["spec"]}


def test_claim_of_an_earlier_pod_of_the_name_is_waited_for(cluster: Simulation) -> None:
    provide(cluster)
    cluster.create(owned_claim("Pod", "db-0"))
    cluster.begin(stateful(1, volumeClaimTemplates=CLAIMS), 60)
    assert names(cluster) == []
    cluster.delete("PersistentVolumeClaim", "data-db-0")
    cluster.run(20)
    assert names(cluster) == ["db-0"]


def test_claim_of_another_controller_is_left_alone(cluster: Simulation) -> None:
    provide(cluster)
    made = cluster.create(owned_claim("ConfigMap", "other", controller=True))
    policy = {"whenScaled": "Delete", "whenDeleted": "Delete"}
    cluster.begin(stateful(1, volumeClaimTemplates=CLAIMS, persistentVolumeClaimRetentionPolicy=policy), 20)
    assert names(cluster) == ["db-0"]
    owners = cluster.get("PersistentVolumeClaim", "data-db-0")["metadata"]["ownerReferences"]
    assert owners == made["metadata"]["ownerReferences"]
