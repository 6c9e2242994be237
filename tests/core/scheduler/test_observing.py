"""An engine that watches another scheduler: it decides beside it, carries nothing out, and says where they differ."""

from __future__ import annotations

from scheduler_core.config.types import Extender
from scheduler_core.model.effects import CacheMove, Comparison, Effects
from scheduler_core.scheduler.comparing import NOT_NAMED
from scheduler_core.scheduler.engine import Observer
from tests.builders import Builder, make_node, make_pod
from tests.cases import cases
from tests.core.scheduler.harness import NO_CYCLES, SECOND, Cluster, profile, start


def _observed(*objects: Builder, observer: Observer | None = None) -> Cluster:
    """An engine beside another scheduler, with these objects."""
    cluster = start(observer=observer or Observer())
    cluster.put(*(each.build() for each in objects))
    return cluster


def _bound(cluster: Cluster, pod: Builder, node: str, *, after: int = 2 * SECOND) -> Comparison:
    """What is said when the other scheduler binds a pod that waits."""
    cluster.put(pod.build())
    return cluster.compare(pod.build().on_node(node), after=after)


def _asks_for_nothing(effects: Effects) -> bool:
    return not (effects.bindings or effects.evictions or effects.status_patches or effects.writes)


def test_pending_pod_is_explained_and_nothing_is_carried_out() -> None:
    cluster = _observed(make_node("n1").capacity(cpu="1"))
    effects = cluster.step(make_pod("big").req(cpu="2").build(), make_pod("small").req(cpu="500m").build())
    found = {attempt.pod_key: (attempt.result, attempt.node_name) for attempt in effects.attempts}
    assert found == {"default/big": ("unschedulable", ""), "default/small": ("proposed", "n1")}
    assert _asks_for_nothing(effects)
    assert not cluster.scheduler.engine.cache.assumed_pods
    assert "Insufficient cpu" in effects.attempts[0].message + effects.attempts[1].message


def test_proposed_pod_is_tried_again_while_nobody_binds_it() -> None:
    cluster = _observed(make_node("n1"))
    assert cluster.attempt(make_pod().build()).result == "proposed"
    assert not cluster.step().attempts
    again = cluster.attempt(after=2 * SECOND)
    assert (again.attempt, again.result) == (2, "proposed")


def test_pods_that_wait_do_not_take_each_others_room() -> None:
    cluster = _observed(make_node("n1").capacity(cpu="1", pods="10"))
    effects = cluster.step(*[make_pod(f"p{i}").req(cpu="800m").build() for i in range(3)])
    assert [attempt.result for attempt in effects.attempts] == ["proposed"] * 3


def test_preemption_is_shown_and_not_carried_out() -> None:
    victim = make_pod("victim").req(cpu="1").priority(0).on("n1")
    cluster = _observed(make_node("n1").capacity(cpu="1", pods="10"), victim)
    effects = cluster.step(make_pod("urgent").req(cpu="1").priority(10).build())
    (attempt,) = effects.attempts
    assert attempt.post_filter is not None and attempt.post_filter.preemption is not None
    assert attempt.post_filter.preemption.victims == ("default/victim",)
    assert attempt.nominated_node_name == "n1"
    assert _asks_for_nothing(effects)
    assert not cluster.scheduler.engine.queue.nominated_pods_for_node("n1")
    # No gate holds it: the observed scheduler may still place it elsewhere.
    assert cluster.attempt(make_node("n2").build(), after=2 * SECOND).node_name == "n2"


def test_nomination_by_the_observed_scheduler_is_honoured() -> None:
    urgent = make_pod("urgent").req(cpu="1").priority(10).nominated("n1")
    cluster = _observed(make_node("n1").capacity(cpu="1", pods="10"), urgent)
    effects = cluster.step(make_pod("late").req(cpu="1").build())
    results = {attempt.pod_key: attempt.result for attempt in effects.attempts}
    assert results["default/late"] == "unschedulable"


def test_agreed_decision_is_made_on_the_state_before_the_binding() -> None:
    pod = make_pod().req(cpu="1")
    cluster = _observed(make_node("n1").capacity(cpu="1", pods="10"), make_node("n2").capacity(cpu="500m"), pod)
    effects = cluster.step(pod.build().on_node("n1"), budget=NO_CYCLES, after=2 * SECOND)
    (comparison,), (attempt,) = effects.comparisons, effects.attempts
    assert (comparison.outcome, comparison.node_name, comparison.own_node_name) == ("agreed", "n1", "n1")
    assert (attempt.result, attempt.evaluated_nodes, comparison.attempt) == ("proposed", 2, attempt.attempt)
    assert (comparison.plugin, comparison.cause) == ("", "")
    # The room it takes counts from then on.
    assert cluster.attempt(make_pod("next").req(cpu="1").build()).result == "unschedulable"


def test_other_node_with_the_best_total_is_tied() -> None:
    comparison = _bound(_observed(make_node("n1"), make_node("n2")), make_pod(), "n2")  # the first of the best is n1
    assert (comparison.outcome, comparison.own_node_name) == ("tied", "n1")
    assert comparison.own_total == comparison.total is not None


