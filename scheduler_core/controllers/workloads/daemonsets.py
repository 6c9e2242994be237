"""The DaemonSets of a cluster: a pod on each node that their template fits, and a history of their templates.

    node fits, no pod               a pod is created that only this node suits; the scheduler binds it
    NoSchedule taint came           the pod stays, none is created
    node fits no longer, NoExecute  the pod is deleted
    pod ended                       it is deleted; of failed ones the next only after 1 s, 2 s, 4 s, … up to 15 min
    template changed                RollingUpdate moves on in `daemon_rollout`; OnDelete waits until pods are deleted

What a node means to a DaemonSet is worked out when either changes in labels, taints or template.
Source: kubernetes v1.34.1, pkg/controller/daemon. Times are microseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.api.stored import ControllerRevision
from scheduler_core.api.workload import DaemonSet, RawTemplate
from scheduler_core.apiserver.answers import Status
from scheduler_core.apiserver.requests import Create, Delete, ObjectKey, Patch, Request
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.event_recorder import WARNING
from scheduler_core.controllers.object_index import ObjectIndex
from scheduler_core.controllers.pod_index import PodIndex
from scheduler_core.controllers.workloads.daemon_pods import (
    Fit,
    Placement,
    is_updated,
    node_of,
    pod_for_node,
    template_generation,
)
from scheduler_core.controllers.workloads.daemon_rollout import Plan, oldest_first, rolled, surge_count, surplus
from scheduler_core.controllers.workloads.hashes import template_hash
from scheduler_core.controllers.workloads.ownership import Ownership
from scheduler_core.controllers.workloads.readiness import SECOND_US, is_available, is_ready, next_available
from scheduler_core.controllers.workloads.replicas import BURST
from scheduler_core.controllers.workloads.revisions import (
    REVISION_HASH,
    equal_revisions,
    in_order,
    new_revision,
    next_number,
)
from scheduler_core.controllers.workloads.statuses import status_patch
from scheduler_core.controllers.workloads.syncing import OwnerController
from scheduler_core.model.changes import ObjectDeleted, ObjectPut

FIRST_BACKOFF_US: Final = SECOND_US
LONGEST_BACKOFF_US: Final = 900 * SECOND_US
_HISTORY: Final = 10  # revisions that are kept where the DaemonSet does not say


class DaemonSets(OwnerController[DaemonSet, Pod]):
    """All DaemonSets of one cluster."""

    name, actor = "daemonsets", "daemonset-controller"
    follows = frozenset({ControllerRevision.kind})

    def __init__(self, cluster: ClusterOptions, pods: PodIndex | None = None) -> None:
        super().__init__(cluster, pods, DaemonSet, Pod)
        self._nodes: dict[str, Node] = {}  # as far as labels and taints go
        self._history = Ownership(DaemonSet, ObjectIndex(ControllerRevision))
        self._placements: dict[str, Placement] = {}  # by uid of the DaemonSet
        self._fits: dict[str, dict[str, Fit]] = {}  # by uid and node
        self._collided: dict[str, None] = {}  # uids of DaemonSets whose name for a revision was taken
        self._backoffs: dict[str, dict[str, tuple[int, int]]] = {}  # by uid and node: (delay, since when)

    def sync(self, owner: DaemonSet, now: int) -> list[Request]:
        """Return what brings a pod to each node that should have one, and the status."""
        if owner.metadata.deletion_timestamp is not None or owner.spec.template is None:
            return []
        pods, patches = self.owned.claimed(owner, lambda _: True)
        revisions, adoptions = self._history.claimed(owner, lambda _: True)
        requests: list[Request] = [*patches, *adoptions]
        current, old = _parted(revisions, owner.spec.template)
        if owner.uid in self._collided:
            del self._collided[owner.uid]
            status = msgspec.structs.replace(owner.status, collision_count=(owner.status.collision_count or 0) + 1)
            return [*requests, *status_patch(owner, owner.status, status)]
        if not current:
            return [*requests, *self._snapshot(owner, owner.spec.template, next_number(old), now)]
        kept = current[-1]
        revision = kept.labels.get(REVISION_HASH, kept.name)
        requests += _renumbered(kept, next_number(old))
        requests += _without_twins(kept, current[:-1], pods, revision)
        by_node = _by_node(pods)
        moves = self._moves(owner, by_node, revision, now)
        if moves:
            return [*requests, *moves]
        requests += _cleaned(owner, old, pods)
        return [*requests, *self._reported(owner, by_node, revision, now)]

    def owner_changed(self, owner: DaemonSet, before: DaemonSet | None) -> None:
        """Compare all nodes with a template that is new."""
        self._history.put_owner(owner)
        if before is None or before.spec.template != owner.spec.template or owner.uid not in self._placements:
            self._placements[owner.uid] = placement = Placement(owner)
            self._fits[owner.uid] = {name: placement.fit(node) for name, node in self._nodes.items()}

    def owner_gone(self, owner: DaemonSet) -> None:
        """Forget what nodes meant to it."""
        self._history.remove_owner(ObjectDeleted(owner.kind, owner.namespace, owner.name, owner.uid))
        for known in (self._placements, self._fits, self._collided, self._backoffs):
            known.pop(owner.uid, None)

    def other_change(self, change: ObjectPut | ObjectDeleted) -> None:
        """Follow nodes and revisions."""
        if isinstance(change, ObjectPut):
            if isinstance(change.obj, Node):
                self._put_node(change.obj)
            elif isinstance(change.obj, ControllerRevision):
                self._history.put(change.obj)
                self._touch_of_history()
        elif change.kind == Node.kind:
            if self._nodes.pop(change.name, None) is not None:
                for uid, fits in self._fits.items():
                    fits.pop(change.name, None)
                    self.owned.touch(uid)
        elif change.kind == ControllerRevision.kind:
            self._history.remove(change)
            self._touch_of_history()

    def refused(self, owner: DaemonSet, request: Request, status: Status, now: int) -> bool:
        """Take over a refusal: a revision's name that is taken is a collision, which another hash avoids."""
        if isinstance(request, Create) and request.manifest["kind"] == ControllerRevision.kind:
            if status.reason == "AlreadyExists":
                self._collided[owner.uid] = None
                self.owned.touch(owner.uid)
                return False
            self.creations.refused(owner.uid, status.message, now)
            return True
        return super().refused(owner, request, status, now)

    def _touch_of_history(self) -> None:
        for owner in self._history.take_touched():
            self.owned.touch(owner.uid)

    def _put_node(self, node: Node) -> None:
        before = self._nodes.get(node.name)
        self._nodes[node.name] = node
        if before is not None and before.metadata.labels == node.metadata.labels and before.taints == node.taints:
            return
        for uid, placement in self._placements.items():
            fit = placement.fit(node)
            if self._fits[uid].get(node.name) != fit or before is None:
                self._fits[uid][node.name] = fit
                self.owned.touch(uid)

    def _snapshot(self, owner: DaemonSet, template: RawTemplate, number: int, now: int) -> list[Request]:
        if self.creations.waits(owner.uid, now):
            return []
        value = template_hash(template, owner.status.collision_count)
        return [Create(new_revision(owner, template, number, REVISION_HASH, value))]

    def _moves(self, owner: DaemonSet, by_node: dict[str, list[Pod]], revision: str, now: int) -> list[Request]:
        """Pods to delete and to create: one for each node, then the next move to a new template."""
        plan = self._managed(owner, by_node, revision, now)
        if not plan.delete and not plan.create and owner.spec.update_strategy.type == "RollingUpdate":
            plan = rolled(owner, self._fits[owner.uid], by_node, revision, now)
        if not plan.create:
            self.creations.settled(owner.uid)
        template = owner.spec.template
        assert template is not None
        count = self.creations.batch(owner.uid, min(len(plan.create), BURST), now)
        return [
            *(Create(pod_for_node(owner, template, node, revision)) for node in plan.create[:count]),
            *(_deletion(pod) for pod in plan.delete[:BURST]),
        ]

    def _managed(self, owner: DaemonSet, by_node: dict[str, list[Pod]], revision: str, now: int) -> Plan:
        plan = Plan()
        surges = surge_count(owner, 1) > 0
        for node, fit in self._fits[owner.uid].items():
            pods = by_node.get(node)
            if pods is None:
                if fit == Fit.RUNS:
                    plan.create.append(node)
            elif fit == Fit.NOT:
                plan.delete += [pod for pod in pods if not pod.is_terminating]
            else:
                running = [pod for pod in pods if not pod.is_terminating and not pod.is_terminal]
                plan.delete += self._ended(owner, node, pods, now)
                if len(running) > 1:
                    plan.delete += surplus(owner, running, revision, now)
                elif not running and surges and fit == Fit.RUNS:
                    plan.create.append(node)
        for node, pods in by_node.items():
            if node not in self._nodes:
                plan.delete += [pod for pod in pods if not pod.is_assigned and not pod.is_terminating]
        return plan

    def _ended(self, owner: DaemonSet, node: str, pods: Sequence[Pod], now: int) -> list[Pod]:
        """Pods of a node that ended and are to be deleted now; failed ones not too often."""
        gone: list[Pod] = []
        for pod in pods:
            if pod.is_terminating or not pod.is_terminal:
                continue
            if pod.status.phase == "Failed":
                backoffs = self._backoffs.setdefault(owner.uid, {})
                delay, since = backoffs.get(node, (0, 0))
                if now - since < delay:
                    continue
                is_old = not delay or now - since > 2 * LONGEST_BACKOFF_US
                backoffs[node] = FIRST_BACKOFF_US if is_old else min(2 * delay, LONGEST_BACKOFF_US), now
                text = f"Found failed daemon pod {pod.key} on node {node}, will try to kill it"
                self.say(owner, "FailedDaemonPod", text, now, kind=WARNING)
            else:
                text = f"Found succeeded daemon pod {pod.key} on node {node}, will try to delete it"
                self.say(owner, "SucceededDaemonPod", text, now)
            gone.append(pod)
        return gone

    def _reported(self, owner: DaemonSet, by_node: dict[str, list[Pod]], revision: str, now: int) -> list[Patch]:
        """The status; wakes the DaemonSet when a pod becomes available or a failed one may go."""
        generation, seconds = template_generation(owner), owner.spec.min_ready_seconds
        desired = current = misplaced = ready = updated = available = 0
        counted: list[Pod] = []
        for node, fit in self._fits[owner.uid].items():
            pods = by_node.get(node)
            if fit != Fit.RUNS:
                misplaced += pods is not None
                continue
            desired += 1
            if pods is None:
                continue
            current += 1
            pod = oldest_first(pods)[0] if len(pods) > 1 else pods[0]
            counted += pods
            ready += is_ready(pod)
            available += is_available(pod, seconds, now)
            updated += is_updated(pod, revision, generation)
        backoffs = self._backoffs.get(owner.uid, {}).values()
        times = [since + delay for delay, since in backoffs if since + delay > now]
        next_one = next_available(counted, seconds, now)
        self.wake(owner.uid, min([*times, *([next_one] if next_one is not None else [])], default=None))
        status = msgspec.structs.replace(
            owner.status,
            current_number_scheduled=current,
            number_misscheduled=misplaced,
            desired_number_scheduled=desired,
            number_ready=ready,
            updated_number_scheduled=updated,
            number_available=available,
            number_unavailable=desired - available,
            observed_generation=owner.metadata.generation or 0,
        )
        return status_patch(owner, owner.status, status)


