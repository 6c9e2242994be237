"""The Deployments of a cluster: a ReplicaSet for each template, and the way from one to the next.

    RollingUpdate   the new set grows as far as maxSurge lets it, then old sets shrink as far as maxUnavailable does
    Recreate        old sets go to nothing; when none of their pods is left the new one is created
    scaled          sets grow or shrink in proportion to their sizes
    paused          sizes only; no new set
    deleted         its status is kept up to date; the garbage collector does the rest

A step makes one move for a Deployment and takes the next when its answers, or changes of its sets, are there.
Source: kubernetes v1.34.1, pkg/controller/deployment. Times are microseconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from scheduler_core.api.manifests import encode_part
from scheduler_core.api.pod import Pod
from scheduler_core.api.workload import Deployment, ReplicaSet, ReplicaStatus
from scheduler_core.apiserver.answers import Status
from scheduler_core.apiserver.requests import Create, Delete, ObjectKey, Patch, PatchType, Request
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.event_recorder import WARNING
from scheduler_core.controllers.object_index import Update
from scheduler_core.controllers.pod_index import PodIndex
from scheduler_core.controllers.workloads import rollout
from scheduler_core.controllers.workloads.deployment_status import (
    PROGRESSING,
    condition,
    counted,
    deadline,
    is_complete,
    pause_condition,
    progressed,
    with_condition,
)
from scheduler_core.controllers.workloads.hashes import POD_TEMPLATE_HASH, template_hash
from scheduler_core.controllers.workloads.rollout import REVISION, fenceposts, size, total, wanted
from scheduler_core.controllers.workloads.statuses import condition_of, status_patch
from scheduler_core.controllers.workloads.syncing import OwnerController, is_of_leaving_namespace
from scheduler_core.controllers.workloads.templates import controller_reference

CREATE_ERROR: Final = "ReplicaSetCreateError"
_LONGEST_NAME: Final = 253


class Move:
    """What one step does for a Deployment: its sets as they will be, the requests for that, and the status."""

    def __init__(self, deployment: Deployment, sets: Sequence[ReplicaSet], now: int) -> None:
        self.deployment, self.now = deployment, now
        self.new = rollout.new_set(deployment, sets)
        self.old = [each for each in rollout.in_order(sets) if self.new is None or each.uid != self.new.uid]
        self.status = deployment.status
        self.revision = deployment.annotations.get(REVISION, "")
        self.patches: dict[str, dict[str, Any]] = {}  # by uid of the set
        self.requests: list[Request] = []  # others
        self.events: list[str] = []

    @property
    def sets(self) -> list[ReplicaSet]:
        return [*self.old, *([self.new] if self.new is not None else [])]

    def scale(self, replica_set: ReplicaSet, count: int, *, always: bool = False) -> bool:
        """Give a set this size; return whether that changes it. `always`: its annotations are renewed in any case."""
        before = size(replica_set)
        if before == count and not always:
            return False
        annotations = rollout.size_annotations(self.deployment)
        has_them = annotations.items() <= replica_set.annotations.items()
        if before == count and has_them:
            return False
        self._change(replica_set, annotations, {"replicas": count} if before != count else {})
        if before != count:
            direction = "up" if before < count else "down"
            self.events.append(f"Scaled {direction} replica set {replica_set.name} from {before} to {count}")
        return before != count

    def renew_new(self) -> None:
        """Give the new set the Deployment's annotations, its revision and minReadySeconds."""
        if self.new is None:
            return
        annotations = rollout.new_annotations(self.deployment, self.new.annotations, self.old)
        seconds = self.deployment.spec.min_ready_seconds
        spec = {"minReadySeconds": seconds} if seconds != self.new.spec.min_ready_seconds else {}
        changed = {key: value for key, value in annotations.items() if self.new.annotations.get(key) != value}
        if changed or spec:
            self._change(self.new, changed, spec)
        self.revision = self.new.annotations.get(REVISION, "")

    def _change(self, replica_set: ReplicaSet, annotations: Mapping[str, str], spec: dict[str, Any]) -> None:
        body = self.patches.setdefault(replica_set.uid, {})
        body.setdefault("metadata", {}).setdefault("annotations", {}).update(annotations)
        if spec:
            body.setdefault("spec", {}).update(spec)
        replace = msgspec.structs.replace
        metadata = replace(replica_set.metadata, annotations={**replica_set.annotations, **annotations})
        typed = {"replicas": "replicas", "minReadySeconds": "min_ready_seconds"}
        new_spec = replace(replica_set.spec, **{typed[name]: value for name, value in spec.items()})
        changed = replace(replica_set, metadata=metadata, spec=new_spec)
        if self.new is not None and changed.uid == self.new.uid:
            self.new = changed
        else:
            self.old = [changed if each.uid == changed.uid else each for each in self.old]


