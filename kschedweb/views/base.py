"""What all views are made of.

A view is a frozen struct: msgspec writes it as JSON, checks what is converted into it, and describes it as JSON
schema. Field comments that API users need are `Annotated[…, doc("…")]`; every field is present in every answer.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Generic, TypeVar, dataclass_transform

import msgspec

V = TypeVar("V", bound="View")
Item = TypeVar("Item")

Moment = Annotated[datetime, msgspec.Meta(tz=True)]


@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class View(msgspec.Struct, frozen=True, gc=False):
    """An answer, or a part of one. Holds no reference cycles, so the garbage collector does not track it."""


class Page(View, Generic[Item]):
    """One page of a list. `next` and `previous` are addresses, null at the ends."""

    results: Sequence[Item]
    next: str | None
    previous: str | None


def doc(text: str) -> msgspec.Meta:
    """Describe a field in the OpenAPI document."""
    return msgspec.Meta(description=text)


def view_of(cls: type[V], source: Any) -> V:
    """Convert a model instance, a dataclass or a mapping: each field of the view is read by its name."""
    return msgspec.convert(source, cls, from_attributes=True)
