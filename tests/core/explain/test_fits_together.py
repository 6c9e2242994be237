"""What would place all pods of an owner: clusters with a known best answer."""

from __future__ import annotations

from typing import Any

from scheduler_core.explain.fits.changes import Kind
from scheduler_core.explain.fits.search import Fits, fits
from tests.builders import make, make_pod
from tests.core.explain.test_fits import node, only
from tests.core.scheduler.harness import dumped, profile, start

WEB = {"app": "web"}


def it(name: str = "it", cpu: str = "3") -> Any:
    return make_pod(name).label(WEB).req(cpu=cpu).priority(100)


def of(pods: list[Any], *objects: Any) -> Fits:
    """What is found; the engine is afterwards as before."""
    cluster = start(profile(default=True))
    first, *others = (pod.build() for pod in pods)
    cluster.put(*(each.build() if hasattr(each, "build") else each for each in objects), first, *others)
    before = dumped(cluster.scheduler)
    found = fits(cluster.scheduler.engine, first, others)
    assert found is not None
    assert dumped(cluster.scheduler) == before
    return found


def three(**wanted: str) -> list[Any]:
    return [it(name, **wanted) for name in ("it", "b", "c")]


def test_pods_that_fit_need_nothing() -> None:
    found = of(three(), *(node(f"n{i}") for i in range(3)))
    assert (len(found.places), found.suggestions) == (3, ())
    assert {node for _, node in found.places} == {"n0", "n1", "n2"}


def test_as_few_nodes_are_uncordoned_as_are_enough() -> None:
    found = of(three(), node("n0"), *(node(f"n{i}").unschedulable() for i in range(1, 6)))
    assert found.places == (("default/it", "n0"),)
    lifted = only(found, Kind.UNCORDON)
    (change,) = lifted.changes
    assert len({change.node, *change.more}) == 2
    assert lifted.cost == 40
    assert {node for _, node in lifted.places} == {"n0", change.node, *change.more}


def test_request_is_lowered_for_all() -> None:
    (change,) = only(of(three(), node("n0")), Kind.REQUEST).changes
    assert (change.old, change.new) == ("3", "1333m")


def test_nodes_are_added_as_many_as_are_needed() -> None:
    added = only(of(three(), node("n0")), Kind.ADD_NODE)
    (change,) = added.changes
    assert (change.new, change.node, change.more) == ("n0", "n0-new-1", ("n0-new-2",))


def test_pods_of_several_nodes_are_evicted_within_budgets() -> None:
    """Two would have to go, and the budget of these allows one."""
    low = [make_pod(f"low-{i}").label(app="low").req(cpu="4").on(f"n{i}") for i in range(2)]
    nodes = [node(f"n{i}") for i in range(2)]
    evicted = only(of([it(), it("b")], *nodes, *low), Kind.EVICT)
    assert set(evicted.victims) == {"default/low-0", "default/low-1"}
    assert {evicted.changes[0].node, *evicted.changes[0].more} == {"n0", "n1"}
    guard = make(
        "PodDisruptionBudget",
        "guard",
        spec={"selector": {"matchLabels": {"app": "low"}}},
        status={"disruptionsAllowed": 1},
    )
    assert all(each.changes[0].kind is not Kind.EVICT for each in of([it(), it("b")], *nodes, *low, guard).suggestions)


def test_label_is_given_to_several_nodes() -> None:
    pods = [each.node_selector(disk="ssd") for each in (it(), it("b"))]
    given = only(of(pods, node("n0").label(disk="ssd"), node("n1").label(disk="hdd")), Kind.RELABEL)
    assert (given.changes[0].node, given.changes[0].more) == ("n1", ())
    both = only(of(pods, node("n0"), node("n1").label(disk="hdd")), Kind.RELABEL)
    assert {both.changes[0].node, *both.changes[0].more} == {"n0", "n1"}


def test_gates_of_all_are_lifted() -> None:
    found = of([it().gate("one"), it("b").gate("one", "two")], node("n0"), node("n1"))
    (told,) = found.suggestions
    assert [change.old for change in told.changes] == ["one", "two"]
    assert len(told.places) == 2


def test_room_that_one_of_them_is_nominated_to_is_not_counted_twice() -> None:
    found = of([it(), it("b").nominated("n1")], node("n0"), node("n1"))
    assert sorted(node for _, node in found.places) == ["n0", "n1"]


def test_pods_that_differ_in_the_field_stay_as_they_are() -> None:
    """Only those with the selector lose it."""
    found = of([it().node_selector(disk="ssd"), it("b")], node("n0"), node("n1"))
    assert len(only(found, Kind.NODE_SELECTOR).places) == 2