class Deployments(OwnerController[Deployment, ReplicaSet]):
    """All Deployments of one cluster."""

    name, actor = "deployments", "deployment-controller"

    def __init__(self, cluster: ClusterOptions, pods: PodIndex | None = None) -> None:
        super().__init__(cluster, pods, Deployment, ReplicaSet)
        self._awaited: dict[str, str] = {}  # uid of a ReplicaSet that must lose its pods: uid of its Deployment
        self._made: dict[str, str] = {}  # uid of the Deployment: name of the set created for it just now
        self._collided: dict[str, None] = {}  # uids of Deployments whose name for a set was taken
        self._failed: dict[str, str] = {}  # uid of the Deployment: why its set was refused

    def sync(self, owner: Deployment, now: int) -> list[Request]:
        """Return the next move for a Deployment, and its status."""
        sets, adoptions = self.owned.claimed(owner, lambda _: True)
        move = Move(owner, sets, now)
        if owner.metadata.deletion_timestamp is not None:
            move.status = counted(owner, move.status, move.new, move.old, now)
        else:
            self._heed_creation(move)
            conditions = pause_condition(owner, move.status.conditions, now)
            move.status = msgspec.structs.replace(move.status, conditions=conditions)
            self._advance(move)
        for message in move.events:
            self.say(owner, "ScalingReplicaSet", message, now)
        by_uid = {each.uid: each for each in sets}
        for uid, body in move.patches.items():
            key = ObjectKey(ReplicaSet.kind, owner.namespace, by_uid[uid].name)
            move.requests.append(Patch(key, body, PatchType.STRATEGIC, uid=uid))
        due = deadline(owner, move.status)
        self.wake(owner.uid, due if due is not None and due > now else None)
        return [*adoptions, *move.requests, *_written(move)]

    def pod_changed(self, update: Update[Pod]) -> None:
        """Look at a Deployment whose Recreate has waited for the last pod of a set."""
        if self._awaited:
            for uid in update.controllers:
                if uid in self._awaited and not self._has_pods(uid):
                    self.owned.touch(self._awaited.pop(uid))

    def made(self, owner: Deployment, name: str, now: int) -> None:
        """Remember that a set was created; say how large."""
        self._made[owner.uid] = name
        created = next((each for each in self.owned.controlled(owner.uid) if each.name == name), None)
        if created is not None and size(created):
            self.say(owner, "ScalingReplicaSet", f"Scaled up replica set {name} from 0 to {size(created)}", now)

    def deleted(self, owner: Deployment, name: str, now: int) -> None:
        """Upstream says nothing of old sets that go."""

    def refused(self, owner: Deployment, request: Request, status: Status, now: int) -> bool:
        """Take over a refusal: a name that is taken is a collision, which another hash avoids."""
        if not isinstance(request, Create) or request.manifest["kind"] != ReplicaSet.kind:
            return False
        if is_of_leaving_namespace(status):
            return False
        if status.reason == "AlreadyExists":
            self._collided[owner.uid] = None
            self.owned.touch(owner.uid)
            return False
        name = request.manifest["metadata"]["name"]
        message = f'Failed to create new replica set "{name}": {status.message}'
        self._failed[owner.uid] = message
        self.say(owner, CREATE_ERROR, message, now, kind=WARNING)
        self.creations.refused(owner.uid, status.message, now)
        return True

    def owner_gone(self, owner: Deployment) -> None:
        """Forget what was created for it."""
        self._made.pop(owner.uid, None)
        self._collided.pop(owner.uid, None)
        self._failed.pop(owner.uid, None)

    def _heed_creation(self, move: Move) -> None:
        """Say in the status what became of the set that was asked for."""
        uid, conditions = move.deployment.uid, move.status.conditions
        has_deadline = rollout.deadline_seconds(move.deployment) is not None
        name = self._made.pop(uid, "")
        if name and has_deadline:
            text = f'Created new replica set "{name}"'
            said = condition(PROGRESSING, "True", "NewReplicaSetCreated", text, move.now)
            conditions = with_condition(conditions, said)
        message = self._failed.pop(uid, "")
        if message and has_deadline:
            conditions = with_condition(conditions, condition(PROGRESSING, "False", CREATE_ERROR, message, move.now))
        count = move.status.collision_count
        if uid in self._collided:
            del self._collided[uid]
            count = (count or 0) + 1
        move.status = msgspec.structs.replace(move.status, conditions=conditions, collision_count=count)
        if move.new is not None and has_deadline and condition_of(conditions, PROGRESSING) is None:
            text = f'Found new replica set "{move.new.name}"'
            said = condition(PROGRESSING, "True", "FoundNewReplicaSet", text, move.now)
            move.status = msgspec.structs.replace(move.status, conditions=with_condition(conditions, said))

    def _advance(self, move: Move) -> None:
        """Make the next move."""
        deployment = move.deployment
        move.renew_new()
        if deployment.spec.paused or rollout.is_scaled(deployment, move.sets):
            _resize(move)
            if deployment.spec.paused:
                _clean_up(move)
            move.status = counted(deployment, move.status, move.new, move.old, move.now)
            return
        if rollout.is_rolling(deployment):
            is_moved = self._roll(move)
        else:
            is_moved = self._recreate(move)
        if not is_moved and is_complete(deployment, deployment.status):
            _clean_up(move)
        move.status = progressed(deployment, move.status, move.new, move.old, move.now)

    def _roll(self, move: Move) -> bool:
        """Let the new set grow, or old ones shrink; return whether one did."""
        if move.new is None:
            self._create(move)
            return True
        count, current = wanted(move.deployment), size(move.new)
        target = count if current > count else rollout.size_of_new(move.deployment, move.sets, current)
        return move.scale(move.new, target) or _shrink_old(move)

    def _recreate(self, move: Move) -> bool:
        """Let old sets go, then the new one come; return whether a size changed, or it has to wait."""
        shrunk = [move.scale(each, 0) for each in move.old if size(each) > 0]
        if any(shrunk):
            return True
        if any(each.status.replicas > 0 or self._has_pods(each.uid) for each in move.old):
            self._await_pods(move)
            return True
        if move.new is None:
            self._create(move)
            return True
        move.scale(move.new, wanted(move.deployment))
        return False

    def _await_pods(self, move: Move) -> None:
        """Be told when a pod of an old set goes."""
        for each in move.old:
            if self._has_pods(each.uid):
                self._awaited[each.uid] = move.deployment.uid

    def _create(self, move: Move) -> None:
        """Ask for the new set."""
        deployment = move.deployment
        template = deployment.spec.template
        if template is None or self.creations.waits(deployment.uid, move.now):
            return
        value = template_hash(template, move.status.collision_count)
        labels = {**template.labels, POD_TEMPLATE_HASH: value}
        selector = encode_part(deployment.spec.selector) if deployment.spec.selector is not None else {}
        pairs = {**(selector.get("matchLabels") or {}), POD_TEMPLATE_HASH: value}
        metadata = {**(template.manifest.get("metadata") or {}), "labels": labels}
        annotations = rollout.new_annotations(deployment, {}, move.old) | rollout.size_annotations(deployment)
        longest = _LONGEST_NAME - len(value) - 1
        spec: dict[str, Any] = {
            "replicas": rollout.size_of_new(deployment, move.old, 0),
            "selector": {**selector, "matchLabels": pairs},
            "template": {**template.manifest, "metadata": metadata},
        }
        if deployment.spec.min_ready_seconds:
            spec["minReadySeconds"] = deployment.spec.min_ready_seconds
        manifest = {
            "apiVersion": ReplicaSet.api_version,
            "kind": ReplicaSet.kind,
            "metadata": {
                "name": f"{deployment.name[:longest]}-{value}",
                "namespace": deployment.namespace,
                "labels": labels,
                "annotations": annotations,
                "ownerReferences": [controller_reference(deployment)],
            },
            "spec": spec,
        }
        move.requests.append(Create(manifest))

    def _has_pods(self, uid: str) -> bool:
        """Whether a set has pods that did not end."""
        return any(not pod.is_terminal for pod in self.pods.controlled_by(uid))


