"""From a configuration to plugins in order: MultiPoint, weights, and every refusal with its text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from scheduler_core import config
from scheduler_core.build import build
from scheduler_core.config.types import KubeSchedulerProfile, PluginConfig, PluginEntry, Plugins, PluginSet
from scheduler_core.errors import ConfigError
from scheduler_core.framework.answers import ClusterEventWithHint, QueueingHint
from scheduler_core.framework.expansion import Expansion, needed_plugins
from scheduler_core.framework.runtime import Framework
from scheduler_core.model.events import ASSIGNED_POD_DELETE
from scheduler_core.model.status import Status
from scheduler_core.ports import FirstDraws
from scheduler_core.queue.options import QueueOptions
from tests.builders import make_node, make_pod
from tests.cases import cases
from tests.core.scheduler.harness import (
    SECOND,
    Cluster,
    EveryPointPlugin,
    FilteringPlugin,
    ScoringPlugin,
    ToldPlugins,
    configure,
    profile,
    start,
)


def _set(*names: str | PluginEntry, disabled: tuple[str, ...] = ()) -> PluginSet:
    return PluginSet(
        enabled=tuple(each if isinstance(each, PluginEntry) else PluginEntry(each) for each in names),
        disabled=tuple(PluginEntry(each) for each in disabled),
    )


def _expanded(point: str, **sets: PluginSet) -> list[str]:
    instances: Any = {"A": EveryPointPlugin("A", [], {}), "B": EveryPointPlugin("B", [], {}),
                      "C": EveryPointPlugin("C", [], {}), "F": FilteringPlugin("F", [], {})}  # fmt: skip
    expansion = Expansion(Plugins(**sets), instances)
    found = expansion.expand()[point]
    if expansion.problems:
        raise ConfigError(expansion.problems)
    return [plugin.name for plugin in found]


@cases(
    "sets, want",
    ("explicit only, in their order", {"filter": _set("B", "A")}, ["B", "A"]),
    ("MultiPoint in its order", {"multi_point": _set("A", "F", "B")}, ["A", "F", "B"]),
    ("named at both first, then MultiPoint, then the rest", {"multi_point": _set("A", "B"), "filter": _set("C", "B")},
     ["B", "A", "C"]),
    ("disabled at the point", {"multi_point": _set("A", "B"), "filter": _set(disabled=("A",))}, ["B"]),
    ("all disabled at the point", {"multi_point": _set("A", "B"), "filter": _set("C", disabled=("*",))}, ["C"]),
)  # fmt: skip
def test_order_of_filters(sets: dict[str, PluginSet], want: list[str]) -> None:
    assert _expanded("filter", **sets) == want


def test_multi_point_leaves_out_points_a_plugin_does_not_implement() -> None:
    assert _expanded("score", multi_point=_set("A", "F", "B")) == ["A", "B"]


@cases(
    "sets, text",
    ("unknown at a point", {"filter": _set("X")}, 'FilterPlugin "X" does not exist'),
    ("unknown at MultiPoint", {"multi_point": _set("X")}, 'PreEnqueuePlugin "X" does not exist'),
    ("point not implemented", {"score": _set("F")}, 'plugin "F" does not extend ScorePlugin plugin'),
    ("twice at a point", {"filter": _set("A", "A")}, 'plugin "A" already registered as "FilterPlugin"'),
    ("twice at MultiPoint", {"multi_point": _set("F", "F")}, 'plugin "F" already registered as "PreFilterPlugin"'),
)
def test_refused_plugin_sets(sets: dict[str, PluginSet], text: str) -> None:
    with pytest.raises(ConfigError, match=f"^{text.replace('(', '.')}$"):
        _expanded("filter", **sets)


def test_needed_plugins_come_once_each() -> None:
    assert needed_plugins(Plugins(multi_point=_set("A", "B"), filter=_set("C", "A"))) == ["A", "B", "C"]


def test_explicit_weight_beats_that_of_multi_point_and_zero_counts_one() -> None:
    scorers: Any = [ScoringPlugin(name, [], {}) for name in "AB"]
    plugins = Plugins(multi_point=_set(PluginEntry("A", 3), PluginEntry("B")), score=_set(PluginEntry("A", 7)))
    assert Expansion(plugins, {each.name: each for each in scorers}).score_weights(scorers) == {"A": 7, "B": 1}


def test_weights_that_overflow_are_refused() -> None:
    scorers: Any = [ScoringPlugin(name, [], {}) for name in "AB"]
    huge = 2**63 // 100 - 1
    plugins = Plugins(score=_set(PluginEntry("A", huge), PluginEntry("B", huge)))
    expansion = Expansion(plugins, {each.name: each for each in scorers})
    expansion.score_weights(scorers)
    (problem,) = expansion.problems
    told = (problem.path, problem.item, str(problem))
    assert told == ("plugins.score.enabled", "B", "total score of Score plugins could overflow")


# Examples of the configuration's own documentation, on the default plugins


def _framework(document: dict[str, Any] | None) -> Framework:
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    loaded = config.load({**head, "profiles": [{"plugins": document}]} if document else None)
    return build(loaded, draws=FirstDraws()).engine.frameworks["default-scheduler"]


def test_disabling_all_scoring_keeps_the_filters() -> None:
    framework = _framework({"score": {"disabled": [{"name": "*"}]}})
    assert framework.score == []
    assert [plugin.name for plugin in framework.filter] == [plugin.name for plugin in _framework(None).filter]


def test_replacing_the_default_list_gives_exactly_the_new_one() -> None:
    names = ["PrioritySort", "NodeName", "DefaultBinder"]
    framework = _framework({"multiPoint": {"disabled": [{"name": "*"}], "enabled": [{"name": each} for each in names]}})
    assert list(framework.instances) == names


def test_score_enabled_with_a_weight_goes_first_there_and_stays_a_filter() -> None:
    framework = _framework({"score": {"enabled": [{"name": "NodeAffinity", "weight": 7}]}})
    assert framework.score[0].name == "NodeAffinity"
    assert framework.weights["NodeAffinity"] == 7
    assert "NodeAffinity" in [plugin.name for plugin in framework.filter]


# Refusals of whole configurations


def _profile(**fields: Any) -> KubeSchedulerProfile:
    return msgspec.structs.replace(profile(default=True), **fields)


@cases(
    "profiles, text",
    ("a profile without a name", [_profile(scheduler_name=""), _profile(scheduler_name="b")],
     "initializing profiles: scheduler name is needed"),
    ("two profiles of one name", [_profile(), _profile()],
     'initializing profiles: duplicate profile with scheduler name "default-scheduler"'),
    ("an unknown plugin", [profile("X", name="s")],
     'initializing profiles: creating profile for scheduler name s: PreEnqueuePlugin "X" does not exist'),
    ("args twice", [_profile(plugin_config=(PluginConfig("NodeName"), PluginConfig("NodeName")))],
     "initializing profiles: creating profile for scheduler name default-scheduler:"
     " repeated config for plugin NodeName"),
    ("no queue sort", [_profile(plugins=Plugins(queue_sort=_set(disabled=("*",))))],
     "initializing profiles: creating profile for scheduler name default-scheduler: only one queue sort plugin"
     ' required for profile with scheduler name "default-scheduler", but got 0'),
    ("no bind plugin", [_profile(plugins=Plugins(bind=_set(disabled=("*",))))],
     "initializing profiles: creating profile for scheduler name default-scheduler:"
     ' at least one bind plugin is needed for profile with scheduler name "default-scheduler"'),
)  # fmt: skip
def test_refused_configurations(profiles: list[KubeSchedulerProfile], text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build(configure(*profiles), draws=FirstDraws())
    assert str(caught.value) == text


def test_plugin_named_like_one_in_tree_is_refused() -> None:
    with pytest.raises(ConfigError, match="^a plugin named NodeName already exists$"):
        start(plugins=ToldPlugins().add("NodeName"))


@pytest.mark.parametrize("names", [("P",), ("X", "P")], ids=["alone", "after one that does not exist"])
def test_failing_factory_is_named(names: tuple[str, ...]) -> None:
    plugins = ToldPlugins()

    def broken(args: Any, handle: Any) -> Any:
        raise ConfigError(["no such shape"])

    plugins.factories["P"] = broken
    with pytest.raises(ConfigError) as caught:
        start(profile(*names), plugins=plugins)
    intro = "initializing profiles: creating profile for scheduler name default-scheduler: "
    assert caught.value.problems == [
        f'{intro}initializing plugin "P": no such shape',
        *(f'{intro}PreEnqueuePlugin "X" does not exist' for name in names if name == "X"),
    ]


# What a scheduler is built with beside the plugins


def test_queue_takes_its_options_from_the_configuration_and_the_arguments() -> None:
    engine = build(
        configure(profile(default=True), pod_initial_backoff_seconds=3, pod_max_backoff_seconds=40),
        draws=FirstDraws(),
        feature_gates={"SchedulerPopFromBackoffQ": False},
        pod_max_in_unschedulable_us=90 * SECOND,
    ).engine
    assert engine.queue.options == QueueOptions(
        initial_backoff_us=3 * SECOND,
        max_backoff_us=40 * SECOND,
        max_in_unschedulable_us=90 * SECOND,
        pop_from_backoff_q=False,
        queueing_hints=True,
    )


def _small_node() -> Any:
    return make_node("n1").capacity(cpu="1", memory="8Gi", pods="110").build()


def test_pod_is_tried_again_after_the_longest_time_in_unschedulable() -> None:
    cluster = Cluster(build(draws=FirstDraws(), pod_max_in_unschedulable_us=60 * SECOND))
    cluster.attempt(_small_node(), make_pod("big").req(cpu="9").build())
    assert cluster.step(after=59 * SECOND).attempts == []
    assert len(cluster.step(after=32 * SECOND).attempts) == 1  # leftovers are looked for every 30 seconds


@cases(
    "pops",
    ("popped at once", True),
    ("waits it out", False),
)
def test_pod_in_backoff_when_the_scheduler_is_idle(pops: bool) -> None:
    cluster = Cluster(build(draws=FirstDraws(), feature_gates={"SchedulerPopFromBackoffQ": pops}))
    cluster.attempt(_small_node(), make_pod("big").req(cpu="4").build())
    large = make_node("n2").capacity(cpu="8", memory="8Gi", pods="110").build()
    assert len(cluster.step(large, after=1_000).attempts) == int(pops)


class Sceptic:
    """Refuses every pod, and says of every pod that leaves that it makes no difference."""

    name = "Sceptic"

    def __init__(self, args: Any, handle: Any) -> None:
        pass

    def filter(self, *_: Any) -> Status:
        return Status.unschedulable("no")

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        return (ClusterEventWithHint(ASSIGNED_POD_DELETE, lambda *_: QueueingHint.SKIP),)


@cases(
    "hints",
    ("hint says no", True),
    ("hints are off", False),
)
def test_event_that_a_hint_finds_useless(hints: bool) -> None:
    gates = {"SchedulerQueueingHints": hints}
    loaded = configure(profile("Sceptic"))
    cluster = Cluster(build(loaded, draws=FirstDraws(), registry={"Sceptic": Sceptic}, feature_gates=gates))
    neighbour = make_pod("neighbour").on("n1").build()
    cluster.attempt(_small_node(), neighbour, make_pod("hopeful").build())
    assert len(cluster.delete(neighbour, after=20 * SECOND).attempts) == int(not hints)


def test_feature_gate_nobody_knows_is_refused() -> None:
    with pytest.raises(ConfigError, match="unrecognized feature gate: Bogus"):
        build(draws=FirstDraws(), feature_gates={"Bogus": True, "SchedulerQueueingHints": True})
