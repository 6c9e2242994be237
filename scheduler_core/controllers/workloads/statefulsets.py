"""The StatefulSets of a cluster: pods with names that stay, one for each ordinal, each with claims of its own.

    missing ordinal         created, with its claims; OrderedReady: when all below are ready
    Failed or Succeeded     deleted, and created again when it is gone
    ordinal out of range    deleted from the highest down; OrderedReady: one at a time, when all below are ready
    of another revision     deleted from the highest down to `partition`, one at a time, when the one above is available

A template is kept as a ControllerRevision. While pods are replaced, ordinals below `partition` are made of the current
revision, the others of the one to update to. Times are microseconds.
Source: kubernetes v1.34.1, pkg/controller/statefulset.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from scheduler_core.api.pod import Pod
from scheduler_core.api.storage import PersistentVolumeClaim
from scheduler_core.api.stored import ControllerRevision
from scheduler_core.api.workload import StatefulSet, StatefulSetStatus
from scheduler_core.apiserver.answers import Status
from scheduler_core.apiserver.requests import Create, Delete, ObjectKey, Patch, PatchType, Request
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.event_recorder import WARNING
from scheduler_core.controllers.pod_index import PodIndex
from scheduler_core.controllers.workloads.readiness import is_available, is_ready, next_available
from scheduler_core.controllers.workloads.revisions import REVISION_HASH
from scheduler_core.controllers.workloads.stateful_history import History, Revisions
from scheduler_core.controllers.workloads.stateful_pods import (
    POD_INDEX,
    POD_NAME,
    claim_names,
    claim_of_template,
    claim_patch,
    is_in_range,
    is_stale,
    ordinal_of,
    pod_name,
    pod_of_revision,
    replicas_of,
    start_of,
)
from scheduler_core.controllers.workloads.statuses import status_patch
from scheduler_core.controllers.workloads.syncing import OwnerController, is_of_leaving_namespace
from scheduler_core.model.changes import ObjectDeleted, ObjectPut

PARALLEL: Final = "Parallel"
ROLLING_UPDATE: Final = "RollingUpdate"
BURST: Final = 500


class StatefulSets(OwnerController[StatefulSet, Pod]):
    """All StatefulSets of one cluster."""

    name, actor = "statefulsets", "statefulset-controller"

    def __init__(self, cluster: ClusterOptions, pods: PodIndex | None = None) -> None:
        super().__init__(cluster, pods, StatefulSet, Pod)
        self._history = History()
        self._claims: dict[str, PersistentVolumeClaim] = {}  # by key

    def other_change(self, change: ObjectPut | ObjectDeleted) -> None:
        """Take over a claim or a revision."""
        if isinstance(change, ObjectPut):
            if isinstance(change.obj, PersistentVolumeClaim):
                self._claims[change.obj.key] = change.obj
            elif isinstance(change.obj, ControllerRevision):
                self._history.put(change.obj)
        elif change.kind == PersistentVolumeClaim.kind:
            gone = self._claims.pop(f"{change.namespace}/{change.name}", None)
            for owner in self.owned.owners.values() if gone is not None else ():
                if owner.namespace == change.namespace and owner.spec.volume_claim_templates:
                    self.owned.touch(owner.uid)
        elif change.kind == ControllerRevision.kind:
            self._history.remove(change)
        for uid in self._history.take_touched():
            self.owned.touch(uid)

    def owner_changed(self, owner: StatefulSet, before: StatefulSet | None) -> None:
        """Let the history know the owner's selector."""
        self._history.put_owner(owner)

    def owner_gone(self, owner: StatefulSet) -> None:
        """Forget the set's history."""
        self._history.remove_owner(owner)

    def sync(self, owner: StatefulSet, now: int) -> list[Request]:
        """Return what follows for a set as it and its pods are now."""
        if owner.spec.template is None:
            return []
        pods, patches = self.owned.claimed(owner, lambda pod: ordinal_of(owner, pod.name) is not None)
        revisions, requests = self._history.look(owner)
        requests = [*patches, *requests]
        if revisions is None:
            return requests
        look = _Look(owner, pods, revisions, now)
        self.wake(owner.uid, next_available(pods, owner.spec.min_ready_seconds, now))
        if owner.metadata.deletion_timestamp is None:
            requests += self._managed(look)
        requests += status_patch(owner, owner.status, look.status())
        live = {pod.labels.get(REVISION_HASH, "") for pod in pods}
        return [*requests, *self._history.beyond_limit(owner, revisions, live)]

    def made(self, owner: StatefulSet, name: str, now: int) -> None:
        """Say that a pod was created."""
        self.say(owner, "SuccessfulCreate", f"create Pod {name} in StatefulSet {owner.name} successful", now)

    def deleted(self, owner: StatefulSet, name: str, now: int) -> None:
        """Say that a pod was deleted."""
        self.say(owner, "SuccessfulDelete", f"delete Pod {name} in StatefulSet {owner.name} successful", now)

    def refused(self, owner: StatefulSet, request: Request, status: Status, now: int) -> bool:
        """Take over a refusal; of many alike in one step one is told of."""
        if not isinstance(request, Create) or request.manifest["kind"] == "Event":
            return super().refused(owner, request, status, now)
        if request.manifest["kind"] == ControllerRevision.kind:
            if status.reason == "AlreadyExists":
                self._history.collided(owner)
        elif not (
            self.creations.waits(owner.uid, now) or status.reason == "AlreadyExists" or is_of_leaving_namespace(status)
        ):
            name = request.manifest["metadata"]["name"]
            what = f"create Pod {name} in StatefulSet {owner.name} failed error: {status.message}"
            if request.manifest["kind"] == PersistentVolumeClaim.kind:
                what = f"create Claim {name} in StatefulSet {owner.name} failed error: {status.message}"
            self.say(owner, "FailedCreate", what, now, kind=WARNING)
        if not self.creations.waits(owner.uid, now):
            self.creations.refused(owner.uid, status.message, now)
        return True

    def _managed(self, look: _Look) -> Iterator[Request]:
        """Create, delete or replace pods; in order, one thing at a time, unless the set is Parallel."""
        owner = look.owner
        is_parallel = owner.spec.pod_management_policy == PARALLEL
        for ordinal in range(start_of(owner), start_of(owner) + replicas_of(owner)):
            pod = look.pods.get(ordinal)
            yield from self._replica(look, ordinal)
            if not is_parallel and (pod is None or not look.is_settled(pod)):
                return
        for pod in look.condemned:
            yield from self._claim_owners(owner, pod)
        for pod in look.condemned:
            if not pod.is_terminating:
                if not is_parallel and not look.is_settled(pod) and pod is not look.first_unavailable:
                    return
                yield _delete(pod)
            if not is_parallel:
                return
        yield from look.updated()

    def _replica(self, look: _Look, ordinal: int) -> Iterator[Request]:
        owner, pod = look.owner, look.pods.get(ordinal)
        if pod is None:
            yield from self._created(look, ordinal)
        elif pod.is_terminal:
            if not pod.is_terminating:
                yield _delete(pod)
        else:
            if pod.status.phase == "Pending" and not pod.is_terminating:
                yield from self._missing_claims(look, ordinal)
            if look.is_settled(pod) or owner.spec.pod_management_policy == PARALLEL:
                mended = [*self._claim_owners(owner, pod), *_identity(owner, pod, ordinal)]
                if mended:
                    text = f"update Pod {pod.name} in StatefulSet {owner.name} successful"
                    self.say(owner, "SuccessfulUpdate", text, look.now)
                yield from mended

    def _created(self, look: _Look, ordinal: int) -> Iterator[Request]:
        """The pod of an ordinal with the claims it lacks, when nothing is in its way."""
        owner, name = look.owner, pod_name(look.owner, ordinal)
        uid = owner.uid
        if self.creations.waits(uid, look.now) or (self.creations.problem(uid) and look.created):
            return
        claims = [self._claims.get(f"{owner.namespace}/{claim}") for _, claim in claim_names(owner, ordinal)]
        if any(claim is not None and is_stale(claim, name) for claim in claims):
            return
        for claim in claims:
            if claim is not None and claim.metadata.deletion_timestamp is not None:
                text = f"create Pod {name} in StatefulSet {owner.name} failed error: pvc {claim.name} is being deleted"
                self.say(owner, "FailedCreate", text, look.now, kind=WARNING)
                return
        look.created += 1
        yield from self._missing_claims(look, ordinal)
        yield Create(pod_of_revision(owner, look.revision_of(ordinal), ordinal))

    def _missing_claims(self, look: _Look, ordinal: int) -> Iterator[Request]:
        owner = look.owner
        for template in owner.spec.volume_claim_templates or ():
            claim = claim_of_template(owner, template, ordinal)
            name = claim["metadata"]["name"]
            if f"{owner.namespace}/{name}" not in self._claims:
                text = f"create Claim {name} Pod {pod_name(owner, ordinal)} in StatefulSet {owner.name} success"
                self.say(owner, "SuccessfulCreate", text, look.now)
                yield Create(claim)

    def _claim_owners(self, owner: StatefulSet, pod: Pod) -> Iterator[Request]:
        ordinal = ordinal_of(owner, pod.name)
        assert ordinal is not None
        for _, name in claim_names(owner, ordinal):
            claim = self._claims.get(f"{owner.namespace}/{name}")
            patch = claim_patch(owner, pod, claim) if claim is not None else None
            if patch is not None:
                yield patch