def _shrink_old(move: Move) -> bool:
    """Take from old sets first what is not available, then what availability can spare; return whether one shrank."""
    new, deployment = move.new, move.deployment
    assert new is not None
    least = wanted(deployment) - fenceposts(deployment)[1]
    spare = total(move.sets) - least - (size(new) - new.status.available_replicas)
    if not any(map(size, move.old)) or spare <= 0:
        return False
    shrunk = False
    for each in move.old:
        unhealthy = size(each) - each.status.available_replicas
        if spare > 0 and size(each) > 0 and unhealthy > 0:
            count = min(spare, unhealthy)
            spare -= count
            shrunk = move.scale(each, size(each) - count) or shrunk
    room = sum(each.status.available_replicas for each in move.sets) - least
    for each in move.old:
        if room > 0 and size(each) > 0:
            count = min(room, size(each))
            room -= count
            shrunk = move.scale(each, size(each) - count) or shrunk
    return shrunk


def _resize(move: Move) -> None:
    """Follow a new number of replicas."""
    deployment = move.deployment
    only = rollout.active_or_latest(move.new, move.old)
    if only is not None:
        move.scale(only, wanted(deployment))
    elif rollout.is_saturated(deployment, move.new):
        for each in move.old:
            move.scale(each, 0)
    elif rollout.is_rolling(deployment):
        for each, count in rollout.proportional_sizes(deployment, [one for one in move.sets if size(one) > 0]):
            move.scale(each, count, always=True)


def _clean_up(move: Move) -> None:
    for each in rollout.cleanable(move.deployment, move.old):
        key = ObjectKey(ReplicaSet.kind, each.namespace, each.name)
        move.requests.append(Delete(key, uid=each.uid))


def _written(move: Move) -> list[Patch]:
    """The patch of the status, with the revision as an annotation; nothing when both stay."""
    deployment = move.deployment
    status: ReplicaStatus = move.status
    patches = status_patch(deployment, deployment.status, status)
    if not move.revision or move.revision == deployment.annotations.get(REVISION):
        return patches
    body = dict(patches[0].body) if patches and isinstance(patches[0].body, Mapping) else {}
    body["metadata"] = {"annotations": {REVISION: move.revision}}
    key = ObjectKey(deployment.kind, deployment.namespace, deployment.name)
    return [Patch(key, body, subresource="status", uid=deployment.uid)]
