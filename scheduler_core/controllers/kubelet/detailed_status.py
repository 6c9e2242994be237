"""The status of a pod whose containers go their own ways: each as `Containers` says it is.

Source: kubernetes v1.34.1, pkg/kubelet/kubelet_pods.go and pkg/kubelet/status/generate.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scheduler_core.api.pod import Container, Pod
from scheduler_core.api.times import time_text
from scheduler_core.controllers.kubelet.containers import (
    CONTAINER_CREATING,
    CRASH_LOOP,
    DEADLINE_EXCEEDED,
    FAILED,
    POD_INITIALIZING,
    SUCCEEDED,
    Containers,
    Exit,
    Run,
)
from scheduler_core.controllers.kubelet.restarts import back_off_text
from scheduler_core.controllers.pod_status import (
    COMPLETED,
    POD_FAILED,
    Addresses,
    Map,
    Wanted,
    address_status,
    container_id,
    container_status,
    observed,
    ready_condition,
)

NOT_INITIALIZED: Final = "ContainersNotInitialized"
NOT_READY: Final = "ContainersNotReady"
DEADLINE_MESSAGE: Final = "Pod was active on the node longer than the specified deadline"


def detailed_status(containers: Containers, addresses: Addresses | None, now: int) -> Map:
    """The status as the containers are; `addresses` are told of a pod that has just started."""
    pod, phase = containers.pod, containers.phase
    status: Map = {"phase": phase}
    if containers.reason == DEADLINE_EXCEEDED:
        status |= {"reason": DEADLINE_EXCEEDED, "message": DEADLINE_MESSAGE}
    if addresses is not None:
        status |= {"startTime": time_text(now), **address_status(addresses)}
    status |= observed(pod, _conditions(containers, phase), now)
    status["containerStatuses"] = [_told(pod, container, run) for container, is_init, run in containers if not is_init]
    if pod.spec.init_containers:
        status["initContainerStatuses"] = [
            _told(pod, container, run, is_init=True) for container, is_init, run in containers if is_init
        ]
    return status


def _conditions(containers: Containers, phase: str) -> Iterator[Wanted]:
    ended = {SUCCEEDED: COMPLETED, FAILED: POD_FAILED}.get(phase, "")
    yield Wanted("PodReadyToStartContainers", "False" if ended else "True")
    if containers.is_initialized:
        yield Wanted("Initialized", "True", COMPLETED if phase == SUCCEEDED else "")
    else:
        yield Wanted("Initialized", "False", NOT_INITIALIZED, _names("incomplete", containers.incomplete))
    if ended:
        yield Wanted("Ready", "False", ended)
        yield Wanted("ContainersReady", "False", ended)
    elif containers.unready:
        message = _names("unready", containers.unready)
        yield Wanted("Ready", "False", NOT_READY, message)
        yield Wanted("ContainersReady", "False", NOT_READY, message)
    else:
        yield ready_condition(containers.pod)
        yield Wanted("ContainersReady", "True")


def _names(which: str, names: list[str]) -> str:
    return f"containers with {which} status: [{' '.join(names)}]"


def _told(pod: Pod, container: Container, run: Run, *, is_init: bool = False) -> Map:
    told = container_status(pod, container, _state(pod, container, run), run.restarts)
    if run.last is not None:
        told["lastState"] = _terminated(pod, container, run.last, run.restarts - (run.back_off_us is None))
    if not run.has_started:
        for name in ("containerID", "imageID"):
            told[name] = ""
    if is_init and not container.is_restartable_init and run.exit is not None:
        told["ready"] = run.exit.code == 0
    return told


def _state(pod: Pod, container: Container, run: Run) -> Map:
    if run.exit is not None:
        return _terminated(pod, container, run.exit, run.restarts)
    if run.started is not None:
        return {"running": {"startedAt": time_text(run.started)}}
    if run.back_off_us is not None:
        return {"waiting": {"reason": CRASH_LOOP, "message": back_off_text(pod, container.name, run.back_off_us)}}
    return {"waiting": {"reason": POD_INITIALIZING if pod.spec.init_containers else CONTAINER_CREATING}}


def _terminated(pod: Pod, container: Container, how: Exit, number: int) -> Map:
    return {
        "terminated": {
            "exitCode": how.code,
            "reason": how.reason,
            "startedAt": time_text(how.started),
            "finishedAt": time_text(how.finished),
            "containerID": container_id(pod, container.name, max(0, number)),
        }
    }
