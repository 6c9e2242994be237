"""The walk over the nodes: how many are wanted, where it starts and ends, and both forms alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.config.types import PluginSet
from scheduler_core.cycle.walk import num_feasible_nodes_to_find
from scheduler_core.model.status import Code, Status
from tests.builders import NodeBuilder, make_node, make_pod
from tests.cases import cases
from tests.core.scheduler.harness import (
    Cluster,
    EveryPointPlugin,
    FilteringPlugin,
    LabelRowPlugin,
    LabelTablePlugin,
    ScoringPlugin,
    ToldPlugins,
    plain,
    profile,
    start,
)
from tests.examples import examples


@cases(
    "num_nodes, percentage, want",
    ("below the minimum: all", 99, 0, 99),
    ("half of 100 is raised to 100", 100, 0, 100),
    ("250 adapt to 48 percent", 250, 0, 120),
    ("1000 adapt to 42 percent", 1000, 0, 420),
    ("5000 adapt to 10 percent", 5000, 0, 500),
    ("6000 adapt to the least, 5 percent", 6000, 0, 300),
    ("a setting of 30", 500, 30, 150),
    ("a setting of 100", 6000, 100, 6000),
    ("a small setting is raised to 100 nodes", 500, 1, 100),
)
def test_num_feasible_nodes_to_find(num_nodes: int, percentage: int, want: int) -> None:
    assert num_feasible_nodes_to_find(num_nodes, percentage) == want


def test_walk_evaluates_one_feasible_node_more_than_it_keeps() -> None:
    cluster = start(profile(default=True))
    cluster.put(
        *[make_node(f"n{i:03}").unschedulable().build() if i % 2 else make_node(f"n{i:03}").build() for i in range(250)]
    )
    attempt = cluster.attempt(make_pod().build())
    assert attempt.num_nodes_to_find == 120
    assert attempt.feasible is not None and attempt.filter_rows is not None
    assert len(attempt.feasible) == 120
    assert attempt.filter_rows.codes.tolist() == [0, 1] * 120 + [0]  # 120 kept, 120 refused, one thrown away
    assert attempt.evaluated_nodes == 240
    assert attempt.end_index == 240


def test_one_node_is_enough_when_nothing_scores() -> None:
    cluster = start(profile("F"), plugins=ToldPlugins().add("F", FilteringPlugin))
    cluster.put(*[make_node(f"n{i}").build() for i in range(5)])
    attempts = [cluster.attempt(make_pod(f"p{i}").build()) for i in range(3)]
    assert [(each.node_name, each.evaluated_nodes) for each in attempts] == [("n0", 1), ("n1", 1), ("n2", 1)]


def test_no_filters_take_the_first_nodes_of_the_walk() -> None:
    cluster = start(profile("S"), plugins=ToldPlugins().add("S", ScoringPlugin))
    cluster.put(*[make_node(f"n{i:03}").build() for i in range(150)])
    attempt = cluster.attempt(make_pod().build())
    assert attempt.feasible is not None and attempt.feasible.tolist() == list(range(100))
    assert (attempt.evaluated_nodes, attempt.end_index) == (100, 100)


def test_percentage_of_the_profile_beats_the_global_one() -> None:
    import msgspec

    own = msgspec.structs.replace(profile(default=True), percentage_of_nodes_to_score=0)
    cluster = start(own, percentage_of_nodes_to_score=100)
    cluster.put(*[make_node(f"n{i:03}").build() for i in range(250)])
    assert cluster.attempt(make_pod().build()).num_nodes_to_find == 120


def test_nominated_node_is_tried_first_and_leaves_the_rotation_alone() -> None:
    plugins = ToldPlugins().add("F", FilteringPlugin).add("S", ScoringPlugin)
    cluster = start(profile("F", "S"), plugins=plugins)
    cluster.put(*[make_node(f"n{i:03}").build() for i in range(150)])
    cluster.attempt(make_pod("first").build())
    attempt = cluster.attempt(make_pod("second").nominated("n140").build())
    assert attempt.node_name == "n140"
    assert attempt.nominated is not None and attempt.nominated.fits
    assert attempt.filter_rows is None and attempt.evaluated_nodes == 1
    assert attempt.start_index == attempt.end_index == 100


def test_refused_nominated_node_counts_once_among_the_evaluated() -> None:
    cluster = start(profile(default=True))
    cluster.put(make_node("a").unschedulable().build(), make_node("b").build(), make_node("c").build())
    attempt = cluster.attempt(make_pod().nominated("a").build())
    assert attempt.nominated is not None and attempt.nominated.status is not None
    assert attempt.nominated.status.plugin == "NodeUnschedulable"
    assert (attempt.node_name, attempt.evaluated_nodes, attempt.end_index) == ("b", 3, 0)


def test_unknown_nominated_node_is_passed_over() -> None:
    cluster = start(profile(default=True))
    cluster.put(make_node("b").build())
    attempt = cluster.attempt(make_pod().nominated("gone").build())
    assert attempt.nominated is not None
    assert attempt.nominated.error == 'nodeinfo not found for node name "gone"'
    assert attempt.node_name == "b"


@pytest.mark.parametrize("use_table", [True, False], ids=["table", "rows"])
@cases(
    "priority, want",
    ("room nominated to an equal is out of reach", 5, "unschedulable"),
    ("room nominated to a lesser pod may be taken", 6, "scheduled"),
)
def test_pods_nominated_to_a_node_count_against_lesser_ones(priority: int, want: str, use_table: bool) -> None:
    cluster = start(profile(default=True), use_table=use_table)
    cluster.put(make_node("n").capacity(cpu="2").build())
    waiting = make_pod("waiting").req(cpu="2").priority(5).nominated("n").build()
    incoming = make_pod("incoming").req(cpu="1").priority(priority).build()
    cluster.put(waiting, incoming)
    (attempt,) = cluster.scheduler.schedule_pod_now("default/incoming", cluster.now).attempts
    assert attempt.result == want


def test_add_pod_runs_for_nominated_pods_and_its_failure_ends_the_cycle() -> None:
    plugins = ToldPlugins()
    plugins.add("A", FilteringPlugin, add_pod=lambda pod, added, node: Status.unschedulable("no"))
    cluster = start(profile("A"), plugins=plugins)
    cluster.put(make_node("n").build(), make_pod("waiting").nominated("n").build(), make_pod("incoming").build())
    (attempt,) = cluster.scheduler.schedule_pod_now("default/incoming", cluster.now).attempts
    assert (attempt.result, attempt.message) == ("error", 'running AddPod on PreFilter plugin "A": no')


@pytest.mark.parametrize("use_table", [True, False], ids=["table", "rows"])
def test_filter_error_ends_the_walk_and_moves_the_rotation(use_table: bool) -> None:
    plugins = ToldPlugins().add("T", LabelTablePlugin).add("P", EveryPointPlugin)
    cluster = start(profile("T", "P"), plugins=plugins, use_table=use_table)
    labels: list[dict[str, str]] = [{}, {"refuse-T": "why"}, {"refuse-T": "error"}, {}]
    cluster.put(*[make_node(f"n{i}").label(each).build() for i, each in enumerate(labels)])
    attempt = cluster.attempt(make_pod().build())
    assert (attempt.result, attempt.message) == ("error", 'running "T" filter plugin: broken')
    assert attempt.end_index == 2
    assert attempt.filter_rows is not None and attempt.filter_rows.codes.tolist() == [0, 1]
    assert "post_filter P" not in plugins.log
    assert attempt.requeued_to == "Backoff"
    (patch,) = cluster.effects[-1].status_patches
    assert patch.reason == "SchedulerError"


# Both forms: random clusters, profiles of plugins with and without a table form, nominated pods


@st.composite
def _clusters(draw: st.DrawFn) -> tuple[list[NodeBuilder], list[str], list[tuple[int, str]]]:
    num_nodes = draw(st.integers(1, 130))
    refused = draw(
        st.lists(
            st.tuples(
                st.integers(0, num_nodes - 1), st.sampled_from("ABCD"), st.sampled_from(["x", "y", "x", "error"])
            ),
            max_size=60,
        )
    )
    nodes = [make_node(f"n{i:03}").zone(f"z{i % 3}").capacity(cpu="2") for i in range(num_nodes)]
    for i, plugin, reason in refused:
        if reason != "error" or draw(st.integers(0, 5)) == 0:
            nodes[i].label({f"refuse-{plugin}": reason})
    order = draw(st.permutations(["A", "B", "C", "D"]))
    nominated = draw(
        st.lists(st.tuples(st.integers(0, 9), st.sampled_from([f"n{i:03}" for i in range(num_nodes)])), max_size=3)
    )
    return nodes, order[: draw(st.integers(1, 4))], nominated


def _run(case: tuple[list[NodeBuilder], list[str], list[tuple[int, str]]], *, use_table: bool) -> Cluster:
    nodes, order, nominated = case
    plugins = ToldPlugins().add("S", ScoringPlugin)
    for name, kind in {"A": LabelTablePlugin, "B": LabelRowPlugin, "C": LabelTablePlugin, "D": LabelRowPlugin}.items():
        plugins.add(name, kind)
    names = [*order, "NodeResourcesFit", "TaintToleration"]
    cluster = start(profile(*names, "S"), plugins=plugins, use_table=use_table)
    cluster.put(*[node.build() for node in nodes])
    cluster.put(
        *[
            make_pod(f"w{i}").req(cpu="2").priority(priority).nominated(name).build()
            for i, (priority, name) in enumerate(nominated)
        ]
    )
    for i in range(6):
        cluster.step(make_pod(f"p{i}").req(cpu="1").priority(i).build(), after=1)
    return cluster


@examples(12)
@given(_clusters())
def test_both_forms_make_the_same_attempts(case: tuple[list[NodeBuilder], list[str], list[tuple[int, str]]]) -> None:
    table, rows = _run(case, use_table=True), _run(case, use_table=False)
    for one, other in zip(table.effects, rows.effects, strict=True):
        assert [plain(each) for each in one.attempts] == [plain(each) for each in other.attempts]
        assert one.moves == other.moves
        assert one.status_patches == other.status_patches


def test_row_form_plugins_run_only_where_earlier_plugins_passed() -> None:
    plugins = ToldPlugins().add("A", LabelTablePlugin).add("B", LabelRowPlugin).add("C", LabelTablePlugin)
    asked: list[str] = []

    class Asked(FilteringPlugin):
        pass

    def note(pod: object, node_info: object) -> Status:
        asked.append(node_info.name)  # type: ignore[attr-defined]
        return Status(Code.Success)

    plugins.add("B", Asked, filter=note)
    cluster = start(profile("A", "B", "C", filter=PluginSet()), plugins=plugins)
    cluster.put(
        make_node("n0").label({"refuse-A": "x"}).build(),
        make_node("n1").label({"refuse-C": "x"}).build(),
        make_node("n2").build(),
        make_node("n3").build(),
        make_node("n4").build(),
    )
    assert cluster.attempt(make_pod().build()).node_name == "n2"
    assert asked == ["n1", "n2", "n3"]  # n0 fell to A; n3 is the one more that ends the walk
