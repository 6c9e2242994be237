"""Every controller of the list is whole: a name of its own, a test file, and nothing to do in an empty cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from scheduler_core.controllers.controller import ClusterOptions, Controller, next_due
from scheduler_core.controllers.registry import CONTROLLERS
from tests.cases import cases

MADE = [make(ClusterOptions()) for make in CONTROLLERS]


def test_names_of_controllers_are_their_own() -> None:
    names = [controller.name for controller in MADE]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("controller", [pytest.param(each, id=each.name) for each in MADE])
def test_controller_has_a_test_file_and_rests_in_an_empty_cluster(controller: Controller) -> None:
    module = type(controller).__module__.rpartition(".")[2]
    assert (Path(__file__).parent / f"test_{module}.py").exists()
    assert (controller.step(1, []), controller.next_due()) == ([], None)
    assert controller.actor


class Due:
    """A controller that is only due."""

    name = actor = "due"

    def __init__(self, at: int | None) -> None:
        self.at = at

    def step(self, now: object, changes: object) -> list[object]:
        return []

    def next_due(self) -> int | None:
        return self.at


@cases(
    "times, want",
    ("no controllers", [], None),
    ("nothing is due", [None, None], None),
    ("the earliest", [None, 7, 0, 9], 0),
)
def test_first_controller_that_is_due_counts(times: list[int | None], want: int | None) -> None:
    assert next_due([Due(at) for at in times]) == want
