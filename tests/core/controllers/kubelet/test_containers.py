"""Containers go their own ways: exit codes, restarts, init containers, sidecars, deadlines, memory above limits."""

from __future__ import annotations

import random
from typing import Any

from tests.cases import cases
from tests.core.controllers.kubelet.nodes import SECOND, Nodes

EXIT = "kschedweb.io/exit-code"
RUN = "kschedweb.io/run-seconds"
MEMORY = "kschedweb.io/usage-memory"


def test_crashing_container_waits_longer_each_time(nodes: Nodes) -> None:
    nodes.pod(annotations={EXIT: "1", RUN: "5"})
    starts = []
    count = -1
    for _ in range(1400):
        nodes.run_for(1)
        told = nodes.container()
        if told["restartCount"] != count and "running" in told["state"]:
            count = told["restartCount"]
            starts.append((nodes.now - 0) // SECOND)
    gaps = [late - early for early, late in zip(starts, starts[1:], strict=False)]
    assert gaps[:7] == [5, 15, 25, 45, 85, 165, 305]
    assert nodes.phase() == "Running"


def test_status_between_two_runs_is_the_one_of_upstream(nodes: Nodes) -> None:
    nodes.pod(annotations={EXIT: "3", RUN: "5"})
    nodes.run_for(12)
    told = nodes.container()
    uid = nodes.get()["metadata"]["uid"]
    assert told["state"] == {
        "waiting": {
            "reason": "CrashLoopBackOff",
            "message": f"back-off 10s restarting failed container=main pod=p_default({uid})",
        }
    }
    last = told["lastState"]["terminated"]
    assert (last["exitCode"], last["reason"]) == (3, "Error")
    assert (last["startedAt"], last["finishedAt"]) == ("2030-01-01T00:00:06Z", "2030-01-01T00:00:11Z")
    assert (told["restartCount"], told["ready"], told["started"]) == (1, False, False)
    ready = nodes.condition("Ready")
    assert (ready["status"], ready["reason"]) == ("False", "ContainersNotReady")
    assert ready["message"] == "containers with unready status: [main]"
    assert nodes.condition("Initialized")["status"] == "True"
    event = ("BackOff", f"Back-off restarting failed container main in pod p_default({uid})")
    assert nodes.events() == [event]


def test_wait_begins_anew_after_ten_minutes_of_running(nodes: Nodes) -> None:
    nodes.pod(annotations={EXIT: "1", RUN: "1,1,1,700,1,60"})
    nodes.run_for(1 + 1 + 1 + 10 + 1 + 20 + 700 + 0.5)
    told = nodes.container()
    assert (told["restartCount"], "running" in told["state"]) == (4, True)
    nodes.run_for(1)
    assert "back-off 10s" in nodes.container()["state"]["waiting"]["message"]


@cases(
    "policy, codes, phase, restarts",
    ("never, success", "Never", "0", "Succeeded", 0),
    ("never, failure", "Never", "2", "Failed", 0),
    ("on failure, success", "OnFailure", "0", "Succeeded", 0),
    ("on failure, success in the third run", "OnFailure", "1,1,0", "Succeeded", 2),
    ("on failure, failure for ever", "OnFailure", "1", "Running", 4),
    ("always, even after success", "Always", "0", "Running", 4),
)
def test_restart_policy_decides_how_the_pod_ends(policy: str, codes: str, phase: str, restarts: int) -> None:
    nodes = Nodes()
    nodes.pod(annotations={EXIT: codes, RUN: "2"}, restartPolicy=policy)
    nodes.run_for(100)
    assert (nodes.phase(), nodes.container()["restartCount"]) == (phase, restarts)


def test_pod_whose_containers_end_differently_fails(nodes: Nodes) -> None:
    containers = [{"name": "a", "image": "a"}, {"name": "b", "image": "b"}]
    annotations = {f"{RUN}.a": "2", f"{RUN}.b": "5", f"{EXIT}.b": "7"}
    nodes.pod(containers=containers, restartPolicy="Never", annotations=annotations)
    nodes.run_for(4)
    assert (nodes.phase(), nodes.condition("Ready")["message"]) == ("Running", "containers with unready status: [a]")
    nodes.run_for(4)
    assert nodes.phase() == "Failed"
    codes = [nodes.container(name)["state"]["terminated"]["exitCode"] for name in "ab"]
    assert codes == [0, 7]


def test_run_seconds_alone_complete_the_pod_whatever_its_policy(nodes: Nodes) -> None:
    nodes.pod(annotations={RUN: "5", f"{EXIT}.other": "1"}, restartPolicy="Always")
    nodes.run_for(7)
    assert nodes.phase() == "Succeeded"


INITS: list[dict[str, Any]] = [
    {"name": "first", "image": "i"},
    {"name": "proxy", "image": "s", "restartPolicy": "Always"},
    {"name": "second", "image": "i"},
]


def test_init_containers_run_one_after_the_other_and_sidecars_stay(nodes: Nodes) -> None:
    nodes.pod(initContainers=INITS, annotations={f"{RUN}.first": "10", f"{RUN}.second": "5", f"{RUN}.main": "20"})
    nodes.run_for(2)
    assert nodes.phase() == "Pending"
    states = {name: next(iter(nodes.container(name)["state"])) for name in ("first", "proxy", "second", "main")}
    assert states == {"first": "running", "proxy": "waiting", "second": "waiting", "main": "waiting"}
    assert nodes.container("main")["state"]["waiting"] == {"reason": "PodInitializing"}
    initialized = nodes.condition("Initialized")
    assert (initialized["status"], initialized["reason"]) == ("False", "ContainersNotInitialized")
    assert initialized["message"] == "containers with incomplete status: [first proxy second]"
    nodes.run_for(10)
    assert nodes.condition("Initialized")["message"] == "containers with incomplete status: [second]"
    assert "running" in nodes.container("proxy")["state"]
    nodes.run_for(5)
    assert (nodes.phase(), nodes.condition("Initialized")["status"]) == ("Running", "True")
    assert nodes.status()["startTime"] == "2030-01-01T00:00:01Z"
    assert nodes.container("main")["state"] == {"running": {"startedAt": "2030-01-01T00:00:16Z"}}


def test_sidecar_ends_with_the_containers_of_a_job(nodes: Nodes) -> None:
    nodes.pod(initContainers=INITS, restartPolicy="Never", annotations={f"{RUN}.main": "20"})
    nodes.run_for(20)
    assert nodes.phase() == "Running"
    nodes.run_for(2)
    assert nodes.phase() == "Succeeded" and "terminated" in nodes.container("proxy")["state"]


def test_sidecar_that_ends_is_restarted_even_in_a_pod_that_restarts_nothing(nodes: Nodes) -> None:
    nodes.pod(initContainers=INITS, restartPolicy="Never", annotations={f"{EXIT}.proxy": "1", f"{RUN}.proxy": "30"})
    nodes.run_for(35)
    assert nodes.phase() == "Running"
    assert (nodes.container("proxy")["restartCount"], nodes.container("main")["restartCount"]) == (1, 0)


@cases(
    "policy, phase, restarts",
    ("never", "Never", "Failed", 0),
    ("always", "Always", "Pending", 2),
)
def test_failing_init_container_holds_up_or_fails_the_pod(nodes: Nodes, policy: str, phase: str, restarts: int) -> None:
    nodes.pod(initContainers=INITS[:1], restartPolicy=policy, annotations={f"{EXIT}.first": "1", f"{RUN}.first": "2"})
    nodes.run_for(20)
    assert (nodes.phase(), nodes.container("first")["restartCount"]) == (phase, restarts)
    assert nodes.container("main")["state"] == {"waiting": {"reason": "PodInitializing"}}


def test_deadline_ends_the_pod_whatever_its_policy(nodes: Nodes) -> None:
    nodes.pod(activeDeadlineSeconds=30)
    nodes.run_for(30.5)
    assert nodes.phase() == "Running"
    nodes.run_for(1)
    status = nodes.status()
    assert (status["phase"], status["reason"]) == ("Failed", "DeadlineExceeded")
    assert status["message"] == "Pod was active on the node longer than the specified deadline"
    assert nodes.container()["state"]["terminated"]["exitCode"] == 143


def test_container_above_its_memory_limit_is_killed_and_restarted(nodes: Nodes) -> None:
    nodes.pod(limits={"memory": "200Mi"}, annotations={MEMORY: "ramp(100Mi, 300Mi, 60s)"})
    nodes.run_for(30.9)
    assert nodes.container()["restartCount"] == 0
    nodes.run_for(1)
    told = nodes.container()
    last = told["lastState"]["terminated"]
    assert (last["exitCode"], last["reason"], told["restartCount"]) == (137, "OOMKilled", 1)
    assert nodes.phase() == "Running"


def test_memory_below_the_limit_kills_nothing(nodes: Nodes) -> None:
    nodes.pod(limits={"memory": "300Mi"}, annotations={MEMORY: "ramp(100Mi, 300Mi, 60s)"})
    nodes.run_for(1000)
    assert (nodes.phase(), nodes.container()["restartCount"]) == ("Running", 0)


def test_new_controller_goes_on_where_another_stopped() -> None:
    annotations = {EXIT: "1,0,2", RUN: "3,20,4"}
    draw = random.Random(5)
    plain, restarted = Nodes(), Nodes()
    for nodes in (plain, restarted):
        nodes.pod(annotations=annotations)
        nodes.pod("init", initContainers=INITS, annotations={f"{RUN}.first": "10", f"{EXIT}.first": "1,1,0"})
    for _ in range(60):
        seconds = draw.choice([0.5, 3, 17, 40])
        plain.run_for(seconds)
        restarted.run_for(seconds)
        restarted.restart()
        for name in ("p", "init"):
            assert plain.status(name) == restarted.status(name)


def test_nothing_is_written_while_nothing_happens(nodes: Nodes) -> None:
    nodes.pod(annotations={EXIT: "1", RUN: "1"})
    nodes.run_for(3600)
    # A write for each restart, each wait and each event of a wait.
    assert nodes.container()["restartCount"] < 20 and nodes.writes < 60


def test_run_before_keeps_the_name_it_had(nodes: Nodes) -> None:
    nodes.pod(annotations={RUN: "20", EXIT: "1"})
    nodes.run_for(5)
    first = nodes.container()["containerID"]
    nodes.run_for(20)
    told = nodes.container()
    assert told["lastState"]["terminated"]["containerID"] == first != told["containerID"]


def test_init_container_that_succeeded_is_ready(nodes: Nodes) -> None:
    nodes.pod(initContainers=INITS[:1], annotations={f"{RUN}.first": "5"})
    nodes.run_for(10)
    told = nodes.container("first")
    assert told["ready"] is True and told["state"]["terminated"]["exitCode"] == 0


def test_gates_are_waited_for_by_pods_whose_containers_are_restarted(nodes: Nodes) -> None:
    nodes.pod(readinessGates=[{"conditionType": "example.com/ok"}], annotations={RUN: "5", EXIT: "1"})
    nodes.run_for(8)
    assert nodes.container()["restartCount"] == 1
    ready = nodes.condition("Ready")
    assert (ready["status"], ready["reason"]) == ("False", "ReadinessGatesNotReady")
