"""One pod through all extension points, and the ways a cycle ends."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.config.types import PluginEntry, PluginSet
from scheduler_core.framework.answers import CLEAR_NOMINATION, NominatingInfo, NominatingMode, PreFilterResult
from scheduler_core.model.effects import Attempt
from scheduler_core.model.status import SKIP, SUCCESS, Code, Status
from tests.builders import make_node, make_pod
from tests.cases import cases
from tests.core.scheduler.harness import (
    START,
    BindingPlugin,
    Cluster,
    EveryPointPlugin,
    FilteringPlugin,
    GatePlugin,
    PostFilteringPlugin,
    ScoringPlugin,
    ToldPlugins,
    profile,
    start,
)


def _nodes(cluster: Cluster, count: int) -> Cluster:
    cluster.put(*[make_node(f"n{i}").build() for i in range(count)])
    return cluster


def _tried(plugins: ToldPlugins, count: int = 1) -> Attempt:
    """A pod, tried on so many nodes by these plugins."""
    return _nodes(start(profile(*plugins.factories), plugins=plugins), count).attempt(make_pod().build())


def test_failing_bind_unreserves_in_reverse_order() -> None:
    plugins = ToldPlugins().add("A").add("B", bind=lambda pod, node: Status.failed("no way"))
    plugins.add("A", bind=lambda pod, node: SKIP)
    cluster = _nodes(start(profile("A", "B"), plugins=plugins), 1)
    attempt = cluster.attempt(make_pod().build())
    first = plugins.log.index("bind A")
    assert plugins.log[first : first + 4] == ["bind A", "bind B", "unreserve B", "unreserve A"]
    assert (attempt.result, attempt.message) == ("error", 'running Bind plugin "B": no way')
    assert not cluster.scheduler.engine.cache.assumed_pods


def test_single_feasible_node_is_not_scored() -> None:
    plugins = ToldPlugins().add("P", filter=lambda pod, node: SUCCESS if node.name == "n1" else Status.unschedulable())
    attempt = _tried(plugins, 3)
    assert "pre_score P" not in plugins.log
    assert (attempt.node_name, attempt.evaluated_nodes, attempt.score_rows, attempt.tied) == ("n1", 3, None, None)


# PreFilter


def _pre_filters(**answers: Any) -> ToldPlugins:
    plugins = ToldPlugins()
    for name, answer in answers.items():
        plugins.add(name, FilteringPlugin, pre_filter=lambda pod, answer=answer: answer)
    return plugins


def test_pre_filter_skip_leaves_out_filter_and_add_pod() -> None:
    plugins = _pre_filters(A=(None, SKIP), B=(None, SUCCESS))
    cluster = _nodes(start(profile("A", "B"), plugins=plugins), 1)
    cluster.put(make_pod("waiting").nominated("n0").build(), make_pod("incoming").build())
    (attempt,) = cluster.scheduler.schedule_pod_now("default/incoming", START).attempts
    assert attempt.skip_filter_plugins == ("A",)
    assert "filter A" not in plugins.log and "add_pod A" not in plugins.log
    assert plugins.log.count("filter B") == 2  # with the nominated pod and without
    assert "add_pod B" in plugins.log


def test_pre_filter_unschedulable_goes_on_and_post_filter_runs() -> None:
    plugins = _pre_filters(A=(None, Status.unschedulable("too odd")), B=(None, SUCCESS))
    plugins.add("P", PostFilteringPlugin)
    attempt = _tried(plugins, 3)
    assert plugins.log[-3:] == ["pre_filter A", "pre_filter B", "post_filter P"]
    assert attempt.message == "0/3 nodes are available: too odd."
    assert (attempt.result, attempt.unschedulable_plugins) == ("unschedulable", ("A",))


def test_pre_filter_unresolvable_stops_at_once() -> None:
    plugins = _pre_filters(A=(None, Status.unresolvable("never")), B=(None, SUCCESS))
    attempt = _tried(plugins)
    assert plugins.log == ["pre_filter A"]
    assert attempt.message == "0/1 nodes are available: never."


@pytest.mark.parametrize("code", [Code.Error, Code.Pending, Code.Wait])
def test_other_pre_filter_answers_are_errors(code: Code) -> None:
    attempt = _tried(_pre_filters(A=(None, Status(code, ("odd",)))))
    assert (attempt.result, attempt.message) == ("error", 'running PreFilter plugin "A": odd')
    assert attempt.unschedulable_plugins == ()


def _only(*names: str) -> tuple[PreFilterResult, Status]:
    return PreFilterResult(frozenset(names)), SUCCESS


def test_pre_filter_node_names_narrow_the_search() -> None:
    plugins = _pre_filters(A=_only("n3", "n1", "gone"), B=(None, SUCCESS))
    plugins.add("B", FilteringPlugin, filter=lambda pod, node: Status.unschedulable("full"))
    attempt = _tried(plugins, 5)
    assert attempt.pre_filter_node_names == ("gone", "n1", "n3")
    assert attempt.filter_rows is not None and attempt.filter_rows.nodes.tolist() == [1, 3]
    assert attempt.message == "0/5 nodes are available: 2 full, 3 node(s) didn't satisfy plugin(s) [A]."
    assert attempt.unschedulable_plugins == ("A", "B")


@cases(
    "answers, text",
    ("one plugin leaves nothing", {"A": _only()}, "node(s) didn't satisfy plugin A"),
    ("two plugins leave nothing together", {"B": _only("n0"), "A": _only("n1")},
     "node(s) didn't satisfy plugin(s) [A B] simultaneously"),
)  # fmt: skip
def test_pre_filter_node_names_that_leave_nothing(answers: dict[str, Any], text: str) -> None:
    attempt = _tried(_pre_filters(**answers), 2)
    assert attempt.message == f"0/2 nodes are available: {text}."
    assert attempt.unschedulable_plugins == tuple(sorted(answers))


# No node fits


def test_histogram_is_sorted_as_text() -> None:
    plugins = ToldPlugins().add(
        "F", FilteringPlugin, filter=lambda pod, node: Status.unschedulable("a" if node.name in ("n0", "n1") else "x")
    )
    assert _tried(plugins, 14).message == "0/14 nodes are available: 12 x, 2 a."


def test_no_nodes_is_unschedulable_with_the_backoff_of_an_error() -> None:
    cluster = start(profile(default=True))
    attempt = cluster.attempt(make_pod().build())
    (patch,) = cluster.effects[-1].status_patches
    assert (attempt.result, attempt.message) == ("unschedulable", "no nodes available to schedule pods")
    assert (patch.reason, patch.message) == ("Unschedulable", attempt.message)
    assert attempt.requeued_to == "Backoff"
    assert [move.to for move in cluster.effects[-1].moves if hasattr(move, "to")][-1] == "errorBackoff"


_REFUSED = {"filter": lambda pod, node: Status.unschedulable("full")}


@cases(
    "answers, code, plugin, text, nominated",
    ("the first success ends", {"A": (NominatingInfo(NominatingMode.OVERRIDE, "n0"), SUCCESS), "B": (None, SUCCESS)},
     "Success", "", "", "n0"),
    ("reasons add up, the last override counts",
     {"A": (None, Status.unschedulable("a")), "B": (CLEAR_NOMINATION, Status.unschedulable("b"))}, "Unschedulable", "A",
     " a, b", ""),
    ("unresolvable ends", {"A": (None, Status.unresolvable("a")), "B": (None, SUCCESS)}, "UnschedulableAndUnresolvable",
     "A", " a", None),
    ("an error ends, the pod stays unschedulable", {"A": (None, Status.failed("broken")), "B": (None, SUCCESS)},
     "Error", "A", " broken", None),
)  # fmt: skip
def test_post_filter_answers(answers: dict[str, Any], code: str, plugin: str, text: str, nominated: str | None) -> None:
    plugins = ToldPlugins().add("F", FilteringPlugin, **_REFUSED)
    for name, answer in answers.items():
        plugins.add(name, PostFilteringPlugin, post_filter=lambda pod, statuses, answer=answer: answer)
    cluster = _nodes(start(profile("F", *answers), plugins=plugins), 1)
    attempt = cluster.attempt(make_pod().nominated("elsewhere").build())
    assert attempt.post_filter is not None
    assert (attempt.post_filter.code, attempt.post_filter.plugin) == (code, plugin)
    assert attempt.message == f"0/1 nodes are available: 1 full.{text}"
    assert attempt.result == "unschedulable"
    assert attempt.nominated_node_name == nominated
    (patch,) = cluster.effects[-1].status_patches
    assert patch.nominated_node_name == nominated


def test_post_filter_sees_the_status_of_every_node() -> None:
    seen: list[dict[str, str]] = []

    def look(pod: Any, statuses: Any) -> Any:
        seen.append({name: status.message for name, status in statuses.items()} | {"": statuses.absent.message})
        return None, Status.unschedulable()

    plugins = ToldPlugins().add("P", PostFilteringPlugin, post_filter=look)
    plugins.add("F", FilteringPlugin, filter=lambda pod, node: Status.unschedulable(f"not {node.name}"))
    _tried(plugins, 2)
    assert seen == [{"n0": "not n0", "n1": "not n1", "": ""}]


def test_pending_plugin_counts_in_both_sets() -> None:
    plugins = ToldPlugins().add("F", FilteringPlugin, filter=lambda pod, node: Status.pending("not yet"))
    attempt = _tried(plugins)
    assert (attempt.unschedulable_plugins, attempt.pending_plugins) == (("F",), ("F",))


# Scores


def test_scores_are_normalised_weighted_and_summed() -> None:
    raw = {"n0": 1, "n1": 3, "n2": 2}

    def spread(pod: Any, scores: Any) -> Status:
        scores *= 10
        return SUCCESS

    plugins = ToldPlugins().add("A", ScoringPlugin, score=lambda pod, node: (raw[node.name], SUCCESS))
    plugins.add("B", ScoringPlugin, score=lambda pod, node: (raw[node.name], SUCCESS), normalize_scores=spread)
    plugins.add("C", ScoringPlugin, pre_score=lambda pod: SKIP)
    cluster = start(profile("A", "B", "C", score=PluginSet(enabled=(PluginEntry("B", 2),))), plugins=plugins)
    attempt = _nodes(cluster, 3).attempt(make_pod().build())
    rows = attempt.score_rows
    assert rows is not None
    assert rows.plugins == (("B", 2), ("A", 1))
    assert rows.skipped == ("C",)
    assert rows.raw.tolist() == [[1, 3, 2], [1, 3, 2]]
    assert rows.normalized.tolist() == [[10, 30, 20], [1, 3, 2]]
    assert rows.totals.tolist() == [21, 63, 42]
    assert attempt.node_name == "n1"
    assert attempt.tied is not None and attempt.tied.tolist() == [1]


@cases(
    "answers, text",
    ("pre_score", {"pre_score": lambda pod: Status.unschedulable("no")}, 'running PreScore plugin "S": no'),
    ("score", {"score": lambda pod, node: (0, Status.failed("no"))},
     'running Score plugins: plugin "S" failed with: no'),
    ("normalize", {"normalize_scores": lambda pod, scores: Status.failed("no")},
     'running Normalize on Score plugins: plugin "S" failed with: no'),
    ("out of range", {"score": lambda pod, node: (101, SUCCESS)},
     'applying score defaultWeights on Score plugins: plugin "S" returns an invalid score 101,'
     " it should in the range of [0, 100] after normalizing"),
)  # fmt: skip
def test_scoring_failures_are_errors(answers: dict[str, Any], text: str) -> None:
    # Without a filter and with scoring all 100 nodes are feasible.
    attempt = _tried(ToldPlugins().add("S", ScoringPlugin, **answers), 100)
    assert (attempt.result, attempt.message) == ("error", text)


def test_scoring_failure_of_the_first_node_counts() -> None:
    def fails_on(name: str) -> Any:
        return lambda pod, node: (0, Status.failed("odd") if node.name == name else SUCCESS)

    plugins = ToldPlugins().add("A", ScoringPlugin, score=fails_on("n2")).add("B", ScoringPlugin, score=fails_on("n1"))
    assert _tried(plugins, 3).message == 'running Score plugins: plugin "B" failed with: odd'


# Reserve


@cases(
    "status, result, message, blamed, backoff",
    ("a rejection blames the plugin", Status.unschedulable("taken"), "unschedulable",
     "0/1 nodes are available: 1 taken.", ("B",), "Unschedulable"),
    ("an error blames nobody", Status.failed("broken"), "error", 'running Reserve plugin "B": broken', (), "Backoff"),
)  # fmt: skip
def test_failing_reserve_is_undone(
    status: Status, result: str, message: str, blamed: tuple[str, ...], backoff: str
) -> None:
    plugins = ToldPlugins().add("A", BindingPlugin).add("B", BindingPlugin, reserve=lambda pod, node: status)
    plugins.add("C", BindingPlugin)
    cluster = _nodes(start(profile("A", "B", "C"), plugins=plugins), 3)
    attempt = cluster.attempt(make_pod().build())
    assert plugins.log == ["reserve A", "reserve B", "unreserve C", "unreserve B", "unreserve A"]
    assert (attempt.result, attempt.message, attempt.unschedulable_plugins) == (result, message, blamed)
    assert attempt.requeued_to == backoff
    assert cluster.scheduler.engine.cache.pod_count() == 0


# Pods that get no cycle


def test_pod_being_deleted_is_skipped_with_an_event() -> None:
    cluster = _nodes(start(profile(default=True)), 1)
    attempt = cluster.attempt(make_pod().deleted().build())
    (event,) = cluster.effects[-1].events
    assert (attempt.result, event.note) == ("skipped", "skip schedule deleting pod: default/pod")
    assert cluster.step().attempts == []


def test_pod_of_no_profile_is_never_queued() -> None:
    cluster = _nodes(start(profile(default=True)), 1)
    assert cluster.step(make_pod().scheduler("other").build()).attempts == []
    (attempt,) = cluster.scheduler.schedule_pod_now("default/pod", START).attempts
    assert (attempt.result, attempt.message) == ("noProfile", 'profile not found for scheduler name "other"')


def test_gated_pod_waits_until_its_gate_opens() -> None:
    plugins = ToldPlugins().add("G", GatePlugin, pre_enqueue=lambda pod: Status.unresolvable("shut"))
    cluster = _nodes(start(profile("G"), plugins=plugins), 1)
    assert cluster.step(make_pod().build()).attempts == []
    assert cluster.scheduler.schedule_pod_now("default/pod", START).attempts == []
    assert cluster.scheduler.next_due(START) is None


def test_two_profiles_schedule_their_own_pods() -> None:
    plugins = ToldPlugins().add("A", EveryPointPlugin).add("B", EveryPointPlugin)
    cluster = _nodes(start(profile("A", name="a"), profile("B", name="b"), plugins=plugins), 1)
    cluster.step(make_pod("x").scheduler("b").build())
    assert {line.split()[1] for line in plugins.log} == {"B"}
