"""Addresses that can name nothing: numbers beyond 64 bits, and NUL characters, which PostgreSQL's texts cannot hold.

Refused here once, before any view looks for them.
"""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse

from kschedweb.common.errors import InvalidError, NotFoundError

BIGGEST = 2**63 - 1


class AddressMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self._get_response(request)

    def process_view(
        self, request: HttpRequest, view: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> HttpResponse | None:
        error: NotFoundError | InvalidError | None = None
        if any(_names_nothing(value) for value in kwargs.values()):
            error = NotFoundError("there is nothing at this address")
        elif "%00" in request.META.get("QUERY_STRING", ""):
            error = InvalidError("the query contains a NUL character")
        return None if error is None else JsonResponse(error.as_dict(), status=error.status_code)


def _names_nothing(value: Any) -> bool:
    return value > BIGGEST if isinstance(value, int) else "\x00" in str(value)
