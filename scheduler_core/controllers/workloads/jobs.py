"""The Jobs of a cluster: pods that run to their end, as often as asked for.

    new, or its spec changed      looked at at once
    its pods or its status did    looked at a second later, with all that happens meanwhile
    a delay or its deadline over  looked at then
    finished, or gone             its pods lose the finalizer

What follows from a look is in `job_plan`. Jobs that say who manages them are left to it. A new controller takes what
the delay after failures depends on from the pods that are there. Times are microseconds.
Source: kubernetes v1.34.1, pkg/controller/job.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from msgspec.structs import replace

from scheduler_core.api.batch import Job
from scheduler_core.api.derived import controller_of
from scheduler_core.api.manifests import encode_part
from scheduler_core.api.pod import Pod
from scheduler_core.apiserver.answers import Status
from scheduler_core.apiserver.requests import Create, Delete, ObjectKey, Patch, PatchType, Request
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.object_index import Update
from scheduler_core.controllers.pod_index import PodIndex
from scheduler_core.controllers.workloads.job_backoff import Backoff
from scheduler_core.controllers.workloads.job_plan import JobLook, Plan
from scheduler_core.controllers.workloads.job_pods import TRACKING, is_failed, is_tracked
from scheduler_core.controllers.workloads.job_status import status_changes
from scheduler_core.controllers.workloads.job_templates import pod_of_job
from scheduler_core.controllers.workloads.syncing import OwnerController
from scheduler_core.model.changes import Change

MANAGER: Final = "kubernetes.io/job-controller"
BATCH_US: Final = 1_000_000


class Jobs(OwnerController[Job, Pod]):
    """All Jobs of one cluster."""

    name, actor = "jobs", "job-controller"

    def __init__(self, cluster: ClusterOptions, pods: PodIndex | None = None) -> None:
        super().__init__(cluster, pods, Job, Pod)
        self._backoffs: dict[str, Backoff] = {}  # by uid of the job
        self._due: dict[str, int] = {}  # when to look at it, by uid
        self._looked_at: dict[str, int] = {}  # the generation that was looked at last, by uid
        self._tracked: dict[str, Pod] = {}  # pods with the finalizer that changed, or whose job went, by uid

    def step(self, now: int, changes: Sequence[Change]) -> list[Request]:
        """Take over the changes; return what follows for the jobs that are due and for pods without one."""
        requests = super().step(now, changes)
        tracked, self._tracked = self._tracked, {}
        released = [_release(pod) for pod in tracked.values() if is_tracked(pod) and self._has_no_job(pod)]
        self._told += len(released)
        return released + requests

    def pod_changed(self, update: Update[Pod]) -> None:
        """Note pods that may have lost their job."""
        super().pod_changed(update)
        if update.obj.metadata.finalizers and not update.is_gone:
            self._tracked[update.obj.uid] = update.obj

    def sync(self, owner: Job, now: int) -> list[Request]:
        """Return what follows for a job, when it is due."""
        if owner.spec.managed_by not in (None, MANAGER):
            return []
        if owner.finished_condition is not None:
            self._forget(owner)
            return [_release(pod) for pod in self.owned.controlled(owner.uid) if is_tracked(pod)]
        if not self._is_due(owner, now):
            return []
        pods, patches = self._claimed(owner)
        backoff = self._backoffs.get(owner.uid)
        if backoff is None:
            backoff = _backoff_of(owner, pods)
        room = (0 if self.creations.waits(owner.uid, now) else 1) if self.creations.problem(owner.uid) else None
        plan = JobLook(owner, pods, backoff, now, room).plan()
        if plan.released or plan.interim != owner.status:
            self._backoffs[owner.uid] = plan.backoff
        self._looked_at[owner.uid] = owner.metadata.generation
        self._set_due(owner, plan.retry_at)
        for kind, reason, message in plan.events:
            self.say(owner, reason, message, now, kind=kind)
        return [*patches, *_requests(owner, plan)]

    def owner_gone(self, owner: Job) -> None:
        """Forget the job, and have its pods let go."""
        self._forget(owner)
        if owner.spec.managed_by in (None, MANAGER):
            self._tracked |= {pod.uid: pod for pod in self.owned.controlled(owner.uid)}

    def refused(self, owner: Job, request: Request, status: Status, now: int) -> bool:
        """Take over a refusal; of many alike in one step one is told of."""
        if isinstance(request, Create) and self.creations.waits(owner.uid, now):
            return True
        return super().refused(owner, request, status, now)

    def _is_due(self, job: Job, now: int) -> bool:
        """Whether to look at a job that was touched; otherwise it is looked at with the next batch."""
        due = self._due.get(job.uid)
        if self._looked_at.get(job.uid) != job.metadata.generation or (due is not None and due <= now):
            return True
        batch = now + BATCH_US
        self._set_due(job, batch if due is None else min(due, batch))
        return False

    def _set_due(self, job: Job, at: int | None) -> None:
        if at is None:
            self._due.pop(job.uid, None)
        else:
            self._due[job.uid] = at
        self.wake(job.uid, at)

    def _claimed(self, job: Job) -> tuple[list[Pod], list[Request]]:
        """The job's pods; those it adopts get the finalizer, those it gives up lose it."""
        before = {pod.uid for pod in self.owned.controlled(job.uid)}
        pods, patches = self.owned.claimed(job, lambda pod: True)
        kept = [pod if pod.uid in before else _with_finalizer(pod) for pod in pods]
        adopted = {pod.uid for pod in kept} - before
        return kept, [_with_finalizers(patch, adopted) for patch in patches]

    def _has_no_job(self, pod: Pod) -> bool:
        """Whether the pod's job is gone or finished, so that nobody will count it."""
        reference = controller_of(pod)
        if reference is None:
            return True
        if (reference.api_version, reference.kind) != (Job.api_version, Job.kind):
            return False
        job = self.owned.owners.get(reference.uid)
        if job is None:
            return True
        return job.spec.managed_by in (None, MANAGER) and job.finished_condition is not None

    def _forget(self, job: Job) -> None:
        for known in (self._backoffs, self._due, self._looked_at):
            known.pop(job.uid, None)
        self.wake(job.uid, None)


