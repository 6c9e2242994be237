"""Which events an update stands for."""

from __future__ import annotations

from scheduler_core.model.events import ActionType
from scheduler_core.queue.changes import is_pod_updated, node_change_events, pod_change_events
from tests.builders import NodeBuilder, PodBuilder, make_node, make_pod
from tests.cases import cases

A = ActionType


def claims(*names: str) -> list[dict[str, str]]:
    return [{"name": name, "resourceClaimName": name} for name in names]


@cases(
    "old, new, want",
    ("nothing", make_pod(), make_pod(), [A.UPDATE]),
    ("annotation, priority", make_pod(), make_pod().annotation({"a": "b"}).priority(4), [A.UPDATE]),
    ("label", make_pod(), make_pod().label(a="b"), [A.UPDATE_POD_LABEL]),
    ("same quantity", make_pod().req(cpu="1"), make_pod().req(cpu="1000m"), [A.UPDATE]),
    ("less", make_pod().req(cpu="1"), make_pod().req(cpu="999m"), [A.UPDATE_POD_SCALE_DOWN]),
    ("more", make_pod().req(cpu="1"), make_pod().req(cpu="2"), [A.UPDATE]),
    ("request gone", make_pod().req(cpu="1"), make_pod(), [A.UPDATE_POD_SCALE_DOWN]),
    ("one less, one more", make_pod().req(cpu="1", memory="1Gi"), make_pod().req(cpu="2", memory="1Mi"),
     [A.UPDATE_POD_SCALE_DOWN]),
    ("last gate gone", make_pod().gate("a"), make_pod(), [A.UPDATE_POD_SCHEDULING_GATES_ELIMINATED]),
    ("one gate left", make_pod().gate("a", "b"), make_pod().gate("a"), [A.UPDATE]),
    ("toleration", make_pod(), make_pod().toleration("k"), [A.UPDATE_POD_TOLERATION]),
    ("claim status", make_pod().status(resourceClaimStatuses=claims("a")),
     make_pod().status(resourceClaimStatuses=claims("a", "b")), [A.UPDATE_POD_GENERATED_RESOURCE_CLAIM]),
    ("several, in upstream's order", make_pod().gate("a").req(cpu="2"),
     make_pod().label(a="b").req(cpu="1").toleration("k"),
     [A.UPDATE_POD_LABEL, A.UPDATE_POD_SCALE_DOWN, A.UPDATE_POD_SCHEDULING_GATES_ELIMINATED, A.UPDATE_POD_TOLERATION]),
)  # fmt: skip
def test_pod_changes(old: PodBuilder, new: PodBuilder, want: list[ActionType]) -> None:
    events = pod_change_events(old.build(), new.build())
    assert [event.action for event in events] == want
    assert {event.resource.value for event in events} == {"UnschedulablePod"}


def test_changes_of_an_assigned_pod_are_named_so() -> None:
    (event,) = pod_change_events(make_pod().on("n").build(), make_pod().on("n").label(a="b").build())
    assert event.label == "AssignedPodUpdatePodLabel"


@cases(
    "old, new, want",
    ("nothing", make_node(), make_node(), []),
    ("uncordoned", make_node().unschedulable(), make_node(), [A.UPDATE_NODE_TAINT]),
    ("cordoned", make_node(), make_node().unschedulable(), []),
    ("allocatable", make_node(), make_node().capacity(cpu="9"), [A.UPDATE_NODE_ALLOCATABLE]),
    ("same quantity", make_node().capacity(cpu="1"), make_node().capacity(cpu="1000m"), []),
    ("label", make_node(), make_node().label(a="b"), [A.UPDATE_NODE_LABEL]),
    ("taint", make_node(), make_node().taint("k"), [A.UPDATE_NODE_TAINT]),
    ("condition", make_node().condition("Ready", "True"), make_node().condition("Ready", "False"),
     [A.UPDATE_NODE_CONDITION]),
    ("annotation", make_node(), make_node().annotation({"a": "b"}), [A.UPDATE_NODE_ANNOTATION]),
    ("images", make_node(), make_node().images({"i:1": 5}), []),
    ("uncordoned and tainted", make_node().unschedulable(), make_node().taint("k").label(a="b"),
     [A.UPDATE_NODE_TAINT, A.UPDATE_NODE_LABEL, A.UPDATE_NODE_TAINT]),
)  # fmt: skip
def test_node_changes(old: NodeBuilder, new: NodeBuilder, want: list[ActionType]) -> None:
    assert [event.action for event in node_change_events(old.build(), new.build())] == want


@cases(
    "new, want",
    ("status", make_pod().status(phase="Running"), False),
    ("claim status", make_pod().status(resourceClaimStatuses=claims("a")), True),
    ("label", make_pod().label(a="b"), True),
    ("annotation", make_pod().annotation({"a": "b"}), True),
)
def test_older_form_of_what_counts_as_an_update(new: PodBuilder, want: bool) -> None:
    assert is_pod_updated(make_pod().build(), new.build()) is want
    assert is_pod_updated(None, new.build())
