"""Keeps the status of disruption budgets up to date: how many pods each can spare, which preemption reads.

A budget's pods are those its selector matches. It is recomputed when one of them, the budget itself or the scale of a
controller changes, and when a pod its status calls disrupted should have been gone by now. Of several budgets that
match a pod only the oldest is recomputed with it. A budget that cannot be computed allows nothing. Times are
microseconds.
Source: kubernetes v1.34.1, pkg/controller/disruption/disruption.go. Scales are those of ReplicaSets (their Deployment's
where there is one), StatefulSets and ReplicationControllers. What its events say is said once for as long as it holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from scheduler_core.api import manifests
from scheduler_core.api.derived import controller_of
from scheduler_core.api.meta import KubeObject, LabelSelector, OwnerReference
from scheduler_core.api.pod import Pod
from scheduler_core.api.policy import PodDisruptionBudget
from scheduler_core.api.selectors import LabelSelectorMatcher, SelectorError, parse_label_selector
from scheduler_core.api.times import microseconds, time_text
from scheduler_core.api.workload import Deployment, ReplicaSet, ReplicationController, StatefulSet
from scheduler_core.apiserver.requests import ObjectKey, Patch, Request
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.deadlines import Deadlines
from scheduler_core.controllers.event_recorder import NORMAL, WARNING, EventRecorder
from scheduler_core.controllers.object_index import Update
from scheduler_core.controllers.pod_index import PodIndex, PodReader
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut

DELETION_TIMEOUT_US = 120 * 1_000_000
DISRUPTION_ALLOWED = "DisruptionAllowed"
SUFFICIENT_PODS, INSUFFICIENT_PODS, SYNC_FAILED = "SufficientPods", "InsufficientPods", "SyncFailed"

UNMANAGED = (
    "Pods selected by this PodDisruptionBudget (selector: {}) were found to be unmanaged. As a result, the status of"
    " the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods please"
    ' set ".spec.minAvailable" field of the PDB to an integer value.'
)

_SCALED = (Deployment, ReplicaSet, StatefulSet, ReplicationController)
_SCALED_KINDS = frozenset(kind.kind for kind in _SCALED)


class SyncError(Exception):
    """A budget that cannot be computed, and why."""


class _Budget:
    """A budget with its pods by key; `matcher` None when the selector cannot be read.

    `told` is what its events have said and still holds.
    """

    def __init__(self, pdb: PodDisruptionBudget, told: frozenset[str] = frozenset()) -> None:
        self.pdb = pdb
        self.told = told
        self.pods: dict[str, Pod] = {}
        self.matcher: LabelSelectorMatcher | None
        self.problem = ""
        try:
            self.matcher = parse_label_selector(pdb.spec.selector)
        except SelectorError as error:
            self.matcher, self.problem = None, str(error)

    def matches(self, pod: Pod) -> bool:
        """Return whether a pod of the namespace is one of the budget's."""
        return self.matcher is not None and self.matcher.matches(pod.labels)


