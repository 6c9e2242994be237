"""A pod that names its node fits only there."""

from __future__ import annotations

from scheduler_core.model.status import SUCCESS, Status
from tests.builders import make_node, make_pod
from tests.cases import cases
from tests.core.plugins.support import make_info, make_plugin, run_filter

OTHER = Status.unresolvable("node(s) didn't match the requested node name")


@cases(
    "wanted, want",
    ("no name fits everywhere", "", [SUCCESS, SUCCESS]),
    ("a name fits only there", "b", [OTHER, SUCCESS]),
    ("an unknown name fits nowhere", "gone", [OTHER, OTHER]),
)
def test_filter_compares_the_name(wanted: str, want: list[Status]) -> None:
    infos = [make_info(make_node(name)) for name in "ab"]
    assert run_filter(make_plugin("NodeName"), make_pod().on(wanted).build(), *infos) == want
