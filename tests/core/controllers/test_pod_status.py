"""What simulated kubelets write into the status of pods, through the API server and back."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from scheduler_core.api.pod import Pod
from scheduler_core.api.signature import signature
from scheduler_core.apiserver.answers import Outcome
from scheduler_core.apiserver.printing import cells
from scheduler_core.apiserver.requests import Create, Delete, ObjectKey, Patch, PatchType, Request
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.kubelet.kubelet import Kubelet
from scheduler_core.model.changes import ObjectPut
from tests.builders import written
from tests.core.apiserver.asking import empty_server

SECOND = 1_000_000
NOW = int(datetime(2030, 1, 1, tzinfo=UTC).timestamp()) * SECOND
REQUESTS = {"cpu": "500m", "memory": "1Gi"}
ADDRESSES = [{"type": "Hostname", "address": "n1"}, {"type": "InternalIP", "address": "10.128.0.1"}]
NODE = written("Node", "n1", status={"addresses": ADDRESSES})
CONTAINER = {"name": "c", "image": "registry.example:5000/shop/web:1", "resources": {"requests": REQUESTS}}
IMAGE_ID = "registry.example:5000/shop/web@sha256:"


class Cluster:
    """Objects, and the kubelets that follow them."""

    def __init__(self) -> None:
        self.server = empty_server()
        self.store = self.server.store
        self.now = NOW
        self._read = 0
        self.restart()
        self.ask(Create(NODE))

    def restart(self) -> None:
        self.kubelet, self._read = Kubelet(ClusterOptions()), 0

    def ask(self, *requests: Request) -> None:
        for answer in self.server.carry_out(requests, self.now):
            assert isinstance(answer, Outcome), answer

    def run(self, name: str = "p", **spec: Any) -> None:
        """Create a pod on the node and let it start."""
        metadata = {member: spec.pop(member, None) for member in ("finalizers", "annotations")}
        spec = {"nodeName": "n1", "containers": [CONTAINER], **spec}
        self.ask(Create(written("Pod", name, metadata=metadata, spec=spec)))
        self.turn()
        self.turn(1)

    def turn(self, seconds: float = 0) -> int:
        """Let the kubelets act until nothing is left to do now; how often they asked for something."""
        self.now += round(seconds * SECOND)
        asked = 0
        while True:
            changes = self.store.changes_after(self._read)
            self._read = self.store.rv
            requests = self.kubelet.step(self.now, changes)
            if not requests:
                return asked
            asked += 1
            assert asked < 10
            self.ask(*requests)

    def pod(self, name: str = "p") -> Any:
        return self.store.get(ObjectKey("Pod", "default", name))

    def status(self, name: str = "p") -> Any:
        return self.pod(name)["status"]

    def conditions(self, name: str = "p") -> dict[str, tuple[str, str]]:
        return {one["type"]: (one["status"], one.get("reason", "")) for one in self.status(name)["conditions"]}

    def patch(self, body: dict[str, Any], subresource: str = "") -> None:
        self.ask(Patch(ObjectKey("Pod", "default", "p"), body, PatchType.STRATEGIC, subresource))

    def typed(self, name: str = "p") -> Pod:
        puts = [each.obj for each in self.store.changes_after(0) if isinstance(each, ObjectPut)]
        return [each for each in puts if isinstance(each, Pod) and each.name == name][-1]


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def test_running_pod_tells_its_containers(cluster: Cluster) -> None:
    cluster.run()
    (told,) = cluster.status()["containerStatuses"]
    image_id, container_id = told.pop("imageID"), told.pop("containerID")
    assert image_id.startswith(IMAGE_ID) and container_id.startswith("simulated://")
    assert told == {
        "name": "c", "image": "registry.example:5000/shop/web:1", "ready": True, "started": True, "restartCount": 0,
        "state": {"running": {"startedAt": "2030-01-01T00:00:01Z"}}, "lastState": {}, "allocatedResources": REQUESTS,
        "resources": {"requests": REQUESTS},
    }  # fmt: skip
    assert cells(cluster.pod(), cluster.now)[1:3] == ["1/1", "Running"]


def test_running_pod_has_addresses_and_all_conditions(cluster: Cluster) -> None:
    cluster.run()
    status = cluster.status()
    assert (status["hostIP"], status["hostIPs"]) == ("10.128.0.1", [{"ip": "10.128.0.1"}])
    assert status["podIPs"] == [{"ip": status["podIP"]}] and status["podIP"].startswith("10.")
    assert (status["startTime"], status["qosClass"], status["observedGeneration"]) == (
        "2030-01-01T00:00:01Z",
        "Burstable",
        cluster.pod()["metadata"]["generation"],
    )
    met = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady")
    assert {name: cluster.conditions()[name] for name in met} == dict.fromkeys(met, ("True", ""))


def test_addresses_differ_and_are_kept_by_a_new_kubelet(cluster: Cluster) -> None:
    for number in range(50):
        cluster.run(f"p{number}")
    cluster.restart()
    cluster.run("late")
    names = [*(f"p{number}" for number in range(50)), "late"]
    assert len({cluster.status(name)["podIP"] for name in names}) == 51


def test_taken_address_is_not_given_again(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scheduler_core.controllers.kubelet.addresses.crc32", lambda _: 0)
    cluster.run("a")
    cluster.run("b")
    cluster.restart()
    cluster.run("c")
    assert [cluster.status(name)["podIP"] for name in "abc"] == ["10.0.0.1", "10.0.0.2", "10.0.0.3"]
    cluster.ask(Delete(ObjectKey("Pod", "default", "b"), 0))
    cluster.run("d")
    assert cluster.status("d")["podIP"] == "10.0.0.2"


def test_pod_in_the_network_of_its_node_has_the_nodes_address(cluster: Cluster) -> None:
    cluster.run(hostNetwork=True)
    assert (cluster.status()["podIP"], cluster.status()["hostIP"]) == ("10.128.0.1", "10.128.0.1")


def test_pod_of_a_node_without_addresses_names_no_host(cluster: Cluster) -> None:
    cluster.ask(Create(NODE | {"metadata": {"name": "bare"}, "status": {}}))
    cluster.run(nodeName="bare")
    assert cluster.status()["podIP"] and "hostIP" not in cluster.status()


def test_init_containers_have_ended_and_sidecars_run(cluster: Cluster) -> None:
    inits = [{"name": "i", "image": "i:1"}, {"name": "s", "image": "s:1", "restartPolicy": "Always"}]
    cluster.run(initContainers=inits)
    ended, sidecar = cluster.status()["initContainerStatuses"]
    assert ended["state"]["terminated"]["exitCode"] == 0 and ended["state"]["terminated"]["reason"] == "Completed"
    assert (ended["ready"], ended["started"], sidecar["ready"], sidecar["started"]) == (True, False, True, True)
    assert "running" in sidecar["state"]
    assert cells(cluster.pod(), cluster.now)[1:3] == ["2/2", "Running"]


def test_ended_pod_tells_the_exit_code(cluster: Cluster) -> None:
    cluster.run(annotations={"kschedweb.io/run-seconds": "5"})
    cluster.turn(5)
    status = cluster.status()
    (told,) = status["containerStatuses"]
    ended = told["state"]["terminated"]
    assert ended.pop("containerID") == told["containerID"]
    assert ended == {"exitCode": 0, "reason": "Completed", "startedAt": "2030-01-01T00:00:01Z",
                     "finishedAt": "2030-01-01T00:00:06Z"}  # fmt: skip
    assert (status["phase"], told["ready"], told["started"]) == ("Succeeded", False, False)
    assert cluster.conditions()["Initialized"] == ("True", "PodCompleted")
    assert cluster.conditions()["Ready"] == ("False", "PodCompleted")
    assert cluster.conditions()["PodReadyToStartContainers"] == ("False", "")
    assert cells(cluster.pod(), cluster.now)[1:3] == ["0/1", "Completed"]


def test_pod_that_somebody_holds_on_to_shows_how_it_ended(cluster: Cluster) -> None:
    cluster.run(finalizers=["example.com/count"])
    cluster.ask(Delete(ObjectKey("Pod", "default", "p")))
    cluster.turn(1)
    status = cluster.status()
    assert status["phase"] == "Failed" and cluster.conditions()["Ready"] == ("False", "PodFailed")
    assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 143
    assert cluster.pod()["metadata"]["deletionGracePeriodSeconds"] == 0
    assert cluster.turn(100) == 0


def test_running_pod_of_one_template_has_the_signature_it_was_bound_with(cluster: Cluster) -> None:
    cluster.run("a")
    cluster.run("b")
    bound = [each.obj for each in cluster.store.changes_after(0) if isinstance(each, ObjectPut)][1]
    assert isinstance(bound, Pod) and bound.status.phase == "Pending"
    assert {signature(cluster.typed("a")), signature(cluster.typed("b"))} == {signature(bound)}


def test_resize_is_carried_out_once(cluster: Cluster) -> None:
    cluster.run()
    for cpu in ("750m", "250m"):
        resized = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
        cluster.patch({"spec": {"containers": [resized]}}, "resize")
        assert cluster.status()["containerStatuses"][0]["resources"]["requests"]["cpu"] != cpu
        assert cluster.turn() == 1
        (told,) = cluster.status()["containerStatuses"]
        assert told["resources"]["requests"] == {"cpu": cpu, "memory": "1Gi"} == told["allocatedResources"]
        assert told["state"] == {"running": {"startedAt": "2030-01-01T00:00:01Z"}}
    assert cluster.turn(9) == 0


def test_resize_that_overtakes_another_is_carried_out(cluster: Cluster) -> None:
    cluster.run()
    cluster.patch({"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}}, "resize")
    first = cluster.kubelet.step(cluster.now, cluster.store.changes_after(cluster.store.rv - 1))
    cluster._read = cluster.store.rv
    cluster.patch({"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}}, "resize")
    cluster.ask(*first)
    cluster.turn()
    assert cluster.status()["containerStatuses"][0]["resources"]["requests"]["cpu"] == "2"


def test_readiness_waits_for_the_gates(cluster: Cluster) -> None:
    cluster.run(readinessGates=[{"conditionType": "example.com/open"}])
    assert cluster.conditions()["Ready"] == ("False", "ReadinessGatesNotReady")
    assert cluster.conditions()["ContainersReady"] == ("True", "")
    cluster.patch({"status": {"conditions": [{"type": "example.com/open", "status": "True"}]}}, "status")
    assert cluster.turn() == 1
    assert cluster.conditions()["Ready"] == ("True", "")
    cluster.patch({"status": {"conditions": [{"type": "example.com/open", "status": "False"}]}}, "status")
    cluster.turn()
    ready = next(one for one in cluster.status()["conditions"] if one["type"] == "Ready")
    assert ready["message"] == 'the status of pod readiness gate "example.com/open" is not "True", but False'
