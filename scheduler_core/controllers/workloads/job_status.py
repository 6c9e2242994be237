"""The status of a job while one look at it is taken: conditions, and pods on their way into the counts.

Conditions come in two steps: SuccessCriteriaMet or FailureTarget when the end is decided, Complete or Failed when every
pod is gone or counted. Times are microseconds, stored as whole seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from scheduler_core.api.batch import Job, JobCondition, JobStatus, UncountedPods
from scheduler_core.api.times import moment_of

COMPLETE: Final = "Complete"
FAILED: Final = "Failed"
SUSPENDED: Final = "Suspended"
FAILURE_TARGET: Final = "FailureTarget"
SUCCESS_CRITERIA_MET: Final = "SuccessCriteriaMet"

UNCOUNTED: Final = "uncountedTerminatedPods"
_SECOND_US: Final = 1_000_000


def condition_of(status: JobStatus, type_: str) -> JobCondition | None:
    """The condition of this type."""
    return next((one for one in status.conditions or () if one.type == type_), None)


def is_true(status: JobStatus, type_: str) -> bool:
    condition = condition_of(status, type_)
    return condition is not None and condition.status == "True"


def new_condition(type_: str, reason: str, message: str, now: int, status: str = "True") -> JobCondition:
    """A condition that has just become what it is."""
    at = moment_of(now - now % _SECOND_US)
    return JobCondition(type_, status, reason, message, at, at)


def with_condition(status: JobStatus, wanted: JobCondition) -> JobStatus:
    """The status with the condition; unchanged when it says so already, or lacks one that is to be False."""
    conditions = status.conditions or ()
    before = condition_of(status, wanted.type)
    if before is None:
        return status if wanted.status == "False" else replace(status, conditions=(*conditions, wanted))
    if (before.status, before.reason, before.message) == (wanted.status, wanted.reason, wanted.message):
        return status
    return replace(status, conditions=tuple(wanted if one is before else one for one in conditions))


def with_uncounted(status: JobStatus, succeeded: Sequence[str], failed: Sequence[str]) -> JobStatus:
    """The status with these uids on the way into the counts too."""
    return _uncounted(status, (*_succeeded(status), *succeeded), (*_failed(status), *failed))


def counted(status: JobStatus, tracked: Iterable[str]) -> JobStatus:
    """The status with the uncounted pods taken into the counts, but for those that are tracked still."""
    still = frozenset(tracked)
    succeeded = tuple(uid for uid in _succeeded(status) if uid in still)
    failed = tuple(uid for uid in _failed(status) if uid in still)
    return replace(
        _uncounted(status, succeeded, failed),
        succeeded=status.succeeded + len(_succeeded(status)) - len(succeeded),
        failed=status.failed + len(_failed(status)) - len(failed),
    )


def status_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """The merge patch that makes one status, as a manifest, of the other; empty when they are the same."""
    changes: dict[str, Any] = {name: value for name, value in after.items() if before.get(name) != value}
    changes |= {name: None for name in before if name not in after}
    if UNCOUNTED in changes:  # a map, whose lists go only by name
        changes[UNCOUNTED] = _lists(before.get(UNCOUNTED, {}), after.get(UNCOUNTED, {}))
    return changes


def _lists(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """The merge patch of a map of lists."""
    return {**dict.fromkeys(before), **after}


def has_uncounted(status: JobStatus) -> bool:
    return bool(_succeeded(status) or _failed(status))


def uncounted_total(job: Job) -> tuple[int, int]:
    """How many uids the status names as succeeded and as failed."""
    return len(_succeeded(job.status)), len(_failed(job.status))


def _succeeded(status: JobStatus) -> tuple[str, ...]:
    uncounted = status.uncounted_terminated_pods
    return (uncounted.succeeded if uncounted is not None else None) or ()


def _failed(status: JobStatus) -> tuple[str, ...]:
    uncounted = status.uncounted_terminated_pods
    return (uncounted.failed if uncounted is not None else None) or ()


def _uncounted(status: JobStatus, succeeded: tuple[str, ...], failed: tuple[str, ...]) -> JobStatus:
    return replace(status, uncounted_terminated_pods=UncountedPods(succeeded or None, failed or None))