class _Look:
    """A set and its pods at `now`."""

    def __init__(self, owner: StatefulSet, pods: Sequence[Pod], revisions: Revisions, now: int) -> None:
        self.owner, self.now = owner, now
        self.created = 0  # pods asked for
        self.pods: dict[int, Pod] = {}  # by ordinal, those within its range
        self.condemned: list[Pod] = []  # the others, the highest ordinal first
        self._all = pods
        self._revisions = revisions
        self._replaced = 0
        outside: list[tuple[int, Pod]] = []
        for pod in pods:
            ordinal = ordinal_of(owner, pod.name)
            assert ordinal is not None
            if is_in_range(owner, ordinal):
                self.pods[ordinal] = pod
            else:
                outside.append((ordinal, pod))
        outside.sort(key=lambda one: -one[0])
        self.condemned = [pod for _, pod in outside]
        in_order = [*(self.pods[ordinal] for ordinal in sorted(self.pods)), *reversed(self.condemned)]
        has_all = len(self.pods) == replicas_of(owner)
        unavailable = (pod for pod in in_order if not self.is_settled(pod))
        self.first_unavailable = next(unavailable, None) if has_all else None

    def is_settled(self, pod: Pod) -> bool:
        """Whether the pod is available and stays."""
        is_up = pod.status.phase == "Running" and is_available(pod, self.owner.spec.min_ready_seconds, self.now)
        return is_up and not pod.is_terminating

    def revision_of(self, ordinal: int) -> ControllerRevision:
        """The revision a new pod with this ordinal is made of."""
        strategy = self.owner.spec.update_strategy
        if strategy.rolling_update is not None:
            below = strategy.rolling_update.partition or 0
        else:
            below = self.owner.status.current_replicas if strategy.type == ROLLING_UPDATE else 0
        is_current = ordinal < start_of(self.owner) + below
        return self._revisions.current if is_current else self._revisions.update

    def updated(self) -> Iterator[Request]:
        """Delete the highest pod of another revision, unless one above it is not available."""
        strategy, start = self.owner.spec.update_strategy, start_of(self.owner)
        if strategy.type != ROLLING_UPDATE:
            return
        partition = (strategy.rolling_update.partition or 0) if strategy.rolling_update is not None else 0
        for place in range(replicas_of(self.owner) - 1, partition - 1, -1):
            pod = self.pods.get(start + place)
            if pod is None:
                return
            if pod.labels.get(REVISION_HASH) != self._revisions.update.name and not pod.is_terminating:
                self._replaced += 1
                yield _delete(pod)
                return
            if not self.is_settled(pod):
                return

    def status(self) -> StatefulSetStatus:
        """The status, after what was asked for."""
        current, update = self._revisions.current.name, self._revisions.update.name
        owner, replicas = self.owner, replicas_of(self.owner)
        ready = [pod for pod in self._all if pod.status.phase == "Running" and is_ready(pod)]
        staying = [pod.labels.get(REVISION_HASH) for pod in self._all if not pod.is_terminating]
        status = replace(
            owner.status,
            observed_generation=owner.metadata.generation or 0,
            replicas=len(self._all),
            ready_replicas=len(ready),
            available_replicas=sum(is_available(pod, owner.spec.min_ready_seconds, self.now) for pod in ready),
            current_replicas=staying.count(current) - self._replaced,
            updated_replicas=staying.count(update),
            current_revision=current,
            update_revision=update,
            collision_count=self._revisions.collisions,
        )
        is_done = status.updated_replicas == status.ready_replicas == status.replicas == replicas
        if is_done and owner.spec.update_strategy.type == ROLLING_UPDATE:
            status = replace(status, current_revision=update, current_replicas=status.updated_replicas)
        return status


def _identity(owner: StatefulSet, pod: Pod, ordinal: int) -> Iterator[Request]:
    """Give the pod back the labels that say who it is."""
    if pod.labels.get(POD_NAME) != pod.name:
        body = {"metadata": {"labels": {POD_NAME: pod.name, POD_INDEX: str(ordinal)}}}
        yield Patch(ObjectKey(Pod.kind, pod.namespace, pod.name), body, PatchType.STRATEGIC, uid=pod.uid)


def _delete(pod: Pod) -> Delete:
    return Delete(ObjectKey(Pod.kind, pod.namespace, pod.name), uid=pod.uid)
