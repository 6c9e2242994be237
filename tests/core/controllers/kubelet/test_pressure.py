"""Node-pressure eviction as a user of the cluster sees it: conditions, events, who goes and what its status says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from scheduler_core.apiserver.requests import Create
from tests.cases import cases
from tests.core.controllers.kubelet.nodes import CRITICAL, SECOND, SMALL_ROOM, Nodes

MEMORY = "kschedweb.io/usage-memory"
STORAGE = "kschedweb.io/usage-ephemeral-storage"


@pytest.fixture
def nodes() -> Nodes:
    return Nodes(room=SMALL_ROOM)


def test_pod_that_fills_the_memory_is_evicted_as_upstream_tells_it(nodes: Nodes) -> None:
    nodes.pod(requests={"memory": "100Mi"}, annotations={MEMORY: "trace(0s=300Mi, 31s=944Mi)"})
    nodes.pod("other", annotations={MEMORY: "trace(0s=0)"})
    nodes.run_for(39)
    assert (nodes.phase(), nodes.node_condition("MemoryPressure")["status"]) == ("Running", "absent")
    nodes.run_for(2)
    told = nodes.node_condition("MemoryPressure")
    assert (told["status"], told["reason"]) == ("True", "KubeletHasInsufficientMemory")
    assert told["message"] == "kubelet has insufficient memory available"
    assert told["lastTransitionTime"] == "2030-01-01T00:00:40Z"
    status = nodes.status()
    message = (
        "The node was low on resource: memory. Threshold quantity: 100Mi, available: 80Mi. "
        "Container main was using 944Mi, request is 100Mi, has larger consumption of memory. "
    )
    assert (status["phase"], status["reason"], status["message"]) == ("Failed", "Evicted", message)
    target = nodes.condition("DisruptionTarget")
    assert (target["status"], target["reason"], target["message"]) == ("True", "TerminationByKubelet", message)
    assert nodes.condition("Ready")["status"] == "False"
    assert nodes.exists() and nodes.phase("other") == "Running"
    assert sorted(nodes.events()) == [
        ("Evicted", message),
        ("EvictionThresholdMet", "Attempting to reclaim memory"),
        ("NodeHasInsufficientMemory", "Node n1 status is now: NodeHasInsufficientMemory"),
    ]


@cases(
    "text, stays, leaves",
    ("by default", "", 306, 316),
    ("as configured", "evictionPressureTransitionPeriod: 30s", 36, 46),
)
def test_condition_stays_for_the_transition_period(nodes: Nodes, text: str, stays: int, leaves: int) -> None:
    nodes.configure(text)
    nodes.pod(annotations={MEMORY: "trace(0s=1000Mi)"})
    for seconds in (11, stays - 11):
        nodes.run_for(seconds)
        assert nodes.node_condition("MemoryPressure")["status"] == "True"
    nodes.run_for(leaves - stays)
    told = nodes.node_condition("MemoryPressure")
    assert (told["status"], told["reason"]) == ("False", "KubeletHasSufficientMemory")
    assert nodes.kubelet.next_due() is None


SOFT = "evictionSoft: {memory.available: 300Mi}\nevictionSoftGracePeriod: {memory.available: 1m30s}"


def test_soft_threshold_waits_for_its_grace_and_the_condition_does_not(nodes: Nodes) -> None:
    nodes.configure(f"{SOFT}\nevictionMaxPodGracePeriod: 20")
    nodes.pod(annotations={MEMORY: "800Mi", "kschedweb.io/stop-seconds": "60"}, terminationGracePeriodSeconds=40)
    nodes.run_for(11)
    assert nodes.node_condition("MemoryPressure")["status"] == "True"
    nodes.run_for(88)
    assert nodes.phase() == "Running" and ("EvictionThresholdMet", "Attempting to reclaim memory") not in nodes.events()
    nodes.run_for(2)
    # The threshold's grace is over; the pod has the smaller of both grace periods.
    assert nodes.phase() == "Running" and ("EvictionThresholdMet", "Attempting to reclaim memory") in nodes.events()
    nodes.run_for(18)
    assert nodes.phase() == "Running"
    nodes.run_for(2)
    assert (nodes.phase(), nodes.status()["reason"]) == ("Failed", "Evicted")


def test_soft_threshold_that_recovers_within_its_grace_evicts_nobody(nodes: Nodes) -> None:
    nodes.configure(SOFT)
    nodes.pod(annotations={MEMORY: "trace(0s=800Mi, 60s=100Mi, 120s=800Mi, 190s=100Mi)"})
    nodes.run_for(1000)
    assert nodes.phase() == "Running"


def test_pods_go_one_by_one_by_excess_priority_and_amount() -> None:
    nodes = Nodes(room={**SMALL_ROOM, "memory": "10Gi"})
    nodes.annotate({"system-memory": "9Gi"})
    limits = {"cpu": "1", "memory": "300Mi"}
    nodes.pod("guaranteed", requests=limits, limits=limits, annotations={MEMORY: "200Mi"})
    nodes.pod("below", requests={"memory": "300Mi"}, annotations={MEMORY: "250Mi"})
    nodes.pod("above-high", requests={"memory": "100Mi"}, annotations={MEMORY: "250Mi"}, priorityClassName="high")
    nodes.pod("above-much", requests={"memory": "10Mi"}, annotations={MEMORY: "100Mi"})
    nodes.pod("best-effort", annotations={MEMORY: "200Mi"})
    nodes.run_for(5)
    nodes.annotate({"system-memory": "10Gi"})
    gone: list[str] = []
    names = ["guaranteed", "below", "above-high", "above-much", "best-effort"]
    for _ in range(120):
        nodes.run_for(0.5)
        gone += [name for name in names if nodes.phase(name) == "Failed" and name not in gone]
        assert len(gone) <= 1 + (nodes.now // SECOND)
    assert gone == ["best-effort", "above-much", "above-high", "below", "guaranteed"]


def test_critical_pods_are_passed_over(nodes: Nodes) -> None:
    nodes.pod("critical", annotations={MEMORY: "900Mi"}, **CRITICAL)
    nodes.pod("innocent", annotations={MEMORY: "100Mi"})
    nodes.run_for(20)
    assert (nodes.phase("critical"), nodes.phase("innocent")) == ("Running", "Failed")


def test_nothing_but_critical_pods_is_told_of_now_and_then(nodes: Nodes) -> None:
    nodes.pod("critical", annotations={MEMORY: "1000Mi"}, **CRITICAL)
    nodes.run_for(1200)
    assert nodes.phase("critical") == "Running"
    assert nodes.writes < 40


@cases(
    "annotations, condition, resource",
    ("main file system", {STORAGE: "95Gi"}, "DiskPressure", "ephemeral-storage"),
    ("logs", {"kschedweb.io/usage-logs": "95Gi"}, "DiskPressure", "ephemeral-storage"),
    ("inodes", {"kschedweb.io/usage-inodes": "6500k"}, "DiskPressure", "inodes"),
    ("processes", {"kschedweb.io/usage-pids": "32000"}, "PIDPressure", "pids"),
)
def test_every_signal_has_its_condition_and_resource(
    nodes: Nodes, annotations: dict[str, str], condition: str, resource: str
) -> None:
    nodes.configure("mergeDefaultEvictionSettings: true\nevictionHard: {pid.available: '1000'}")
    nodes.pod(annotations=annotations)
    nodes.run_for(11)
    assert nodes.node_condition(condition)["status"] == "True"
    assert ("EvictionThresholdMet", f"Attempting to reclaim {resource}") in nodes.events()
    assert nodes.status()["message"].startswith(f"The node was low on resource: {resource}. ")
    assert nodes.phase() == "Failed"


IMAGES = [{"names": ["main:1"], "sizeBytes": 1024**3}, {"names": ["old:1", "old:2"], "sizeBytes": 5 * 1024**3}]


def image_names(nodes: Nodes) -> list[str]:
    return [image["names"][0] for image in nodes.get("n1", "Node")["status"]["images"]]


def test_unused_images_go_before_any_pod() -> None:
    nodes = Nodes(room={**SMALL_ROOM, "ephemeral-storage": "20Gi"})
    nodes.patch_node({"status": {"images": IMAGES}}, subresource="status")
    nodes.pod(annotations={STORAGE: "12Gi"})
    nodes.run_for(11)
    assert (image_names(nodes), nodes.phase()) == (["main:1"], "Running")
    assert nodes.node_condition("DiskPressure")["status"] == "True"
    nodes.run_for(400)
    assert (nodes.node_condition("DiskPressure")["status"], nodes.phase()) == ("False", "Running")


def test_images_do_not_help_the_main_file_system_when_they_have_their_own() -> None:
    nodes = Nodes(room={**SMALL_ROOM, "ephemeral-storage": "20Gi"})
    nodes.annotate({"imagefs": "100Gi"})
    nodes.patch_node({"status": {"images": IMAGES}}, subresource="status")
    nodes.pod("writes", annotations={STORAGE: "19Gi"})
    nodes.pod("logs", annotations={"kschedweb.io/usage-logs": "19Gi"})
    nodes.run_for(11)
    assert image_names(nodes) == ["main:1", "old:1"]
    assert (nodes.phase("writes"), nodes.phase("logs")) == ("Running", "Failed")


def test_image_file_system_is_relieved_of_images_and_then_of_who_writes_layers(nodes: Nodes) -> None:
    nodes.annotate({"imagefs": "20Gi"})
    nodes.patch_node({"status": {"images": IMAGES}}, subresource="status")
    nodes.pod("writes", annotations={STORAGE: "trace(0s=12Gi, 60s=19Gi)"})
    nodes.pod("logs", annotations={"kschedweb.io/usage-logs": "50Gi"})
    nodes.run_for(30)
    assert (image_names(nodes), nodes.phase("writes")) == (["main:1"], "Running")
    nodes.run_for(60)
    assert (nodes.phase("writes"), nodes.phase("logs")) == ("Failed", "Running")


def test_reclaim_goes_on_until_the_minimum_is_free() -> None:
    nodes = Nodes(room={**SMALL_ROOM, "ephemeral-storage": "10Gi"})
    nodes.configure("evictionHard: {nodefs.available: 1Gi}\nevictionMinimumReclaim: {nodefs.available: 500Mi}")
    nodes.annotate({"system-ephemeral-storage": "8Gi"})
    for number in range(8):
        nodes.pod(f"p{number}", annotations={STORAGE: "200Mi"})
    nodes.run_for(120)
    # 448Mi were left: three pods make it 1048Mi, which is above the threshold, five 1448Mi, six 1648Mi.
    assert sum(nodes.phase(f"p{number}") == "Failed" for number in range(8)) == 6


def test_images_that_free_less_than_the_minimum_stay() -> None:
    nodes = Nodes(room={**SMALL_ROOM, "ephemeral-storage": "20Gi"})
    nodes.configure("evictionHard: {nodefs.available: 2Gi}\nevictionMinimumReclaim: {nodefs.available: 6Gi}")
    nodes.patch_node({"status": {"images": IMAGES}}, subresource="status")
    nodes.pod(annotations={STORAGE: "13Gi"})
    nodes.run_for(11)
    assert (image_names(nodes), nodes.phase()) == (["main:1", "old:1"], "Failed")


def test_pods_are_refused_while_the_node_is_under_pressure(nodes: Nodes) -> None:
    nodes.pod(annotations={MEMORY: "1000Mi"})
    nodes.run_for(11)
    nodes.pod("best-effort")
    nodes.pod("burstable", requests={"cpu": "1m"})
    nodes.pod("tolerant", tolerations=[{"key": "node.kubernetes.io/memory-pressure", "operator": "Exists"}])
    nodes.pod("critical", **CRITICAL)
    nodes.run_for(5)
    phases = {name: nodes.phase(name) for name in ("best-effort", "burstable", "tolerant", "critical")}
    assert phases == {"best-effort": "Failed", "burstable": "Running", "tolerant": "Running", "critical": "Running"}
    assert (nodes.status("best-effort")["reason"], nodes.status("best-effort")["message"]) == (
        "Evicted",
        "Pod was rejected: The node had condition: [MemoryPressure]. ",
    )


def test_other_pressure_refuses_all_but_critical_pods(nodes: Nodes) -> None:
    nodes.pod(annotations={STORAGE: "95Gi"})
    nodes.run_for(11)
    nodes.pod("tolerant", requests={"cpu": "1m"}, tolerations=[{"operator": "Exists"}])
    assert nodes.status("tolerant")["message"] == "Pod was rejected: The node had condition: [DiskPressure]. "


@cases(
    "usage, volumes",
    ("pod", STORAGE, []),
    ("volumes count for the pod", "kschedweb.io/usage-volumes", []),
    ("contents of an empty dir", "kschedweb.io/usage-volumes.data", [{"name": "data", "emptyDir": {}}]),
)
def test_pod_above_its_storage_limit_goes_though_the_node_has_room(usage: str, volumes: list[dict[str, Any]]) -> None:
    nodes = Nodes(room=SMALL_ROOM)
    limits = {"ephemeral-storage": "1Gi"}
    nodes.pod(limits=limits, annotations={usage: "trace(0s=0, 60s=2Gi)"}, volumes=volumes)
    nodes.run_for(60)
    assert nodes.phase() == "Running"
    nodes.run_for(12)
    assert (nodes.phase(), nodes.status()["reason"]) == ("Failed", "Evicted")
    message = "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. "
    assert nodes.status()["message"] == message
    assert nodes.condition("DisruptionTarget") is None
    assert nodes.node_condition("DiskPressure")["status"] == "absent"


def test_container_above_its_own_storage_limit_is_named(nodes: Nodes) -> None:
    containers = [
        {"name": name, "image": "i", "resources": {"limits": {"ephemeral-storage": limit}}}
        for name, limit in (("a", "1Gi"), ("b", "9Gi"))
    ]
    nodes.pod(containers=containers, annotations={f"{STORAGE}.a": "2Gi"})
    nodes.run_for(11)
    assert nodes.status()["message"] == 'Container a exceeded its local ephemeral storage limit "1Gi". '


@cases(
    "volume, is_evicted",
    ("above its limit", {"emptyDir": {"sizeLimit": "1Gi"}}, True),
    ("in memory", {"emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}}, True),
    ("below its limit", {"emptyDir": {"sizeLimit": "3Gi"}}, False),
    ("a limit of nothing is none", {"emptyDir": {"sizeLimit": "0"}}, False),
    ("without a limit", {"emptyDir": {}}, False),
    ("another kind of volume", {"hostPath": {"path": "/data"}}, False),
)
def test_pod_goes_whose_empty_dir_is_too_full(nodes: Nodes, volume: dict[str, Any], is_evicted: bool) -> None:
    usage = {"kschedweb.io/usage-volumes.data": "trace(0s=0, 60s=2Gi)"}
    nodes.pod(
        volumes=[{"name": "other", "emptyDir": {"sizeLimit": "1Gi"}}, {"name": "data", **volume}], annotations=usage
    )
    nodes.run_for(60)
    assert nodes.phase() == "Running"
    nodes.run_for(12)
    assert (nodes.phase() == "Failed") == is_evicted
    if is_evicted:
        assert nodes.status()["message"] == 'Usage of EmptyDir volume "data" exceeds the limit "1Gi". '


def test_new_controller_goes_on_with_the_condition_it_finds(nodes: Nodes) -> None:
    nodes.pod(annotations={MEMORY: "1000Mi"})
    nodes.run_for(11)
    nodes.restart()
    nodes.run_for(200)
    assert nodes.node_condition("MemoryPressure")["status"] == "True"
    nodes.run_for(120)
    assert nodes.node_condition("MemoryPressure")["status"] == "False"


def test_condition_that_was_given_up_is_mended_when_the_kubelet_is_heard(nodes: Nodes) -> None:
    unknown = [{"type": "MemoryPressure", "status": "Unknown", "reason": "NodeStatusUnknown"}]
    nodes.agent("stopped")
    nodes.patch_node({"status": {"conditions": unknown}}, subresource="status")
    nodes.run_for(60)
    assert nodes.node_condition("MemoryPressure")["status"] == "Unknown"
    nodes.agent("running")
    told = nodes.node_condition("MemoryPressure")
    assert (told["status"], told["reason"]) == ("False", "KubeletHasSufficientMemory")


def test_silent_kubelet_evicts_nobody_until_it_is_heard(nodes: Nodes) -> None:
    nodes.pod(annotations={MEMORY: "trace(0s=0, 60s=1000Mi)"})
    nodes.run_for(5)
    nodes.agent("stopped")
    nodes.run_for(300)
    assert nodes.phase() == "Running"
    nodes.agent("running")
    nodes.run_for(10)
    assert nodes.phase() == "Failed"


def test_example_of_the_guide_evicts_the_pod_that_passes_its_request() -> None:
    example = Path(__file__).parents[4] / "examples" / "memory-pressure.yaml"
    node, *pods = yaml.safe_load_all(example.read_text())
    nodes = Nodes("n1")
    nodes.ask(Create(node))
    for pod in pods:
        nodes.ask(Create({**pod, "spec": {**pod["spec"], "nodeName": node["metadata"]["name"]}}))
    nodes.run_for(60)
    assert (nodes.phase("hungry-otter"), nodes.phase("modest-heron")) == ("Running", "Running")
    nodes.run_for(60)
    assert nodes.status("hungry-otter")["reason"] == "Evicted" and nodes.phase("modest-heron") == "Running"
    assert nodes.node_condition("MemoryPressure", "small-pond")["status"] == "True"
    nodes.run_for(60)
    assert nodes.node_condition("MemoryPressure", "small-pond")["status"] == "False"
