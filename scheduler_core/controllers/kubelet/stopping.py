"""How pods stop and how long it takes: containers together, then sidecars one after the other, the last one first."""

from __future__ import annotations

from scheduler_core.api.pod import Container, Pod
from scheduler_core.controllers.annotations import DEFAULT_STOP_US, STOP_SECONDS, duration_us


def stop_us(pod: Pod) -> int:
    """Return how long the pod takes to stop when its grace period allows it; hooks come before the stop itself."""
    annotated = duration_us(pod, STOP_SECONDS)
    one_stop_us = DEFAULT_STOP_US if annotated is None else annotated
    total = max((_slept(one) for one in pod.spec.containers), default=0) * 1_000_000 + one_stop_us
    for sidecar in pod.spec.init_containers or ():
        if sidecar.is_restartable_init:
            total += _slept(sidecar) * 1_000_000 + one_stop_us
    return total


def grace_of_us(pod: Pod) -> int:
    """Return the pod's own grace period."""
    grace = pod.spec.termination_grace_period_seconds
    return (30 if grace is None else max(grace, 1)) * 1_000_000


def is_confirmed(pod: Pod) -> bool:
    """Return whether nobody waits for the kubelet's word that the containers of the pod, which has ended, are gone."""
    return not pod.is_terminating or pod.metadata.deletion_grace_period_seconds == 0


def _slept(container: Container) -> int:
    hook = container.lifecycle.pre_stop if container.lifecycle is not None else None
    return hook.sleep.seconds if hook is not None and hook.sleep is not None else 0
