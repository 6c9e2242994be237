"""Pods and events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from scheduler_core.apiserver.printing.texts import NONE, Cells, Manifest, Printed, age, age_of, is_going, name_of, part


def _pod(pod: Manifest, now: int) -> Cells:
    spec, status = pod["spec"], part(pod, "status")
    ready, total, reason, restarts = pod_state(pod, now)
    addresses = status.get("podIPs") or [{}]
    gates, met = spec.get("readinessGates") or (), 0
    conditions: Sequence[Manifest] = status.get("conditions") or ()
    for gate in gates:
        met += any(one["type"] == gate["conditionType"] and one["status"] == "True" for one in conditions)
    return [
        name_of(pod), f"{ready}/{total}", reason, restarts, age_of(pod, now), addresses[0].get("ip") or NONE,
        spec.get("nodeName") or NONE, status.get("nominatedNodeName") or NONE,
        f"{met}/{len(gates)}" if gates else NONE,
    ]  # fmt: skip


class PodState(NamedTuple):
    """What kubectl shows of a pod: containers that are ready, containers, the word for its state, restarts as text."""

    ready: int
    containers: int
    word: str
    restarts: str


def pod_state(pod: Manifest, now: int) -> PodState:
    """Return how a pod is, as kubectl says it; `now` is in microseconds."""
    spec, status = pod["spec"], part(pod, "status")
    conditions: Sequence[Manifest] = status.get("conditions") or ()
    reason = status.get("reason") or status.get("phase") or ""
    if any(one["type"] == "PodScheduled" and one.get("reason") == "SchedulingGated" for one in conditions):
        reason = "SchedulingGated"
    inits = {one["name"]: one for one in spec.get("initContainers") or ()}
    sidecars = {name for name, one in inits.items() if one.get("restartPolicy") == "Always"}
    total = len(spec.get("containers") or ()) + len(sidecars)
    init_word, ready, counted = _init_state(status.get("initContainerStatuses") or (), inits, sidecars)
    reason = init_word or reason
    if not init_word or any(one["type"] == "Initialized" and one["status"] == "True" for one in conditions):
        counted = [one for one in counted if one["name"] in sidecars]
        runs = False
        for container in reversed(status.get("containerStatuses") or ()):
            counted.append(container)
            state = container.get("state") or {}
            word = _state_word(state)
            if word:
                reason = word
            elif container.get("ready") and "running" in state:
                runs = True
                ready += 1
        if reason == "Completed" and runs:
            is_ready = any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
            reason = "Running" if is_ready else "NotReady"
    if is_going(pod):
        if status.get("reason") == "NodeLost":
            reason = "Unknown"
        elif status.get("phase") not in ("Succeeded", "Failed"):
            reason = "Terminating"
    return PodState(ready, total, reason, _restarts(counted, now))


def _init_state(
    statuses: Sequence[Manifest], inits: Mapping[str, Manifest], sidecars: set[str]
) -> tuple[str, int, list[Manifest]]:
    """(the word while containers are being initialized, sidecars that are ready, statuses looked at)."""
    ready, counted = 0, []
    for index, container in enumerate(statuses):
        counted.append(container)
        state = container.get("state") or {}
        ended, waiting = state.get("terminated"), state.get("waiting") or {}
        if ended is not None and not ended.get("exitCode"):
            continue
        if container["name"] in sidecars and container.get("started"):
            ready += bool(container.get("ready"))
            continue
        if ended is not None:
            return f"Init:{_end_word(ended)}", ready, counted
        if waiting.get("reason") and waiting["reason"] != "PodInitializing":
            return f"Init:{waiting['reason']}", ready, counted
        return f"Init:{index}/{len(inits)}", ready, counted
    return "", ready, counted


def _state_word(state: Manifest) -> str:
    waiting, ended = state.get("waiting") or {}, state.get("terminated")
    if waiting.get("reason"):
        return str(waiting["reason"])
    return "" if ended is None else _end_word(ended)


def _end_word(ended: Manifest) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    return f"Signal:{ended['signal']}" if ended.get("signal") else f"ExitCode:{ended.get('exitCode', 0)}"


def _restarts(statuses: Sequence[Manifest], now: int) -> str:
    count = sum(one.get("restartCount") or 0 for one in statuses)
    ends = [((one.get("lastState") or {}).get("terminated") or {}).get("finishedAt") for one in statuses]
    last = max(filter(None, ends), default=None)
    return f"{count} ({age(last, now)} ago)" if count and last else str(count)


def _event(event: Manifest, now: int) -> Cells:
    first = age(event.get("firstTimestamp") or event.get("eventTime"), now)
    last = age(event.get("lastTimestamp"), now) if event.get("lastTimestamp") else first
    count, series = event.get("count") or 1, event.get("series")
    if series is not None:
        last, count = age(series.get("lastObservedTime"), now), series.get("count") or 0
    involved = event["involvedObject"]
    kind, name = str(involved.get("kind", "")).lower(), involved.get("name")
    source = part(event, "source")
    component = source.get("component") or event.get("reportingComponent", "")
    host = source.get("host") or event.get("reportingInstance", "")
    return [
        last, event.get("type", ""), event.get("reason", ""), f"{kind}/{name}" if name else kind,
        involved.get("fieldPath", ""), f"{component}, {host}" if host else component,
        str(event.get("message", "")).strip(), first, count, name_of(event),
    ]  # fmt: skip


PRINTED: Final[dict[str, Printed]] = {
    "Pod": ("Name|Ready|Status|Restarts|Age|!IP|!Node|!Nominated Node|!Readiness Gates", _pod),
    "Event": ("Last Seen|Type|Reason|Object|!Subobject|!Source|Message|!First Seen|!Count|!Name:string:name", _event),
}
