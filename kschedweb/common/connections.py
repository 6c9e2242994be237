"""Connections of the database pool are held while something is asked of the database, and no longer.

A view's answer may take long to reach its reader, or never: until then it would keep one of a few connections.
"""

from collections.abc import Callable

from django.db import connections
from django.http import HttpRequest, HttpResponse

Handler = Callable[[HttpRequest], HttpResponse]


def give_back() -> None:
    """Return this thread's connection to the pool; without a pool, or within a transaction, it stays."""
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()


def connections_given_back(get_response: Handler) -> Handler:
    """Middleware, the outermost: what runs after it (sending) needs no database."""

    def respond(request: HttpRequest) -> HttpResponse:
        try:
            return get_response(request)
        finally:
            give_back()

    return respond
