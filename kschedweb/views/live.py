"""What a browser follows: the snapshot it starts from, and every message of the WebSocket.

A message has a `type`; so has each event inside a frame. Events of the change log carry `rv`, events of the engine log
carry `seq`: a browser whose cursor is (rv, seq) skips what it has seen. Times are milliseconds since the Unix epoch,
CPU is in millicores, everything else in base units.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from kschedweb.views.attempts import AttemptView
from kschedweb.views.base import Input, View, doc, number
from kschedweb.views.clusters import Cluster
from kschedweb.views.events import EventView
from kschedweb.views.nodes import NodeView
from kschedweb.views.pods import PodView, QueueView
from kschedweb.views.throughput import QueueSizes, Throughput

CacheMove = Literal["assumed", "confirmed", "forgotten", "waiting", "finished"]


class Cursor(msgspec.Struct, frozen=True, array_like=True, gc=False, forbid_unknown_fields=True):
    """How far a reader has come in the change log and in the engine log of one cluster: [rv, seq]."""

    rv: int
    seq: int

    def covers(self, other: "Cursor") -> bool:
        """Whether a reader here has seen everything a reader there has."""
        return self.rv >= other.rv and self.seq >= other.seq

    def entries_since(self, other: "Cursor") -> int:
        """How many entries of both logs lie between there and here."""
        return self.rv + self.seq - other.rv - other.seq


class NodePut(View, tag_field="type", tag="node_put"):
    """A node was created or changed."""

    rv: int
    node: NodeView


class NodeDeleted(View, tag_field="type", tag="node_deleted"):
    """A node was deleted."""

    rv: int
    name: str


class PodPut(View, tag_field="type", tag="pod_put"):
    """A pod was created or changed."""

    rv: int
    pod: PodView


class PodDeleted(View, tag_field="type", tag="pod_deleted"):
    """A pod was deleted."""

    rv: int
    uid: str
    key: str


class PodBound(View, tag_field="type", tag="pod_bound"):
    """This scheduler bound the pod; an earlier event tells that the pod has a node now."""

    rv: int
    uid: str
    at_ms: int


class ObjectPut(View, tag_field="type", tag="object_put"):
    """An object that is neither node nor pod nor event was created or changed."""

    rv: int
    kind: str
    key: str


class ObjectDeleted(View, tag_field="type", tag="object_deleted"):
    """An object that is neither node nor pod was deleted."""

    rv: int
    kind: str
    key: str


class EventPut(View, tag_field="type", tag="event_put"):
    """A controller or a client wrote an event, or counted it again."""

    rv: int
    event: EventView


class ClusterSetting(View, tag_field="type", tag="cluster_setting"):
    """A setting of the cluster changed."""

    rv: int
    cluster: Cluster


class QueueMove(View, tag_field="type", tag="queue_move"):
    """A pod moved between queues, or left them."""

    seq: int
    move: QueueView


class CacheMoved(View, tag_field="type", tag="cache_move"):
    """A pod was assumed on a node, waits there for Permit, or no longer is."""

    seq: int
    uid: str
    key: str
    node: str
    kind: CacheMove
    at_ms: int = 0
    attempts: Annotated[int, doc("of a pod that is assumed or waits")] = 0


class AttemptMade(View, tag_field="type", tag="attempt"):
    """An attempt to schedule a pod ended."""

    seq: int
    attempt: AttemptView


class EventNoted(View, tag_field="type", tag="event"):
    """An event was recorded."""

    seq: int
    event: EventView


class EventCount(View):
    """How often the event recorded at this position has been seen."""

    seq: int
    count: int


class EventsCounted(View, tag_field="type", tag="events_counted"):
    """Events recorded earlier were seen again."""

    seq: int
    counts: Sequence[EventCount]
    at_ms: int


class StepDone(View, tag_field="type", tag="step"):
    """The engine committed a step."""

    seq: int
    step: int
    cycles: int
    kind: Literal["apply", "rebuild", "config"]
    at_ms: int
    results: Annotated[Mapping[str, int], doc("its attempts by result")]
    queued: Annotated[QueueSizes | None, doc("after it; null: unchanged")]


ChangeLogEvent = (
    NodePut | NodeDeleted | PodPut | PodDeleted | PodBound | ObjectPut | ObjectDeleted | EventPut | ClusterSetting
)
EngineLogEvent = QueueMove | CacheMoved | AttemptMade | EventNoted | EventsCounted | StepDone
LiveEvent = ChangeLogEvent | EngineLogEvent


class Hello(View, tag_field="type", tag="hello"):
    """The first message of a connection: frames continue from this cursor."""

    cursor: Cursor


class Frame(View, tag_field="type", tag="frame"):
    """Everything both logs hold in the range (from, to]."""

    from_: Cursor = msgspec.field(name="from")
    to: Cursor
    at: int
    events: Sequence[LiveEvent]


class Heartbeat(View, tag_field="type", tag="heartbeat"):
    """Sent after five seconds without another message: both logs have been read and hold nothing new."""


Message = Hello | Frame | Heartbeat


class Frames(View):
    """The frames after a cursor, as the WebSocket would have sent them."""

    frames: Sequence[Frame]


class Snapshot(View):
    """A cluster as of one cursor, read in one transaction. Ended pods are left out and counted."""

    cursor: Cursor
    cluster: Cluster
    nodes: Sequence[NodeView]
    pods: Sequence[PodView]
    queue: Sequence[QueueView]
    events: Annotated[
        Sequence[EventView],
        doc("the newest about Pods, ReplicaSets and Jobs, and the newest about others, oldest first"),
    ]
    attempts: Annotated[Sequence[AttemptView], doc("the newest, oldest first")]
    throughput: Annotated[Throughput, doc("of the last minutes, by seconds")]
    pods_left_out: int


class Column(View):
    """One field of all rows: the value of each row, or with `rows` the index into `values` for each row."""

    values: Sequence[Any]
    rows: Sequence[int] | None


Columns = Mapping[str, Column]  # by the names of the fields


class SnapshotColumns(View):
    """A Snapshot whose lists are given as columns; an empty list has no columns."""

    cursor: Cursor
    cluster: Cluster
    nodes: Columns
    pods: Columns
    queue: Columns
    events: Columns
    attempts: Columns
    throughput: Throughput
    pods_left_out: int


_encoder = msgspec.json.Encoder()


def encode(message: Message) -> bytes:
    """Encode a message of the WebSocket as JSON."""
    return _encoder.encode(message)


class FramesQuery(Input):
    """The cursor after which frames are wanted."""

    rv: Annotated[int, number(0)]
    seq: Annotated[int, number(0)]
    steps: (
        Annotated[int, number(1, 500, "a frame for each of the next so many steps, wherever the cursor is")] | UnsetType
    ) = UNSET
