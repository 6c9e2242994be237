"""An event is stored by the API server, and the same one is counted."""

from __future__ import annotations

from typing import Any

from scheduler_core.apiserver.requests import Create, Patch
from scheduler_core.apiserver.server import ApiServer
from scheduler_core.controllers.event_expiry import TTL_US
from scheduler_core.controllers.event_recorder import (
    BURST,
    LONGEST_NAME,
    ONE_MORE_US,
    SIMILAR_FOR_US,
    WARNING,
    EventRecorder,
)
from tests.builders import make_node, make_pod
from tests.core.apiserver.asking import empty_server

START = 1_893_456_000_000_000  # 2030-01-01
POD = make_pod("p").build()


def stored(server: ApiServer) -> list[dict[str, Any]]:
    return [dict(each) for each in server.store.list("Event")]


def test_repeated_event_is_counted() -> None:
    server = empty_server()
    recorder = EventRecorder("some-controller")
    for second in (0, 5):
        now = START + second * 1_000_000
        server.carry_out(recorder.record(POD, "Failed", "no", now=now, kind=WARNING, host="n1"), now)
    server.carry_out(recorder.record(POD, "Failed", "other", now=START), START)
    first, second = sorted(stored(server), key=lambda event: event["message"])
    times = ("2030-01-01T00:00:00Z", "2030-01-01T00:00:05Z")
    assert (first["count"], first["firstTimestamp"], first["lastTimestamp"]) == (2, *times)
    assert first["source"] == {"component": "some-controller", "host": "n1"}
    assert (first["type"], first["involvedObject"]["uid"]) == ("Warning", POD.uid)
    assert (second["count"], second["message"], second["type"]) == (1, "other", "Normal")


def test_event_about_a_node_is_in_the_default_namespace() -> None:
    (request,) = EventRecorder("node-controller").record(make_node("n").build(), "NodeNotReady", "m", now=START)
    assert isinstance(request, Create)
    assert request.manifest["metadata"]["namespace"] == "default"
    assert "namespace" not in request.manifest["involvedObject"]


def test_similar_events_are_combined_after_nine() -> None:
    recorder, pod = EventRecorder("someone"), make_pod("p").build()
    requests = [
        one for number in range(12) for one in recorder.record(pod, "Made", f"made {number}", now=START + number)
    ]
    assert all(isinstance(request, Create) for request in requests[:10])
    combined = requests[9]
    assert isinstance(combined, Create)
    assert combined.manifest["message"] == "(combined from similar events): made 9"
    assert combined.manifest["reportingComponent"] == ""
    for number, request in enumerate(requests[10:], 10):
        assert isinstance(request, Patch)
        assert isinstance(request.body, dict)
        assert request.key.name == combined.manifest["metadata"]["name"]
        assert request.body["message"] == f"(combined from similar events): made {number}"
        assert request.body["count"] == number - 8
    (again,) = recorder.record(pod, "Made", "made 3", now=START + 20)
    assert isinstance(again, Patch)
    assert isinstance(again.body, dict)
    assert "message" not in again.body  # one of the first is counted for itself
    (later,) = recorder.record(pod, "Made", "made 99", now=START + 20 + SIMILAR_FOR_US + 1)
    assert isinstance(later, Create)
    assert later.manifest["message"] == "made 99"


def test_events_about_one_object_are_few_at_a_time() -> None:
    recorder, pod, other = EventRecorder("someone"), make_pod("p").build(), make_pod("q").build()
    written = [recorder.record(pod, "Made", f"made {number}", now=START) for number in range(100)]
    assert sum(map(len, written)) == BURST
    assert len(recorder.record(other, "Made", "made", now=START)) == 1
    assert recorder.record(pod, "Failed", "another reason", now=START + ONE_MORE_US - 1) == []
    assert len(recorder.record(pod, "Made", "made", now=START + ONE_MORE_US)) == 1


def test_other_components_and_hosts_have_events_left() -> None:
    recorder, pod = EventRecorder("someone"), make_pod("p").build()
    for number in range(100):
        recorder.record(pod, "Made", f"made {number}", now=START, host="n1")
    assert recorder.record(pod, "Made", "made", now=START, host="n1") == []
    assert len(recorder.record(pod, "Made", "made", now=START, host="n2")) == 1
    assert len(EventRecorder("another").record(pod, "Made", "made", now=START, host="n1")) == 1


def test_event_that_was_held_back_is_counted() -> None:
    """The first of its kind that is written tells how many there were, and since when."""
    recorder, pod = EventRecorder("someone"), make_pod("p").build()
    for number in range(BURST):
        recorder.record(pod, f"Reason{number}", "m", now=START)
    assert recorder.record(pod, "Late", "m", now=START) == recorder.record(pod, "Late", "m", now=START) == []
    assert recorder.record(pod, "Reason0", "m", now=START) == []
    later = START + 2 * ONE_MORE_US
    (late,), (first,) = (recorder.record(pod, reason, "m", now=later) for reason in ("Late", "Reason0"))
    assert isinstance(late, Create)
    assert (late.manifest["count"], late.manifest["firstTimestamp"]) == (3, "2030-01-01T00:00:00Z")
    assert isinstance(first, Patch) and isinstance(first.body, dict) and first.body["count"] == 3


def test_event_that_has_expired_is_written_anew() -> None:
    recorder, pod = EventRecorder("someone"), make_pod("p").build()
    (first,) = recorder.record(pod, "Made", "m", now=START)
    (again,) = recorder.record(pod, "Made", "m", now=START + TTL_US - 1)  # which tells a whole second
    (anew,) = recorder.record(pod, "Made", "m", now=START + 2 * TTL_US - 1_000_000)
    assert isinstance(first, Create) and isinstance(again, Patch) and isinstance(anew, Create)
    name = first.manifest["metadata"]["name"]
    assert (again.key.name, anew.manifest["metadata"]["name"], anew.manifest["count"]) == (name, name, 3)


def test_event_about_an_object_of_a_long_name_has_a_name_that_can_be_stored() -> None:
    recorder = EventRecorder("some-controller")
    pod = make_pod("p" * LONGEST_NAME).build()
    made = [one for note in ("no", "nor") for one in recorder.record(pod, "Failed", note, now=START)]
    names = [one.manifest["metadata"]["name"] for one in made if isinstance(one, Create)]
    assert len(set(names)) == 2 and max(map(len, names)) <= LONGEST_NAME
    (again,) = recorder.record(pod, "Failed", "no", now=START + 1)
    assert isinstance(again, Patch) and again.key.name == names[0]
