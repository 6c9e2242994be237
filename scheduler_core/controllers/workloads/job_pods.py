"""The pods of a job: which of them run, ended or are yet to be counted, and which index each has.

A pod carries the job's finalizer from its creation until the status has taken it in. So every pod is counted once,
whoever deletes it and whenever the controller is made anew.
Source: kubernetes v1.34.1, pkg/controller/job and pkg/controller/controller_utils.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from scheduler_core.api.batch import Job
from scheduler_core.api.pod import Pod
from scheduler_core.api.times import microseconds
from scheduler_core.controllers.workloads.job_backoff import finished_at
from scheduler_core.controllers.workloads.job_indexes import (
    Indexes,
    all_index_failures,
    completion_index,
    index_failures,
)
from scheduler_core.controllers.workloads.job_policies import FAIL_INDEX, failure_verdict
from scheduler_core.controllers.workloads.readiness import is_ready, ready_since

TRACKING: Final = "batch.kubernetes.io/job-tracking"
_PHASES: Final = {"Pending": 0, "Unknown": 1, "Running": 2}


def replaces_failed_only(job: Job) -> bool:
    """Whether a pod is replaced when it has ended, not already when it is being deleted."""
    return job.spec.pod_replacement_policy == "Failed" or job.spec.pod_failure_policy is not None


def is_tracked(pod: Pod) -> bool:
    """Whether the job's status has not taken the pod in yet."""
    return TRACKING in (pod.metadata.finalizers or ())


def is_failed(job: Job, pod: Pod) -> bool:
    """Whether the pod failed, or is on its way out where that counts as failed."""
    if pod.status.phase == "Failed":
        return True
    return pod.is_terminating and pod.status.phase != "Succeeded" and not replaces_failed_only(job)


def is_index_failed(job: Job, pod: Pod) -> bool:
    """Whether the failure of this pod is the end of its index."""
    if not is_failed(job, pod):
        return False
    verdict = failure_verdict(job, pod)
    if verdict.action == FAIL_INDEX:
        return True
    return verdict.counts and index_failures(pod) >= (job.spec.backoff_limit_per_index or 0)


@dataclass(slots=True)
class JobPods:
    """The pods of a job, sorted out; Indexed jobs have them in the order of their indexes."""

    job: Job
    pods: Sequence[Pod]
    active: list[Pod] = field(init=False)
    terminating: list[Pod] = field(init=False)
    succeeded: list[Pod] = field(init=False)  # yet to be counted, as the three that follow
    failed: list[Pod] = field(init=False)
    uncounted_succeeded: frozenset[str] = field(init=False)  # uids that the status names
    uncounted_failed: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        job = self.job
        if job.is_indexed:
            self.pods = sorted(self.pods, key=_index_order)
        uncounted = job.status.uncounted_terminated_pods
        self.uncounted_succeeded = frozenset((uncounted.succeeded if uncounted is not None else None) or ())
        self.uncounted_failed = frozenset((uncounted.failed if uncounted is not None else None) or ())
        alive = [pod for pod in self.pods if not pod.is_terminal]
        self.active = [pod for pod in alive if not pod.is_terminating]
        self.terminating = [pod for pod in alive if pod.is_terminating]
        new = [pod for pod in self.pods if is_tracked(pod) and self.has_index(pod)]
        self.succeeded = [
            pod for pod in new if pod.status.phase == "Succeeded" and pod.uid not in self.uncounted_succeeded
        ]
        self.failed = [pod for pod in new if is_failed(job, pod) and pod.uid not in self.uncounted_failed]

    def has_index(self, pod: Pod) -> bool:
        """Whether the pod has an index of the job; pods of other jobs need none."""
        index = completion_index(pod)
        return not self.job.is_indexed or (index is not None and index < (self.job.spec.completions or 0))

    def succeeded_indexes(self, before: Indexes) -> Indexes:
        """The indexes that succeeded, with those not counted yet."""
        done = [pod for pod in self.pods if pod.status.phase == "Succeeded" and is_tracked(pod) and self.has_index(pod)]
        return before.plus(_indexes(done))

    def failed_indexes(self) -> Indexes:
        """The indexes that failed for good, with those not counted yet."""
        before = Indexes.parse(self.job.status.failed_indexes or "", self.job.spec.completions or 0)
        over = [pod for pod in self.pods if is_tracked(pod) and self.has_index(pod) and is_index_failed(self.job, pod)]
        return before.plus(_indexes(over))

    def awaiting_replacement(self, over: Indexes) -> dict[int, Pod]:
        """The last failed pod of each index that is to be tried again, whose successor takes over its count."""
        running = set(_indexes(self.active))
        last: dict[int, Pod] = {}
        for pod in self.pods:
            index = completion_index(pod)
            if index is None or not self.has_index(pod) or not is_tracked(pod) or not is_failed(self.job, pod):
                continue
            if index in over or index in running:
                continue
            other = last.get(index)
            if other is None or (
                all_index_failures(other) <= all_index_failures(pod) and finished_at(pod) >= finished_at(other)
            ):
                last[index] = pod
        return last

    def pending_indexes(self, over: Indexes, count: int) -> list[int]:
        """The first indexes for which there is no pod and that are not over."""
        taken = _indexes(self.active)
        if replaces_failed_only(self.job):
            taken += _indexes(self.terminating)
        found: list[int] = []
        for index in over.plus(taken).missing(self.job.spec.completions or 0):
            if len(found) >= count:
                break
            found.append(index)
        return found

    def surplus(self, count: int) -> list[Pod]:
        """At least so many active pods to remove: those with no index of their own, then the least useful."""
        if not self.job.is_indexed:
            return sorted(self.active, key=removal_order)[:count]
        removed, kept = [], []
        by_index: dict[int, list[Pod]] = {}
        for pod in self.active:
            index = completion_index(pod)
            if index is None or not self.has_index(pod):
                removed.append(pod)
            else:
                by_index.setdefault(index, []).append(pod)
        for pods in by_index.values():
            *others, best = sorted(pods, key=removal_order)
            removed += others
            kept.append(best)
        return removed + sorted(kept, key=removal_order)[: max(0, count - len(removed))]


def removal_order(pod: Pod) -> tuple[bool, int, bool, int, int, int]:
    """The least useful pods come first: unassigned, not running, not ready, ready or made most recently."""
    restarts = max((one.restart_count for one in pod.status.container_statuses or ()), default=0)
    created = pod.metadata.creation_timestamp
    return (
        pod.is_assigned,
        _PHASES.get(pod.status.phase, 0),
        is_ready(pod),
        -(ready_since(pod) or 0),
        -restarts,
        -microseconds(created) if created is not None else 0,
    )


def _indexes(pods: Iterable[Pod]) -> list[int]:
    return [index for pod in pods if (index := completion_index(pod)) is not None]


def _index_order(pod: Pod) -> int:
    index = completion_index(pod)
    return -1 if index is None else index
