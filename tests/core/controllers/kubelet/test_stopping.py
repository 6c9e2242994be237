"""Deleted pods stop in their time and go, whatever is written into their status meanwhile."""

from __future__ import annotations

import pytest

from scheduler_core.apiserver.requests import ObjectKey, Patch, PatchType
from tests.core.controllers.kubelet.nodes import Nodes

STOP = {"kschedweb.io/stop-seconds": "10"}
HELD = ["example.com/held"]


def end(nodes: Nodes, phase: str) -> None:
    """Write the phase, as a client with the right to."""
    body = {"status": {"phase": phase, "reason": "Client"}}
    nodes.ask(Patch(ObjectKey("Pod", "default", "p"), body, PatchType.STRATEGIC, "status"))


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
@pytest.mark.parametrize("is_new", [False, True], ids=["same kubelet", "new kubelet"])
def test_pod_that_ended_while_it_was_being_deleted_goes(nodes: Nodes, phase: str, is_new: bool) -> None:
    nodes.pod(annotations=STOP)
    nodes.run_for(5)
    nodes.delete("p", 30)
    nodes.run_for(3)
    end(nodes, phase)
    if is_new:
        nodes.restart()
    nodes.run_for(6)
    assert nodes.phase() == phase
    nodes.run_for(2)
    assert not nodes.exists("p")


def test_pod_that_ended_before_it_ran_goes(nodes: Nodes) -> None:
    nodes.agent("stopped")
    nodes.pod()
    nodes.delete("p", 30)
    end(nodes, "Failed")
    nodes.run_for(100)
    assert nodes.exists("p")
    nodes.agent("running")
    nodes.run_for(40)
    assert not nodes.exists("p")


def test_end_that_a_client_wrote_stays_for_whoever_holds_on_to_the_pod(nodes: Nodes) -> None:
    nodes.pod(annotations=STOP, finalizers=HELD)
    nodes.run_for(5)
    nodes.delete("p", 30)
    end(nodes, "Succeeded")
    nodes.run_for(11)
    pod = nodes.get("p")
    assert (pod["status"]["phase"], pod["status"]["reason"]) == ("Succeeded", "Client")
    assert pod["metadata"]["deletionGracePeriodSeconds"] == 0
    before = nodes.store.rv
    nodes.restart()
    nodes.run_for(3600)
    assert nodes.store.rv == before
    nodes.ask(Patch(ObjectKey("Pod", "default", "p"), {"metadata": {"finalizers": None}}))
    assert not nodes.exists("p")


def test_room_is_taken_until_the_containers_have_stopped(nodes: Nodes) -> None:
    nodes.pod(annotations=STOP, requests={"cpu": "3"})
    nodes.run_for(5)
    nodes.delete("p", 30)
    end(nodes, "Failed")
    nodes.run_for(1)
    nodes.pod("next", requests={"cpu": "3"})
    nodes.run_for(2)
    assert nodes.get("next")["status"]["reason"] == "OutOfcpu"
    nodes.run_for(10)
    nodes.pod("last", requests={"cpu": "3"})
    nodes.run_for(2)
    assert nodes.phase("last") == "Running"
