"""One look at a job and its pods: which pods to create and to delete, and what its status says then.

    its end is decided    active pods are deleted, the rest is counted, then the end is told
    suspended             active pods are deleted uncounted
    otherwise             as many pods as are wanted, once the delay after failures is over

Nothing here is remembered but the `Backoff`. Times are microseconds.
Source: kubernetes v1.34.1, pkg/controller/job/job_controller.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from msgspec.structs import replace

from scheduler_core.api.batch import Job, JobCondition, JobStatus
from scheduler_core.api.pod import Pod
from scheduler_core.api.times import microseconds, moment_of
from scheduler_core.controllers.event_recorder import NORMAL, WARNING
from scheduler_core.controllers.workloads import job_status
from scheduler_core.controllers.workloads.job_backoff import Backoff, finished_at, over_at
from scheduler_core.controllers.workloads.job_indexes import Indexes, all_index_failures, completion_index
from scheduler_core.controllers.workloads.job_pods import (
    JobPods,
    is_failed,
    is_tracked,
    replaces_failed_only,
)
from scheduler_core.controllers.workloads.job_policies import failure_verdict, success_message
from scheduler_core.controllers.workloads.job_status import (
    COMPLETE,
    FAILED,
    FAILURE_TARGET,
    SUCCESS_CRITERIA_MET,
    SUSPENDED,
    condition_of,
    is_true,
    new_condition,
    with_condition,
)
from scheduler_core.controllers.workloads.readiness import is_ready

# Pods created, deleted or counted at one look.
BATCH: Final = 500
_SECOND_US: Final = 1_000_000
_DEFAULT_BACKOFF_LIMIT: Final = 6
_BACKOFF_LIMIT_EXCEEDED: Final = ("BackoffLimitExceeded", "Job has reached the specified backoff limit")
_DEADLINE_EXCEEDED: Final = ("DeadlineExceeded", "Job was active longer than specified deadline")
_TOO_MANY_FAILED: Final = (
    "MaxFailedIndexesExceeded",
    "Job has exceeded the specified maximal number of failed indexes",
)
_FAILED_INDEXES: Final = ("FailedIndexes", "Job has failed indexes")
_COMPLETIONS_REACHED: Final = ("CompletionsReached", "Reached expected number of succeeded pods")


@dataclass(frozen=True, slots=True)
class NewPod:
    """A pod to create: its index, and the failed pod whose counts it takes over."""

    index: int | None = None
    replaced: Pod | None = None


@dataclass(slots=True)
class Plan:
    """What is to be done, in this order; `events` are (kind, reason, message)."""

    status: JobStatus  # as it is in the end
    interim: JobStatus  # before the finalizers go
    backoff: Backoff
    created: list[NewPod] = field(default_factory=list)
    deleted: list[Pod] = field(default_factory=list)  # they are counted when they are gone
    dropped: list[Pod] = field(default_factory=list)  # deleted without being counted
    released: list[Pod] = field(default_factory=list)  # they lose the finalizer
    events: list[tuple[str, str, str]] = field(default_factory=list)
    retry_at: int | None = None  # when to look again without a change


class JobLook:
    """The job and its pods at `now`, and the plan that is made of them.

    `room` is how many pods may be created after a refusal; they are counted when they are there. None: any number.
    """

    def __init__(self, job: Job, pods: Sequence[Pod], backoff: Backoff, now: int, room: int | None = None) -> None:
        self._job, self._now, self._room = job, now, room
        self._pods = JobPods(job, pods)
        uncounted_succeeded, uncounted_failed = job_status.uncounted_total(job)
        self._succeeded = job.status.succeeded + uncounted_succeeded + len(self._pods.succeeded)
        failures = [pod for pod in self._pods.failed if failure_verdict(job, pod).counts]
        self._failed = job.status.failed + uncounted_failed + len(failures)
        self._completed, self._failed_indexes = Indexes(), Indexes()
        self._awaiting: dict[int, Pod] = {}
        self._is_per_index = job.is_indexed and job.spec.backoff_limit_per_index is not None
        if job.is_indexed:
            self._before = Indexes.parse(job.status.completed_indexes, job.spec.completions or 0)
            self._completed = self._pods.succeeded_indexes(self._before)
            self._succeeded = len(self._completed)
        if self._is_per_index:
            self._failed_indexes = self._pods.failed_indexes()
            over = self._completed.merged(self._failed_indexes.spans)
            self._awaiting = self._pods.awaiting_replacement(over)
        self._active = len(self._pods.active)
        self._ready = sum(map(is_ready, self._pods.active))
        self._terminating = len(self._pods.terminating)
        status = job.status
        if status.start_time is None and not job.is_suspended:
            status = replace(status, start_time=moment_of(now - now % _SECOND_US))
        self._plan = Plan(status, status, backoff.after(self._pods.succeeded, self._pods.failed))

    def plan(self) -> Plan:
        """Return what is to be done."""
        plan = self._plan
        end = self._end()
        if end is not None:
            plan.deleted = list(self._pods.active)
            self._take_off(plan.deleted)
        else:
            is_managed = self._job.metadata.deletion_timestamp is None
            if is_managed:
                self._manage()
            if self._is_complete():
                end = new_condition(SUCCESS_CRITERIA_MET, *_COMPLETIONS_REACHED, self._now)
            elif is_managed:
                self._tell_suspension()
        plan.status = replace(
            plan.status, active=self._active, ready=self._ready, terminating=self._terminating
        )  # fmt: skip
        self._count(end)
        return plan

    # How it ends

    def _end(self) -> JobCondition | None:
        """The condition with which the job ends; None while it goes on."""
        job, status = self._job, self._job.status
        met = condition_of(status, SUCCESS_CRITERIA_MET)
        if met is not None and met.status == "True":
            return met
        target = condition_of(status, FAILURE_TARGET)
        if target is not None and target.status == "True":
            return new_condition(FAILED, target.reason, target.message, self._now)
        message = self._policy_failure()
        failure = ("PodFailurePolicy", message) if message else self._limit() or self._index_limit()
        if failure is not None:
            return new_condition(FAILURE_TARGET, *failure, self._now)
        message = success_message(job, self._completed) if job.is_indexed else ""
        return new_condition(SUCCESS_CRITERIA_MET, "SuccessPolicy", message, self._now) if message else None

    def _policy_failure(self) -> str:
        failed = (pod for pod in self._pods.pods if is_failed(self._job, pod))
        return next((text for pod in failed if (text := failure_verdict(self._job, pod).message)), "")

    def _limit(self) -> tuple[str, str] | None:
        job, limit = self._job, self._job.spec.backoff_limit
        limit = _DEFAULT_BACKOFF_LIMIT if limit is None else limit
        if self._failed > limit or self._restarts_too_often(limit):
            return _BACKOFF_LIMIT_EXCEEDED
        deadline, started = job.spec.active_deadline_seconds, job.status.start_time
        if deadline is None or job.is_suspended:
            return None
        ends_at = (microseconds(started) if started is not None else self._now) + deadline * _SECOND_US
        if started is not None and self._now >= ends_at:
            return _DEADLINE_EXCEEDED
        self._look_again(ends_at)
        return None

    def _restarts_too_often(self, limit: int) -> bool:
        template = self._job.spec.template
        if template is None or template.spec.get("restartPolicy") != "OnFailure":
            return False
        restarts = sum(
            status.restart_count
            for pod in self._pods.pods
            if pod.status.phase in ("Running", "Pending")
            for status in (*(pod.status.container_statuses or ()), *(pod.status.init_container_statuses or ()))
        )
        return restarts > 0 if limit == 0 else restarts >= limit

    def _index_limit(self) -> tuple[str, str] | None:
        failed, spec = len(self._failed_indexes), self._job.spec
        if not self._is_per_index:
            return None
        if spec.max_failed_indexes is not None and failed > spec.max_failed_indexes:
            return _TOO_MANY_FAILED
        return _FAILED_INDEXES if failed and failed + self._succeeded >= (spec.completions or 0) else None

    def _is_complete(self) -> bool:
        if self._active:
            return False
        completions = self._job.spec.completions
        return self._succeeded > 0 if completions is None else self._succeeded >= completions

    # How many pods there are

    def _manage(self) -> None:
        wanted = 0 if self._job.is_suspended else self._wanted()
        surplus = self._pods.surplus(max(0, self._active - wanted))
        if surplus:
            self._plan.dropped = surplus if self._job.is_suspended else surplus[:BATCH]
            self._take_off(self._plan.dropped)
            return
        lacking = wanted - self._active - (self._terminating if replaces_failed_only(self._job) else 0)
        if lacking <= 0:
            return
        new, wait_until = self._new_pods(min(lacking, BATCH))
        if not new and wait_until is not None:
            self._look_again(max(wait_until, self._now + _SECOND_US))
            # Pods that run meanwhile are not told of: upstream's status says so too.
            self._active = 0
            return
        self._plan.created = new[: self._room]
        if self._room is None:
            self._active += len(new)

    def _wanted(self) -> int:
        parallelism, completions = self._job.spec.parallelism, self._job.spec.completions
        parallelism = 1 if parallelism is None else parallelism
        if completions is None:
            return self._active if self._succeeded else parallelism
        return max(0, min(completions - self._succeeded, parallelism))

    def _new_pods(self, count: int) -> tuple[list[NewPod], int | None]:
        """Pods that may be created now; when there is none, since when one may be."""
        if not self._is_per_index:
            over = self._plan.backoff.over_at()
            if over > self._now:
                return [], over
        if not self._job.is_indexed:
            return [NewPod()] * count, None
        over_indexes = self._completed.merged(self._failed_indexes.spans)
        new, waits = [], []
        for index in self._pods.pending_indexes(over_indexes, count):
            replaced = self._awaiting.get(index)
            over = over_at(all_index_failures(replaced) + 1, finished_at(replaced)) if replaced is not None else 0
            if over > self._now:
                waits.append(over)
            else:
                new.append(NewPod(index, replaced))
        return new, min(waits, default=None)

    def _take_off(self, pods: Sequence[Pod]) -> None:
        self._active -= len(pods)
        self._terminating += len(pods)
        self._ready -= sum(map(is_ready, pods))

    def _tell_suspension(self) -> None:
        plan, is_suspended = self._plan, self._job.is_suspended
        texts = ("Suspended", "Job suspended") if is_suspended else ("Resumed", "Job resumed")
        status = "True" if is_suspended else "False"
        wanted = new_condition(SUSPENDED, f"Job{texts[0]}", texts[1], self._now, status)
        told = with_condition(plan.status, wanted)
        if told is plan.status:
            return
        plan.events.append((NORMAL, *texts))
        if not is_suspended:  # the time it may be active begins anew
            told = replace(told, start_time=moment_of(self._now - self._now % _SECOND_US))
        plan.status = told

    # What is counted

    def _count(self, end: JobCondition | None) -> None:
        """Take ended pods into the status, and tell of the end once nothing is left."""
        plan, job = self._plan, self._job
        is_success = end is not None and end.type == SUCCESS_CRITERIA_MET
        tracked = {pod.uid for pod in self._pods.pods if is_tracked(pod)} - {pod.uid for pod in plan.dropped}
        status = job_status.counted(plan.status, tracked)
        succeeded: list[str] = []
        failed: list[str] = []
        indexes: list[int] = []
        for pod in self._pods.pods:
            if pod.uid not in tracked or not self._is_countable(pod, end):
                continue
            plan.released.append(pod)
            if pod.status.phase == "Succeeded" and pod.uid not in self._pods.uncounted_failed:
                index = completion_index(pod)
                if not job.is_indexed:
                    succeeded += [pod.uid] if pod.uid not in self._pods.uncounted_succeeded else []
                elif index is not None and self._pods.has_index(pod) and index not in self._before:
                    indexes.append(index)
            elif (
                (is_failed(job, pod) or (end is not None and not is_success))
                and pod.uid not in self._pods.uncounted_failed
                and self._pods.has_index(pod)
                and failure_verdict(job, pod).counts
            ):
                failed.append(pod.uid)
            if len(succeeded) + len(failed) + len(indexes) >= BATCH:
                break
        status = job_status.with_uncounted(status, succeeded, failed)
        if job.is_indexed:
            status = self._with_indexes(status, indexes)
        if end is not None and end.type == FAILURE_TARGET:
            status = with_condition(status, end)
            end = new_condition(FAILED, end.reason, end.message, self._now)
        elif end is not None and is_success:
            if not is_true(status, SUCCESS_CRITERIA_MET):
                status = with_condition(status, end)
            end = new_condition(COMPLETE, end.reason, end.message, self._now)
        plan.interim = status
        status = job_status.counted(status, tracked - {pod.uid for pod in plan.released})
        is_whole = not job_status.has_uncounted(status) and len(succeeded) + len(failed) + len(indexes) < BATCH
        if end is not None and is_whole and not self._terminating:
            status = with_condition(status, end)
            plan.events += self._end_events(status, end)
            if end.type == COMPLETE:
                status = replace(status, completion_time=end.last_transition_time)
        plan.status = status

    def _is_countable(self, pod: Pod, end: JobCondition | None) -> bool:
        """Whether the pod may lose its finalizer."""
        job = self._job
        if end is not None or job.metadata.deletion_timestamp is not None or pod.status.phase == "Succeeded":
            return True
        index = completion_index(pod)
        return is_failed(job, pod) and (index is None or self._awaiting.get(index) is not pod)

    def _with_indexes(self, status: JobStatus, new: Iterable[int]) -> JobStatus:
        completed = self._completed.plus(new)
        failed = str(self._failed_indexes) if self._is_per_index else None
        return replace(status, succeeded=len(completed), completed_indexes=str(completed), failed_indexes=failed)

    def _end_events(self, status: JobStatus, end: JobCondition) -> Iterable[tuple[str, str, str]]:
        if end.type == FAILED:
            yield WARNING, end.reason, end.message
            return
        completions = self._job.spec.completions
        if completions is not None and status.succeeded > completions:
            text = "Too many succeeded pods running after completion count reached"
            yield WARNING, "TooManySucceededPods", text
        yield NORMAL, "Completed", "Job completed"

    def _look_again(self, at: int) -> None:
        self._plan.retry_at = at if self._plan.retry_at is None else min(at, self._plan.retry_at)
