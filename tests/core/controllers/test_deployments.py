"""Deployments keep a ReplicaSet for each template, and move from one to the next within their bounds."""

from __future__ import annotations

import json
from typing import Any

import pytest

from scheduler_core.api.workload import RawTemplate
from scheduler_core.apiserver.requests import Propagation
from scheduler_core.controllers.workloads import deployments
from tests.core.controllers.simulation import Simulation, image, is_ready, quota, workload

REVISION = "deployment.kubernetes.io/revision"


def sizes(cluster: Simulation) -> list[int]:
    """The sizes of the ReplicaSets by revision."""
    return [one["spec"]["replicas"] for one in by_revision(cluster)]


def by_revision(cluster: Simulation) -> list[dict[str, Any]]:
    return sorted(cluster.all("ReplicaSet"), key=lambda one: int(one["metadata"]["annotations"][REVISION]))


def conditions(cluster: Simulation, name: str = "web") -> dict[str, tuple[str, str, str]]:
    found = cluster.get("Deployment", name)["status"].get("conditions") or []
    return {one["type"]: (one["status"], one["reason"], one["message"]) for one in found}


def test_set_and_pods_are_made_as_recorded(cluster: Simulation) -> None:
    manifest = workload("Deployment", "web", replicas=4)
    manifest["metadata"]["annotations"] = {"a.example/b": "c"}
    owner = cluster.begin(manifest, 10)
    (replica_set,) = cluster.all("ReplicaSet")
    metadata = replica_set["metadata"]
    value = metadata["labels"]["pod-template-hash"]
    assert metadata["name"] == f"web-{value}"
    assert value == "c7b56d99f", "the real controller's for this template"
    assert metadata["labels"] == {"app": "web", "pod-template-hash": value}
    assert replica_set["spec"]["selector"] == {"matchLabels": {"app": "web", "pod-template-hash": value}}
    assert replica_set["spec"]["template"]["metadata"]["labels"] == {"app": "web", "pod-template-hash": value}
    assert metadata["annotations"] == {
        "a.example/b": "c", REVISION: "1", "deployment.kubernetes.io/desired-replicas": "4",
        "deployment.kubernetes.io/max-replicas": "5",
    }  # fmt: skip
    assert metadata["ownerReferences"] == [
        {
            "apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": owner["metadata"]["uid"],
            "controller": True, "blockOwnerDeletion": True,
        }
    ]  # fmt: skip
    deployment = cluster.get("Deployment", "web")
    assert deployment["metadata"]["annotations"][REVISION] == "1"
    assert deployment["metadata"]["generation"] == 1
    status = deployment["status"]
    assert {key: value for key, value in status.items() if key != "conditions"} == {
        "observedGeneration": 1, "replicas": 4, "updatedReplicas": 4, "readyReplicas": 4, "availableReplicas": 4,
    }  # fmt: skip
    assert conditions(cluster) == {
        "Available": ("True", "MinimumReplicasAvailable", "Deployment has minimum availability."),
        "Progressing": ("True", "NewReplicaSetAvailable", f'ReplicaSet "web-{value}" has successfully progressed.'),
    }
    (event,) = cluster.events("ScalingReplicaSet", "web")
    assert event["message"] == f"Scaled up replica set web-{value} from 0 to 4"
    assert event["source"] == {"component": "deployment-controller"}
    cluster.patch("Deployment", "web", {"spec": {"replicas": 6}})
    cluster.run(10)
    assert cluster.events("ScalingReplicaSet", "web")[-1]["message"].endswith("from 4 to 6")
    assert by_revision(cluster)[0]["metadata"]["annotations"]["deployment.kubernetes.io/max-replicas"] == "8"


def test_rolling_update_moves_as_recorded(cluster: Simulation) -> None:
    """6 replicas, 25 % and 25 %: new 0→2 and old 6→5 at once, new 2→3, and so on to 6 and 0."""
    cluster.begin(workload("Deployment", "web", replicas=6), 10)
    (old,) = cluster.all("ReplicaSet")
    cluster.patch("Deployment", "web", image("i:2"))
    seen: list[tuple[int, int]] = []
    for _ in range(400):
        cluster.world.step()
        due = cluster.world.next_due()
        if not cluster.world.has_changes and due is not None:
            cluster.world.now = max(cluster.world.now, due)
        found = sizes(cluster)
        if len(found) == 2 and (not seen or seen[-1] != (found[0], found[1])):
            seen.append((found[0], found[1]))
            assert sum(found) <= 8
            assert len([pod for pod in cluster.pods(app="web") if is_ready(pod)]) >= 5
    assert seen[:3] == [(6, 2), (5, 2), (5, 3)]
    assert seen[-1] == (0, 6)
    cluster.run(60)
    assert len(cluster.pods(app="web")) == 6
    _, new = by_revision(cluster)
    assert new["metadata"]["annotations"][REVISION] == "2"
    assert new["metadata"]["annotations"]["deployment.kubernetes.io/max-replicas"] == "8"
    assert cluster.get("ReplicaSet", old["metadata"]["name"])["spec"]["replicas"] == 0
    assert cluster.get("Deployment", "web")["metadata"]["annotations"][REVISION] == "2"
    assert conditions(cluster)["Progressing"][1] == "NewReplicaSetAvailable"


