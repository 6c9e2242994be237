"""Disruption budgets: what they expect, what is healthy, what they can spare, and what is left alone."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.api import manifests
from scheduler_core.apiserver.requests import Create, ObjectKey, Patch, PatchType, Request
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.disruption import DisruptionController
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut
from tests.builders import PodBuilder, make_manifest, make_pod
from tests.cases import cases

SECOND = 1_000_000
NOW = 1_900_000_000 * SECOND
NOW_TEXT = "2030-03-17T17:46:40Z"
Manifest = dict[str, Any]


def put(manifest: Manifest) -> Change:
    return ObjectPut(manifests.decode(manifest))


def budget(selector: Any = ..., status: Manifest | None = None, **spec: Any) -> Change:
    chosen = {"matchLabels": {"app": "shop"}} if selector is ... else selector
    built = make_manifest("PodDisruptionBudget", "guard", spec={"selector": chosen, **spec}, status=status or {})
    built["metadata"] |= {"generation": 3, "uid": "guard"}
    return put(built)


def replicas(kind: str, name: str, count: int | None, owner: tuple[str, str] | None = None) -> Change:
    built = make_manifest(kind, name, spec={} if count is None else {"replicas": count})
    built["metadata"]["uid"] = f"uid-{name}"
    if owner is not None:
        reference = {"apiVersion": "apps/v1", "kind": owner[0], "name": owner[1], "uid": f"uid-{owner[1]}"}
        built["metadata"]["ownerReferences"] = [{**reference, "controller": True}]
    return put(built)


def shop(name: str, ready: bool = True) -> PodBuilder:
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    return make_pod(name).label(app="shop").status(conditions=conditions)


def shops(count: int, owner: tuple[str, str] | None = None, ready: bool = True) -> list[Change]:
    pods = [shop(f"p{number}", ready) for number in range(count)]
    return [put((pod.owner(*owner) if owner is not None else pod).manifest()) for pod in pods]


def status_of(requests: list[Request]) -> Manifest:
    (patch,) = (one for one in requests if isinstance(one, Patch))
    assert isinstance(patch.body, dict)
    key = ObjectKey("PodDisruptionBudget", "default", "guard")
    assert (patch.key, patch.uid, patch.subresource, patch.patch_type) == (key, "guard", "status", PatchType.MERGE)
    return dict(patch.body["status"])


def computed(*changes: Change) -> tuple[int, int, int, int]:
    """(expected, desired, healthy, allowed)."""
    status = status_of(DisruptionController(ClusterOptions()).step(NOW, changes))
    names = ("expectedPods", "desiredHealthy", "currentHealthy", "disruptionsAllowed")
    expected, desired, healthy, allowed = (status.get(name, 0) for name in names)
    return expected, desired, healthy, allowed


OWNER = ("ReplicaSet", "rs")


@pytest.fixture
def controller() -> DisruptionController:
    return DisruptionController(ClusterOptions())


@cases(
    "changes, wanted",
    ("a number that stays", [budget(minAvailable=2), *shops(3)], (3, 2, 3, 1)),
    ("more than there are", [budget(minAvailable=5), *shops(3)], (3, 5, 3, 0)),
    ("no pods, nothing allowed", [budget(minAvailable=0)], (0, 0, 0, 0)),
    ("nobody is ready", [budget(minAvailable=2), *shops(3, ready=False)], (3, 2, 0, 0)),
    ("one may go", [budget(maxUnavailable=1), replicas("ReplicaSet", "rs", 4), *shops(3, OWNER)], (4, 3, 3, 0)),
    ("all may go", [budget(maxUnavailable=9), replicas("ReplicaSet", "rs", 4), *shops(4, OWNER)], (4, 0, 4, 4)),
    ("a share that may go is rounded up",
     [budget(maxUnavailable="30%"), replicas("ReplicaSet", "rs", 4), *shops(4, OWNER)], (4, 2, 4, 2)),
    ("a share that stays is rounded up",
     [budget(minAvailable="50%"), replicas("ReplicaSet", "rs", 5), *shops(5, OWNER)], (5, 3, 5, 2)),
    ("replicas not given are one",
     [budget(minAvailable="50%"), replicas("StatefulSet", "db", None), *shops(1, ("StatefulSet", "db"))], (1, 1, 1, 0)),
    ("of a deployment all replicas count",
     [budget(maxUnavailable=1), replicas("Deployment", "front", 6),
      replicas("ReplicaSet", "rs", 2, ("Deployment", "front")), *shops(2, OWNER)], (6, 5, 2, 0)),
    ("pods without a controller do not count", [budget(maxUnavailable=1), *shops(3)], (0, 0, 3, 0)),
    ("an empty selector means all", [budget({}, minAvailable=1), *shops(2)], (2, 1, 2, 1)),
    ("no selector means none", [budget(None, minAvailable=0), *shops(2)], (0, 0, 0, 0)),
    ("neither bound is given", [budget(), *shops(2)], (0, 0, 2, 0)),
    ("one is leaving", [budget(minAvailable=1), *shops(2), put(shop("p9").deleted().manifest())], (3, 1, 2, 1)),
    ("the budget comes last", [*shops(2), put(make_pod("other").label(app="else").manifest()), budget(minAvailable=1)],
     (2, 1, 2, 1)),
)  # fmt: skip
def test_budget_is_computed(changes: list[Change], wanted: tuple[int, int, int, int]) -> None:
    assert computed(*changes) == wanted


def test_condition_says_whether_a_pod_may_go(controller: DisruptionController) -> None:
    status = status_of(controller.step(NOW, [budget(minAvailable=1), *shops(2)]))
    (condition,) = status["conditions"]
    assert condition == {"type": "DisruptionAllowed", "status": "True", "reason": "SufficientPods",
                         "lastTransitionTime": NOW_TEXT, "observedGeneration": 3}  # fmt: skip
    assert status["observedGeneration"] == 3
    later = status_of(controller.step(NOW + SECOND, [budget(status=status, minAvailable=2)]))
    (condition,) = later["conditions"]
    assert (condition["status"], condition["reason"]) == ("False", "InsufficientPods")
    assert later["disruptionsAllowed"] == 0


def test_nothing_is_written_when_the_status_is_right(controller: DisruptionController) -> None:
    status = status_of(controller.step(NOW, [budget(minAvailable=1), *shops(2)]))
    assert controller.step(NOW + SECOND, [budget(status=status, minAvailable=1)]) == []
    assert controller.step(NOW + SECOND, shops(2)) == []
    assert controller.next_due() is None


def test_budget_follows_pods_that_leave_and_change_their_labels(controller: DisruptionController) -> None:
    controller.step(NOW, [budget(minAvailable=1), *shops(3)])
    assert status_of(controller.step(NOW, [ObjectDeleted("Pod", "default", "p0", "")]))["expectedPods"] == 2
    assert status_of(controller.step(NOW, [put(make_pod("p1").label(app="else").manifest())]))["expectedPods"] == 1
    assert controller.step(NOW, [ObjectDeleted("PodDisruptionBudget", "default", "guard")]) == []
    assert controller.step(NOW, [ObjectDeleted("Pod", "default", "p2", "")]) == []


def test_budget_allows_nothing_when_a_controller_is_not_found() -> None:
    before = {"disruptionsAllowed": 2, "currentHealthy": 3}
    changes = [budget(status=before, maxUnavailable=1), *shops(1, OWNER)]
    status = status_of(DisruptionController(ClusterOptions()).step(NOW, changes))
    assert status["disruptionsAllowed"] == 0
    assert "currentHealthy" not in status
    (condition,) = status["conditions"]
    assert (condition["status"], condition["reason"]) == ("False", "SyncFailed")
    assert condition["message"] == 'found no controllers for pod "p0"'


def test_scale_that_changes_changes_the_budget(controller: DisruptionController) -> None:
    controller.step(NOW, [budget(maxUnavailable=1), replicas("ReplicaSet", "rs", 2), *shops(2, OWNER)])
    assert status_of(controller.step(NOW, [replicas("ReplicaSet", "rs", 7)]))["expectedPods"] == 7


def test_disrupted_pods_are_not_healthy_until_they_are_overdue(controller: DisruptionController) -> None:
    disrupted = {"p0": NOW_TEXT, "gone": NOW_TEXT}
    status = status_of(controller.step(NOW, [budget(status={"disruptedPods": disrupted}, minAvailable=1), *shops(3)]))
    assert (status["currentHealthy"], status["disruptionsAllowed"]) == (2, 1)
    assert status["disruptedPods"] == {"gone": None}
    assert controller.next_due() == NOW + 120 * SECOND
    status = status_of(controller.step(NOW + 120 * SECOND, []))
    assert status["currentHealthy"] == 3
    assert status["disruptedPods"] == {"p0": None, "gone": None}
    assert controller.next_due() is None


def test_budget_is_not_looked_at_again_when_nobody_is_being_disrupted_any_more() -> None:
    controller = DisruptionController(ClusterOptions())
    controller.step(NOW, [budget(status={"disruptedPods": {"p0": NOW_TEXT}}, minAvailable=1), *shops(2)])
    assert controller.next_due() == NOW + 120 * SECOND
    controller.step(NOW + SECOND, [ObjectDeleted("Pod", "default", "p0", "")])
    assert controller.next_due() is None
    assert controller.step(NOW + 120 * SECOND, []) == []


def test_budget_that_is_gone_is_not_looked_at_again(controller: DisruptionController) -> None:
    controller.step(NOW, [budget(status={"disruptedPods": {"p0": NOW_TEXT}}, minAvailable=1), *shops(2)])
    controller.step(NOW + SECOND, [ObjectDeleted("PodDisruptionBudget", "default", "guard")])
    assert controller.next_due() is None
    # One made anew under the name begins without the deadline of the one before.
    status = status_of(controller.step(NOW + 2 * SECOND, [budget(minAvailable=1)]))
    assert status["currentHealthy"] == 2
    assert controller.next_due() is None


def test_budget_is_looked_at_again_when_the_earliest_disrupted_pod_is_overdue(controller: DisruptionController) -> None:
    later = "2030-03-17T17:47:10Z"  # half a minute after NOW
    controller.step(NOW, [budget(status={"disruptedPods": {"p0": later, "p1": NOW_TEXT}}, minAvailable=1), *shops(3)])
    assert controller.next_due() == NOW + 120 * SECOND
    status = status_of(controller.step(NOW + 120 * SECOND, []))
    assert (status["currentHealthy"], controller.next_due()) == (2, NOW + 150 * SECOND)


@cases(
    "owner",
    ("by uid", {"uid": "an-earlier-one"}),
    ("by apiVersion", {"api": "extensions/v1"}),
)
def test_controller_that_is_another_does_not_count(owner: dict[str, str]) -> None:
    pod = put(shop("p0").owner(*OWNER, **owner).manifest())  # type: ignore[arg-type]
    changes = [budget(maxUnavailable=1), replicas("ReplicaSet", "rs", 2), pod]
    (condition,) = status_of(DisruptionController(ClusterOptions()).step(NOW, changes))["conditions"]
    assert condition["reason"] == "SyncFailed"


def test_controller_that_goes_takes_the_budget_with_it(controller: DisruptionController) -> None:
    controller.step(NOW, [budget(maxUnavailable=1), replicas("ReplicaSet", "rs", 2), *shops(2, OWNER)])
    status = status_of(controller.step(NOW, [ObjectDeleted("ReplicaSet", "default", "rs", "uid-rs")]))
    assert status["conditions"][0]["reason"] == "SyncFailed"


def test_pods_of_other_namespaces_do_not_count() -> None:
    elsewhere = (
        make_pod("p9", namespace="else").label(app="shop").status(conditions=[{"type": "Ready", "status": "True"}])
    )
    assert computed(budget(minAvailable=1), *shops(2), put(elsewhere.manifest())) == (2, 1, 2, 1)


def test_conditions_of_others_stay_and_zeros_that_are_left_out_are_no_change(controller: DisruptionController) -> None:
    other = {"type": "Mine", "status": "True", "reason": "r", "lastTransitionTime": NOW_TEXT}
    status = status_of(controller.step(NOW, [budget(status={"conditions": [other]}, minAvailable=0)]))
    assert [condition["type"] for condition in status["conditions"]] == ["Mine", "DisruptionAllowed"]
    assert set(status) == {"observedGeneration", "conditions"}


@pytest.mark.parametrize(
    ("spec", "seven", "five"),
    [
        ({"minAvailable": 2}, (7, 2, 7, 5), (7, 2, 5, 3)),
        ({"minAvailable": 7}, (7, 7, 7, 0), (7, 7, 5, 0)),
        ({"minAvailable": 9}, (7, 9, 7, 0), (7, 9, 5, 0)),
        ({"minAvailable": "50%"}, (7, 4, 7, 3), (7, 4, 5, 1)),
        ({"minAvailable": "100%"}, (7, 7, 7, 0), (7, 7, 5, 0)),
        ({"maxUnavailable": 1}, (7, 6, 7, 1), (7, 6, 5, 0)),
        ({"maxUnavailable": "30%"}, (7, 4, 7, 3), (7, 4, 5, 1)),
        ({"maxUnavailable": 0}, (7, 7, 7, 0), (7, 7, 5, 0)),
        ({"maxUnavailable": "100%"}, (7, 0, 7, 7), (7, 0, 5, 5)),
    ],
)
def test_figures_that_were_recorded(spec: Manifest, seven: tuple[int, ...], five: tuple[int, ...]) -> None:
    owner = replicas("ReplicaSet", "rs", 7)
    assert computed(budget(**spec), owner, *shops(7, OWNER)) == seven
    unready = [put(shop(f"p{number}", False).owner(*OWNER).manifest()) for number in range(5, 7)]
    assert computed(budget(**spec), owner, *shops(5, OWNER), *unready) == five


@pytest.mark.parametrize(
    ("spec", "pods", "wanted"),
    [
        ({"minAvailable": 1}, 0, (0, 1, 0, 0)),
        ({"maxUnavailable": 1}, 0, (0, 0, 0, 0)),
        ({"minAvailable": 1}, 2, (2, 1, 2, 1)),
        ({"maxUnavailable": 1}, 2, (0, 0, 2, 0)),
        ({"maxUnavailable": "50%"}, 2, (0, 0, 2, 0)),
    ],
)
def test_figures_of_bare_pods_that_were_recorded(spec: Manifest, pods: int, wanted: tuple[int, ...]) -> None:
    assert computed(budget(**spec), *shops(pods)) == wanted


def told(requests: list[Request]) -> list[tuple[str, str, str]]:
    events = [one.manifest for one in requests if isinstance(one, Create)]
    return [(one["reason"], one["type"], one["message"]) for one in events]


def test_events_say_once_what_is_wrong(controller: DisruptionController) -> None:
    nothing = ("NoPods", "Normal", "No matching pods found")
    assert told(controller.step(NOW, [budget(maxUnavailable=1)])) == [nothing]
    assert told(controller.step(NOW, [budget(maxUnavailable=1)])) == []
    (unmanaged,) = told(controller.step(NOW, shops(1)))
    assert unmanaged[:2] == ("UnmanagedPods", "Warning")
    assert (
        "(selector: &LabelSelector{MatchLabels:map[string]string{app: shop,},"
        "MatchExpressions:[]LabelSelectorRequirement{},}) were found to be unmanaged."
    ) in unmanaged[2]
    assert told(controller.step(NOW, [budget(minAvailable=1)])) == []  # a number needs no controllers
    wrong = told(controller.step(NOW, [budget(maxUnavailable=1), *shops(1, OWNER)]))
    text = 'Failed to calculate the number of expected pods: found no controllers for pod "p0"'
    assert wrong == [("CalculateExpectedPodCountFailed", "Warning", text)]


def test_only_one_of_several_budgets_is_recomputed(controller: DisruptionController) -> None:
    second = make_manifest("PodDisruptionBudget", "second", spec={"selector": {}, "minAvailable": 1}, status={})
    controller.step(NOW, [budget(minAvailable=1), put(second)])
    requests = controller.step(NOW, shops(1))
    assert [one.key.name for one in requests if isinstance(one, Patch)] == ["guard"]
    message = 'Pod "default"/"p0" matches multiple PodDisruptionBudgets.  Chose "guard" arbitrarily.'
    assert told(requests) == [("MultiplePodDisruptionBudgets", "Warning", message)]
    assert told(controller.step(NOW, shops(1, ready=False))) == []
    gone = controller.step(NOW, [ObjectDeleted("Pod", "default", "p0", "pod-default/p0")])
    assert [one.key.name for one in gone if isinstance(one, Patch) and one.subresource] == ["guard"]


def test_pod_that_was_not_deleted_is_told_of(controller: DisruptionController) -> None:
    given = {"disruptedPods": {"p0": NOW_TEXT}}
    assert told(controller.step(NOW, [budget(minAvailable=1, status=given), *shops(1)])) == []
    message = "Pod was expected by PDB default/default to be deleted but it wasn't"
    assert told(controller.step(NOW + 120 * SECOND, [])) == [("NotDeleted", "Warning", message)]
