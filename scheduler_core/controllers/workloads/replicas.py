"""What ReplicaSets and ReplicationControllers have in common: as many active pods as they say.

    too few     pods are created in batches of 1, 2, 4, …, until one is refused
    too many    the first in `deletion_order` are deleted
    status      counts of active pods, and ReplicaFailure while something is refused

Orphans that the selector matches are adopted, pods it matches no longer are released.
Source: kubernetes v1.34.1, pkg/controller/replicaset. Times are microseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

import msgspec

from scheduler_core.api.derived import controller_of
from scheduler_core.api.pod import Pod
from scheduler_core.api.workload import ReplicaSet, ReplicaStatus, ReplicationController, WorkloadCondition
from scheduler_core.apiserver.requests import Create, Delete, ObjectKey, Request
from scheduler_core.controllers.workloads.deletion_order import first_to_go
from scheduler_core.controllers.workloads.readiness import is_active, is_available, is_ready, next_available
from scheduler_core.controllers.workloads.statuses import condition_of, status_patch, with_condition, without_condition
from scheduler_core.controllers.workloads.syncing import OwnerController
from scheduler_core.controllers.workloads.templates import pod_of_template

R = TypeVar("R", bound=ReplicaSet | ReplicationController)

# Pods of one set that a step creates or deletes.
BURST: Final = 500
REPLICA_FAILURE: Final = "ReplicaFailure"


class ReplicaController(OwnerController[R, Pod]):
    """The sets of one kind in a cluster."""

    def sync(self, owner: R, now: int) -> list[Request]:
        """Return what brings the set's pods to their number, or its status when nothing is to be done."""
        active, patches = self.owned.claimed(owner, is_active)
        requests: list[Request] = list(patches)
        if owner.metadata.deletion_timestamp is None:
            requests += self._managed(owner, active, now)
        if any(isinstance(request, Create | Delete) for request in requests):
            return requests
        self.wake(owner.uid, next_available(active, owner.spec.min_ready_seconds, now))
        return [*requests, *status_patch(owner, owner.status, self._status(owner, active, now))]

    def family(self, owner: R) -> list[R]:
        """Return the sets that have the same owner, with this one; none for a set without."""
        return []

    def _managed(self, owner: R, active: Sequence[Pod], now: int) -> list[Request]:
        wanted = _replicas(owner) - len(active)
        create = self.creations.batch(owner.uid, min(wanted, BURST), now)
        template = owner.spec.template
        if create and template is not None:
            return [Create(pod_of_template(owner, template)) for _ in range(create)]
        if wanted == 0:
            self.creations.settled(owner.uid)
        if wanted >= 0 or self.creations.waits(owner.uid, now):
            return []
        family = [pod for each in self.family(owner) for pod in self.owned.controlled(each.uid) if is_active(pod)]
        gone = first_to_go(active, family, min(-wanted, BURST), now)
        return [Delete(ObjectKey(Pod.kind, pod.namespace, pod.name), uid=pod.uid) for pod in gone]

    def _status(self, owner: R, active: Sequence[Pod], now: int) -> ReplicaStatus:
        labels = owner.spec.template.labels.items() if owner.spec.template is not None else {}.items()
        before = owner.status
        problem = self.creations.problem(owner.uid)
        conditions = before.conditions
        if problem and condition_of(conditions, REPLICA_FAILURE) is None:
            reason = "FailedCreate" if len(active) < _replicas(owner) else "FailedDelete"
            failure = WorkloadCondition(REPLICA_FAILURE, "True", reason=reason, message=problem)
            conditions = with_condition(conditions, failure, now)
        elif not problem:
            conditions = without_condition(conditions, REPLICA_FAILURE)
        return msgspec.structs.replace(
            before,
            replicas=len(active),
            fully_labeled_replicas=sum(labels <= pod.labels.items() for pod in active),
            ready_replicas=sum(map(is_ready, active)),
            available_replicas=sum(is_available(pod, owner.spec.min_ready_seconds, now) for pod in active),
            observed_generation=owner.metadata.generation or 0,
            conditions=conditions,
        )


def _replicas(owner: R) -> int:
    return 1 if owner.spec.replicas is None else owner.spec.replicas


def owner_uid(owner: R) -> str:
    """Return the uid of what controls the set; empty when nothing does."""
    reference = controller_of(owner)
    return "" if reference is None else reference.uid
