"""What would make a pod fit: clusters with a known best answer for every kind of change."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.explain.fits.changes import COSTS, Kind, Suggestion, with_costs
from scheduler_core.explain.fits.nodes import MOST_SHAPES
from scheduler_core.explain.fits.search import Fits, fits
from tests.builders import make, make_node, make_pod
from tests.cases import cases
from tests.core.scheduler.harness import dumped, profile, start

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
WEB, DB = {"app": "web"}, {"app": "db"}


def node(name: str, cpu: str = "4") -> Any:
    return make_node(name).label({HOST: name}).capacity(cpu=cpu, memory="8Gi", pods="10")


def it() -> Any:
    return make_pod("it").label(WEB).req(cpu="1", memory="1Gi").priority(100)


def of(pod: Any, *objects: Any, **options: Any) -> Fits:
    """What is found; the engine is afterwards as before."""
    cluster = start(profile(default=True))
    built = pod.build()
    cluster.put(*(each.build() if hasattr(each, "build") else each for each in objects), built)
    before = dumped(cluster.scheduler)
    found = fits(cluster.scheduler.engine, built, **options)
    assert dumped(cluster.scheduler) == before
    assert found is not None
    return found


def only(found: Fits, kind: Kind) -> Suggestion:
    """The one suggestion of a single change of this kind."""
    (one,) = [each for each in found.suggestions if [change.kind for change in each.changes] == [kind]]
    return one


def kinds(found: Fits) -> list[list[Kind]]:
    return [[change.kind for change in each.changes] for each in found.suggestions]


def test_pod_that_fits_needs_nothing() -> None:
    found = of(it(), node("n1"))
    assert (found.node, found.suggestions, found.preemption, found.nodes) == ("n1", (), None, 1)


def test_request_is_lowered_to_the_most_that_is_free() -> None:
    found = of(it().req(cpu="3"), node("n1"), make_pod("a").req(cpu="2250m").on("n1").priority(1_000))
    best = found.suggestions[0]
    (change,) = best.changes
    assert (change.kind, change.field, change.old, change.new, change.step) == (
        Kind.REQUEST,
        "spec.containers[0].resources.requests.cpu",
        "3",
        "1750m",
        "1m",
    )
    assert (best.node, best.feasible, best.cost) == ("n1", 1, 43)


CPU = "resources.requests.cpu"
GPU = {"example.com/gpu": "2"}


@cases(
    "pod, objects, field, new, step",
    ("memory in whole mebibytes", it().req(memory="4Gi"),
     [node("n1"), make_pod("a").req(memory=str((5 << 30) + 1)).on("n1").priority(1_000)],
     "spec.containers[0].resources.requests.memory", "3071Mi", "1Mi"),
    ("of the container that asks enough", it().req(cpu="5").container({"cpu": "500m"}), [node("n1")],
     f"spec.containers[0].{CPU}", "3500m", "1m"),
    ("of an init container where it asks most", it().init_container({"cpu": "6"}), [node("n1")],
     f"spec.initContainers[0].{CPU}", "4", "1m"),
    ("at pod level", it().pod_level(cpu="6"), [node("n1")], f"spec.{CPU}", "4", "1m"),
    ("with the limit that has to be the same", it().container(GPU, limits=GPU),
     [node("n1").capacity({"example.com/gpu": "1"})],
     "spec.containers[1].resources.requests.example.com/gpu", "1", "1"),
    ("written as people do", it().req(cpu="6"), [node("n1", "4500m")], f"spec.containers[0].{CPU}", "4500m", "1m"),
    ("without the room of a pod that is nominated", it().req(cpu="2"),
     [node("n1"), make_pod("first").req(cpu="3").priority(500).nominated("n1")],
     f"spec.containers[0].{CPU}", "1", "1m"),
)  # fmt: skip
def test_one_request_is_lowered(pod: Any, objects: list[Any], field: str, new: str, step: str) -> None:
    (change,) = only(of(pod, *objects), Kind.REQUEST).changes
    assert (change.field, change.new, change.step) == (field, new, step)


def test_taint_is_tolerated() -> None:
    found = of(it(), node("n1").taint("only", "db"), node("n2").taint("gone", effect="NoExecute"))
    assert [each.changes[0].new for each in found.suggestions if each.changes[0].kind is Kind.TOLERATION] == [
        "gone:NoExecute",
        "only=db:NoSchedule",
    ]
    assert [each.node for each in found.suggestions[:2]] == ["n2", "n1"]


def test_node_is_uncordoned_and_its_taint_not_tolerated() -> None:
    found = of(it(), node("n1").unschedulable().taint("node.kubernetes.io/unschedulable"))
    assert kinds(found) == [[Kind.UNCORDON], [Kind.ADD_NODE]]
    assert (found.suggestions[0].changes[0].node, found.suggestions[0].node) == ("n1", "n1")


def test_label_of_the_selector_is_dropped_or_given_to_a_node() -> None:
    found = of(it().node_selector(disk="ssd"), node("n1").label(disk="hdd"))
    assert kinds(found) == [[Kind.NODE_SELECTOR], [Kind.RELABEL]]
    dropped, given = (each.changes[0] for each in found.suggestions)
    assert (dropped.field, dropped.old, dropped.new) == ("spec.nodeSelector.disk", "ssd", "")
    assert (given.node, given.field, given.old, given.new) == ("n1", "metadata.labels.disk", "hdd", "ssd")


@cases(
    "pod, there, want",
    ("labels that Kubernetes keeps are not given", it().node_selector({ZONE: "z9"}), node("n1").zone("z1"),
     Kind.NODE_SELECTOR),
    ("affinity to pods that are not there is preferred", it().pod_affinity(HOST, DB), node("n1"), Kind.POD_AFFINITY),
    ("a constraint whose key no node has is softened", it().spread("rack", WEB), node("n1"), Kind.SPREAD),
)  # fmt: skip
def test_nothing_else_helps(pod: Any, there: Any, want: Kind) -> None:
    assert kinds(of(pod, there)) == [[want]]


@cases(
    "operator, values, labels, want",
    ("a value", "In", ["ssd", "nvme"], {"disk": "hdd"}, "ssd"),
    ("any value", "Exists", None, {}, "true"),
    ("none of these", "NotIn", ["hdd"], {"disk": "hdd"}, ""),
    ("none", "DoesNotExist", None, {"disk": "hdd"}, ""),
    ("more", "Gt", ["7"], {"disk": "3"}, "8"),
    ("less", "Lt", ["7"], {"disk": "9"}, "6"),
)
def test_required_affinity_is_preferred_or_met_by_a_label(operator: str, values: Any, labels: Any, want: str) -> None:
    asked = {"key": "disk", "operator": operator} | ({"values": values} if values else {})
    found = of(it().required_node_affinity({"matchExpressions": [asked]}), node("n1").label(labels))
    assert kinds(found) == [[Kind.NODE_AFFINITY], [Kind.RELABEL]]
    assert (found.suggestions[0].changes[0].new, found.suggestions[1].changes[0].new) == ("preferred", want)


def test_one_requirement_of_several_is_dropped() -> None:
    asked = [{"key": "disk", "operator": "In", "values": ["ssd"]}, {"key": "rack", "operator": "Exists"}]
    found = of(it().required_node_affinity({"matchExpressions": asked}), node("n1").label(rack="1"))
    first = found.suggestions[0].changes[0]
    assert (first.kind, first.field.rpartition(".")[2], first.old) == (
        Kind.NODE_AFFINITY,
        "matchExpressions[0]",
        "disk In ssd",
    )


def test_anti_affinity_is_preferred_or_who_it_is_about_leaves() -> None:
    found = of(it().pod_affinity(HOST, DB, anti=True), node("n1"), make_pod("a").label(DB).on("n1"))
    assert kinds(found) == [[Kind.POD_ANTI_AFFINITY], [Kind.EVICT], [Kind.ADD_NODE]]
    assert found.suggestions[1].victims == ("default/a",)


def test_those_who_keep_the_pod_away_are_evicted() -> None:
    hermit = make_pod("hermit").pod_affinity(HOST, WEB, anti=True).on("n1").priority(100)
    assert only(of(it(), node("n1"), hermit), Kind.EVICT).victims == ("default/hermit",)


def test_skew_is_raised_as_far_as_needed_or_the_constraint_softened() -> None:
    pods = [make_pod(f"a{i}").label(WEB).on("n1").priority(1_000) for i in range(4)]
    full = node("n2").zone("z2").unschedulable().taint("full")
    found = of(it().spread(ZONE, WEB, max_skew=1), node("n1").zone("z1"), full, *pods)
    first, second = found.suggestions[:2]
    assert [each.kind for each in first.changes] == [Kind.MAX_SKEW]
    assert (first.changes[0].old, first.changes[0].new, first.changes[0].step) == ("1", "5", "1")
    assert (second.changes[0].kind, second.changes[0].new) == (Kind.SPREAD, "ScheduleAnyway")


def test_port_is_dropped() -> None:
    server = make_pod("a").host_port(80).on("n1").priority(1_000)
    found = of(it().host_port(79).host_port(80), node("n1"), server)
    change = only(found, Kind.HOST_PORT).changes[0]
    assert (change.field, change.old) == ("spec.containers[0].ports[1].hostPort", "80")


def test_gates_are_lifted_and_what_else_is_needed() -> None:
    assert kinds(of(it().gate("one", "two"), node("n1"))) == [[Kind.GATE, Kind.GATE]]
    found = of(it().gate("one"), node("n1").unschedulable())
    assert found.is_gated and kinds(found)[0] == [Kind.GATE, Kind.UNCORDON]


def test_priority_is_raised_above_the_least_that_helps() -> None:
    """Pods of more priority are not evicted: to preempt the 300 is enough, and the 500 stay."""
    pods = [make_pod(f"p{p}").req(cpu="4").priority(p).on(f"n{p}") for p in (300, 500)]
    found = of(it().req(cpu="2"), node("n300"), node("n500"), *pods)
    raised = only(found, Kind.PRIORITY)
    (change,) = raised.changes
    assert (change.field, change.old, change.new) == ("spec.priority", "100", "301")
    assert (raised.node, raised.victims, raised.violations) == ("n300", ("default/p300",), 0)
    assert [Kind.EVICT] not in kinds(found)


def test_pod_that_preempts_already_needs_no_priority() -> None:
    found = of(it().req(cpu="2"), node("n1"), make_pod("low").req(cpu="4").on("n1"))
    assert found.preemption is not None
    assert (found.preemption.node, found.preemption.victims) == ("n1", ("default/low",))
    assert [Kind.PRIORITY] not in kinds(found)


GUARD = make("PodDisruptionBudget", "guard", spec={"selector": {"matchLabels": DB}})
AGENT = make_pod("agent").req(cpu="3").owner("DaemonSet", "agent").on("n2")


@cases(
    "pod, others, unwanted",
    ("a priority where the policy forbids preemption", it().never_preempts(),
     [make_pod("a").req(cpu="4").on("n1").priority(300)], Kind.PRIORITY),
    ("who has a budget, and who comes back", it(),
     [make_pod("a").label(DB).req(cpu="4").on("n1"), GUARD, node("n2"), AGENT], Kind.EVICT),
    ("who is going", it(), [make_pod("a").req(cpu="4").on("n1").deleted()], Kind.EVICT),
)  # fmt: skip
def test_is_not_suggested(pod: Any, others: list[Any], unwanted: Kind) -> None:
    assert [unwanted] not in kinds(of(pod.req(cpu="2"), node("n1"), *others))


def test_one_pod_is_evicted_where_one_is_enough() -> None:
    pods = [make_pod(f"s{i}").req(cpu="500m").on("n1") for i in range(4)]
    found = of(it().req(cpu="2"), node("n1"), *pods, make_pod("large").req(cpu="2").priority(50).on("n1"))
    assert only(found, Kind.EVICT).victims == ("default/large",)


def test_node_is_added_of_the_smallest_shape_that_is_enough() -> None:
    nodes = [node("small", "2"), node("middle", "4"), node("large", "8")]
    pods = [make_pod(f"on-{each}").req(cpu="2").priority(1_000).on(each) for each in ("middle",)]
    pods.append(make_pod("on-large").req(cpu="6").priority(1_000).on("large"))
    added = [each for each in of(it().req(cpu="3"), *nodes, *pods).suggestions if each.changes[0].kind is Kind.ADD_NODE]
    assert [(each.changes[0].new, each.node) for each in added] == [
        ("middle", "middle-new-1"),
        ("large", "large-new-1"),
    ]


def test_node_is_added_of_a_large_shape_behind_many_small_ones() -> None:
    shapes = [node(f"small-{cpu}", str(cpu)) for cpu in range(1, 1 + MOST_SHAPES)]
    pods = [make_pod("on-large").req(cpu="60").priority(1_000).on("large")]
    found = of(it().req(cpu="32"), *shapes, node("large", "64"), *pods)
    assert [each.node for each in found.suggestions if each.changes[0].kind is Kind.ADD_NODE] == ["large-new-1"]


def test_two_changes_only_where_no_single_one_is_enough() -> None:
    found = of(it().node_selector(disk="ssd"), node("n1").unschedulable().label(disk="hdd"))
    assert {frozenset(each) for each in kinds(found)} >= {frozenset({Kind.NODE_SELECTOR, Kind.UNCORDON})}
    assert all(len(each) == 2 for each in kinds(found))
    taints = of(it(), node("n1").taint("one").taint("two"))
    assert kinds(taints)[0] == [Kind.TOLERATION, Kind.TOLERATION]


def test_numbers_of_two_changes_are_as_small_as_each_needs() -> None:
    found = of(it().req(cpu="6", memory="10Gi"), node("n1"))
    (both,) = [each for each in found.suggestions if [c.kind for c in each.changes] == [Kind.REQUEST, Kind.REQUEST]]
    assert [change.new for change in both.changes] == ["4", "8Gi"]


def test_costs_decide_the_order() -> None:
    pod, there = it().node_selector(disk="ssd"), node("n1")
    found = of(pod, there, costs=with_costs({Kind.RELABEL: 1}))
    assert [(each.changes[0].kind, each.cost) for each in found.suggestions] == [
        (Kind.RELABEL, 1),
        (Kind.NODE_SELECTOR, 40),
    ]
    assert len(of(pod, there, limit=1).suggestions) == 1


@cases("costs", ("unknown", {"sheep": 1}), ("negative", {"evict": -1}))
def test_costs_that_cannot_be(costs: Any) -> None:
    with pytest.raises(ValueError, match="cost"):
        with_costs(costs)
    assert with_costs({}) == COSTS


@cases("pod", ("of no profile", it().scheduler("nobody")), ("that is being deleted", it().deleted()))
def test_pod_that_is_not_tried(pod: Any) -> None:
    cluster = start(profile(default=True))
    assert fits(cluster.scheduler.engine, pod.build()) is None


def test_without_nodes_there_is_nothing_to_suggest() -> None:
    found = of(it())
    assert (found.node, found.suggestions, found.nodes) == ("", (), 0)


def test_extenders_are_there_again_afterwards() -> None:
    cluster = start(profile(default=True))
    cluster.put(node("n1").build())
    engine = cluster.scheduler.engine
    before = engine.extenders
    fits(engine, it().req(cpu="64").build())
    assert engine.extenders is before
