"""What all views and inputs are made of.

A view is a frozen struct: msgspec writes it as JSON, checks what is converted into it, and describes it as JSON
schema. Field comments that API users need are `Annotated[…, doc("…")]`; every field is present in every answer.

An input is what a request brings: a JSON body, or the parameters of its query. A field without a default is required;
one whose default is UNSET was not given, and null is never the same as leaving out.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Generic, TypeVar, dataclass_transform

import msgspec

from scheduler_core import typed

MAX_INT = 2**62
# What happens in a cluster by its life-cycle mode.
ACTING = (
    "frozen: the scheduler decides, binds and preempts (victims are deleted), and no controllers act;"
    " simulate: controllers act too. What comes from another cluster is a copy, and only the copy changes"
)

V = TypeVar("V", bound="View")
Item = TypeVar("Item")

Moment = Annotated[datetime, msgspec.Meta(tz=True)]
_TIME = msgspec.Meta(extra_json_schema={"format": "date-time"})  # said by msgspec only where a zone is required


@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class View(msgspec.Struct, frozen=True, gc=False):
    """An answer, or a part of one. Holds no reference cycles, so the garbage collector does not track it."""


class Page(View, Generic[Item]):
    """One page of a list. `next` and `previous` are addresses, null at the ends."""

    results: Sequence[Item]
    next: str | None
    previous: str | None


@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class Input(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """All that a request may bring: what it does not name is refused."""


def doc(text: str) -> msgspec.Meta:
    """Describe a field in the OpenAPI document."""
    return msgspec.Meta(description=text)


def text(most: int, description: str | None = None, *, least: int = 1) -> msgspec.Meta:
    """Bound the length of a text, in characters; NUL is none of them, as PostgreSQL's texts cannot hold it."""
    return msgspec.Meta(min_length=least, max_length=most, pattern=r"^[^\x00]*$", description=description)


def number(least: int, most: int = MAX_INT, description: str | None = None) -> msgspec.Meta:
    """Bound a number."""
    return msgspec.Meta(ge=least, le=most, description=description)


def view_of(cls: type[V], source: Any) -> V:
    """Convert a model instance, a dataclass or a mapping: each field of the view is read by its name."""
    return typed.convert(source, cls, from_attributes=True)


def given(input_: Input) -> dict[str, Any]:
    """The fields that were given or have a default, by name; structs in them as mappings."""
    found: dict[str, Any] = msgspec.to_builtins(input_, builtin_types=(datetime,))
    return found


class PageQuery(Input):
    """Which page of a list."""

    cursor: Annotated[str, doc("from `next` or `previous` of another page")] | msgspec.UnsetType = msgspec.UNSET
    limit: Annotated[int, number(1, 1000, "of the rows in one page")] = 200


class SmallPageQuery(Input):
    """Which page of a list whose rows each open a matrix."""

    cursor: Annotated[str, doc("from `next` or `previous` of another page")] | msgspec.UnsetType = msgspec.UNSET
    limit: Annotated[int, number(1, 100, "of the rows in one page")] = 20


_FORMS = (
    "a position of both logs (120.4711), a time of the cluster's clock (2026-11-25T22:55:00Z; without a zone UTC),"
    " or how long ago by that clock (30s ago, 10m ago, 2h ago, 3d ago)"
)


class AtQuery(Input):
    """Which moment is shown."""

    at: Annotated[str, text(64, f"the past: {_FORMS}")] | msgspec.UnsetType = msgspec.UNSET


class HistorySpan(Input):
    """Which history is exported; all there is unless it is said."""

    from_: Annotated[str, text(64, f"from then on: {_FORMS}")] | msgspec.UnsetType = msgspec.field(
        name="from", default=msgspec.UNSET
    )
    to: Annotated[str, text(64, "up to then, as `from`")] | msgspec.UnsetType = msgspec.UNSET
    anonymise: Annotated[bool, doc("whether names are replaced, so that the file has none of them")] = False


class SpanQuery(Input):
    """A span of time; times without a zone are UTC."""

    since: Annotated[datetime, _TIME, doc("seen at this time or later")] | msgspec.UnsetType = msgspec.UNSET
    until: Annotated[datetime, _TIME, doc("before this time")] | msgspec.UnsetType = msgspec.UNSET
    last_seconds: (
        Annotated[int, number(1, 10 * 366 * 24 * 3600, "instead of since: so many seconds ago")] | msgspec.UnsetType
    ) = msgspec.UNSET
