"""Deletes finished Jobs, and their pods before them, once `ttlSecondsAfterFinished` is over. Times are microseconds.

Source: kubernetes v1.34.1, pkg/controller/ttlafterfinished.
"""

from __future__ import annotations

from collections.abc import Sequence

from scheduler_core.api.batch import Job
from scheduler_core.api.times import microseconds
from scheduler_core.apiserver.requests import Delete, ObjectKey, Propagation, Request
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.deadlines import Deadlines
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut


class FinishedJobs:
    """The finished Jobs of one cluster that are to be deleted."""

    name, actor, group = "finished-jobs", "ttl-after-finished-controller", "workloads"

    def __init__(self, cluster: ClusterOptions) -> None:
        self._uids: dict[str, str] = {}  # of the jobs that have a deadline, by key
        self._deadlines = Deadlines()  # by key

    def step(self, now: int, changes: Sequence[Change]) -> list[Request]:
        """Take over the changes; return the deletions that are due."""
        for change in changes:
            if isinstance(change, ObjectPut) and isinstance(change.obj, Job):
                self._put(change.obj)
            elif isinstance(change, ObjectDeleted) and change.kind == Job.kind:
                self._drop(f"{change.namespace}/{change.name}")
        return [self._deleted(key) for key in self._deadlines.pop_due(now)]

    def next_due(self) -> int | None:
        """Return when the next job is to be deleted."""
        return self._deadlines.first()

    def _put(self, job: Job) -> None:
        seconds, end = job.spec.ttl_seconds_after_finished, job.finished_condition
        since = end.last_transition_time if end is not None else None
        if seconds is None or since is None or job.metadata.deletion_timestamp is not None:
            self._drop(job.key)
            return
        self._uids[job.key] = job.uid
        self._deadlines.set(job.key, microseconds(since) + seconds * 1_000_000)

    def _drop(self, key: str) -> None:
        self._uids.pop(key, None)
        self._deadlines.drop(key)

    def _deleted(self, key: str) -> Delete:
        namespace, _, name = key.partition("/")
        return Delete(ObjectKey(Job.kind, namespace, name), propagation=Propagation.FOREGROUND, uid=self._uids.pop(key))
