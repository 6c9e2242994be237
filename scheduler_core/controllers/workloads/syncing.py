"""The frame of a controller of workloads: follows owners and what they control, and looks at owners that were touched.

A subclass says in `sync` what follows for one owner. What its requests made is taken over from their answers at once,
so that nothing is asked for twice; what was refused is tried again with growing delays. Times are microseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final, Generic, cast

from scheduler_core.api.derived import controller_of
from scheduler_core.api.manifests import decode
from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod
from scheduler_core.apiserver.answers import Outcome, Refused, Status
from scheduler_core.apiserver.requests import Create, Delete, Patch, Request
from scheduler_core.apiserver.server import Answer
from scheduler_core.apiserver.store import ObjectChange, Operation
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.deadlines import Deadlines
from scheduler_core.controllers.event_recorder import WARNING, EventRecorder
from scheduler_core.controllers.object_index import ObjectIndex, Update
from scheduler_core.controllers.pod_index import PodIndex, PodReader
from scheduler_core.controllers.workloads.creations import Creations
from scheduler_core.controllers.workloads.ownership import D, O, Ownership
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut

# Requests of one step, which share a transaction; the last owner's may exceed it.
MOST_REQUESTS: Final = 500
_NAMESPACE_TERMINATING: Final = "NamespaceTerminating"
_GONE: Final = 404
_EVENT: Final = "Event"


class OwnerController(PodReader, Generic[O, D]):
    """A controller of owners of one kind, of the objects of another kind that they control."""

    name: ClassVar[str]
    actor: ClassVar[str]
    group: ClassVar[str] = "workloads"
    follows: ClassVar[frozenset[str]] = frozenset()  # other kinds whose written objects are taken over at once

    def __init__(self, cluster: ClusterOptions, pods: PodIndex | None, owner: type[O], dependent: type[D]) -> None:
        super().__init__(cluster, pods)
        self._owns_pods = dependent is Pod
        objects = cast("ObjectIndex[D]", self.pods) if self._owns_pods else ObjectIndex(dependent)
        self.owned = Ownership(owner, objects)
        self.events = EventRecorder(self.actor)
        self.creations = Creations()
        self._owner, self._dependent = owner, dependent
        self._timers = Deadlines()  # by uid of the owner
        self._asked: list[O] = []  # for which owner each request of the last step was
        self._said: list[Request] = []  # events, written with the next step
        self._now = 0  # of the last step
        self._told = 0  # how many requests of the last step were such events

    def sync(self, owner: O, now: int) -> list[Request]:
        """Return what follows for an owner as it and its objects are now."""
        raise NotImplementedError

    def pod_changed(self, update: Update[Pod]) -> None:
        """Take over what became of a pod."""
        if self._owns_pods:
            self.owned.changed(cast("Update[D]", update))
            if update.is_gone:
                for uid in update.controllers:
                    self.creations.release(uid)

    def other_change(self, change: ObjectPut | ObjectDeleted) -> None:
        """Take over a change of another kind than the owner's and its objects'."""

    def owner_changed(self, owner: O, before: O | None) -> None:
        """Take over an owner as it is now and as it was."""

    def owner_gone(self, owner: O) -> None:
        """Forget what is known of an owner; this is how it was last."""

    def step(self, now: int, changes: Sequence[Change]) -> list[Request]:
        """Take over the changes; return what follows for the owners they touched and those whose time has come."""
        self._now = now
        for change in self.pods.follow(changes):
            if isinstance(change, Update):
                self.pod_changed(change)
            elif isinstance(change, ObjectPut):
                if isinstance(change.obj, self._dependent):
                    self.owned.put(change.obj)
                elif isinstance(change.obj, self._owner):
                    self._put_owner(change.obj)
                else:
                    self.other_change(change)
            elif isinstance(change, ObjectDeleted):
                self._remove(change)
        for deadlines in (self._timers, self.creations.retries):
            for uid in deadlines.pop_due(now):
                self.owned.touch(uid)
        requests, self._said = self._said, []
        self._asked = []
        told = len(requests)
        for owner in self.owned.take_touched():
            found = self.sync(owner, now)
            requests += found
            self._asked += [owner] * len(found)
            if len(self._asked) >= MOST_REQUESTS:
                break
        self._told = told
        return requests

    def answered(self, now: int, requests: Sequence[Request], answers: Sequence[Answer]) -> None:
        """Take over what the requests of the last step made, and what was refused."""
        asked = zip(self._asked, requests[self._told :], answers[self._told :], strict=True)
        accepted: dict[str, bool] = {}  # by owner: whether everything of its objects was
        for owner, request, answer in asked:
            if isinstance(answer, Refused):
                if self.refused(owner, request, answer.status, now):
                    accepted[owner.uid] = False
            elif self._take_over(owner, request, answer, now):
                accepted.setdefault(owner.uid, True)
        for uid, is_accepted in accepted.items():
            if is_accepted:
                self.creations.accepted(uid)
            self.owned.touch(uid)
        self._asked, self._told = [], 0

    def next_due(self) -> int | None:
        """Return when an owner is to be looked at; a time that has come when something is left to do."""
        if self._said or self.owned.has_touched:
            return self._now
        times = (self._timers.first(), self.creations.retries.first())
        return min((time for time in times if time is not None), default=None)

    def wake(self, uid: str, at: int | None) -> None:
        """Have an owner looked at at that time, and at no other one asked for before; None: at none."""
        if at is None:
            self._timers.drop(uid)
        else:
            self._timers.set(uid, at)

    def say(self, obj: KubeObject, reason: str, message: str, now: int, *, kind: str = "Normal") -> None:
        """Write an event about an object, with the next step."""
        self._said += self.events.record(obj, reason, message, now=now, kind=kind)

    def made(self, owner: O, name: str, now: int) -> None:
        """Say that an object was created."""
        self.say(owner, "SuccessfulCreate", f"Created {self._noun}: {name}", now)

    def deleted(self, owner: O, name: str, now: int) -> None:
        """Say that an object was deleted."""
        self.say(owner, "SuccessfulDelete", f"Deleted {self._noun}: {name}", now)

    def refused(self, owner: O, request: Request, status: Status, now: int) -> bool:
        """Take over a refusal; return whether it counts as a failure of the owner, which is then tried again later.

        What is gone or is another object by now will be told as a change.
        """
        if not isinstance(request, Create):
            if (
                isinstance(request, Patch | Delete)
                and status.code != _GONE
                and request.key.kind == self._dependent.kind
            ):
                if isinstance(request, Delete):
                    self.say(owner, "FailedDelete", f"Error deleting: {status.message}", now, kind=WARNING)
                self.creations.refused(owner.uid, status.message, now)
                return True
            return False
        if request.manifest["kind"] == _EVENT or is_of_leaving_namespace(status):
            return False
        self.say(owner, "FailedCreate", f"Error creating: {status.message}", now, kind=WARNING)
        self.creations.refused(owner.uid, status.message, now)
        return True

    @property
    def _noun(self) -> str:
        return self._dependent.kind.lower()

    def _take_over(self, owner: O, request: Request, outcome: Outcome, now: int) -> bool:
        """Know what a request made of an object; return whether it concerned one."""
        concerned = False
        for change in outcome.changes:
            metadata = change.manifest["metadata"]
            if change.manifest["kind"] in self.follows:
                self._follow(change)
                concerned = True
            if change.manifest["kind"] != self._dependent.kind:
                continue
            concerned = True
            if change.operation == Operation.DELETED:
                self.owned.expect_gone(metadata["uid"])
            else:
                obj = decode(change.manifest)
                assert isinstance(obj, self._dependent)
                self.owned.expect(obj)
            if isinstance(request, Create):
                self.made(owner, metadata["name"], now)
            elif isinstance(request, Delete):
                self.deleted(owner, metadata["name"], now)
        return concerned

    def _follow(self, change: ObjectChange) -> None:
        key = change.key
        if change.operation == Operation.DELETED:
            uid = change.manifest["metadata"]["uid"]
            self.other_change(ObjectDeleted(key.kind, key.namespace, key.name, uid))
        else:
            self.other_change(ObjectPut(decode(change.manifest)))

    def _put_owner(self, owner: O) -> None:
        before = self.owned.put_owner(owner)
        self.owner_changed(owner, before)
        if before is not None and before.metadata.generation != owner.metadata.generation:
            self.creations.release(owner.uid)

    def _remove(self, change: ObjectDeleted) -> None:
        if change.kind == self._dependent.kind:
            gone = self.owned.remove(change)
            controller = controller_of(gone) if gone is not None else None
            if controller is not None:
                self.creations.release(controller.uid)
        elif change.kind == self._owner.kind:
            owner = self.owned.remove_owner(change)
            if owner is not None:
                self._timers.drop(owner.uid)
                self.creations.settled(owner.uid)
                self.owner_gone(owner)
        else:
            self.other_change(change)


def is_of_leaving_namespace(status: Status) -> bool:
    """Return whether nothing is created any more where the request wanted to, of which no event can tell either."""
    return any(cause.reason == _NAMESPACE_TERMINATING for cause in status.causes)
