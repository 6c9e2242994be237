"""A pod that names its node fits only there."""

from __future__ import annotations

import pytest

from scheduler_core.framework.answers import QueueingHint
from scheduler_core.model.events import NODE_ADD
from scheduler_core.model.status import SUCCESS, Status
from tests.builders import make_node, make_pod
from tests.core.plugins.support import ask_hint, make_info, make_plugin, run_filter

OTHER = Status.unresolvable("node(s) didn't match the requested node name")


@pytest.mark.parametrize(
    ("wanted", "want"),
    [
        pytest.param("", [SUCCESS, SUCCESS], id="no name fits everywhere"),
        pytest.param("b", [OTHER, SUCCESS], id="a name fits only there"),
        pytest.param("gone", [OTHER, OTHER], id="an unknown name fits nowhere"),
    ],
)
def test_filter_compares_the_name(wanted: str, want: list[Status]) -> None:
    infos = [make_info(make_node(name)) for name in "ab"]
    assert run_filter(make_plugin("NodeName"), make_pod().on(wanted).build(), *infos) == want


def test_any_new_node_queues_the_pod() -> None:
    plugin, pod = make_plugin("NodeName"), make_pod().build()
    assert ask_hint(plugin, NODE_ADD, pod, None, make_node().build()) is QueueingHint.QUEUE
