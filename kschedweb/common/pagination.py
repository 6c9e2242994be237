"""Pages by key: their cost does not grow with how far one has paged, and rows that come meanwhile shift nothing."""

from collections.abc import Callable
from typing import Any, TypeVar

from django.core.exceptions import ValidationError as DjangoValidationError
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.pagination import Cursor, CursorPagination
from rest_framework.request import Request

from kschedweb.views import Page

P = TypeVar("P", bound=Page[Any])


class KeysetPagination(CursorPagination):
    """Subclasses set `ordering`, which must end in a unique key. `parameters()` describes the query parameters."""

    page_size = 200
    page_size_query_param = "limit"
    max_page_size = 1000

    def get_page_size(self, request: Request) -> int:
        """Refuse a limit that is no number in range; REST framework would ignore it."""
        given = request.query_params.get("limit")
        if given is None:
            return self.page_size
        # A number of more digits is too large anyway, and reading one may take long.
        if not (given.isascii() and given.isdigit() and len(given) < 10 and 1 <= int(given) <= self.max_page_size):
            raise ValidationError({"limit": [f"must be a whole number from 1 to {self.max_page_size}"]})
        return int(given)

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

    @classmethod
    def parameters(cls) -> list[OpenApiParameter]:
        """Describe the query parameters in the OpenAPI document."""
        limit = {"type": "integer", "minimum": 1, "maximum": cls.max_page_size, "default": cls.page_size}
        return [
            OpenApiParameter("cursor", str, description="from `next` or `previous` of another page"),
            OpenApiParameter("limit", limit, description="of the rows in one page"),
        ]
