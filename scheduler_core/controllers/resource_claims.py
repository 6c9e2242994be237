"""The claim controller: makes claims from templates, takes back what ended pods had, deletes those left over.

    pod names a template     a claim is created for the entry, then its name is written into the pod's status
    pod has a node already   an allocated claim of it is reserved for the pod, which no scheduler does
    pod ended or gone        its reservation goes; with the last one the allocation goes, then the finalizer
    claim made for such      is deleted; with a pod that is gone the garbage collector does it

Every write of a claim names the version it is based on: the scheduler writes claims too, and what it wrote meanwhile
comes back as a change. Times are microseconds.
Source: kubernetes v1.34.1, pkg/controller/resourceclaim.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod, PodResourceClaim
from scheduler_core.api.resource_claims import (
    DELETE_PROTECTION,
    POD_CLAIM_NAME,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimTemplate,
)
from scheduler_core.apiserver.requests import Create, Delete, ObjectKey, Patch, ReportStatus, Request
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.deadlines import Deadlines
from scheduler_core.controllers.event_recorder import WARNING, EventRecorder
from scheduler_core.controllers.object_index import Update
from scheduler_core.controllers.pod_claims import (
    claim_keys,
    claim_manifest,
    consumers_manifest,
    is_done,
    is_for,
    is_reserved,
    missing_template,
    owner_of,
    recorded_name,
    statuses_with,
)
from scheduler_core.controllers.pod_index import PodIndex, PodReader
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut

COMPONENT: Final = "resource_claim"
FAILED: Final = "FailedResourceClaimCreation"
_FIRST_RETRY_US: Final = 5_000
_LAST_RETRY_US: Final = 1_000_000_000
# For so long a claim that was made counts as there, whoever deletes it: upstream's memory of its own writes.
_REMEMBERED_US: Final = 3_600_000_000


class ResourceClaimController(PodReader):
    """The claims of one cluster's pods."""

    name, actor, group = "resource-claims", "claim-controller", "devices"

    def __init__(self, cluster: ClusterOptions, pods: PodIndex | None = None) -> None:
        super().__init__(cluster, pods)
        self._claims: dict[str, ResourceClaim] = {}  # by key
        self._templates: dict[str, ResourceClaimTemplate] = {}
        self._users: dict[str, dict[str, None]] = {}  # keys of pods by the key of a claim they name
        self._made: dict[str, dict[str, None]] = {}  # keys of claims by the uid of the pod that owns them
        self._asked: set[tuple[str, str]] = (
            set()
        )  # (uid of a pod, entry) whose claim was asked for, and is not there yet
        self._seen: dict[tuple[str, str], int] = {}  # when such a claim was first seen
        self._releasing: set[str] = set()  # uids of claims that lose their finalizer once they are unallocated
        self._dirty_pods: dict[str, None] = {}
        self._dirty_claims: dict[str, None] = {}
        self._retries = Deadlines()  # by key of a pod
        self._delays: dict[str, int] = {}  # before the next retry, by key of a pod
        self._left: set[str] = set()  # uids of pods that went in this step
        self._events = EventRecorder(COMPONENT)

    def step(self, now: int, changes: Sequence[Change]) -> list[Request]:
        """Take over the changes; return what follows for claims and pods' statuses."""
        for change in self.pods.follow(changes):
            if isinstance(change, Update):
                if change.obj.spec.resource_claims or (change.old is not None and change.old.spec.resource_claims):
                    self._pod_changed(change)
            elif isinstance(change, ObjectPut):
                obj = change.obj
                if isinstance(obj, ResourceClaim):
                    self._put_claim(obj)
                elif isinstance(obj, ResourceClaimTemplate):
                    self._templates[obj.key] = obj
            elif isinstance(change, ObjectDeleted):
                self._remove(change)
        for key in self._retries.pop_due(now):
            self._dirty_pods[key] = None
        requests: list[Request] = []
        # Claims first: what a pod is given depends on whether its claim is still there.
        claims, self._dirty_claims = self._dirty_claims, {}
        for key in claims:
            requests += self._settle_claim(key)
        pods, self._dirty_pods = self._dirty_pods, {}
        for key in pods:
            requests += self._settle_pod(key, now)
        if self._left:
            self._asked = {each for each in self._asked if each[0] not in self._left}
            self._seen = {each: at for each, at in self._seen.items() if each[0] not in self._left}
            self._left.clear()
        return requests

    def next_due(self) -> int | None:
        """Return when a claim that could not be made is tried again."""
        return self._retries.first()

    # What is known

    def _pod_changed(self, change: Update[Pod]) -> None:
        before, pod = change.old, None if change.is_gone else change.obj
        if before is not None and before.spec.resource_claims:
            self._forget_names(before)
            if pod is None:
                self._gone(before)
        if pod is not None and pod.spec.resource_claims:
            for key in claim_keys(pod):
                self._users.setdefault(key, {})[pod.key] = None
            self._dirty_pods[pod.key] = None
            if is_done(pod):
                self._dirty(claim_keys(pod))

    def _put_claim(self, claim: ResourceClaim) -> None:
        before = self._claims.get(claim.key)
        if before is not None:
            self._forget_owner(before)
        self._claims[claim.key] = claim
        self._dirty_claims[claim.key] = None
        owner = owner_of(claim)
        if owner is not None:
            self._made.setdefault(owner[1], {})[claim.key] = None
            self._dirty_pods[f"{claim.namespace}/{owner[0]}"] = None
        self._dirty_pods |= self._users.get(claim.key, {})

    def _remove(self, change: ObjectDeleted) -> None:
        key = f"{change.namespace}/{change.name}"
        if change.kind == ResourceClaim.kind:
            claim = self._claims.pop(key, None)
            if claim is not None:
                self._forget_owner(claim)
                self._releasing.discard(claim.uid)
                self._dirty_pods |= self._users.get(key, {})
        elif change.kind == ResourceClaimTemplate.kind:
            self._templates.pop(key, None)

    def _gone(self, pod: Pod) -> None:
        """The pod was deleted, or another one has its name."""
        self._dirty([*claim_keys(pod), *self._made.get(pod.uid, ())])
        self._calm(pod.key)
        self._left.add(pod.uid)

    def _dirty(self, claims: Iterable[str]) -> None:
        self._dirty_claims |= dict.fromkeys(claims)

    def _forget_names(self, pod: Pod) -> None:
        for key in claim_keys(pod):
            users = self._users.get(key, {})
            users.pop(pod.key, None)
            if not users:
                self._users.pop(key, None)

    def _forget_owner(self, claim: ResourceClaim) -> None:
        owner = owner_of(claim)
        if owner is not None:
            made = self._made.get(owner[1], {})
            made.pop(claim.key, None)
            if not made:
                self._made.pop(owner[1], None)

    # Claims

    def _settle_claim(self, key: str) -> Iterator[Request]:
        """Give back what nobody uses, one write at a time: each is based on what the one before made."""
        claim = self._claims.get(key)
        if claim is None:
            return
        reserved = claim.status.reserved_for or ()
        valid = [each for each in reserved if self._is_valid(claim, each)]
        is_protected = DELETE_PROTECTION in (claim.metadata.finalizers or ())
        is_marked = claim.metadata.deletion_timestamp is not None
        if valid or claim.status.allocation is not None and not is_marked:
            self._releasing.discard(claim.uid)
        if len(valid) < len(reserved):
            status: dict[str, Any] = {"reservedFor": consumers_manifest(valid) or None}
            if not valid and is_protected:
                status["allocation"] = None
                self._releasing.add(claim.uid)
            yield _status_patch(claim, status)
        elif valid:
            return
        elif is_protected and is_marked and claim.status.allocation is not None:
            yield _status_patch(claim, {"allocation": None})
        elif is_protected and (is_marked or claim.uid in self._releasing) and claim.status.allocation is None:
            left = [each for each in claim.metadata.finalizers or () if each != DELETE_PROTECTION]
            yield _patch(claim, {"metadata": {"finalizers": left or None}})
        elif not is_marked and self._is_left_over(claim):
            yield Delete(_key(claim), uid=claim.uid)

    def _is_valid(self, claim: ResourceClaim, consumer: ResourceClaimConsumerReference) -> bool:
        """Whether the reservation is of a pod that may still run; others than pods are nobody's here."""
        if consumer.api_group or consumer.resource != "pods":
            return True
        pod = self.pods.get(f"{claim.namespace}/{consumer.name}")
        return pod is not None and pod.uid == consumer.uid and not is_done(pod)

    def _is_left_over(self, claim: ResourceClaim) -> bool:
        """Whether it was made for a pod that does not need it any more.

        A pod that is gone is the garbage collector's matter, unless it went before the claim came.
        """
        owner = owner_of(claim)
        if owner is None:
            return False
        pod = self.pods.get(f"{claim.namespace}/{owner[0]}")
        if pod is None:
            return (owner[1], claim.annotations.get(POD_CLAIM_NAME, "")) in self._asked
        return pod.uid != owner[1] or is_done(pod)

    # Pods

    def _settle_pod(self, key: str, now: int) -> Iterator[Request]:
        pod = self.pods.get(key)
        if pod is None or not self._needs_work(pod):
            self._calm(key)
            return
        yield from self._make_claims(pod, now)
        if pod.spec.node_name:
            yield from self._reserve(pod)

    def _needs_work(self, pod: Pod) -> bool:
        """Whether a claim is to be made or reserved. The first entry that needs none ends the search, as upstream."""
        if pod.is_terminating or pod.is_terminal:
            return False
        for entry in pod.spec.resource_claims or ():
            found = recorded_name(pod, entry)
            if found is None:
                return True
            if not found:
                return False
            claim = self._claims.get(f"{pod.namespace}/{found}")
            if claim is None:
                return entry.resource_claim_template_name is not None
            if entry.resource_claim_name is None and not is_for(pod, claim):
                return False
            if pod.spec.node_name and claim.status.allocation is not None and not is_reserved(pod, claim):
                return True
        return False

    def _make_claims(self, pod: Pod, now: int) -> Iterator[Request]:
        """Create claims that are missing; when all are there, write the names that the pod's status lacks."""
        named: dict[str, str] = {}
        waits = False
        for entry in pod.spec.resource_claims or ():
            template_name = entry.resource_claim_template_name
            found = recorded_name(pod, entry)
            if template_name is None or found == "" or (found and self._is_there(pod, found)):
                continue
            made = self._made_for(pod, entry)
            if made is not None:
                named[entry.name] = made.name
                self._asked.discard((pod.uid, entry.name))
                self._seen[pod.uid, entry.name] = now
                continue
            seen_at = self._seen.get((pod.uid, entry.name))
            if seen_at is not None and now < seen_at + _REMEMBERED_US:
                continue
            template = self._templates.get(f"{pod.namespace}/{template_name}")
            waits = True
            if template is None:
                text = missing_template(entry.name, template_name)
                yield from self._events.record(pod, FAILED, text, now=now, kind=WARNING)
                break
            # A claim that was asked for in an earlier step and did not come was refused.
            self._asked.add((pod.uid, entry.name))
            yield Create(claim_manifest(pod, entry, template))
        if waits:
            self._try_later(pod.key, now)
            return
        self._calm(pod.key)
        if named:
            yield ReportStatus(_key(pod), {"resourceClaimStatuses": statuses_with(pod, named)}, uid=pod.uid)

    def _is_there(self, pod: Pod, name: str) -> bool:
        claim = self._claims.get(f"{pod.namespace}/{name}")
        return claim is not None and is_for(pod, claim)

    def _made_for(self, pod: Pod, entry: PodResourceClaim) -> ResourceClaim | None:
        claims = (self._claims[key] for key in self._made.get(pod.uid, ()))
        return next((claim for claim in claims if claim.annotations.get(POD_CLAIM_NAME) == entry.name), None)

    def _reserve(self, pod: Pod) -> Iterator[Request]:
        """Reserve the allocated claims of a pod that has its node."""
        for entry in pod.spec.resource_claims or ():
            found = recorded_name(pod, entry)
            if found == "":
                continue
            claim = self._claims.get(f"{pod.namespace}/{found}")
            if claim is None or (entry.resource_claim_name is None and not is_for(pod, claim)):
                return
            if claim.status.allocation is not None and not is_reserved(pod, claim):
                own = ResourceClaimConsumerReference("pods", pod.name, pod.uid)
                yield _status_patch(
                    claim, {"reservedFor": consumers_manifest([*(claim.status.reserved_for or ()), own])}
                )

    def _try_later(self, key: str, now: int) -> None:
        delay = self._delays.get(key, _FIRST_RETRY_US)
        self._retries.set(key, now + delay)
        self._delays[key] = min(delay * 2, _LAST_RETRY_US)

    def _calm(self, key: str) -> None:
        self._retries.drop(key)
        self._delays.pop(key, None)


def _key(obj: KubeObject) -> ObjectKey:
    return ObjectKey(obj.kind, obj.namespace, obj.name)


def _status_patch(claim: ResourceClaim, status: dict[str, Any]) -> Patch:
    return _patch(claim, {"status": status}, "status")


def _patch(claim: ResourceClaim, body: dict[str, Any], subresource: str = "") -> Patch:
    version = claim.metadata.resource_version
    return Patch(_key(claim), body, subresource=subresource, uid=claim.uid, resource_version=version)
