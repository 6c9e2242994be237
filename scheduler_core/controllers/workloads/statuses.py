"""Statuses of workloads: written when they differ from what is stored, and only what differs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scheduler_core.api.manifests import encode_part
from scheduler_core.api.meta import KubeObject, Value
from scheduler_core.api.times import moment_of
from scheduler_core.api.workload import WorkloadCondition
from scheduler_core.apiserver.requests import ObjectKey, Patch

SECOND_US = 1_000_000


def status_patch(owner: KubeObject, before: Value, after: Value) -> list[Patch]:
    """Return the patch of the owner's status; nothing when it stays as it is.

    Both are statuses of the owner's kind; `observed_generation` should be among the rest of `after`.
    """
    if before == after:
        return []
    old, new = encode_part(before), encode_part(after)
    body: dict[str, Any] = {name: value for name, value in new.items() if old.get(name) != value}
    # What is zero is left out of the typed form; a number is written as zero, the rest goes.
    body |= {name: 0 if type(old[name]) is int else None for name in old if name not in new}
    if not body:
        return []
    return [
        Patch(ObjectKey(owner.kind, owner.namespace, owner.name), {"status": body}, subresource="status", uid=owner.uid)
    ]


def condition_of(conditions: Sequence[WorkloadCondition] | None, type_: str) -> WorkloadCondition | None:
    """Return the condition of a type."""
    return next((each for each in conditions or () if each.type == type_), None)


def without_condition(
    conditions: Sequence[WorkloadCondition] | None, type_: str
) -> tuple[WorkloadCondition, ...] | None:
    """Return the conditions without that of a type; None when none is left."""
    return tuple(each for each in conditions or () if each.type != type_) or None


def with_condition(
    conditions: Sequence[WorkloadCondition] | None, condition: WorkloadCondition, now: int, *, updated: bool = False
) -> tuple[WorkloadCondition, ...]:
    """Return the conditions with this one last; unchanged when its status and reason are there already.

    It carries `now` as the time of its transition, unless its status stays; with `updated` also as that of its update.
    """
    before = condition_of(conditions, condition.type)
    if before is not None and (before.status, before.reason) == (condition.status, condition.reason):
        return tuple(conditions or ())
    at = moment_of(now // SECOND_US * SECOND_US)
    since = before.last_transition_time if before is not None and before.status == condition.status else at
    made = WorkloadCondition(
        condition.type, condition.status, at if updated else None, since, condition.reason, condition.message
    )
    return (*(without_condition(conditions, condition.type) or ()), made)
