"""Every message browsers receive over the WebSocket, and the views a snapshot is made of.

A message has a `type`; so has each event inside a frame. Events of the change log carry `rv`, events of the engine log
carry `seq`: a browser whose cursor is (rv, seq) skips what it has. Times are milliseconds since the Unix epoch, CPU is
in millicores, everything else in base units. Nothing here is optional on the wire: absent is null or "".

frontend/src/contract/events.gen.ts is written from this file by `python -m kschedweb.live.contract`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import orjson

QueueName = Literal["", "active", "backoff", "errorBackoff", "unschedulable", "gated", "waiting", "assumed"]
CacheMove = Literal["assumed", "confirmed", "forgotten", "waiting", "finished"]
Pace = Literal["run", "slow", "pause"]
LifecycleMode = Literal["frozen", "simulate"]


class Cursor(NamedTuple):
    """How far a reader has come in the change log and in the engine log of one cluster."""

    rv: int
    seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterView:
    id: int
    name: str
    lifecycle_mode: LifecycleMode
    pace: Pace
    pace_rate: float | None  # cycles a second while slow
    seed: int
    is_sample: bool
    config_version: int = 1  # of the scheduler's configuration
    leader: str | None = None  # the worker that schedules it, where known
    scheduler_problem: str = ""  # why the configuration in force is not what the scheduler runs under
    retention_hours: int = 168
    retention_mb: int = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeView:
    """A node's own facts; what is used of it the browser adds up from the pods."""

    name: str
    zone: str
    cpu_milli: int
    memory_bytes: int
    pods: int
    extended: Mapping[str, int]
    unschedulable: bool
    ready: bool
    taints: Sequence[str]  # key=value:Effect


@dataclass(frozen=True, slots=True, kw_only=True)
class PodView:
    uid: str
    key: str  # namespace/name
    node: str  # "" while unassigned
    phase: str
    priority: int
    requests: Mapping[str, int]  # cpu in millicores, memory in bytes, others in units
    deleting: bool
    gated: bool
    nominated: str
    reason: str
    created_ms: int
    scheduler: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueView:
    """Where the scheduler keeps a pod; queue "" says that it has left."""

    uid: str
    key: str
    queue: QueueName
    event: str
    since_ms: int
    attempts: int
    backoff_until_ms: int | None
    plugins: Sequence[str]
    node: str = ""  # where it is assumed or waits to be
    hint: str = ""  # the plugin whose hint moved it here


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptView:
    seq: int
    uid: str
    key: str
    attempt: int
    result: str
    node: str
    message: str
    evaluated: int
    feasible: int
    duration_us: int
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EventView:
    seq: int  # in the engine's log, whose events are about pods; 0 when it is not from there
    type: str  # Normal or Warning
    reason: str
    note: str  # names a preemptor by namespace/name, where upstream's has the uid
    key: str  # what it is about: namespace/name
    at_ms: int  # when it was seen last
    count: int = 1  # how often, as a series


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSizes:
    """How many pods wait in each sub-queue: kube-scheduler's `scheduler_pending_pods`."""

    active: int
    backoff: int
    unschedulable: int
    gated: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ThroughputPoint:
    """What the scheduler did in the second or minute that begins at `at_ms`.

    `run` names the engine at work last. Between two points of one run it made no attempt and the queue stayed as it
    was; between points of two runs nothing is known.
    """

    at_ms: int
    run: int | None  # null: pods were bound, and no step was made
    results: Mapping[str, int]  # attempts by how they ended, where there were any
    bound: int  # pods bound by this scheduler
    queued: QueueSizes | None  # at the end; null like `run`


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """What was counted in [since_ms, until_ms), the oldest first; times in which nothing happened have no point."""

    seconds: int  # that a point tells of
    since_ms: int
    until_ms: int
    carried: ThroughputPoint | None  # the last point of a run before these: how the queue stood when they begin
    points: Sequence[ThroughputPoint]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePut:
    rv: int
    node: NodeView
    type: Literal["node_put"] = "node_put"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDeleted:
    rv: int
    name: str
    type: Literal["node_deleted"] = "node_deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodPut:
    rv: int
    pod: PodView
    type: Literal["pod_put"] = "pod_put"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodDeleted:
    rv: int
    uid: str
    key: str
    type: Literal["pod_deleted"] = "pod_deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodBound:
    """This scheduler bound the pod; that it has a node now is told by an event before this one."""

    rv: int
    uid: str
    at_ms: int
    type: Literal["pod_bound"] = "pod_bound"


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectPut:
    rv: int
    kind: str
    key: str
    type: Literal["object_put"] = "object_put"


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectDeleted:
    rv: int
    kind: str
    key: str
    type: Literal["object_deleted"] = "object_deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSetting:
    rv: int
    cluster: ClusterView
    type: Literal["cluster_setting"] = "cluster_setting"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueMove:
    seq: int
    move: QueueView
    type: Literal["queue_move"] = "queue_move"


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheMoved:
    seq: int
    uid: str
    key: str
    node: str
    kind: CacheMove
    at_ms: int = 0
    attempts: int = 0  # of a pod that was assumed or waits
    type: Literal["cache_move"] = "cache_move"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptMade:
    seq: int
    attempt: AttemptView
    type: Literal["attempt"] = "attempt"