def test_update_moves_where_its_bounds_round_to_nothing(cluster: Simulation) -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": "25%"}}
    cluster.begin(workload("Deployment", "web", replicas=3, strategy=strategy), 10)
    cluster.patch("Deployment", "web", image("i:2"))
    cluster.run(60)
    assert sizes(cluster) == [0, 3]


def test_template_from_before_takes_its_set_back(cluster: Simulation) -> None:
    cluster.begin(workload("Deployment", "web", replicas=3), 10)
    cluster.patch("Deployment", "web", image("i:2"))
    cluster.run(60)
    cluster.patch("Deployment", "web", image("i:1"))
    cluster.run(60)
    second, third = by_revision(cluster)
    assert (second["spec"]["replicas"], third["spec"]["replicas"]) == (0, 3)
    assert third["metadata"]["annotations"][REVISION] == "3"
    assert third["metadata"]["annotations"]["deployment.kubernetes.io/revision-history"] == "1"
    assert third["spec"]["template"]["spec"]["containers"][0]["image"] == "i:1"


def test_recreate_waits_until_old_pods_are_gone(cluster: Simulation) -> None:
    cluster.begin(workload("Deployment", "web", replicas=3, strategy={"type": "Recreate"}), 10)
    cluster.patch("Deployment", "web", image("i:2"))
    together = False
    for _ in range(200):
        cluster.world.step()
        due = cluster.world.next_due()
        if not cluster.world.has_changes and due is not None:
            cluster.world.now = max(cluster.world.now, due)
        images = {pod["spec"]["containers"][0]["image"] for pod in cluster.all("Pod")}
        together = together or len(images) > 1
    assert not together
    assert sizes(cluster) == [0, 3]
    assert {pod["spec"]["containers"][0]["image"] for pod in cluster.pods(app="web")} == {"i:2"}


def test_paused_deployment_is_scaled_and_not_rolled(cluster: Simulation) -> None:
    cluster.begin(workload("Deployment", "web", replicas=2), 10)
    cluster.patch("Deployment", "web", {"spec": {"paused": True}})
    cluster.patch("Deployment", "web", image("i:2"))
    cluster.patch("Deployment", "web", {"spec": {"replicas": 5}})
    cluster.run(60)
    assert sizes(cluster) == [5]
    assert conditions(cluster)["Progressing"] == ("Unknown", "DeploymentPaused", "Deployment is paused")
    cluster.patch("Deployment", "web", {"spec": {"paused": False}})
    cluster.run(60)
    assert sizes(cluster) == [0, 5]
    assert conditions(cluster)["Progressing"][1] == "NewReplicaSetAvailable"


def test_scale_during_a_rollout_is_shared_in_proportion(cluster: Simulation) -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 3, "maxUnavailable": 2}}
    cluster.begin(workload("Deployment", "web", replicas=10, strategy=strategy), 10)
    broken = image("i:2")
    broken["spec"]["template"]["spec"]["nodeSelector"] = {"no": "where"}
    cluster.patch("Deployment", "web", broken)
    cluster.run(60)
    assert sizes(cluster) == [8, 5]
    cluster.patch("Deployment", "web", {"spec": {"replicas": 15}})
    cluster.run(60)
    assert sizes(cluster) == [11, 7]  # 18 in all, as 8 and 5 share them


def test_rollout_without_progress_fails_after_its_deadline(cluster: Simulation) -> None:
    cluster.begin(workload("Deployment", "web", replicas=2, progressDeadlineSeconds=100), 10)
    broken = image("i:2")
    broken["spec"]["template"]["spec"]["nodeSelector"] = {"no": "where"}
    cluster.patch("Deployment", "web", broken)
    cluster.run(90)
    assert conditions(cluster)["Progressing"][1] in ("ReplicaSetUpdated", "NewReplicaSetCreated")
    cluster.run(20)
    name = by_revision(cluster)[1]["metadata"]["name"]
    text = f'ReplicaSet "{name}" has timed out progressing.'
    assert conditions(cluster)["Progressing"] == ("False", "ProgressDeadlineExceeded", text)
    version = cluster.version
    cluster.run(1_800)
    assert cluster.version == version


def test_sets_beyond_the_history_are_deleted(cluster: Simulation) -> None:
    cluster.create(workload("Deployment", "web", replicas=1, revisionHistoryLimit=2))
    for number in range(2, 7):
        cluster.run(60)
        cluster.patch("Deployment", "web", image(f"i:{number}"))
    cluster.run(60)
    found = [int(one["metadata"]["annotations"][REVISION]) for one in by_revision(cluster)]
    assert found == [4, 5, 6]