def _by_node(pods: Sequence[Pod]) -> dict[str, list[Pod]]:
    """Pods by the node they are on or meant for; without those that ended and are being deleted."""
    found: dict[str, list[Pod]] = {}
    for pod in pods:
        node = node_of(pod)
        if node and not (pod.is_terminal and pod.is_terminating):
            found.setdefault(node, []).append(pod)
    return found


def _parted(
    revisions: Sequence[ControllerRevision], template: RawTemplate
) -> tuple[list[ControllerRevision], list[ControllerRevision]]:
    """The revisions that hold the template, and the others; each in order."""
    ordered = in_order(revisions)
    current = equal_revisions(ordered, template)
    uids = {each.uid for each in current}
    return current, [each for each in ordered if each.uid not in uids]


def _renumbered(revision: ControllerRevision, number: int) -> list[Request]:
    if revision.revision >= number:
        return []
    key = ObjectKey(revision.kind, revision.namespace, revision.name)
    return [Patch(key, {"revision": number}, uid=revision.uid)]


def _without_twins(
    kept: ControllerRevision, twins: Sequence[ControllerRevision], pods: Sequence[Pod], revision: str
) -> list[Request]:
    """Delete other revisions that hold the same; pods get the label of the one that is kept first."""
    if not twins:
        return []
    body = {"metadata": {"labels": {REVISION_HASH: revision}}}
    relabelled = [
        Patch(ObjectKey(pod.kind, pod.namespace, pod.name), body, uid=pod.uid)
        for pod in pods
        if pod.labels.get(REVISION_HASH) != revision
    ]
    return [*relabelled, *map(_deletion, twins)]


def _cleaned(owner: DaemonSet, old: Sequence[ControllerRevision], pods: Sequence[Pod]) -> list[Request]:
    """Delete the oldest revisions beyond the limit that no pod has."""
    limit = owner.spec.revision_history_limit
    surplus_count = len(old) - (_HISTORY if limit is None else limit)
    live = {pod.labels.get(REVISION_HASH) for pod in pods}
    unused = [each for each in old if each.labels.get(REVISION_HASH) not in live]
    return [_deletion(each) for each in unused[: max(0, surplus_count)]]


def _deletion(obj: Pod | ControllerRevision) -> Request:
    return Delete(ObjectKey(obj.kind, obj.namespace, obj.name), uid=obj.uid)
