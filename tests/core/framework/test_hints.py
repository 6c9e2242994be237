"""The hint map: who registered what, what matches, and what is added or left out."""

from __future__ import annotations

from typing import Any

from scheduler_core.framework.answers import ClusterEventWithHint
from scheduler_core.framework.hints import EXTENDER, HintMap, is_of_interest
from scheduler_core.model.events import FORCE_ACTIVATE, ActionType, ClusterEvent, EventResource
from scheduler_core.model.status import SUCCESS, Status
from tests.cases import cases

A, R = ActionType, EventResource


class Filter:
    """Refuses pods, registers nothing by itself."""

    def __init__(self, name: str) -> None:
        self.name = name

    def filter(self, *args: Any) -> Status:
        return SUCCESS


class Registering(Filter):
    def __init__(self, name: str, *events: tuple[EventResource, ActionType]) -> None:
        super().__init__(name)
        self._events = events

    def events_to_register(self) -> list[ClusterEventWithHint]:
        return [ClusterEventWithHint(ClusterEvent(resource, action)) for resource, action in self._events]


class Scorer:
    name = "Scorer"

    def score(self, *args: Any) -> tuple[int, Status]:
        return 0, SUCCESS

    def events_to_register(self) -> list[ClusterEventWithHint]:
        return [ClusterEventWithHint(ClusterEvent(R.NODE, A.ADD))]


def plugins_for(hint_map: HintMap, resource: EventResource, action: ActionType) -> list[str]:
    return [each.plugin for each in hint_map.matching(ClusterEvent(resource, action))]


def test_a_plugin_that_cannot_refuse_is_left_out() -> None:
    assert HintMap.of([Scorer()]).registrations == ()


def test_a_plugin_without_registrations_of_its_own_gets_the_default_ones() -> None:
    hint_map = HintMap.of([Filter("x")])
    assert plugins_for(hint_map, R.NODE, A.UPDATE_NODE_CONDITION) == ["x"]
    assert plugins_for(hint_map, R.ASSIGNED_POD, A.DELETE) == ["x"]
    # Left out upstream.
    assert plugins_for(hint_map, R.VOLUME_ATTACHMENT, A.DELETE) == []
    assert plugins_for(hint_map, R.RESOURCE_SLICE, A.ADD) == []


def test_an_empty_list_registers_nothing() -> None:
    assert HintMap.of([Registering("x")]).registrations == ()


def test_an_extender_is_heard_before_the_plugins() -> None:
    hint_map = HintMap.of([Registering("x", (R.NODE, A.ALL))], with_extender=True)
    assert plugins_for(hint_map, R.NODE, A.ADD) == [EXTENDER, "x"]


@cases(
    "action, want",
    ("add alone gets taints too", A.ADD, [A.ADD, A.UPDATE_NODE_TAINT]),
    ("taints registered", A.ADD | A.UPDATE_NODE_TAINT, [A.ADD | A.UPDATE_NODE_TAINT]),
    ("no add", A.DELETE, [A.DELETE]),
)
def test_a_plugin_that_waits_for_nodes_hears_of_taints(action: ActionType, want: list[ActionType]) -> None:
    hint_map = HintMap.of([Registering("x", (R.NODE, action))])
    assert [event.action for event in hint_map.events_of("x")] == want


def test_registrations_are_ordered_by_resource_then_action_then_plugin() -> None:
    hint_map = HintMap.of(
        [Registering("b", (R.POD, A.DELETE), (R.NODE, A.DELETE)), Registering("a", (R.NODE, A.DELETE))]
    )
    assert [(each.event.label, each.plugin) for each in hint_map.registrations] == [
        ("NodeDelete", "b"),
        ("NodeDelete", "a"),
        ("PodDelete", "b"),
    ]


def test_a_wildcard_is_of_interest_to_everybody() -> None:
    assert is_of_interest({}, FORCE_ACTIVATE)
    assert not is_of_interest({"p": HintMap([])}, ClusterEvent(R.NODE, A.ADD))
    assert is_of_interest({"p": HintMap.of([Filter("x")])}, ClusterEvent(R.NODE, A.ADD))


def test_without_hints_registrations_widen_and_own_updates_go() -> None:
    own = A.UPDATE_POD_TOLERATION | A.UPDATE_POD_SCHEDULING_GATES_ELIMINATED
    plugin = Registering("x", (R.NODE, A.ADD), (R.POD, own), (R.POD, A.DELETE | A.UPDATE_POD_TOLERATION))
    hint_map = HintMap.of([plugin], queueing_hints=False)
    assert [(event.resource, event.action) for event in hint_map.events_of("x")] == [
        (R.NODE, A.ADD | A.UPDATE_NODE_LABEL | A.UPDATE_NODE_TAINT),
        (R.POD, A.DELETE),
    ]
