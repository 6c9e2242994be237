"""Events of a cluster."""

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import UNSET, UnsetType

from kschedweb.views.base import Input, Moment, Page, SpanQuery, View, doc, number, text


class EventView(View):
    """An event as the dashboard shows it."""

    seq: Annotated[int, doc("position in the engine log, whose events are about pods; 0 when it is not from there")]
    type: Annotated[str, doc("Normal or Warning")]
    reason: str
    note: Annotated[str, doc("names a preemptor by namespace/name, where upstream's note has its uid")]
    key: Annotated[str, doc("namespace/name of the object it is about")]
    at_ms: Annotated[int, doc("when it was last seen")]
    count: Annotated[int, doc("how often it was seen")] = 1
    kind: Annotated[str, doc("of the object it is about")] = "Pod"
    name: Annotated[str, doc("namespace/name of the event itself, of those that controllers and clients wrote")] = ""


class Event(View):
    """An event in full."""

    seq: Annotated[int, doc("position in the engine log, 0 when it is not from the engine")]
    type: str
    reason: str
    action: str
    note: str
    regarding_kind: str
    regarding_namespace: str
    regarding_name: str
    regarding_uid: str
    reporter: str
    count: int
    first_at: Moment
    last_at: Moment


class ObjectEvents(View):
    """Events about one object: of the scheduler, of controllers, of clients."""

    events: Annotated[Sequence[EventView], doc("the newest, newest first")]


class EventPage(Page[Event]):
    """A page of events."""


class EventQuery(SpanQuery):
    """Which events."""

    namespace: Annotated[str, text(63, "of the object they are about")] | UnsetType = UNSET
    name: Annotated[str, text(253)] | UnsetType = UNSET
    kind: Annotated[str, text(63)] | UnsetType = UNSET
    reason: Annotated[str, text(128)] | UnsetType = UNSET
    type: Literal["Normal", "Warning"] | UnsetType = UNSET


class ObjectEventQuery(Input):
    """Events about which object."""

    kind: Annotated[str, text(63)]
    name: Annotated[str, text(253)]
    namespace: Annotated[str, text(63, "left out for objects without one")] | UnsetType = UNSET
    limit: Annotated[int, number(1, 500)] = 50
