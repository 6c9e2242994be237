"""ReplicationControllers keep as many pods as they say, by selectors that are maps."""

from __future__ import annotations

from tests.core.controllers.simulation import Simulation, pod, workload


def test_pods_are_kept_at_their_number() -> None:
    cluster = Simulation()
    cluster.create(pod("mine", app="web"))
    owner = cluster.begin(workload("ReplicationController", "web", replicas=3), 10)
    pods = cluster.pods(app="web")
    assert len(pods) == 3
    references = [each["metadata"]["ownerReferences"][0] for each in pods]
    wanted = ("v1", "ReplicationController", "web", owner["metadata"]["uid"])
    assert {(one["apiVersion"], one["kind"], one["name"], one["uid"]) for one in references} == {wanted}
    (event, _) = cluster.events("SuccessfulCreate", "web")
    assert event["source"] == {"component": "replication-controller"}
    cluster.patch("ReplicationController", "web", {"spec": {"replicas": 1}})
    cluster.run(60)
    assert len(cluster.pods(app="web")) == 1
    status = cluster.get("ReplicationController", "web")["status"]
    assert status == {
        "replicas": 1, "fullyLabeledReplicas": 1, "readyReplicas": 1, "availableReplicas": 1, "observedGeneration": 2,
    }  # fmt: skip
    version = cluster.version
    cluster.run(1_800)
    assert cluster.version == version