def test_name_that_is_taken_by_another_set_is_avoided(cluster: Simulation) -> None:
    cluster.begin(workload("Deployment", "web", replicas=1), 10)
    (made,) = cluster.all("ReplicaSet")
    name = made["metadata"]["name"]
    cluster.delete("Deployment", "web", Propagation.BACKGROUND)
    cluster.run(60)
    assert cluster.all("ReplicaSet") == []
    other = workload("ReplicaSet", "other", replicas=0)
    cluster.create({**other, "metadata": {"name": name, "namespace": "default"}})
    cluster.begin(workload("Deployment", "web", replicas=1), 60)
    deployment = cluster.get("Deployment", "web")
    assert deployment["status"]["collisionCount"] == 1
    assert deployment["status"]["availableReplicas"] == 1
    assert len(cluster.all("ReplicaSet")) == 2


def test_refused_set_is_said(cluster: Simulation) -> None:
    cluster.begin(quota(**{"count/replicasets.apps": "0"}), 1)
    cluster.begin(workload("Deployment", "web", replicas=1), 60)
    status, reason, message = conditions(cluster)["Progressing"]
    assert (status, reason) == ("False", "ReplicaSetCreateError")
    assert message.startswith('Failed to create new replica set "web-')
    (event,) = cluster.events("ReplicaSetCreateError")
    assert 5 <= event["count"] <= 20
    cluster.patch("ResourceQuota", "q", {"spec": {"hard": {"count/replicasets.apps": "5"}}})
    cluster.run(1_000)
    assert len(cluster.pods(app="web")) == 1


def test_refused_pods_are_told_of_the_deployment(cluster: Simulation) -> None:
    cluster.begin(quota(pods="1"), 1)
    cluster.begin(workload("Deployment", "web", replicas=3), 60)
    assert conditions(cluster)["ReplicaFailure"][:2] == ("True", "FailedCreate")
    assert conditions(cluster)["Available"][:2] == ("False", "MinimumReplicasUnavailable")


@pytest.mark.parametrize(
    ("propagation", "left"), [(Propagation.BACKGROUND, 0), (Propagation.FOREGROUND, 0), (Propagation.ORPHAN, 2)]
)
def test_deleted_deployment_leaves_what_its_propagation_says(
    cluster: Simulation, propagation: Propagation, left: int
) -> None:
    cluster.begin(workload("Deployment", "web", replicas=2), 10)
    cluster.delete("Deployment", "web", propagation)
    cluster.run(60)
    assert cluster.all("Deployment") == []
    assert len(cluster.all("Pod")) == left
    assert len(cluster.all("ReplicaSet")) == (1 if left else 0)
    cluster.begin(workload("Deployment", "web", replicas=2), 60)
    assert len(cluster.all("ReplicaSet")) == 1  # adopted where it was left
    assert len(cluster.pods(app="web")) == 2


def test_new_controllers_go_on_where_others_stopped(cluster: Simulation) -> None:
    cluster.create(workload("Deployment", "web", replicas=10))
    for number in (2, 3):
        for _ in range(12):
            cluster.world.step()
            cluster.restart()
            cluster.run(0.4)
        cluster.patch("Deployment", "web", image(f"i:{number}"))
    cluster.run(120)
    assert {pod["spec"]["containers"][0]["image"] for pod in cluster.pods(app="web")} == {"i:3"}
    assert len(cluster.pods(app="web")) == 10
    version, stored = cluster.version, json.dumps(cluster.all("Deployment"))
    cluster.run(1_800)
    cluster.restart()
    cluster.run(1_800)
    assert (cluster.version, json.dumps(cluster.all("Deployment"))) == (version, stored)


def old_hash(template: RawTemplate, collisions: int | None = None) -> str:
    """A hash as another version of the controller could have made it."""
    return f"old{len(template.spec['containers'][0]['image'])}"


def test_sets_named_by_another_hash_are_kept(cluster: Simulation, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as before:
        before.setattr(deployments, "template_hash", old_hash)
        cluster.begin(workload("Deployment", "web", replicas=2), 10)
        cluster.patch("Deployment", "web", image("another"))
        cluster.run(60)
    sets, pods = by_revision(cluster), cluster.pods(app="web")
    assert [one["metadata"]["name"] for one in sets] == ["web-old3", "web-old7"]
    cluster.restart()
    cluster.run(60)
    assert by_revision(cluster) == sets
    assert cluster.pods(app="web") == pods
    cluster.patch("Deployment", "web", image("i:1"))  # back to the first template
    cluster.run(60)
    assert [(one["metadata"]["name"], one["spec"]["replicas"]) for one in by_revision(cluster)] == [
        ("web-old7", 0), ("web-old3", 2),
    ]  # fmt: skip


def test_quantity_written_otherwise_is_no_new_template(cluster: Simulation) -> None:
    cluster.create(workload("Deployment", "web", replicas=1))
    for memory, count in (("1k", 2), ("1e3", 2), ("1001", 3)):
        container = {"name": "c", "image": "i:1", "resources": {"requests": {"memory": memory}}}
        cluster.run(20)
        cluster.patch("Deployment", "web", {"spec": {"template": {"spec": {"containers": [container]}}}})
        cluster.run(20)
        assert len(cluster.all("ReplicaSet")) == count
