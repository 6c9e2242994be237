"""Events go an hour after they were last written; a new controller knows when that was."""

from __future__ import annotations

from typing import Any

from scheduler_core import build, config
from scheduler_core.api.manifests import decode
from scheduler_core.apiserver.requests import Delete, ObjectKey
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.event_expiry import TTL_US, EventExpiry
from scheduler_core.controllers.event_recorder import EventRecorder
from scheduler_core.model.changes import ObjectDeleted, ObjectPut
from scheduler_core.ports import SeededDraws
from scheduler_core.sim.world import World
from tests.builders import make_node
from tests.cases import cases

START = 1_893_456_000_000_000  # 2030-01-01
MINUTE = 60_000_000
GONE = Delete(ObjectKey("Event", "shop", "e"), uid="u1")


def event(**times: Any) -> ObjectPut:
    metadata = {"name": "e", "namespace": "shop", "uid": "u1", "creationTimestamp": "2030-01-01T00:00:00Z"}
    return ObjectPut(decode({"apiVersion": "v1", "kind": "Event", "metadata": metadata, **times}))


@cases(
    "times, written",
    ("only created", {}, START),
    ("counted", {"lastTimestamp": "2030-01-01T00:05:00Z"}, START + 5 * MINUTE),
    ("fields that are null", {"lastTimestamp": None, "series": None}, START),
    ("a series", {"series": {"count": 3, "lastObservedTime": "2030-01-01T00:07:00.000000Z"}}, START + 7 * MINUTE),
    ("of an earlier time", {"lastTimestamp": "2029-01-01T00:00:00Z"}, START),
)
def test_event_goes_an_hour_after_it_was_written_last(times: dict[str, Any], written: int) -> None:
    expiry = EventExpiry(ClusterOptions())
    assert expiry.step(START, [event(**times)]) == []
    assert expiry.next_due() == written + TTL_US
    assert expiry.step(written + TTL_US - 1, []) == []
    assert expiry.step(written + TTL_US, []) == [GONE]
    assert expiry.next_due() is None


def test_events_that_controllers_write_are_gone_after_an_hour() -> None:
    world = World(build.build(config.load(None), draws=SeededDraws(1)), [EventExpiry(ClusterOptions())], now=START)
    world.request(*EventRecorder("some-controller").record(make_node("n").build(), "Left", "m", now=START))
    world.run_until(START + 60 * MINUTE - 1)
    assert len(world.store.list("Event")) == 1
    world.run_until(START + 60 * MINUTE)
    assert not world.store.list("Event")


def test_event_that_is_counted_stays_an_hour_longer_and_one_that_is_gone_is_forgotten() -> None:
    expiry = EventExpiry(ClusterOptions())
    expiry.step(START, [event()])
    expiry.step(START + MINUTE, [event(lastTimestamp="2030-01-01T00:30:00Z")])
    assert expiry.step(START + TTL_US, []) == []
    expiry.step(START + TTL_US, [ObjectDeleted("Event", "shop", "e", "u1")])
    assert expiry.next_due() is None
