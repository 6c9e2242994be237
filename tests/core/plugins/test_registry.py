"""Every plugin stands in the registry under its own name."""

from __future__ import annotations

from scheduler_core.config.defaults import DEFAULT_PLUGINS
from scheduler_core.plugins.registry import IN_TREE
from tests.core.plugins.support import make_plugin


def test_plugins_are_registered_under_their_own_names() -> None:
    assert {name: make_plugin(name).name for name in IN_TREE} == {name: name for name in IN_TREE}


def test_only_plugins_of_the_default_list_are_registered() -> None:
    assert set(IN_TREE) <= {entry.name for entry in DEFAULT_PLUGINS.multi_point.enabled}
