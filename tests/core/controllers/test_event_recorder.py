"""An event is stored by the API server, and the same one is counted."""

from __future__ import annotations

from itertools import count
from typing import Any

from scheduler_core.apiserver.memory import MemoryStore
from scheduler_core.apiserver.requests import Create
from scheduler_core.apiserver.server import ApiServer
from scheduler_core.controllers.event_recorder import WARNING, EventRecorder
from tests.builders import make_node, make_pod

START = 1_893_456_000_000_000  # 2030-01-01
POD = make_pod("p").build()


def stored(server: ApiServer) -> list[dict[str, Any]]:
    return [dict(each) for each in server.store.list("Event")]


def test_repeated_event_is_counted() -> None:
    numbers = count(1)
    server = ApiServer(MemoryStore(), lambda: f"u{next(numbers)}")
    recorder = EventRecorder("some-controller")
    for second in (0, 5):
        now = START + second * 1_000_000
        server.carry_out([recorder.record(POD, "Failed", "no", now=now, kind=WARNING, host="n1")], now)
    server.carry_out([recorder.record(POD, "Failed", "other", now=START)], START)
    first, second = sorted(stored(server), key=lambda event: event["message"])
    assert (first["count"], first["firstTimestamp"], first["lastTimestamp"]) == (
        2,
        "2030-01-01T00:00:00Z",
        "2030-01-01T00:00:05Z",
    )
    assert first["source"] == {"component": "some-controller", "host": "n1"}
    assert (first["type"], first["involvedObject"]["uid"]) == ("Warning", POD.uid)
    assert (second["count"], second["message"], second["type"]) == (1, "other", "Normal")


def test_event_about_a_node_is_in_the_default_namespace() -> None:
    request = EventRecorder("node-controller").record(make_node("n").build(), "NodeNotReady", "m", now=START)
    assert isinstance(request, Create)
    assert request.manifest["metadata"]["namespace"] == "default"
    assert "namespace" not in request.manifest["involvedObject"]
