"""DaemonSets have a pod on each node that their template fits, and move to new templates within their bounds."""

from __future__ import annotations

from typing import Any

from tests.core.controllers.simulation import Simulation, image, is_ready, workload


def daemon(**spec: Any) -> dict[str, Any]:
    return workload("DaemonSet", "d", replicas=None, **spec)


def nodes_of(cluster: Simulation) -> list[str]:
    return sorted(pod["spec"].get("nodeName", "") for pod in cluster.pods(app="d"))


def images(cluster: Simulation) -> list[str]:
    return sorted(pod["spec"]["containers"][0]["image"] for pod in cluster.pods(app="d"))


def status(cluster: Simulation) -> dict[str, Any]:
    return dict(cluster.get("DaemonSet", "d")["status"])


def test_each_node_gets_a_pod_that_is_pinned_as_recorded(cluster: Simulation) -> None:
    owner = cluster.begin(daemon(), 10)
    assert nodes_of(cluster) == ["n0", "n1", "n2"]
    (revision,) = cluster.all("ControllerRevision")
    value = revision["metadata"]["labels"]["controller-revision-hash"]
    assert revision["metadata"]["name"] == f"d-{value}"
    assert revision["revision"] == 1
    assert revision["data"]["spec"]["template"]["$patch"] == "replace"
    for pod in cluster.pods(app="d"):
        assert pod["metadata"]["generateName"] == "d-"
        assert pod["metadata"]["labels"] == {
            "app": "d", "controller-revision-hash": value, "pod-template-generation": "1",
        }  # fmt: skip
        assert pod["metadata"]["ownerReferences"][0]["uid"] == owner["metadata"]["uid"]
        term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [pod["spec"]["nodeName"]]}]}
        assert pod["spec"]["affinity"] == {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
        }
        added = [
            (one["key"].removeprefix("node.kubernetes.io/"), one["operator"], one["effect"])
            for one in pod["spec"]["tolerations"]
        ]
        assert added == [
            ("not-ready", "Exists", "NoExecute"),
            ("unreachable", "Exists", "NoExecute"),
            ("disk-pressure", "Exists", "NoSchedule"),
            ("memory-pressure", "Exists", "NoSchedule"),
            ("pid-pressure", "Exists", "NoSchedule"),
            ("unschedulable", "Exists", "NoSchedule"),
        ]
        assert not any("tolerationSeconds" in one for one in pod["spec"]["tolerations"])
    assert status(cluster) == {
        "currentNumberScheduled": 3, "desiredNumberScheduled": 3, "numberMisscheduled": 0, "numberReady": 3,
        "updatedNumberScheduled": 3, "numberAvailable": 3, "observedGeneration": 1,
    }  # fmt: skip
    created = cluster.events("SuccessfulCreate", "d")
    assert [event["source"] for event in created] == [{"component": "daemonset-controller"}] * 3


def test_pods_of_the_host_network_tolerate_its_absence(cluster: Simulation) -> None:
    manifest = daemon()
    manifest["spec"]["template"]["spec"]["hostNetwork"] = True
    cluster.begin(manifest, 10)
    last = cluster.pods(app="d")[0]["spec"]["tolerations"][-1]
    wanted = {"key": "node.kubernetes.io/network-unavailable", "operator": "Exists", "effect": "NoSchedule"}
    assert last == wanted


def test_nodes_that_come_and_go_are_followed(cluster: Simulation) -> None:
    cluster.begin(daemon(), 10)
    cluster.add_node("n3")
    cluster.run(10)
    assert nodes_of(cluster) == ["n0", "n1", "n2", "n3"]
    cluster.delete("Node", "n0")
    cluster.run(120)
    # That of the node that is gone is left to the collector of pods.
    assert {"n1", "n2", "n3"} <= set(nodes_of(cluster))
    assert status(cluster)["desiredNumberScheduled"] == status(cluster)["currentNumberScheduled"] == 3


def test_labels_of_nodes_decide(cluster: Simulation) -> None:
    manifest = daemon()
    manifest["spec"]["template"]["spec"]["nodeSelector"] = {"disk": "fast"}
    cluster.begin(manifest, 10)
    assert nodes_of(cluster) == []
    cluster.patch("Node", "n1", {"metadata": {"labels": {"disk": "fast"}}})
    cluster.run(10)
    assert nodes_of(cluster) == ["n1"]
    cluster.patch("Node", "n1", {"metadata": {"labels": {"disk": "slow"}}})
    cluster.run(60)
    assert nodes_of(cluster) == []


def test_cordon_and_foreign_taints_do_as_recorded(cluster: Simulation) -> None:
    cluster.begin(daemon(), 10)
    cluster.patch("Node", "n0", {"spec": {"unschedulable": True}})
    taint = {"key": "team.example/x", "value": "y", "effect": "NoSchedule"}
    cluster.patch("Node", "n1", {"spec": {"taints": [taint]}})
    cluster.run(60)
    assert nodes_of(cluster) == ["n0", "n1", "n2"]
    cluster.patch("Node", "n2", {"spec": {"taints": [{**taint, "effect": "NoExecute"}]}})
    cluster.run(60)
    assert nodes_of(cluster) == ["n0", "n1"]
    cluster.patch("Node", "n2", {"spec": {"taints": []}})
    cluster.run(10)
    assert nodes_of(cluster) == ["n0", "n1", "n2"]
    for pod in cluster.pods(app="d"):
        cluster.delete("Pod", pod["metadata"]["name"])
    cluster.run(60)
    assert nodes_of(cluster) == ["n0", "n2"]  # the foreign taint lets no new one in


