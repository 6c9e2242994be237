"""What a kubelet writes into the status of a pod: containers, addresses, conditions.

    running_status   all init containers have ended, every other container runs
    ended_status     every container has ended, all with one exit code
    current_status   what of a running pod's status follows its spec and the conditions of others

Each returns what a `ReportStatus` brings. Times are microseconds.
Source: kubernetes v1.34.1, pkg/kubelet/kubelet_pods.go and pkg/kubelet/status/generate.go.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from hashlib import sha256
from typing import Any, Final

import msgspec

from scheduler_core.api.meta import ResourceList
from scheduler_core.api.pod import Container, Pod, PodCondition
from scheduler_core.api.times import microseconds, time_text

RUNNING: Final = "Running"
SUCCEEDED: Final = "Succeeded"
FAILED: Final = "Failed"
COMPLETED: Final = "PodCompleted"
POD_FAILED: Final = "PodFailed"
GATES_NOT_READY: Final = "ReadinessGatesNotReady"
DISRUPTION_TARGET: Final = "DisruptionTarget"
BY_KUBELET: Final = "TerminationByKubelet"
KILLED: Final = 143  # the exit code of a program that SIGTERM ended

Map = dict[str, Any]
Parts = tuple[tuple[str, Map], ...]  # name of a container, and what its status tells whatever it does


_MET: Final = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady")  # of a pod that runs


class Addresses(msgspec.Struct, frozen=True, gc=False):
    """Of the pod and of its node; empty means that there is none."""

    pod: str = ""
    host: str = ""


class Wanted(msgspec.Struct, frozen=True, gc=False):
    """A condition as it should be."""

    type: str
    status: str
    reason: str = ""
    message: str = ""


_STARTED: Final = (Wanted("PodReadyToStartContainers", "True"), Wanted("Initialized", "True"))


def running_status(pod: Pod, addresses: Addresses, now: int, parts: Parts | None = None) -> Map:
    """The status of a pod whose containers have just started; `parts` are those of `status_parts`, where known."""
    since = time_text(now)
    status: Map = {"phase": RUNNING, "startTime": since, **address_status(addresses)}
    conditions = pod.status.conditions
    if pod.spec.readiness_gates or (conditions and (len(conditions) > 1 or conditions[0].type != "PodScheduled")):
        met = [*_STARTED, ready_condition(pod), Wanted("ContainersReady", "True")]
        status |= observed(pod, met, now)
    else:
        generation = pod.metadata.generation
        stamp: Map = {"lastTransitionTime": since}
        if generation:
            stamp["observedGeneration"] = status["observedGeneration"] = generation
        status["conditions"] = [{"type": name, "status": "True", **stamp} for name in _MET]
    if pod.spec.init_containers or pod.status.container_statuses:
        return status | _containers(pod, now, None, now)
    uid = pod.metadata.uid
    status["containerStatuses"] = [
        {
            **told,
            "state": {"running": {"startedAt": since}},
            "containerID": f"simulated://{sha256(f'{uid}/{name}'.encode()).hexdigest()}",
        }
        for name, told in (status_parts(pod) if parts is None else parts)
    ]
    return status


def status_parts(pod: Pod) -> Parts:
    """What the statuses of running containers tell whatever pod of a signature it is."""
    return tuple((one.name, container_status(pod, one, {"running": {}})) for one in pod.spec.containers)


def address_status(addresses: Addresses) -> Map:
    """What the status of a pod tells of its addresses."""
    status: Map = {}
    if addresses.host:
        status |= {"hostIP": addresses.host, "hostIPs": [{"ip": addresses.host}]}
    if addresses.pod:
        status |= {"podIP": addresses.pod, "podIPs": [{"ip": addresses.pod}]}
    return status


def ended_status(pod: Pod, exit_code: int, now: int) -> Map:
    """The status of a pod whose containers have just ended, for good."""
    reason = POD_FAILED if exit_code else COMPLETED
    wanted = [
        Wanted("PodReadyToStartContainers", "False"),
        Wanted("Initialized", "True", "" if exit_code else COMPLETED),
        Wanted("Ready", "False", reason),
        Wanted("ContainersReady", "False", reason),
    ]
    status: Map = {"phase": FAILED if exit_code else SUCCEEDED}
    return status | observed(pod, wanted, now) | _containers(pod, _started_at(pod, now), exit_code, now)


def disrupted_status(pod: Pod, ended: Map, why: tuple[str, str, str], now: int) -> Map:
    """The status of a pod that its kubelet ended: `ended`, why (reason, message), and the message of its condition.

    Without that message there is no condition DisruptionTarget.
    """
    reason, message, condition = why
    status = {**ended, "phase": FAILED, "reason": reason, "message": message}
    if condition:
        told = observed(pod, [Wanted(DISRUPTION_TARGET, "True", BY_KUBELET, condition)], now)["conditions"]
        status["conditions"] = [*ended["conditions"], *told]
    return status


def current_status(pod: Pod, now: int) -> Map:
    """The resources and the readiness of a running pod as they should be."""
    return observed(pod, [ready_condition(pod)], now) | _containers(pod, _started_at(pod, now), None, now)


def lacking(pod: Pod) -> tuple[object, ...]:
    """What is out of date in a running pod's status, with what it should be; empty when nothing is.

    Only pods whose container statuses tell resources, as kubelets write them, can be out of date.
    """
    found: list[object] = []
    statuses, containers = pod.status.container_statuses, pod.spec.containers
    if statuses and len(statuses) == len(containers) == 1:  # as most have it
        has, wanted = statuses[0].resources, containers[0].resources
        if has is None or (has.requests == wanted.requests and has.limits == wanted.limits):
            statuses = None
    if statuses:
        told = {one.name: one for one in statuses}
        for container in pod.spec.containers:
            one, wanted = told.get(container.name), container.resources
            has = one.resources if one is not None else None
            if has is None:
                continue
            for old, new in ((has.requests, wanted.requests), (has.limits, wanted.limits)):
                if (old or {}) != (new or {}):
                    found.append((container.name, old, new))
    conditions = pod.status.conditions
    if pod.spec.readiness_gates:
        ready = next((one.status for one in conditions or () if one.type == "Ready"), "")
        wanted_ready = ready_condition(pod)
        if ready != wanted_ready.status:
            found.append(wanted_ready)
    elif conditions and _was_marked(conditions):
        found.append(ready_condition(pod))
    return tuple(found)


def _was_marked(conditions: Iterable[PodCondition]) -> bool:
    """Whether the node controller said that the pod is not ready, while its node was silent: its containers are."""
    ready = containers = ""
    for one in conditions:
        if one.type == "Ready":
            ready = one.status
        elif one.type == "ContainersReady":
            containers = one.status
    return ready == "False" and containers == "True"


def ready_condition(pod: Pod) -> Wanted:
    """Whether a pod whose containers are ready is ready: others have a say in that."""
    if not pod.spec.readiness_gates:
        return Wanted("Ready", "True")
    there = {one.type: one.status for one in pod.status.conditions or ()}
    unmet = []
    for gate in pod.spec.readiness_gates:
        status = there.get(gate.condition_type)
        if status is None:
            unmet.append(f'corresponding condition of pod readiness gate "{gate.condition_type}" does not exist.')
        elif status != "True":
            unmet.append(f'the status of pod readiness gate "{gate.condition_type}" is not "True", but {status}')
    return Wanted("Ready", "False", GATES_NOT_READY, ", ".join(unmet)) if unmet else Wanted("Ready", "True")


def observed(pod: Pod, wanted: Iterable[Wanted], now: int) -> Map:
    """These conditions and the generation they are of; a time moves with its status only."""
    generation = pod.metadata.generation
    there = {condition.type: condition for condition in pod.status.conditions or ()}
    conditions: list[Map] = []
    for one in wanted:
        old = there.get(one.type)
        condition: Map = {"type": one.type, "status": one.status}
        if old is None or old.status != one.status:
            condition["lastTransitionTime"] = time_text(now)
        if one.reason or (old is not None and old.reason):
            condition["reason"] = one.reason or None
        if one.message or (old is not None and old.message):
            condition["message"] = one.message or None
        if generation:
            condition["observedGeneration"] = generation
        conditions.append(condition)
    status: Map = {"conditions": conditions}
    if generation:
        status["observedGeneration"] = generation
    return status


def _started_at(pod: Pod, now: int) -> int:
    started = pod.status.start_time
    return now if started is None else microseconds(started)


def container_status(pod: Pod, container: Container, state: Map, restarts: int = 0) -> Map:
    """The status of a container in this state; `ready` and `started` as of one that runs."""
    resources = container.resources
    runs = "running" in state
    status: Map = {
        "name": container.name,
        "state": state,
        "lastState": {},
        "ready": runs,
        "restartCount": restarts,
        "image": container.image,
        "imageID": _image_id(container.image),
        "containerID": container_id(pod, container.name, restarts),
        "started": runs,
    }
    told: Map = {}
    if resources.requests:
        told["requests"] = status["allocatedResources"] = _texts(resources.requests)
    if resources.limits:
        told["limits"] = _texts(resources.limits)
    status["resources"] = told
    return status


def container_id(pod: Pod, container: str, restarts: int = 0) -> str:
    """What the run of a container is called: no two runs are called the same."""
    run = f"{pod.uid}/{container}/{restarts}" if restarts else f"{pod.uid}/{container}"
    return f"simulated://{sha256(run.encode()).hexdigest()}"


def _containers(pod: Pod, started: int, exit_code: int | None, now: int) -> Map:
    """The lists of container statuses; `exit_code` None: those that are no init containers run."""
    restarts = {
        one.name: one.restart_count
        for one in (*(pod.status.container_statuses or ()), *(pod.status.init_container_statuses or ()))
        if one.restart_count
    }
    since = time_text(started)
    until = time_text(now) if exit_code is not None else ""

    def told(container: Container, code: int | None, end: str) -> Map:
        count = restarts.get(container.name, 0)
        state: Map = {"running": {"startedAt": since}}
        if code is not None:
            state = {
                "terminated": {
                    "exitCode": code,
                    "reason": "Error" if code else "Completed",
                    "startedAt": since,
                    "finishedAt": end,
                    "containerID": container_id(pod, container.name, count),
                }
            }
        return container_status(pod, container, state, count)

    found: Map = {"containerStatuses": [told(one, exit_code, until) for one in pod.spec.containers]}
    if pod.spec.init_containers:
        found["initContainerStatuses"] = [
            told(one, exit_code, until) if one.is_restartable_init else told(one, 0, since) | {"ready": True}
            for one in pod.spec.init_containers
        ]
    return found


def _texts(resources: ResourceList) -> dict[str, str]:
    return {name: str(quantity) for name, quantity in resources.items()}


@lru_cache(maxsize=1_000)
def _image_id(image: str) -> str:
    """An image of this name with a digest: nothing is pulled here, so the digest follows from the name."""
    if "@" in image:
        return image
    folder, slash, last = image.rpartition("/")
    return f"{folder}{slash}{last.partition(':')[0]}@sha256:{sha256(image.encode()).hexdigest()}"
