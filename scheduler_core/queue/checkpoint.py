"""The queue's whole state as plain lists, dicts, texts and numbers, and back.

Entries are written once and referred to by place, because one entry may be in two sub-queues (an upstream case).
Objects go through the caller's `encode` and `decode`, which may share them with the rest of a checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod
from scheduler_core.model.events import ActionType, ClusterEvent, EventResource
from scheduler_core.model.types import QueuedPodInfo
from scheduler_core.queue.active_queue import InFlight, InFlightEntry, InFlightEvent, PodMarker
from scheduler_core.queue.sub_queues import SubQueues

Encode = Callable[[KubeObject], Any]
Decode = Callable[[Any], KubeObject]


def dump_entry(info: QueuedPodInfo, encode: Encode) -> dict[str, Any]:
    """One entry; also for those the engine holds while they are tried."""
    return {
        "pod": encode(info.pod),
        "timestamp": info.timestamp,
        "attempts": info.attempts,
        "initial_attempt_timestamp": info.initial_attempt_timestamp,
        "backoff_expiration": info.backoff_expiration,
        "unschedulable_count": info.unschedulable_count,
        "consecutive_errors_count": info.consecutive_errors_count,
        "unschedulable_plugins": sorted(info.unschedulable_plugins),
        "pending_plugins": sorted(info.pending_plugins),
        "gating_plugin": info.gating_plugin,
        "gating_plugin_events": [_dump_event(event) for event in info.gating_plugin_events],
        "sequence": info.sequence,
    }


def load_entry(dumped: dict[str, Any], decode: Decode) -> QueuedPodInfo:
    return QueuedPodInfo(
        **{
            **dumped,
            "pod": decode(dumped["pod"]),
            "unschedulable_plugins": set(dumped["unschedulable_plugins"]),
            "pending_plugins": set(dumped["pending_plugins"]),
            "gating_plugin_events": tuple(_load_event(event) for event in dumped["gating_plugin_events"]),
        }
    )


def dump_sub_queues(queues: SubQueues, encode: Encode) -> dict[str, Any]:
    places: dict[int, int] = {}  # id of an entry → its place in `entries`
    entries: list[dict[str, Any]] = []

    def refer(info: QueuedPodInfo) -> int:
        if id(info) not in places:
            places[id(info)] = len(entries)
            entries.append(dump_entry(info, encode))
        return places[id(info)]

    return {
        "active": [refer(info) for info in queues.active.heap],
        "backoff": [refer(info) for info in queues.backoff.ordinary],
        "error_backoff": [refer(info) for info in queues.backoff.errors],
        "unschedulable": [refer(info) for info in queues.unschedulable],
        "entries": entries,
        "in_flight": [_dump_in_flight(entry, encode) for entry in queues.active.in_flight],
        "scheduling_cycle": queues.active.scheduling_cycle,
        "nominator": queues.nominator.dump(),
        "counters": queues.counters.dump(),
    }


def load_sub_queues(queues: SubQueues, dumped: dict[str, Any], decode: Decode) -> None:
    """Fill fresh sub-queues; options and plugins are those they were built with."""
    entries = [load_entry(entry, decode) for entry in dumped["entries"]]
    for name, heap in (
        ("active", queues.active.heap),
        ("backoff", queues.backoff.ordinary),
        ("error_backoff", queues.backoff.errors),
    ):
        for place in dumped[name]:
            heap.put(entries[place])
    for place in dumped["unschedulable"]:
        queues.unschedulable.restore(entries[place])
    _restore_in_flight(queues.active.in_flight, dumped["in_flight"], decode)
    queues.active.scheduling_cycle = dumped["scheduling_cycle"]
    queues.nominator.load(dumped["nominator"])
    queues.counters.load(dumped["counters"])


def _dump_in_flight(entry: InFlightEntry, encode: Encode) -> list[Any]:
    if isinstance(entry, PodMarker):
        return [encode(entry.pod)]
    return [
        _dump_event(entry.event),
        None if entry.old is None else encode(entry.old),
        None if entry.new is None else encode(entry.new),
    ]


def _restore_in_flight(in_flight: InFlight, dumped: list[list[Any]], decode: Decode) -> None:
    entries: list[InFlightEntry] = []
    for entry in dumped:
        if len(entry) == 1:
            pod = decode(entry[0])
            assert isinstance(pod, Pod)
            entries.append(PodMarker(pod))
        else:
            old, new = (None if each is None else decode(each) for each in entry[1:])
            entries.append(InFlightEvent(_load_event(entry[0]), old, new))
    in_flight.restore(entries)


def _dump_event(event: ClusterEvent) -> list[Any]:
    return [event.resource.value, int(event.action), event.custom_label]


def _load_event(dumped: list[Any]) -> ClusterEvent:
    resource, action, label = dumped
    return ClusterEvent(EventResource(resource), ActionType(action), label)
