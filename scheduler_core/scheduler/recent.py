"""What changed shortly before a decision, and what of it bears on the decision."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from scheduler_core.api.derived import controller_of
from scheduler_core.api.meta import KubeObject
from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod, Volume
from scheduler_core.api.selectors import selects_map
from scheduler_core.api.workload import Service
from scheduler_core.queue.changes import node_change_events

WINDOW_US: Final = 2_000_000
SETTLED_US: Final = 100_000  # after a binding, whatever its decision knew has come; bindings may come out of order
MOST_CHANGES: Final = 2_000
LOOKS_A_SECOND: Final = 150_000  # nodes that tries look at, on an average
MOST_LOOKS: Final = 10 * LOOKS_A_SECOND  # at once
LOOKS_OF_A_CHANGE: Final = 100  # what taking one back costs, in nodes looked at
LOOKS_OF_A_TRY: Final = 600  # beside its nodes

BINDING: Final = "Binding"  # a pod that a profile of the configuration placed: no watch tells its scheduler
_ALWAYS: Final = frozenset({BINDING, Node.kind, Pod.kind, "Namespace"})
_WITH_VOLUMES: Final = frozenset(
    {"StorageClass", "PersistentVolume", "PersistentVolumeClaim", "CSINode", "CSIDriver", "CSIStorageCapacity"}
    | {"VolumeAttachment"}
)
_WITH_CLAIMS: Final = frozenset({"DeviceClass", "ResourceSlice", "ResourceClaim"})
_CONTROLLERS: Final = frozenset({"ReplicationController", "ReplicaSet", "StatefulSet"})
_WITHOUT_STATUS: Final = _CONTROLLERS | {Service.kind}


@dataclass(frozen=True, slots=True)
class Changed:
    """An object before and after; None where it was or is not there. `kind` is its own, or `BINDING`, and `number` its
    place among the changes of the kind, from 1; `place` that among all."""

    kind: str
    number: int
    place: int
    old: KubeObject | None
    new: KubeObject | None
    at: int

    @property
    def obj(self) -> KubeObject:
        found = self.new if self.new is not None else self.old
        assert found is not None
        return found

    @property
    def node_name(self) -> str:
        """The node it changes, if it does."""
        obj = self.obj
        if isinstance(obj, Pod):
            return obj.spec.node_name
        return obj.name if isinstance(obj, Node) else ""

    @property
    def identity(self) -> tuple[str, str]:
        return self.obj.kind, self.obj.uid


@dataclass(slots=True)
class Recent:
    """The changes of the last moments, the newest last, and what tries may still cost."""

    changes: deque[Changed] = field(default_factory=deque)
    counts: dict[str, int] = field(default_factory=dict)  # of changes ever, by kind
    floor: dict[str, int] = field(default_factory=dict)  # by kind, the newest that everybody knows
    held_at: int | None = None  # when the oldest decision came that is still to be judged
    is_cut: bool = False  # changes of the window had to go
    looks: int = MOST_LOOKS
    looks_at: int = 0  # when they were counted

    def note(self, kind: str, old: KubeObject | None, new: KubeObject | None, now: int) -> None:
        """Keep the change, if it bears on decisions."""
        self.forget(now)
        if old is not None and new is not None and not bears_on_decisions(old, new):
            return
        number = self.counts[kind] = self.counts.get(kind, 0) + 1
        self.changes.append(Changed(kind, number, sum(self.counts.values()), old, new, now))
        if len(self.changes) > MOST_CHANGES:
            self._drop()
            self.is_cut = True

    def forget(self, now: int) -> None:
        """Drop what is too old to be news to anybody who is still to be judged."""
        since = now if self.held_at is None else min(now, self.held_at)
        while self.changes and self.changes[0].at <= since - WINDOW_US:
            self._drop()
            self.is_cut = False

    def bearing_on(self, pod: Pod, at: int) -> dict[str, list[Changed]]:
        """Those that a decision about the pod, which came at that time, may depend on, in order, by kind."""
        kinds, found = _kinds_read(pod), dict[str, list[Changed]]()
        for each in self.changes:
            if each.obj.uid == pod.uid or (each.kind == BINDING and each.at <= at - SETTLED_US):
                continue
            if each.kind in kinds or _chooses(each, pod):
                found.setdefault(each.kind, []).append(each)
        return found

    def of(self, pod: Pod) -> list[Changed]:
        """What became of the pod itself."""
        return [each for each in self.changes if each.obj.uid == pod.uid]

    def _drop(self) -> None:
        gone = self.changes.popleft()
        self.floor[gone.kind] = gone.number

    def spend(self, looks: int, now: int) -> bool:
        """Whether a try may cost this much now."""
        grown = (now - self.looks_at) * LOOKS_A_SECOND // 1_000_000
        if grown > 0:
            self.looks, self.looks_at = min(MOST_LOOKS, self.looks + grown), now
        if looks > self.looks:
            return False
        self.looks -= looks
        return True


def has_a_quick_binding(pod: Pod) -> bool:
    """Whether nothing is to be done between the decision about the pod and its binding."""
    return not (_has_volumes(pod) or _has_claims(pod))


def bears_on_decisions(old: KubeObject, new: KubeObject) -> bool:
    """Whether somebody schedules by what differs."""
    if old.uid != new.uid:
        return True
    if isinstance(old, Node) and isinstance(new, Node):
        return bool(node_change_events(old, new)) or old.status.images != new.status.images or old.spec != new.spec
    if isinstance(old, Pod) and isinstance(new, Pod):
        return _of_pod(old) != _of_pod(new)
    if old.labels != new.labels or old.annotations != new.annotations:
        return True
    left_out = {"metadata", "status"} if new.kind in _WITHOUT_STATUS else {"metadata"}
    fields = [name for name in type(new).__struct_fields__ if name not in left_out]
    return any(getattr(old, name) != getattr(new, name) for name in fields)


def taken_back(newest_first: Iterable[Changed], position: Mapping[str, int], uid: str = "") -> list[Changed]:
    """Which changes are not in the state, whatever the position those of the object with this uid.

    An object is no older than its newest change that stays.
    """
    stays, found = set[tuple[str, str]](), []
    for each in newest_first:
        if each.obj.uid == uid or (each.number > position[each.kind] and each.identity not in stays):
            found.append(each)
        elif each.kind == BINDING or each.kind == Pod.kind:  # which both change pods
            stays.add(each.identity)
    return found


def _kinds_read(pod: Pod) -> frozenset[str]:
    return _ALWAYS | (_WITH_VOLUMES if _has_volumes(pod) else set()) | (_WITH_CLAIMS if _has_claims(pod) else set())


def _has_volumes(pod: Pod) -> bool:
    return any(volume != Volume(name=volume.name) for volume in pod.spec.volumes or ())


def _has_claims(pod: Pod) -> bool:
    return bool(pod.spec.resource_claims or pod.status.extended_resource_claim_status)


def _chooses(change: Changed, pod: Pod) -> bool:
    """Whether default constraints spread the pod by the object: its controller, or a service that selects it."""
    obj = change.obj
    if obj.namespace != pod.namespace:
        return False
    if change.kind in _CONTROLLERS:
        owner = controller_of(pod)
        return owner is not None and (owner.kind, owner.name) == (change.kind, obj.name)
    services = [each for each in (change.old, change.new) if isinstance(each, Service)]
    return any(each.spec.selector and selects_map(each.spec.selector, pod.labels) for each in services)


def _of_pod(pod: Pod) -> tuple[object, ...]:
    status = pod.status
    return (
        *(pod.spec, pod.labels, pod.metadata.deletion_timestamp, status.resource_claim_statuses),
        *(status.extended_resource_claim_status, [_amounts(each) for each in status.container_statuses or ()]),
        [_amounts(each) for each in status.init_container_statuses or ()],
    )


def _amounts(status: msgspec.Struct) -> tuple[object, ...]:
    return tuple(getattr(status, name, None) for name in ("name", "resources", "allocated_resources"))
