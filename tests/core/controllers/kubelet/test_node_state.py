"""Kubelets that are not heard report nothing, and catch up when they are heard again."""

from __future__ import annotations

import pytest

from scheduler_core.apiserver.requests import Delete, ObjectKey
from tests.core.controllers.kubelet.nodes import SECOND, Nodes

RUN = "kschedweb.io/run-seconds"


@pytest.mark.parametrize("state", ["stopped", "partitioned", "off"])
def test_silent_kubelet_reports_nothing(nodes: Nodes, state: str) -> None:
    nodes.pod("done", annotations={RUN: "30"})
    nodes.pod("deleted")
    nodes.run_for(5)
    nodes.agent(state)
    nodes.pod("late")
    nodes.delete("deleted", 5)
    before = nodes.store.rv
    nodes.run_for(3600)
    assert nodes.store.rv == before
    assert [nodes.phase(name) for name in ("done", "deleted", "late")] == ["Running", "Running", "Pending"]


@pytest.mark.parametrize("state", ["stopped", "partitioned"])
def test_kubelet_that_comes_back_catches_up(nodes: Nodes, state: str) -> None:
    nodes.pod("done", annotations={RUN: "30"})
    nodes.pod("deleted", annotations={"kschedweb.io/stop-seconds": "10"})
    nodes.pod("kept")
    nodes.run_for(5)
    nodes.agent(state)
    nodes.pod("late")
    nodes.delete("deleted", 30)
    nodes.run_for(600)
    nodes.agent("running")
    assert nodes.phase("done") == "Succeeded"
    assert nodes.phase("kept") == "Running" and nodes.container(pod="kept")["restartCount"] == 0
    # Only now it is told of the deletion, and of the new pod.
    assert nodes.exists("deleted") and nodes.phase("late") == "Pending"
    nodes.run_for(1.5)
    assert nodes.phase("late") == "Running"
    nodes.run_for(9)
    assert not nodes.exists("deleted")


def test_machine_that_was_off_starts_its_containers_anew(nodes: Nodes) -> None:
    nodes.pod("always")
    nodes.pod("never", restartPolicy="Never")
    nodes.pod("deleted")
    nodes.run_for(60)
    boot = nodes.get("n1", "Node")["status"].get("nodeInfo", {}).get("bootID", "")
    nodes.agent("off", since="2030-01-01T00:01:00Z")
    nodes.delete("deleted", 30)
    nodes.run_for(600)
    nodes.agent("running")
    nodes.run_for(0.5)
    told = nodes.container(pod="always")
    last = told["lastState"]["terminated"]
    assert (told["restartCount"], nodes.phase("always")) == (1, "Running")
    assert (last["exitCode"], last["reason"], last["finishedAt"]) == (255, "Unknown", "2030-01-01T00:01:00Z")
    assert told["state"]["running"]["startedAt"] == "2030-01-01T00:11:00Z"
    assert nodes.phase("never") == "Failed"
    assert not nodes.exists("deleted")
    assert nodes.get("n1", "Node")["status"]["nodeInfo"]["bootID"] != boot


@pytest.mark.parametrize("pods_first", [False, True], ids=["nodes first", "pods first"])
def test_machine_that_was_off_is_noticed_by_a_new_kubelet(nodes: Nodes, pods_first: bool) -> None:
    """Nobody was there when it came back: what has to be known is in the objects."""
    nodes.pod("always")
    nodes.pod("never", restartPolicy="Never")
    nodes.pod("stopping", annotations={"kschedweb.io/stop-seconds": "20"})
    nodes.run_for(60)
    nodes.note("off 2030-01-01T00:01:00Z")
    nodes.ask(Delete(ObjectKey("Pod", "default", "stopping"), 30))
    nodes.now += 600 * SECOND
    nodes.restart(pods_first=pods_first)
    nodes.run_for(0.5)
    told = nodes.container(pod="always")
    assert (told["restartCount"], told["lastState"]["terminated"]["finishedAt"]) == (1, "2030-01-01T00:01:00Z")
    assert told["state"]["running"]["startedAt"] == "2030-01-01T00:11:00Z"
    assert nodes.phase("never") == "Failed" and not nodes.exists("stopping")
    node = nodes.get("n1", "Node")
    assert "bootID" in node["status"]["nodeInfo"]
    assert "kschedweb.io/kubelet-was" not in node["metadata"].get("annotations", {})
    # One that takes over before the note is gone repeats nothing.
    nodes.note("off 2030-01-01T00:01:00Z")
    nodes.restart(pods_first=pods_first)
    nodes.run_for(100)
    assert nodes.container(pod="always")["restartCount"] == 1


def test_kubelet_that_stood_still_is_told_of_deletions_when_it_is_back(nodes: Nodes) -> None:
    nodes.pod(annotations={"kschedweb.io/stop-seconds": "20"})
    nodes.run_for(5)
    nodes.note("stopped 2030-01-01T00:00:05Z")
    nodes.ask(Delete(ObjectKey("Pod", "default", "p"), 30))
    nodes.now += 100 * SECOND
    nodes.restart()
    nodes.run_for(19)
    assert nodes.exists("p") and nodes.container()["restartCount"] == 0
    nodes.run_for(2)
    assert not nodes.exists("p")


def test_crashing_container_is_restarted_when_the_kubelet_is_back(nodes: Nodes) -> None:
    nodes.pod(annotations={RUN: "20", "kschedweb.io/exit-code": "1"})
    nodes.run_for(5)
    nodes.agent("stopped")
    nodes.run_for(300)
    nodes.agent("running")
    told = nodes.container()
    assert (told["restartCount"], told["lastState"]["terminated"]["finishedAt"]) == (1, "2030-01-01T00:00:21Z")
    assert told["state"]["running"]["startedAt"] == "2030-01-01T00:05:05Z"


def test_node_that_is_gone_reports_nothing(nodes: Nodes) -> None:
    nodes.pod(annotations={RUN: "30"})
    nodes.run_for(5)
    nodes.ask(Delete(ObjectKey("Node", "", "n1"), 0))
    nodes.run_for(100)
    assert nodes.phase() == "Running"
