"""The CronJobs of a cluster: a Job at each time of the schedule.

    next start     the last one that is due is made up for, unless it is older than `startingDeadlineSeconds`
    Forbid         nothing is started while a job runs; Replace: what runs is deleted first
    history        the oldest finished jobs beyond the limits are deleted
    status         jobs that run, the last start, the last success

A job is named after the minute of its start, so that none is made twice. Looked at 100 ms after each start and whenever
it or one of its jobs changes. Times are microseconds.
Source: kubernetes v1.34.1, pkg/controller/cronjob.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from msgspec.structs import replace

from scheduler_core.api.batch import CronJob, CronJobStatus, Job, JobReference
from scheduler_core.api.cron import Schedule, ScheduleError, is_zone, parse_schedule, zone_of
from scheduler_core.api.manifests import encode_part
from scheduler_core.api.times import microseconds, moment_of
from scheduler_core.apiserver.answers import Status
from scheduler_core.apiserver.requests import Create, Delete, ObjectKey, Patch, Propagation, Request
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.event_recorder import WARNING
from scheduler_core.controllers.pod_index import PodIndex
from scheduler_core.controllers.workloads.job_status import status_changes
from scheduler_core.controllers.workloads.syncing import OwnerController
from scheduler_core.controllers.workloads.templates import controller_reference

SCHEDULED_AT: Final = "batch.kubernetes.io/cronjob-scheduled-timestamp"
LATE_US: Final = 100_000  # after the time of a start
MANY_MISSED: Final = 100
_SECOND_US: Final = 1_000_000
_MINUTE_US: Final = 60 * _SECOND_US


@dataclass(frozen=True, slots=True)
class Missed:
    """The last start that is due, None when none is; `since` is what it is counted from, `count` about how many are."""

    since: int
    last: int | None = None
    count: int = 0


class CronJobs(OwnerController[CronJob, Job]):
    """All CronJobs of one cluster."""

    name, actor = "cronjobs", "cronjob-controller"

    def __init__(self, cluster: ClusterOptions, pods: PodIndex | None = None) -> None:
        super().__init__(cluster, pods, CronJob, Job)

    def sync(self, owner: CronJob, now: int) -> list[Request]:
        """Return what follows for a cron job: old jobs deleted, the one that is due started, its status."""
        jobs = self.owned.controlled(owner.uid)
        requests: list[Request] = []
        status = owner.status
        for job in _beyond_limits(owner, jobs):
            requests.append(self._delete(job))
            status = _without(status, job.uid)
        status = self._observed(owner, status, jobs, now)
        self.wake(owner.uid, None)
        if owner.metadata.deletion_timestamp is None:
            started, status = self._started(owner, status, jobs, now)
            requests += started
        return [*requests, *_status_patch(owner, status)]

    def made(self, owner: CronJob, name: str, now: int) -> None:
        """Say that a job was created."""
        self.say(owner, "SuccessfulCreate", f"Created job {name}", now)

    def refused(self, owner: CronJob, request: Request, status: Status, now: int) -> bool:
        """Take over a refusal; a job that is there already is as good as made."""
        if isinstance(request, Create) and status.reason == "AlreadyExists":
            return False
        return super().refused(owner, request, status, now)

    def deleted(self, owner: CronJob, name: str, now: int) -> None:
        """Say that a job was deleted."""
        self.say(owner, "SuccessfulDelete", f"Deleted job {name}", now)

    def _observed(self, cron: CronJob, status: CronJobStatus, jobs: Sequence[Job], now: int) -> CronJobStatus:
        """The status after what became of the jobs."""
        active = {reference.uid for reference in status.active or ()}
        for job in jobs:
            end = job.finished_condition
            if end is None:
                start = _start_of(cron, job)
                last = status.last_schedule_time
                if job.uid in active:
                    pass
                elif start is not None and (last is None or microseconds(last) < start):
                    running = (*(status.active or ()), _reference(job))
                    status = replace(status, active=running, last_schedule_time=moment_of(start))
                else:
                    text = f"Saw a job that the controller did not create or forgot: {job.name}"
                    self.say(cron, "UnexpectedJob", text, now, kind=WARNING)
                continue
            if job.uid in active:
                status = _without(status, job.uid)
                self.say(cron, "SawCompletedJob", f"Saw completed job: {job.name}, condition: {end.type}", now)
            done, last = job.status.completion_time, status.last_successful_time
            if end.type == "Complete" and done is not None and (last is None or done > last):
                status = replace(status, last_successful_time=done)
        there = {job.uid for job in jobs}
        for reference in status.active or ():
            if reference.uid not in there:
                self.say(cron, "MissingJob", f"Active job went missing: {reference.name}", now)
                status = _without(status, reference.uid)
        return status

    def _started(
        self, cron: CronJob, status: CronJobStatus, jobs: Sequence[Job], now: int
    ) -> tuple[list[Request], CronJobStatus]:
        """Start the job that is due, if there is one; wake up for the next."""
        schedule = self._schedule(cron, now)
        if schedule is None:
            return [], status
        self.wake(cron.uid, _next_look(cron, status, schedule, now))
        start = self._due_start(cron, status, schedule, now)
        if start is None or self.creations.waits(cron.uid, now):
            return [], status
        requests: list[Request] = []
        if cron.spec.concurrency_policy == "Replace":
            for job in jobs:
                if job.uid in {reference.uid for reference in status.active or ()}:
                    requests.append(self._delete(job))
                    status = _without(status, job.uid)
        return [*requests, Create(job_of(cron, start))], status

    def _schedule(self, cron: CronJob, now: int) -> Schedule | None:
        """The schedule; None while the cron job is suspended or cannot be read."""
        zone, text = cron.spec.time_zone or "", cron.spec.schedule
        if not is_zone(zone):
            message = f'invalid timeZone: "{zone}": unknown time zone {zone}'
            self.say(cron, "UnknownTimeZone", message, now, kind=WARNING)
            return None
        if cron.spec.suspend:
            return None
        try:
            return parse_schedule(text, zone)
        except ScheduleError as error:
            self.say(cron, "UnparseableSchedule", f'unparseable schedule: "{text}" : {error}', now, kind=WARNING)
            return None

    def _due_start(self, cron: CronJob, status: CronJobStatus, schedule: Schedule, now: int) -> int | None:
        """The start to make up for now; None when there is none."""
        deadline = cron.spec.starting_deadline_seconds
        missed = missed_starts(cron, status, schedule, now, deadline)
        if missed is None:
            problem = "time difference between two schedules is less than 1 second"
            message = f"invalid schedule: {cron.spec.schedule} : {problem}"
            self.say(cron, "InvalidSchedule", message, now, kind=WARNING)
            return None
        start = missed.last
        if start is None:
            return None
        if missed.count > MANY_MISSED:
            message = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
            self.say(cron, "TooManyMissedTimes", message, now, kind=WARNING)
        if deadline is not None and start + deadline * _SECOND_US < now:
            at = moment_of(start).strftime("%a, %d %b %Y %H:%M:%S +0000")
            self.say(cron, "MissSchedule", f"Missed scheduled time to start a job: {at}", now, kind=WARNING)
            return None
        name, last = job_name(cron, start), status.last_schedule_time
        if any(one.name == name for one in status.active or ()) or (last is not None and microseconds(last) == start):
            return None
        if cron.spec.concurrency_policy == "Forbid" and status.active:
            text = "Not starting job because prior execution is running and concurrency policy is Forbid"
            self.say(cron, "JobAlreadyActive", text, now)
            return None
        return start

    def _delete(self, job: Job) -> Delete:
        return Delete(ObjectKey(Job.kind, job.namespace, job.name), None, Propagation.BACKGROUND, uid=job.uid)


def job_name(cron: CronJob, start: int) -> str:
    """Return the name of the job of a start."""
    return f"{cron.name}-{start // _MINUTE_US}"


def job_of(cron: CronJob, start: int) -> dict[str, Any]:
    """Return the manifest of the job of a start."""
    template = cron.spec.job_template or {}
    given = template.get("metadata") or {}
    local = moment_of(start).astimezone(zone_of(cron.spec.time_zone or ""))
    metadata: dict[str, Any] = {
        "name": job_name(cron, start),
        "namespace": cron.namespace,
        "annotations": {**(given.get("annotations") or {}), SCHEDULED_AT: local.isoformat().replace("+00:00", "Z")},
        "ownerReferences": [controller_reference(cron)],
    }
    if given.get("labels"):
        metadata["labels"] = dict(given["labels"])
    return {"apiVersion": Job.api_version, "kind": Job.kind, "metadata": metadata, "spec": template.get("spec") or {}}


def missed_starts(
    cron: CronJob, status: CronJobStatus, schedule: Schedule, now: int, deadline: int | None
) -> Missed | None:
    """Return the starts since the last one, or within `deadline` seconds; None for a schedule that never comes."""
    since = _microseconds_of(status.last_schedule_time or cron.metadata.creation_timestamp)
    if deadline is not None:
        since = max(since, now - deadline * _SECOND_US)
    first = schedule.next_after(since)
    second = schedule.next_after(first) if first is not None else None
    if first is None or second is None:
        return None
    if now < second:
        return Missed(since, first if first <= now else None)
    interval = second - first
    count = (now - first) // interval + 1
    # Starts need not be even: begin a little before the one that even starts would end with.
    last, following = None, schedule.next_after(first + (count - 2) * interval)
    while following is not None and following <= now:
        last, following = following, schedule.next_after(following)
    return Missed(since, last, count)


def _next_look(cron: CronJob, status: CronJobStatus, schedule: Schedule, now: int) -> int | None:
    """When the next start is looked at; None when none comes."""
    missed = missed_starts(cron, status, schedule, now, None)
    if missed is None:
        last = now
    elif missed.last is None:
        last = now if missed.count else missed.since
    else:
        last = missed.last
    following = schedule.next_after(last)
    return following + LATE_US if following is not None else None


def _beyond_limits(cron: CronJob, jobs: Sequence[Job]) -> Iterator[Job]:
    """The oldest finished jobs that history has no room for."""
    limits = (("Complete", cron.spec.successful_jobs_history_limit), ("Failed", cron.spec.failed_jobs_history_limit))
    for kind, limit in limits:
        ended = [job for job in jobs if (end := job.finished_condition) is not None and end.type == kind]
        if limit is not None and len(ended) > limit:
            yield from sorted(ended, key=_age)[: len(ended) - limit]


def _age(job: Job) -> tuple[bool, int, str]:
    started = job.status.start_time
    return started is None, _microseconds_of(started), job.name


def _start_of(cron: CronJob, job: Job) -> int | None:
    """The start that the job was made for; None when it was not made by a schedule."""
    try:
        at = datetime.fromisoformat(job.annotations.get(SCHEDULED_AT, ""))
    except ValueError:
        return None
    start = microseconds(at) if at.tzinfo is not None else None
    return start if start is not None and job.name == job_name(cron, start) else None


def _reference(job: Job) -> JobReference:
    return JobReference(job.kind, job.namespace, job.name, job.uid, job.api_version, job.metadata.resource_version)


def _without(status: CronJobStatus, uid: str) -> CronJobStatus:
    """The status without a job among those that run."""
    return replace(status, active=tuple(one for one in status.active or () if one.uid != uid) or None)


def _microseconds_of(time: datetime | None) -> int:
    return 0 if time is None else microseconds(time)


def _status_patch(cron: CronJob, status: CronJobStatus) -> Iterable[Patch]:
    changes = status_changes(encode_part(cron.status), encode_part(status))
    if changes:
        key = ObjectKey(cron.kind, cron.namespace, cron.name)
        yield Patch(key, {"status": changes}, subresource="status", uid=cron.uid)
