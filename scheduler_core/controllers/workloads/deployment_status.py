"""The status of a Deployment: counts over its ReplicaSets, and whether it is available and progresses.

Times are microseconds. Source: kubernetes v1.34.1, pkg/controller/deployment/{sync,progress}.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from scheduler_core.api.times import microseconds, moment_of
from scheduler_core.api.workload import Deployment, ReplicaSet, ReplicaStatus, WorkloadCondition
from scheduler_core.controllers.workloads.replicas import REPLICA_FAILURE
from scheduler_core.controllers.workloads.rollout import deadline_seconds, fenceposts, total, wanted
from scheduler_core.controllers.workloads.statuses import SECOND_US, condition_of, without_condition

AVAILABLE: Final = "Available"
PROGRESSING: Final = "Progressing"
NEW_SET_AVAILABLE: Final = "NewReplicaSetAvailable"
SET_UPDATED: Final = "ReplicaSetUpdated"
TIMED_OUT: Final = "ProgressDeadlineExceeded"
PAUSED: Final = "DeploymentPaused"
RESUMED: Final = "DeploymentResumed"

Conditions = tuple[WorkloadCondition, ...] | None


def condition(type_: str, status: str, reason: str, message: str, now: int) -> WorkloadCondition:
    """Return a condition that was updated and changed now."""
    at = moment_of(now // SECOND_US * SECOND_US)
    return WorkloadCondition(type_, status, at, at, reason, message)


def with_condition(conditions: Conditions, new: WorkloadCondition) -> Conditions:
    """Return the conditions with this one last, unless its status and reason are there; time moves with its status."""
    before = condition_of(conditions, new.type)
    if before is not None and (before.status, before.reason) == (new.status, new.reason):
        return conditions
    if before is not None and before.status == new.status:
        new = msgspec.structs.replace(new, last_transition_time=before.last_transition_time)
    return (*(without_condition(conditions, new.type) or ()), new)


def pause_condition(deployment: Deployment, conditions: Conditions, now: int) -> Conditions:
    """Return the conditions with Progressing Unknown where the Deployment was just paused or resumed."""
    current = condition_of(conditions, PROGRESSING)
    if deadline_seconds(deployment) is None or (current is not None and current.reason == TIMED_OUT):
        return conditions
    was_paused = current is not None and current.reason == PAUSED
    if deployment.spec.paused and not was_paused:
        return with_condition(conditions, condition(PROGRESSING, "Unknown", PAUSED, "Deployment is paused", now))
    if not deployment.spec.paused and was_paused:
        return with_condition(conditions, condition(PROGRESSING, "Unknown", RESUMED, "Deployment is resumed", now))
    return conditions


def counted(
    deployment: Deployment, before: ReplicaStatus, new: ReplicaSet | None, old: Sequence[ReplicaSet], now: int
) -> ReplicaStatus:
    """Return the status with counts and the condition Available."""
    sets = [*old, *([new] if new is not None else [])]
    available = sum(each.status.available_replicas for each in sets)
    if available >= wanted(deployment) - fenceposts(deployment)[1]:
        said = condition(AVAILABLE, "True", "MinimumReplicasAvailable", "Deployment has minimum availability.", now)
    else:
        text = "Deployment does not have minimum availability."
        said = condition(AVAILABLE, "False", "MinimumReplicasUnavailable", text, now)
    return ReplicaStatus(
        observed_generation=deployment.metadata.generation or 0,
        replicas=sum(each.status.replicas for each in sets),
        updated_replicas=new.status.replicas if new is not None else 0,
        ready_replicas=sum(each.status.ready_replicas for each in sets),
        available_replicas=available,
        unavailable_replicas=max(0, total(sets) - available),
        collision_count=before.collision_count,
        conditions=with_condition(before.conditions, said),
    )


def is_complete(deployment: Deployment, status: ReplicaStatus) -> bool:
    """Return whether all replicas are updated and available, and there are no others."""
    counts = {status.updated_replicas, status.replicas, status.available_replicas}
    return counts == {wanted(deployment)} and status.observed_generation >= deployment.metadata.generation


def progressed(
    deployment: Deployment, before: ReplicaStatus, new: ReplicaSet | None, old: Sequence[ReplicaSet], now: int
) -> ReplicaStatus:
    """Return the status during and after a rollout: with counts, and whether it progresses or failed."""
    status = counted(deployment, before, new, old, now)
    conditions = status.conditions
    current = condition_of(before.conditions, PROGRESSING)
    if deadline_seconds(deployment) is None:
        conditions = without_condition(conditions, PROGRESSING)
    elif status.replicas != status.updated_replicas or current is None or current.reason != NEW_SET_AVAILABLE:
        conditions = _progress(deployment, status, current, new, now)
    failure = _failure(new, old)
    conditions = (
        with_condition(conditions, failure) if failure is not None else without_condition(conditions, REPLICA_FAILURE)
    )
    return msgspec.structs.replace(status, conditions=conditions)


def deadline(deployment: Deployment, status: ReplicaStatus) -> int | None:
    """Return when to see whether the rollout has failed; None when it is over or has no deadline."""
    seconds, current = deadline_seconds(deployment), condition_of(status.conditions, PROGRESSING)
    if seconds is None or current is None or current.reason in (TIMED_OUT, PAUSED) or is_complete(deployment, status):
        return None
    updated = current.last_update_time
    return None if updated is None else microseconds(updated) + (seconds + 1) * SECOND_US


def _progress(
    deployment: Deployment,
    status: ReplicaStatus,
    current: WorkloadCondition | None,
    new: ReplicaSet | None,
    now: int,
) -> Conditions:
    """The conditions with how the rollout goes, compared with the status that is stored."""
    subject = f'Deployment "{deployment.name}"' if new is None else f'ReplicaSet "{new.name}"'
    before = deployment.status
    if is_complete(deployment, status):
        text = f"{subject} has successfully progressed."
        return with_condition(status.conditions, condition(PROGRESSING, "True", NEW_SET_AVAILABLE, text, now))
    old_before, old_now = before.replicas - before.updated_replicas, status.replicas - status.updated_replicas
    if (
        status.updated_replicas > before.updated_replicas
        or old_now < old_before
        or status.ready_replicas > before.ready_replicas
        or status.available_replicas > before.available_replicas
    ):
        said = condition(PROGRESSING, "True", SET_UPDATED, f"{subject} is progressing.", now)
        if current is not None and current.status == "True":
            said = msgspec.structs.replace(said, last_transition_time=current.last_transition_time)
        return (*(without_condition(status.conditions, PROGRESSING) or ()), said)
    if _is_overdue(deployment, current, now):
        text = f"{subject} has timed out progressing."
        return with_condition(status.conditions, condition(PROGRESSING, "False", TIMED_OUT, text, now))
    return status.conditions


def _is_overdue(deployment: Deployment, current: WorkloadCondition | None, now: int) -> bool:
    seconds = deadline_seconds(deployment)
    if seconds is None or current is None or current.reason == NEW_SET_AVAILABLE or current.last_update_time is None:
        return False
    return current.reason == TIMED_OUT or microseconds(current.last_update_time) + seconds * SECOND_US < now


def _failure(new: ReplicaSet | None, old: Sequence[ReplicaSet]) -> WorkloadCondition | None:
    """ReplicaFailure of the new set, or of the first old one."""
    for each in (*([new] if new is not None else []), *old):
        found = condition_of(each.status.conditions, REPLICA_FAILURE)
        if found is not None:
            return msgspec.structs.replace(found, last_update_time=found.last_transition_time)
    return None
