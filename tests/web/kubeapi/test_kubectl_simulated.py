"""kubectl on a simulated cluster: what it starts is carried on by controllers while it waits or watches."""

from typing import Any

import pytest

from kschedweb.cluster.models import Cluster
from tests.waiting import HANG_SECONDS, eventually
from tests.web.kubeapi.kubectl import NEEDS_KUBECTL, Kubectl

pytestmark = [pytest.mark.django_db, NEEDS_KUBECTL]
Manifest = dict[str, Any]


@pytest.fixture(scope="module")
def lively(simulated: tuple[Cluster, Kubectl]) -> Kubectl:
    """kubectl for a cluster with two nodes, whose controllers act in this process."""
    _, kubectl = simulated
    for name in ("n1", "n2"):
        kubectl.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": NODE_STATUS})
    return kubectl


NODE_STATUS = {
    "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"},
    "capacity": {"cpu": "4", "memory": "8Gi", "pods": "110"},
    "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
}
CONTAINER = {"name": "c", "image": "i:1", "resources": {"requests": {"cpu": "100m"}}}


def pod(name: str, node: str = "n1", **labels: str) -> Manifest:
    spec = {"nodeName": node, "containers": [CONTAINER], "terminationGracePeriodSeconds": 1}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels}, "spec": spec}


def _ready(kubectl: Kubectl, *names: str) -> None:
    kubectl("wait", "--for=condition=Ready", *(f"pod/{name}" for name in names), f"--timeout={HANG_SECONDS:.0f}s")


def test_pod_that_started_is_shown_ready_with_its_address(lively: Kubectl) -> None:
    lively.apply(pod("shown"))
    _ready(lively, "shown")
    address = lively("get", "pod", "shown", "-o", "jsonpath={.status.podIP}").stdout
    assert address.startswith("10.")
    shown = lively("get", "pod", "shown", "-o", "wide", "--no-headers").stdout.split()
    assert shown[:4] == ["shown", "1/1", "Running", "0"] and shown[5:7] == [address, "n1"]
    described = lively("describe", "pod", "shown").stdout
    assert "State:          Running" in described and "Container ID:   simulated://" in described
    assert "PodReadyToStartContainers" in described and "QoS Class:" in described


def test_drain_waits_for_the_budget_and_then_succeeds(lively: Kubectl) -> None:
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "kept"},
        "spec": {"minAvailable": 2, "selector": {"matchLabels": {"drained": "yes"}}},
    }
    lively.apply(pod("d1", drained="yes"), pod("d2", drained="yes"), budget)
    _ready(lively, "d1", "d2")
    counted = ("get", "pdb", "kept", "-o", "jsonpath={.status.currentHealthy} {.status.disruptionsAllowed}")
    eventually(lambda: lively(*counted).stdout == "2 0")
    with lively.started("drain", "n1", "--force", "--ignore-daemonsets", "--pod-selector=drained") as draining:
        draining.heard("would violate the pod's disruption budget")
        assert lively("get", "pods", "-l", "drained", "-o", "name").stdout.split() == ["pod/d1", "pod/d2"]
        lively.apply(pod("d3", "n2", drained="yes"), pod("d4", "n2", drained="yes"))
        told = draining.ended()
    assert "node/n1 drained" in told or "node/n1 evicted" in told
    assert lively("get", "pods", "-l", "drained", "-o", "name").stdout.split() == ["pod/d3", "pod/d4"]
    assert "SchedulingDisabled" in lively("get", "node", "n1").stdout
    lively("uncordon", "n1")
    assert "SchedulingDisabled" not in lively("get", "node", "n1").stdout


def test_watch_shows_a_pod_from_its_creation_to_its_end(lively: Kubectl) -> None:
    lively.apply(pod("there-before", "n9", watched="yes"))
    with lively.started("get", "pods", "-l", "watched", "-w", "--output-watch-events") as watching:
        watching.heard("there-before")  # now it has listed, and watches from there on
        lively.apply(pod("seen", watched="yes"))
        first, *_, last = watching.heard("1/1").splitlines()
        assert first.split()[:4] == ["ADDED", "seen", "0/1", "Pending"]
        assert last.split()[:4] == ["MODIFIED", "seen", "1/1", "Running"]
        lively("delete", "pod", "seen", "--wait=false")
        assert "Terminating" in watching.heard("DELETED")
    lively("delete", "pod", "there-before", "--grace-period=0", "--force")


def test_deletions_wait_as_long_as_the_pod_takes(lively: Kubectl) -> None:
    slow = pod("slow")
    slow["spec"] |= {"terminationGracePeriodSeconds": 60}
    slow["metadata"]["annotations"] = {"kschedweb.io/stop-seconds": "60"}
    lively.apply(slow, pod("quick"))
    _ready(lively, "slow", "quick")
    assert 'pod "quick" deleted' in lively("delete", "pod", "quick").stdout
    assert "NotFound" in lively("get", "pod", "quick", code=1).stderr
    lively("delete", "pod", "slow", "--wait=false")
    assert "Terminating" in lively("get", "pod", "slow").stdout
    grace = "jsonpath={.metadata.deletionGracePeriodSeconds}"
    assert lively("get", "pod", "slow", "-o", grace).stdout == "60"
    lively("delete", "pod", "slow", "--grace-period=1")  # a shorter grace is taken over
    assert "NotFound" in lively("get", "pod", "slow", code=1).stderr


def test_events_are_listed_and_described(lively: Kubectl) -> None:
    lively.apply(pod("told"))
    _ready(lively, "told")
    uid = lively("get", "pod", "told", "-o", "jsonpath={.metadata.uid}").stdout
    about = {"apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": "told", "uid": uid}
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "told.1", "namespace": "default"},
        "involvedObject": about,
        "type": "Warning",
        "reason": "Noticed",
        "message": "something was seen",
        "source": {"component": "watcher", "host": "n1"},
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-01T00:00:00Z",
        "count": 3,
    }
    of_node = {
        **event,
        "metadata": {"name": "n1.1", "namespace": "default"},
        "involvedObject": {"kind": "Node", "name": "n1", "uid": "n1"},
        "message": "the node was seen",
    }
    lively.apply(event, of_node)
    listed = lively("get", "events", "--field-selector=involvedObject.name=told,reason=Noticed").stdout
    assert "pod/told" in listed and "something was seen" in listed and "the node was seen" not in listed
    described = lively("describe", "pod", "told").stdout.partition("Events:")[2]
    assert "Warning" in described and "(x3 over" in described and "watcher" in described
    node = lively("describe", "node", "n1").stdout
    assert "told" in node.partition("Non-terminated Pods:")[2].partition("Allocated resources:")[0]
    assert "the node was seen" in node.partition("Events:")[2]


def test_logs_and_commands_are_refused_with_a_reason(lively: Kubectl) -> None:
    lively.apply(pod("mute"))
    _ready(lively, "mute")
    assert "Error from server" in lively("logs", "mute", code=1).stderr
    assert lively("exec", "mute", "--", "true", code=1).stderr.strip()
