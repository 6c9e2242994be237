"""Who takes part when some plugins are skipped, as it is told: names sorted, whatever the order of a set."""

from __future__ import annotations

from tests.core.scheduler.harness import FilteringPlugin, ToldPlugins, profile, start

FRAMEWORK = start().scheduler.engine.frameworks["default-scheduler"]


def test_filter_plan_names_the_skipped_in_order_and_leaves_them_out() -> None:
    skipped = frozenset(plugin.name for plugin in FRAMEWORK.filter[1:])
    plan = FRAMEWORK.filter_plan(skipped)
    assert plan.skipped == tuple(sorted(skipped))
    assert (*plan.in_table, *plan.by_node) == (0,)


def test_score_plan_names_the_skipped_in_order_and_leaves_them_out() -> None:
    skipped = frozenset(plugin.name for plugin in FRAMEWORK.score[1:])
    plan = FRAMEWORK.score_plan(skipped)
    first = FRAMEWORK.score[0].name
    assert plan.skipped == tuple(sorted(skipped))
    assert plan.plugins == (0,)
    assert plan.weights == ((first, FRAMEWORK.weights[first]),)
    assert plan.factors.tolist() == [FRAMEWORK.weights[first]]


def test_plugins_that_do_not_say_what_they_depend_on_are_named() -> None:
    plugins = ToldPlugins().add("F", FilteringPlugin)
    framework = start(profile("F", "NodeName"), plugins=plugins).scheduler.engine.frameworks["default-scheduler"]
    assert framework.ends_reuse == ("F",)
    assert FRAMEWORK.ends_reuse == ()
