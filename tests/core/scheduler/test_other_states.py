"""A decision on a state that the other scheduler had and we had not is no difference; one by other rules is."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.model.effects import Comparison
from scheduler_core.scheduler import recent, trying
from scheduler_core.scheduler.engine import Observer
from tests.builders import make, make_node, make_pod, scheduler_config
from tests.cases import cases
from tests.core.scheduler.delayed import Recorded
from tests.core.scheduler.harness import NO_CYCLES, SECOND, Cluster, start

ZONES = ("a", "b", "c")
NODES = 9
MOST_ALLOCATED = scheduler_config(
    profiles=[
        {
            "pluginConfig": [
                {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated",
                 "resources": [{"name": "cpu", "weight": 1}]}}}
            ]
        }
    ]
)  # fmt: skip


def node(index: int, *, tainted: bool) -> Node:
    made = make_node(f"n{index}").zone(ZONES[index % 3])
    return (made.taint("gate") if tainted else made).build()


def pod(name: str, group: int, cpu: str = "200m") -> Pod:
    return make_pod(name).label(app=f"g{group}").owner("ReplicaSet", f"g{group}").req(cpu=cpu).build()


def replica_set(group: int) -> Any:
    labels = {"app": f"g{group}"}
    template = {"metadata": {"labels": labels}}
    return make("ReplicaSet", f"g{group}", spec={"selector": {"matchLabels": labels}, "template": template})


def eventful(recorded: Recorded, seed: int) -> None:
    """Nodes lose a taint one by one while ReplicaSets come with their pods, and pods go."""
    draws = Random(seed)
    recorded.at(0, *[node(index, tainted=index >= 2) for index in range(NODES)])
    recorded.at(0, *[pod(f"old{index}", 99).on_node(f"n{index % 2}") for index in range(8)])
    for index in range(2, NODES):
        recorded.at(3_000 + 150 * index + 10 * draws.randrange(8), node(index, tainted=False))
    for group in range(6):
        came = 3_100 + 250 * group
        recorded.at(came, replica_set(group))
        for each in range(3):
            recorded.at(came + 10 * draws.randrange(12), pod(f"p{group}-{each}", group))
    for index in range(4):
        recorded.gone_at(3_200 + 400 * index, "Pod", "default", f"old{index}")


def outcomes(found: Any) -> Counter[str]:
    return Counter(each.outcome for each in found)


@cases(
    "seed, delays",
    ("nodes are late", 1, {"Node": 400}),
    ("pods are late", 2, {"Pod": 300}),
    ("ReplicaSets are late", 3, {"ReplicaSet": 500}),
    ("each is late by itself", 4, {"Node": 330, "Pod": 150, "ReplicaSet": 240}),
)
def test_where_rules_are_equal_everything_agrees(seed: int, delays: dict[str, int]) -> None:
    recorded = Recorded(delays)
    eventful(recorded, seed)
    found = outcomes(recorded.play(8_000))
    assert found.total() == 18 and not found["differed"] and not found["uncertain"], found
    assert found["earlier"], "the delays make no difference: the test shows nothing"


def test_planted_difference_of_configuration_is_named() -> None:
    recorded = Recorded({"Node": 400, "ReplicaSet": 200}, MOST_ALLOCATED)
    eventful(recorded, 1)
    for index in range(3):
        recorded.at(9_000 + 3_000 * index, make_pod(f"alone{index}").req(cpu="2").build())
    found = recorded.play(18_000)
    alone = [each for each in found if "alone" in each.pod_key]
    assert [(each.outcome, each.cause, each.plugin) for each in alone] == [
        ("differed", "configuration", "NodeResourcesFit")
    ] * 3


def _late_taint(cluster: Cluster, *, ago: int) -> Comparison:
    """The pod went to a node that is tainted since `ago`."""
    waiting = make_pod().build()
    cluster.put(make_node("n1").capacity(cpu="1").build(), make_node("n2").build(), waiting)
    cluster.step(make_node("n2").taint("late").build(), budget=NO_CYCLES, after=5 * SECOND)
    return cluster.compare(waiting.on_node("n2"), after=ago)


def test_it_is_said_how_far_behind_the_state_is() -> None:
    cluster = start(observer=Observer())
    found = _late_taint(cluster, ago=SECOND * 2 // 5)
    assert (found.outcome, found.cause, found.tries) == ("earlier", "state", 1)
    assert [(each.kind, each.changes, each.age_us) for each in found.behind] == [("Node", 1, 400_000)]
    assert (found.own_node_name, found.plugin) == ("n1", "TaintToleration")


def test_what_is_as_late_as_lately_is_found_at_the_first_try() -> None:
    cluster = start(observer=Observer())
    small, names = make_node("n1").capacity(cpu="1").build(), ("n2", "n3")
    waiting = [make_pod(name).build() for name in "ab"]
    cluster.put(small, *[make_node(name).build() for name in names], *waiting)
    found = []
    for name, each in zip(names, waiting, strict=True):
        for index in range(4):
            tainted = make_node(name).taint(f"late{index}").build()
            cluster.step(tainted, budget=NO_CYCLES, after=SECOND // 10 if index else 5 * SECOND)
        found.append(cluster.compare(each.on_node(name), after=SECOND // 10))
    assert [(each.outcome, each.tries) for each in found] == [("earlier", 4), ("earlier", 1)]
    for each in found:
        assert [(b.kind, b.changes, b.age_us) for b in each.behind] == [("Node", 4, 400_000)]


def test_what_is_older_than_two_seconds_is_known_to_everybody() -> None:
    found = _late_taint(start(observer=Observer()), ago=3 * SECOND)
    assert (found.outcome, found.cause, found.tries) == ("differed", "configuration", 0)


def test_what_one_decision_may_not_have_known_another_one_shortly_after_knows() -> None:
    cluster = start(observer=Observer())
    waiting = [make_pod(name).build() for name in "ab"]
    cluster.put(make_node("n1").capacity(cpu="1").build(), make_node("n2").build(), *waiting)
    cluster.step(make_node("n2").taint("late").build(), budget=NO_CYCLES, after=5 * SECOND)
    cluster.step(waiting[0].on_node("n1"), budget=NO_CYCLES, after=2 * SECOND - SECOND // 20)
    found = cluster.compare(waiting[1].on_node("n2"), after=SECOND // 20)
    assert found.outcome == "differed"


@cases(
    "first, outcome",
    ("nothing was decided before", None, "earlier"),
    ("a decision that tells nothing", "n3", "earlier"),
    ("one that only who knows the newer node can make", "n2", "differed"),
)
def test_no_watch_goes_back(first: str | None, outcome: str) -> None:
    cluster = start(observer=Observer())
    big = [make_node(name).capacity(cpu=cpu) for name, cpu in (("n1", "8"), ("n2", "16"))]
    cluster.put(
        make_node("n3").capacity(cpu="4").build(),
        *[node.taint("gate").build() for node in big],
        *[make_pod(name).req(cpu="1").build() for name in "ab"],
    )
    free = [make_node(name).capacity(cpu=cpu).build() for name, cpu in (("n1", "8"), ("n2", "16"))]
    cluster.step(free[0], budget=NO_CYCLES, after=5 * SECOND)
    cluster.step(free[1], budget=NO_CYCLES, after=SECOND // 10)
    if first is not None:
        cluster.step(make_pod("a").req(cpu="1").on(first).build(), budget=NO_CYCLES, after=SECOND // 10)
    # Who had not heard of the two nodes chooses the third.
    last = make_pod("b").req(cpu="1").on("n3").build()
    assert cluster.compare(last, after=SECOND // 10).outcome == outcome


def test_what_comes_shortly_after_a_binding_may_have_been_known() -> None:
    cluster = start(observer=Observer())
    first, second = make_pod("a").req(cpu="3").build(), make_pod("b").req(cpu="3").build()
    cluster.put(make_node("n1").capacity(cpu="8").build(), make_node("n2").capacity(cpu="7").build(), first, second)
    # The other scheduler had placed the first pod before; its binding took longer.
    cluster.step(second.on_node("n2"), budget=NO_CYCLES, after=5 * SECOND)
    cluster.step(first.on_node("n1"), budget=NO_CYCLES, after=SECOND // 50)
    assert cluster.scheduler.next_timer(cluster.now) == cluster.now + SECOND // 10 - SECOND // 50
    (found,) = cluster.step(budget=NO_CYCLES, after=SECOND // 10).comparisons
    assert (found.outcome, found.node_name, found.own_node_name) == ("earlier", "n2", "n1")
    assert [(each.kind, each.changes, each.age_us) for each in found.behind] == [("Binding", -1, -20_000)]


def test_what_comes_in_the_same_step_after_a_binding_is_ahead_of_it() -> None:
    cluster = start(observer=Observer())
    first, second = make_pod("a").req(cpu="3").build(), make_pod("b").req(cpu="3").build()
    cluster.put(make_node("n1").capacity(cpu="8").build(), make_node("n2").capacity(cpu="7").build(), first, second)
    cluster.step(second.on_node("n2"), first.on_node("n1"), budget=NO_CYCLES, after=5 * SECOND)
    (found,) = cluster.step(budget=NO_CYCLES, after=SECOND // 10).comparisons
    assert found.outcome == "earlier"
    assert [(each.kind, each.changes, each.age_us) for each in found.behind] == [("Binding", -1, 0)]


def test_tries_leave_no_trace() -> None:
    cluster = start(observer=Observer())
    found = _late_taint(cluster, ago=SECOND // 2)
    assert found.tries and [len(each.attempts) for each in cluster.effects[-2:]] == [1, 0]
    engine = cluster.scheduler.engine
    stored = engine.store.get("Node", "n2")
    assert isinstance(stored, Node) and stored.taints
    # The next decision is made on the state of now.
    assert cluster.attempt(make_pod("next").build()).node_name == "n1"


def test_what_could_not_be_tried_is_uncertain(monkeypatch: Any) -> None:
    monkeypatch.setattr(trying, "LOOKS_TO_SETTLE", 0)
    found = _late_taint(start(observer=Observer()), ago=SECOND // 2)
    assert (found.outcome, found.cause, found.behind) == ("uncertain", "state", ())


def test_what_changes_too_much_to_be_kept_is_uncertain(monkeypatch: Any) -> None:
    monkeypatch.setattr(recent, "MOST_CHANGES", 3)
    cluster = start(observer=Observer())
    waiting = make_pod().build()
    cluster.put(make_node("n1").capacity(cpu="1").build(), make_node("n2").build(), waiting)
    cluster.step(make_node("n2").taint("late").build(), budget=NO_CYCLES, after=5 * SECOND)
    # So many that the taint is not kept, and none of them bears on the decision.
    cluster.put(*[make("Service", f"s{index}", namespace="elsewhere") for index in range(4)])
    found = cluster.compare(waiting.on_node("n2"), after=SECOND // 2)
    assert (found.outcome, found.cause, found.tries) == ("uncertain", "state", 0)


def test_work_is_bounded_by_the_clusters_time() -> None:
    kept = recent.Recent(looks=1_000)
    assert kept.spend(900, 0) and not kept.spend(900, 0)
    assert not kept.spend(900, 1_000) and kept.spend(900, 10_000)


def test_heartbeats_are_no_news() -> None:
    observer = Observer()
    cluster = start(observer=observer)
    cluster.put(make_node("n1").build(), replica_set(1), make_pod("on").on("n1").build())
    count = len(observer.recent.changes)
    status = {"replicas": 3}
    cluster.put(
        make_node("n1").build(),
        make("ReplicaSet", "g1", spec={"selector": {"matchLabels": {"app": "g1"}},
             "template": {"metadata": {"labels": {"app": "g1"}}}}, status=status),
        make_pod("on").on("n1").phase("Running").build(),
    )  # fmt: skip
    assert (count, len(observer.recent.changes)) == (3, 3)