def _requests(job: Job, plan: Plan) -> Iterable[Request]:
    for pod in plan.deleted:
        yield Delete(_key(pod), uid=pod.uid)
    for pod in plan.dropped:
        if is_tracked(pod):
            yield _release(pod)
        yield Delete(_key(pod), uid=pod.uid)
    for new in plan.created:
        yield Create(pod_of_job(job, new))
    yield from _status_patch(job, encode_part(job.status), encode_part(plan.interim))
    yield from map(_release, plan.released)
    yield from _status_patch(job, encode_part(plan.interim), encode_part(plan.status))


def _backoff_of(job: Job, pods: Sequence[Pod]) -> Backoff:
    """What a controller that was there before would know: failures that are counted already."""
    if not job.status.failed:
        return Backoff()
    over = [pod for pod in pods if not is_tracked(pod)]
    succeeded = [pod for pod in over if pod.status.phase == "Succeeded"]
    return Backoff().after(succeeded, [pod for pod in over if is_failed(job, pod)])


def _status_patch(job: Job, before: dict[str, Any], after: dict[str, Any]) -> Iterable[Patch]:
    changes = status_changes(before, after)
    if changes:
        key = ObjectKey(job.kind, job.namespace, job.name)
        yield Patch(key, {"status": changes}, PatchType.MERGE, "status", job.uid)


def _release(pod: Pod) -> Patch:
    body = {"metadata": {"$deleteFromPrimitiveList/finalizers": [TRACKING]}}
    return Patch(_key(pod), body, PatchType.STRATEGIC, uid=pod.uid)


def _with_finalizers(patch: Patch, adopted: set[str]) -> Patch:
    """The patch of an owner reference, which sets or removes the finalizer as well."""
    assert isinstance(patch.body, dict)
    field = "finalizers" if patch.uid in adopted else "$deleteFromPrimitiveList/finalizers"
    return replace(patch, body={"metadata": {**patch.body["metadata"], field: [TRACKING]}})


def _with_finalizer(pod: Pod) -> Pod:
    finalizers = dict.fromkeys((*(pod.metadata.finalizers or ()), TRACKING))
    return replace(pod, metadata=replace(pod.metadata, finalizers=tuple(finalizers)))


def _key(pod: Pod) -> ObjectKey:
    return ObjectKey(Pod.kind, pod.namespace, pod.name)
