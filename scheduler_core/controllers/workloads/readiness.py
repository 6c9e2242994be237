"""Whether pods are active, ready, and ready for long enough. Times are microseconds.

Source: kubernetes v1.34.1, pkg/api/v1/pod/util.go, pkg/controller/controller_utils.go.
"""

from __future__ import annotations

from collections.abc import Iterable

from scheduler_core.api.pod import Pod
from scheduler_core.api.times import microseconds

SECOND_US = 1_000_000


def is_active(pod: Pod) -> bool:
    """Return whether the pod neither ended nor is being deleted."""
    return not pod.is_terminal and not pod.is_terminating


def is_ready(pod: Pod) -> bool:
    """Return whether the condition Ready is True."""
    return any(each.type == "Ready" and each.status == "True" for each in pod.status.conditions or ())


def ready_since(pod: Pod) -> int | None:
    """Return since when the pod is ready; None when it is not, or does not say since when."""
    for each in pod.status.conditions or ():
        if each.type == "Ready" and each.status == "True" and each.last_transition_time is not None:
            return microseconds(each.last_transition_time)
    return None


def available_at(pod: Pod, min_ready_seconds: int) -> int | None:
    """Return from when on a ready pod counts as available; None when nobody can tell."""
    if min_ready_seconds == 0:
        return 0 if is_ready(pod) else None
    since = ready_since(pod)
    return None if since is None else since + min_ready_seconds * SECOND_US


def is_available(pod: Pod, min_ready_seconds: int, now: int) -> bool:
    """Return whether the pod has been ready for that long."""
    at = available_at(pod, min_ready_seconds)
    return at is not None and at <= now


def next_available(pods: Iterable[Pod], min_ready_seconds: int, now: int) -> int | None:
    """Return when the next ready pod will have been ready for that long; None when none is waiting for it."""
    if min_ready_seconds == 0:
        return None
    times = (available_at(pod, min_ready_seconds) for pod in pods)
    return min((at for at in times if at is not None and at > now), default=None)
