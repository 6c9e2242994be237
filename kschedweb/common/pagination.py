"""Pages by key: their cost does not grow with how far one has paged, and rows that come meanwhile shift nothing."""

from collections.abc import Callable
from typing import Any, TypeVar

from django.core.exceptions import ValidationError as DjangoValidationError
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.pagination import Cursor, CursorPagination
from rest_framework.request import Request

from kschedweb.views import Page, PageQuery, SmallPageQuery

P = TypeVar("P", bound=Page[Any])


class KeysetPagination(CursorPagination):
    """Subclasses set `ordering`, which must end in a unique key. REST framework reads the cursor from the request."""

    def __init__(self, page: PageQuery | SmallPageQuery) -> None:
        self._limit = page.limit

    def get_page_size(self, request: Request) -> int:
        return self._limit

    def decode_cursor(self, request: Request) -> Cursor | None:
        """Refuse a cursor whose position is no value of the ordering column: it goes into a query."""
        try:
            cursor = super().decode_cursor(request)
            if cursor is not None and cursor.position is not None:
                position = str(cursor.position)
                if "\0" in position:
                    raise ValueError("no column holds a NUL")
                self._field.to_python(position)
        except (NotFound, ValueError, DjangoValidationError):
            raise ValidationError({"cursor": ["is none of this list"]}) from None
        return cursor

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> "list[Any] | None":
        first = self.ordering if isinstance(self.ordering, str) else self.ordering[0]
        self._field: Any = queryset.model._meta.get_field(first.lstrip("-"))
        return super().paginate_queryset(queryset, request, view)

    def page_of(self, cls: type[P], queryset: Any, request: Request, make: Callable[[Any], Any]) -> P:
        """The page the request asks for, of views made from rows."""
        rows = self.paginate_queryset(queryset, request) or []
        return self.page_with(cls, [make(row) for row in rows])

    def page_with(self, cls: type[P], results: list[Any]) -> P:
        """The page of the rows read last, of the views made from them."""
        return cls(results=results, next=self.get_next_link(), previous=self.get_previous_link())