@dataclass(frozen=True, slots=True, kw_only=True)
class EventNoted:
    seq: int
    event: EventView
    type: Literal["event"] = "event"


@dataclass(frozen=True, slots=True, kw_only=True)
class EventCount:
    """How often the event noted at this position was seen so far."""

    seq: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsCounted:
    """Events noted before were seen again."""

    seq: int
    counts: Sequence[EventCount]
    at_ms: int
    type: Literal["events_counted"] = "events_counted"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepDone:
    seq: int
    step: int
    cycles: int
    kind: Literal["apply", "rebuild", "config"]
    at_ms: int
    results: Mapping[str, int]  # its attempts by how they ended
    queued: QueueSizes | None  # after it; null: as before
    type: Literal["step"] = "step"


ChangeLogEvent = NodePut | NodeDeleted | PodPut | PodDeleted | PodBound | ObjectPut | ObjectDeleted | ClusterSetting
EngineLogEvent = QueueMove | CacheMoved | AttemptMade | EventNoted | EventsCounted | StepDone
LiveEvent = ChangeLogEvent | EngineLogEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """The first message of a connection: frames go on from this cursor."""

    cursor: Cursor
    type: Literal["hello"] = "hello"


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """All that both logs hold in the range (from, to]; `from_` is written `from`."""

    from_: Cursor
    to: Cursor
    at: int
    events: Sequence[LiveEvent]
    type: Literal["frame"] = "frame"


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """Sent when nothing else was for five seconds: both logs have been read, and hold nothing new."""

    type: Literal["heartbeat"] = "heartbeat"


Message = Hello | Frame | Heartbeat


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A cluster as of one cursor, read in one transaction; ended pods are left out and counted."""

    cursor: Cursor
    cluster: ClusterView
    nodes: Sequence[NodeView]
    pods: Sequence[PodView]
    queue: Sequence[QueueView]
    events: Sequence[EventView]
    attempts: Sequence[AttemptView]
    throughput: Throughput  # of the last minutes, by seconds
    pods_left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One field of all rows: the value of each row, or with `rows` the index into `values` for each row."""

    values: Sequence[Any]
    rows: Sequence[int] | None


Columns = Mapping[str, Column]  # by the names of the fields


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotColumns:
    """A Snapshot whose lists are given as columns; a list without rows has none."""

    cursor: Cursor
    cluster: ClusterView
    nodes: Columns
    pods: Columns
    queue: Columns
    events: Columns
    attempts: Columns
    throughput: Throughput
    pods_left_out: int


def encode(message: Message) -> bytes:
    """The message as JSON."""
    if isinstance(message, Heartbeat):
        return orjson.dumps({"type": message.type})
    if isinstance(message, Hello):
        return orjson.dumps({"type": message.type, "cursor": list(message.cursor)})
    return orjson.dumps(
        {
            "type": message.type,
            "from": list(message.from_),
            "to": list(message.to),
            "at": message.at,
            "events": message.events,
        }
    )