def test_failed_pods_are_replaced_with_growing_delays(cluster: Simulation) -> None:
    cluster.begin(daemon(), 10)
    began = cluster.world.now
    times: list[float] = []
    for _ in range(5):
        (pod,) = (one for one in cluster.pods(app="d") if one["spec"]["nodeName"] == "n0")
        name = pod["metadata"]["name"]
        cluster.patch("Pod", name, {"status": {"phase": "Failed"}}, subresource="status")
        failed_at = cluster.world.now
        while any(one["metadata"]["name"] == name for one in cluster.all("Pod")):
            cluster.run(0.1)
        times.append((cluster.world.now - failed_at) / 1_000_000)
        while "n0" not in nodes_of(cluster):
            cluster.run(0.1)
    assert cluster.world.now > began
    assert times == sorted(times)
    assert times[-1] > 4
    events = cluster.events("FailedDaemonPod", "d")
    assert len(events) == 5
    assert events[0]["type"] == "Warning"
    assert events[0]["message"].endswith("on node n0, will try to kill it")


def test_rolling_update_keeps_to_its_bound(cluster: Simulation) -> None:
    for number in range(3, 8):
        cluster.add_node(f"n{number}")
    update = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}}
    cluster.begin(daemon(updateStrategy=update), 10)
    cluster.patch("DaemonSet", "d", image("i:2"))
    fewest = 8
    for _ in range(400):
        cluster.run(0.1)
        fewest = min(fewest, sum(map(is_ready, cluster.pods(app="d"))))
    assert fewest == 6
    assert images(cluster) == ["i:2"] * 8
    found = status(cluster)
    assert (found["updatedNumberScheduled"], found["numberAvailable"], found["observedGeneration"]) == (8, 8, 2)
    assert [one["revision"] for one in cluster.all("ControllerRevision")].count(2) == 1


def test_surge_brings_the_new_pod_first(cluster: Simulation) -> None:
    update = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}
    cluster.begin(daemon(updateStrategy=update), 10)
    cluster.patch("DaemonSet", "d", image("i:2"))
    most, fewest = 0, 3
    for _ in range(300):
        cluster.run(0.1)
        alive = cluster.pods(app="d")
        most, fewest = max(most, len(alive)), min(fewest, sum(map(is_ready, alive)))
    assert (most, fewest) == (4, 3)
    assert images(cluster) == ["i:2"] * 3


def test_on_delete_waits_for_somebody(cluster: Simulation) -> None:
    cluster.begin(daemon(updateStrategy={"type": "OnDelete"}), 10)
    cluster.patch("DaemonSet", "d", image("i:2"))
    cluster.run(60)
    assert images(cluster) == ["i:1"] * 3
    assert status(cluster).get("updatedNumberScheduled", 0) == 0
    cluster.delete("Pod", cluster.pods(app="d")[0]["metadata"]["name"])
    cluster.run(60)
    assert images(cluster) == ["i:1", "i:1", "i:2"]


def test_template_from_before_takes_its_revision_back(cluster: Simulation) -> None:
    cluster.create(daemon(revisionHistoryLimit=1))
    for name in ("i:2", "i:3", "i:1", "i:2"):
        cluster.run(60)
        cluster.patch("DaemonSet", "d", image(name))
    cluster.run(60)
    assert images(cluster) == ["i:2"] * 3
    found = {one["revision"]: one for one in cluster.all("ControllerRevision")}
    assert len(found) == 2
    current = found[max(found)]
    hashes = {pod["metadata"]["labels"]["controller-revision-hash"] for pod in cluster.pods(app="d")}
    assert hashes == {current["metadata"]["labels"]["controller-revision-hash"]}


def test_pod_waits_for_a_node_without_room_and_nothing_oscillates(cluster: Simulation) -> None:
    cluster.begin(daemon(), 10)
    version = cluster.version
    cluster.run(1_800)
    assert cluster.version == version
    cluster.restart()
    cluster.run(1_800)
    assert cluster.version == version


def test_heartbeats_of_nodes_cost_nothing(cluster: Simulation) -> None:
    cluster.begin(daemon(), 10)
    version = cluster.version
    cluster.patch("Node", "n0", {"status": {"conditions": [{"type": "Other", "status": "True"}]}}, subresource="status")
    cluster.run(10)
    assert cluster.version == version + 1


def test_new_controllers_go_on_where_others_stopped(cluster: Simulation) -> None:
    cluster.create(daemon())
    for number in (2, 3):
        for _ in range(10):
            cluster.world.step()
            cluster.restart()
            cluster.run(0.3)
        cluster.patch("DaemonSet", "d", image(f"i:{number}"))
    cluster.run(120)
    assert images(cluster) == ["i:3"] * 3
    assert nodes_of(cluster) == ["n0", "n1", "n2"]