class DisruptionController(PodReader):
    """All disruption budgets of one cluster."""

    name, actor, group = "disruption", "disruption", "disruption"

    def __init__(self, cluster: ClusterOptions, pods: PodIndex | None = None) -> None:
        super().__init__(cluster, pods)
        self._budgets: dict[str, dict[str, _Budget]] = {}  # by namespace and key
        self._controllers: dict[tuple[str, str], KubeObject] = {}  # by kind and key
        self._rechecks = Deadlines()  # by key of the budget
        self._events = EventRecorder("controllermanager")

    def step(self, now: int, changes: Sequence[Change]) -> list[Request]:
        """Take over the changes; return a patch for each status that differs now."""
        touched: dict[str, None] = {}
        requests: list[Request] = []
        for change in self.pods.follow(changes):
            if isinstance(change, Update):
                budgets = self._budgets.get(change.obj.metadata.namespace)
                if budgets is not None:
                    requests += self._pod_changed(change, budgets, touched, now)
            elif isinstance(change, ObjectPut):
                self._put(change.obj, touched)
            elif isinstance(change, ObjectDeleted):
                self._deleted(change, touched)
        touched.update(dict.fromkeys(self._rechecks.pop_due(now)))
        for key in touched:
            budget = self._budgets.get(key.partition("/")[0], {}).get(key)
            if budget is not None:
                requests += self._sync(budget, now)
        return requests

    def next_due(self) -> int | None:
        """Return when the first disrupted pod should be gone, in microseconds."""
        return self._rechecks.first()

    def _pod_changed(
        self, change: Update[Pod], budgets: Mapping[str, _Budget], touched: dict[str, None], now: int
    ) -> list[Request]:
        pod, old = change.obj, change.old
        left = [] if old is None else [key for key, budget in budgets.items() if budget.matches(old)]
        matching = [] if change.is_gone else [key for key, budget in budgets.items() if budget.matches(pod)]
        lost = [key for key in left if key not in matching]
        for key in lost:
            budgets[key].pods.pop(pod.key, None)
        for key in matching:
            budgets[key].pods[pod.key] = pod
        touched.update(dict.fromkeys(lost[:1] if change.is_gone else lost))
        if not matching:
            return []
        touched[matching[0]] = None
        if len(matching) == 1 or len(left) > 1:
            return []
        chosen = budgets[matching[0]].pdb.name
        message = (
            f'Pod "{pod.namespace}"/"{pod.name}" matches multiple PodDisruptionBudgets.  Chose "{chosen}" arbitrarily.'
        )
        return self._events.record(pod, "MultiplePodDisruptionBudgets", message, now=now, kind=WARNING)

    def _put(self, obj: KubeObject, touched: dict[str, None]) -> None:
        if isinstance(obj, PodDisruptionBudget):
            budgets = self._budgets.setdefault(obj.namespace, {})
            before = budgets.get(obj.key)
            told = before.told if before is not None else frozenset()
            budgets[obj.key] = budget = _Budget(obj, told)
            for pod in self.pods.in_namespace(obj.namespace):
                if budget.matches(pod):
                    budget.pods[pod.key] = pod
            touched[obj.key] = None
        elif isinstance(obj, _SCALED):
            self._controllers[obj.kind, obj.key] = obj
            self._touch_namespace(obj.namespace, touched)

    def _deleted(self, change: ObjectDeleted, touched: dict[str, None]) -> None:
        key = f"{change.namespace}/{change.name}"
        if change.kind == PodDisruptionBudget.kind:
            budgets = self._budgets.get(change.namespace, {})
            budgets.pop(key, None)
            if not budgets:
                self._budgets.pop(change.namespace, None)
            self._rechecks.drop(key)
        elif change.kind in _SCALED_KINDS:
            self._controllers.pop((change.kind, key), None)
            self._touch_namespace(change.namespace, touched)

    def _touch_namespace(self, namespace: str, touched: dict[str, None]) -> None:
        touched.update(dict.fromkeys(self._budgets.get(namespace, ())))

    def _sync(self, budget: _Budget, now: int) -> list[Request]:
        requests = self._overdue(budget, now)
        try:
            status = self._computed(budget, now)
            reason = SUFFICIENT_PODS if status["disruptionsAllowed"] else INSUFFICIENT_PODS
            problem = ""
        except SyncError as error:
            # To be safe: nothing else of the status is touched.
            status, reason, problem = {"disruptionsAllowed": 0}, SYNC_FAILED, str(error)
        requests += self._tell(budget, problem, now)
        pdb = budget.pdb
        before = manifests.encode(pdb).get("status") or {}
        status["conditions"] = _conditions(before, reason, problem, pdb.metadata.generation or 0, now)
        patch = _difference(before, status)
        key = ObjectKey(pdb.kind, pdb.namespace, pdb.name)
        return [*requests, Patch(key, {"status": patch}, subresource="status", uid=pdb.uid)] if patch else requests

    def _overdue(self, budget: _Budget, now: int) -> list[Request]:
        """Say which pods should have been gone by now."""
        pdb, given = budget.pdb, budget.pdb.status.disrupted_pods or {}
        late = [
            pod
            for pod in budget.pods.values()
            if pod.name in given
            and not pod.is_terminating
            and microseconds(given[pod.name]) + DELETION_TIMEOUT_US <= now
        ]
        # The namespace stands in the place of the name, as upstream writes it.
        message = f"Pod was expected by PDB {pdb.namespace}/{pdb.namespace} to be deleted but it wasn't"
        return [one for pod in late for one in self._events.record(pod, "NotDeleted", message, now=now, kind=WARNING)]

    def _tell(self, budget: _Budget, problem: str, now: int) -> list[Request]:
        """Say what is wrong with the budget's pods, unless it has been said."""
        pdb, found = budget.pdb, dict[str, tuple[str, str]]()
        if budget.problem:
            found["NoPods"] = WARNING, f"Failed to get pods: {budget.problem}"
        elif not budget.pods:
            found["NoPods"] = NORMAL, "No matching pods found"
        elif problem:
            text = f"Failed to calculate the number of expected pods: {problem}"
            found["CalculateExpectedPodCountFailed"] = WARNING, text
        elif _needs_scale(pdb) and any(controller_of(pod) is None for pod in budget.pods.values()):
            found["UnmanagedPods"] = WARNING, UNMANAGED.format(_selector_text(pdb.spec.selector))
        new = [reason for reason in found if reason not in budget.told]
        budget.told = frozenset(found)
        requests: list[Request] = []
        for reason in new:
            kind, message = found[reason]
            requests += self._events.record(pdb, reason, message, now=now, kind=kind)
        return requests

    def _computed(self, budget: _Budget, now: int) -> dict[str, Any]:
        if budget.problem:
            raise SyncError(budget.problem)
        pdb, pods = budget.pdb, list(budget.pods.values())
        expected, desired = self._expected_and_desired(pdb, pods)
        disrupted = _disrupted(pdb, pods, now)
        healthy = sum(_is_ready(pod) for pod in pods if not pod.is_terminating and pod.name not in disrupted)
        if disrupted:
            self._rechecks.set(pdb.key, min(disrupted.values()) + DELETION_TIMEOUT_US)
        else:
            self._rechecks.drop(pdb.key)
        return {
            "observedGeneration": pdb.metadata.generation or 0,
            "disruptionsAllowed": max(0, healthy - desired) if expected > 0 else 0,
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "expectedPods": expected,
            "disruptedPods": {name: time_text(at) for name, at in disrupted.items()},
        }

    def _expected_and_desired(self, pdb: PodDisruptionBudget, pods: Sequence[Pod]) -> tuple[int, int]:
        most, least = pdb.spec.max_unavailable, pdb.spec.min_available
        if most is not None:
            expected = self._scale_of(pods)
            return expected, max(0, expected - _scaled(most, expected))
        if isinstance(least, str):
            expected = self._scale_of(pods)
            return expected, _scaled(least, expected)
        return (len(pods), least) if least is not None else (0, 0)

    def _scale_of(self, pods: Iterable[Pod]) -> int:
        """The sum over the pods' controllers; pods without one do not count."""
        scales: dict[str, int] = {}
        for pod in pods:
            owner = controller_of(pod)
            if owner is None or owner.uid in scales:
                continue
            controller = self._controller(pod.namespace, owner)
            if controller is None:
                raise SyncError(f'found no controllers for pod "{pod.name}"')
            scales[controller.uid] = _replicas(controller)
        return sum(scales.values())

    def _controller(self, namespace: str, owner: OwnerReference) -> KubeObject | None:
        """Return the owner the reference names; of a ReplicaSet the Deployment above it, if any."""
        found = self._controllers.get((owner.kind, f"{namespace}/{owner.name}"))
        if found is None or found.uid != owner.uid or found.api_version != owner.api_version:
            return None
        above = controller_of(found) if isinstance(found, ReplicaSet) else None
        if above is None or above.kind != Deployment.kind:
            return found
        return self._controller(namespace, above)