def test_difference_in_scores_names_the_first_plugin_and_by_how_much() -> None:
    tainted = make_node("n2").taint("k", "v", "PreferNoSchedule")
    comparison = _bound(_observed(make_node("n1"), tainted), make_pod(), "n2")
    assert (comparison.outcome, comparison.plugin) == ("differed", "TaintToleration")
    assert (comparison.own_score, comparison.score) == (300, 0)
    assert comparison.own_total is not None and comparison.total is not None
    assert comparison.own_total - comparison.total == 300


@cases(
    "pod, small, plugin, reason",
    ("a filter", make_pod().req(cpu="2"), "1", "NodeResourcesFit", "Insufficient cpu"),
    ("a node that pre_filter did not name",
     make_pod().required_node_affinity({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}),
     "8", "NodeAffinity", NOT_NAMED),
)  # fmt: skip
def test_difference_in_filters_names_the_plugin_and_the_reason(
    pod: Builder, small: str, plugin: str, reason: str
) -> None:
    comparison = _bound(_observed(make_node("n1"), make_node("n2").capacity(cpu=small)), pod, "n2")
    assert (comparison.outcome, comparison.plugin, comparison.reason) == ("differed", plugin, reason)
    assert comparison.total is None


def test_unknown_node_and_unschedulable_pod_differ() -> None:
    cluster = _observed(make_node("n1").capacity(cpu="1"))
    comparison = _bound(cluster, make_pod().req(cpu="2"), "gone")
    assert (comparison.outcome, comparison.own_node_name) == ("differed", "")
    assert comparison.reason == "the node was not known"
    assert cluster.effects[-2].attempts[0].result == "unschedulable"


def test_other_scheduler_is_not_judged() -> None:
    cluster = _observed(make_node("n1"))
    comparison = _bound(cluster, make_pod().scheduler("volcano"), "n1")
    assert (comparison.outcome, comparison.profile) == ("other", "volcano")
    assert not cluster.effects[-1].attempts


def test_comparison_counts_the_attempts_before_it() -> None:
    cluster = _observed(make_node("n1"))
    pod = make_pod().build()
    cluster.attempt(pod)
    assert cluster.compare(pod.on_node("n1"), after=2 * SECOND).attempt == 2


def test_pod_that_runs_is_not_compared_again() -> None:
    cluster = _observed(make_node("n1"))
    _bound(cluster, make_pod(), "n1")
    running = make_pod().on("n1").phase("Running").build()
    assert not cluster.step(running, budget=NO_CYCLES, after=SECOND).comparisons


def test_pods_that_come_with_a_node_are_no_decision_and_are_not_confirmed() -> None:
    effects = _observed().put(make_node("n1").build(), make_pod("static").on("n1").build())
    assert not effects.comparisons
    assert not [move for move in effects.moves if isinstance(move, CacheMove)]


def test_nothing_is_compared_while_the_state_is_incomplete() -> None:
    pod = make_pod()
    cluster = _observed(make_node("n1"), pod, observer=Observer(compares=False))
    assert not cluster.put(pod.build().on_node("n1")).comparisons


def _differing(cluster: Cluster, *, after: int = 2 * SECOND, nodes: int = 2) -> Comparison:
    tainted = make_node("tainted").taint("k", "v", "PreferNoSchedule")
    cluster.put(*[make_node(f"a{i}").build() for i in range(nodes - 1)], tainted.build())
    return _bound(cluster, make_pod(), "tainted", after=after)


@cases(
    "observer, after, nodes, cause",
    ("no configuration given", Observer(), 2 * SECOND, 2, "configuration"),
    ("nothing explains it", Observer(is_configured=True), 2 * SECOND, 2, "unknown"),
    ("nor do the states before", Observer(is_configured=True), SECOND // 2, 2, "unknown"),
    ("not all nodes were looked at", Observer(is_configured=True), 2 * SECOND, 150, "sampling"),
)
def test_difference_has_a_likely_cause(observer: Observer, after: int, nodes: int, cause: str) -> None:
    assert _differing(_observed(observer=observer), after=after, nodes=nodes).cause == cause


@cases("fits, outcome", ("it need not have seen a better one", True, "uncertain"), ("it never fits", False, "differed"))
def test_scheduler_that_looks_at_some_nodes_is_judged_by_where_pods_fit(fits: bool, outcome: str) -> None:
    nodes = [make_node(f"a{i}").capacity(cpu="8") for i in range(150)]
    cluster = _observed(*nodes, make_node("small").capacity(cpu="4"))
    assert _bound(cluster, make_pod().req(cpu="2" if fits else "5"), "small", after=3 * SECOND).outcome == outcome


def test_plugins_and_extenders_that_are_not_here_are_left_out_and_named() -> None:
    observer = Observer(is_configured=True)
    extenders = (Extender(url_prefix="http://extender.example", filter_verb="filter"),)
    cluster = start(profile("Coscheduling", default=True), observer=observer, extenders=extenders)
    assert observer.missing_plugins == ("Coscheduling", "extender http://extender.example")
    assert _differing(cluster).cause == "plugin"
    # It need not have looked at all nodes, and a node has just changed: the difference stays one.
    for after in (SECOND // 2, 3 * SECOND):
        cluster = start(profile("Coscheduling", default=True), observer=Observer(is_configured=True))
        found = _differing(cluster, after=after, nodes=150)
        assert (found.outcome, found.cause) == ("differed", "plugin")