def _needs_scale(pdb: PodDisruptionBudget) -> bool:
    """Whether the budget counts by the scales of controllers."""
    return pdb.spec.max_unavailable is not None or isinstance(pdb.spec.min_available, str)


def _selector_text(selector: LabelSelector | None) -> str:
    """The selector as Go prints it."""
    if selector is None:
        return "nil"
    labels = "".join(f"{key}: {value}," for key, value in sorted((selector.match_labels or {}).items()))
    requirements = "".join(
        f"LabelSelectorRequirement{{Key:{one.key},Operator:{one.operator},Values:[{' '.join(one.values or ())}],}},"
        for one in selector.match_expressions or ()
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{requirements}}},}}"
    )


def _replicas(controller: KubeObject) -> int:
    assert isinstance(controller, _SCALED)
    replicas = controller.spec.replicas
    return 1 if replicas is None else replicas


def _scaled(value: int | str, total: int) -> int:
    """A count as it is, a percentage of `total` rounded up."""
    if isinstance(value, int):
        return value
    digits = value.removesuffix("%")
    if not value.endswith("%") or not digits.isascii() or not digits.isdecimal():
        raise SyncError(f"invalid value for IntOrString: invalid type: string is not a percentage: {value!r}")
    return -(-total * int(digits) // 100)


def _disrupted(pdb: PodDisruptionBudget, pods: Iterable[Pod], now: int) -> dict[str, int]:
    """Disrupted pods that are still there, not yet being deleted, and not overdue."""
    given = pdb.status.disrupted_pods or {}
    times = {pod.name: microseconds(given[pod.name]) for pod in pods if pod.name in given and not pod.is_terminating}
    return {name: at for name, at in sorted(times.items()) if at + DELETION_TIMEOUT_US > now}


def _is_ready(pod: Pod) -> bool:
    return any(each.type == "Ready" and each.status == "True" for each in pod.status.conditions or ())


def _conditions(before: dict[str, Any], reason: str, message: str, generation: int, now: int) -> list[dict[str, Any]]:
    """The conditions with DisruptionAllowed as it is now; its time moves with its status only."""
    status = "True" if reason == SUFFICIENT_PODS else "False"
    there: list[dict[str, Any]] = before.get("conditions") or []
    old = next((each for each in there if each["type"] == DISRUPTION_ALLOWED), {})
    since = old.get("lastTransitionTime") if old.get("status") == status else None
    condition = {"type": DISRUPTION_ALLOWED, "status": status, "reason": reason}
    condition |= {"lastTransitionTime": since or time_text(now)}
    condition |= {"message": message} if message else {}
    kept = {"observedGeneration": generation} if generation else {}
    return [*(each for each in there if each["type"] != DISRUPTION_ALLOWED), condition | kept]


def _difference(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """A merge patch that makes the status so; zeros may be left out in what was there."""
    patch: dict[str, Any] = {}
    for name, value in after.items():
        old = before.get(name)
        if name == "disruptedPods":
            gone = {pod: None for pod in old or {} if pod not in value}
            if gone:
                patch[name] = gone
        elif (old or 0) != value:
            patch[name] = value
    return patch
