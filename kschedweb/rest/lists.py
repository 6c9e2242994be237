"""Lists that are asked by a query (kschedweb.query): pages, completion, downloads, and the table of what there is.

With `at` they are read as they were; the addresses of further pages name the position that it stands for.
"""

import base64
import binascii
from collections.abc import Sequence
from typing import Any

import orjson
from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from msgspec import UNSET, UnsetType
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.utils.urls import replace_query_param

from kschedweb import views
from kschedweb.cluster import clock
from kschedweb.cluster import selectors as cluster_selectors
from kschedweb.common.errors import NotFoundError, QueryRefusedError
from kschedweb.common.streaming import stream
from kschedweb.query import LISTS, ListOf, QueryError, Term, completion, list_of, parse
from kschedweb.rest.answers import RestView
from kschedweb.rest.exports import csv_lines, json_array
from kschedweb.scheduling.past import asking
from kschedweb.traces import selectors
from kschedweb.views import given
from scheduler_core.api.times import moment_of

WHAT = OpenApiParameter("what", str, OpenApiParameter.PATH, enum=list(LISTS))
FORMS = {"csv": "text/csv", "json": "application/json"}

ROWS = {
    "type": "array",
    "items": {"type": "object", "additionalProperties": {"type": ["string", "number", "null"]}},
}


class ListTableView(RestView):
    def get(self, request: Request) -> views.Lists:
        """Read which lists there are: their columns, and the keys by which they are asked."""
        return views.lists()


class AskedListView(RestView):
    def opened(self, cluster_id: int, wanted: ListOf, query: views.ListFilter) -> dict[str, Any]:
        """Where a list is read from and the time there: arguments of selectors. An answer of the past says which."""
        at = given(query).get("at")
        if at is None:
            return {"now": moment_of(clock.now_of(cluster_id))}
        then = asking.listed(cluster_id, wanted.name, at)
        self.headers |= {asking.POSITION: str(then.position), asking.TIME: then.now.isoformat()}
        return {"now": then.now, "tables": then.tables, "rows": then.rows}


class ListedView(AskedListView):
    @extend_schema(parameters=[WHAT])
    def get(self, request: Request, cluster_id: int, what: str, query: views.ListQuery) -> views.Listed:
        """List pods, attempts, … that a query asks for, in any order, with their total."""
        wanted, terms = _asked(cluster_id, what, query)
        sort = _sort(wanted, query.sort)
        after = None if query.cursor is UNSET else _place(query.cursor, sort)
        opened = self.opened(cluster_id, wanted, query)
        try:
            page = selectors.list_page(cluster_id, wanted, terms, sort=sort, limit=query.limit, after=after, **opened)
        except ValueError:
            raise _no_cursor() from None
        total = None if after is not None else selectors.list_total(cluster_id, wanted, terms, **opened)
        if page.next is None:
            return views.Listed(page.rows, total, None)
        address = replace_query_param(request.build_absolute_uri(), "cursor", _cursor(sort, page.next))
        if asking.POSITION in self.headers:
            address = replace_query_param(address, "at", self.headers[asking.POSITION])
        return views.Listed(page.rows, total, address)


class ListCompletionView(RestView):
    @extend_schema(parameters=[WHAT])
    def get(self, request: Request, cluster_id: int, what: str, query: views.CompletionQuery) -> views.ListCompletion:
        """List what can stand at a place of a query: keys, their words, and what the cluster has."""
        cluster_selectors.cluster_get(cluster_id)
        found = completion(
            query.q, query.at, _list(what), lambda key, part: selectors.list_values(cluster_id, key, part)
        )
        return views.ListCompletion(found.at, found.end, found.options)


class ListExportView(AskedListView):
    @extend_schema(
        parameters=[WHAT, OpenApiParameter("form", str, OpenApiParameter.PATH, enum=list(FORMS))],
        responses={(200, "text/csv"): OpenApiTypes.STR, (200, "application/json"): ROWS},
    )
    def get(
        self, request: Request, cluster_id: int, what: str, form: str, query: views.ListExportQuery
    ) -> StreamingHttpResponse:
        """Download all rows that a query asks for, in the order and columns asked for, as CSV or one JSON array."""
        cluster = cluster_selectors.cluster_get(cluster_id)
        wanted, terms = _asked(cluster_id, what, query)
        if form not in FORMS:
            raise NotFoundError("there is no such form", form=form)
        columns = _columns(wanted, query.columns)
        sort, opened = _sort(wanted, query.sort), self.opened(cluster_id, wanted, query)
        found = selectors.list_rows(cluster_id, wanted, terms, sort=sort, **opened)
        pages = ([{name: row[name] for name in columns} for row in rows] for rows in found)
        chunks = csv_lines(pages, columns) if form == "csv" else json_array(pages)
        return stream(
            request._request,
            chunks,
            user=request.user.pk,
            content_type=f"{FORMS[form]}; charset=utf-8",
            headers={"Content-Disposition": f'attachment; filename="{cluster.name}-{what}.{form}"'},
        )


def _asked(cluster_id: int, what: str, query: views.ListFilter) -> tuple[ListOf, Sequence[Term]]:
    """List and terms. NotFoundError, QueryRefusedError."""
    cluster_selectors.cluster_get(cluster_id)
    wanted = _list(what)
    try:
        terms = parse(query.q, wanted)
    except QueryError as error:
        told = {"at": error.at, "end": error.end, "problem": error.problem, "values": error.values}
        raise QueryRefusedError(error.message, **told) from None
    return wanted, terms


def _list(what: str) -> ListOf:
    wanted = list_of(what)
    if wanted is None:
        raise NotFoundError("there is no such list", what=what, known=", ".join(LISTS))
    return wanted


def _sort(wanted: ListOf, asked: str | UnsetType) -> str:
    sort = asked or wanted.sort if isinstance(asked, str) else wanted.sort
    if sort not in wanted.sorts:
        raise ValidationError({"sort": [f"is no column of {wanted.name}: {_names(wanted)}; downwards after '-'"]})
    return sort


def _columns(wanted: ListOf, asked: str | UnsetType) -> Sequence[str]:
    if not isinstance(asked, str):
        return [column.name for column in wanted.columns if column.shown]
    names = list(dict.fromkeys(asked.split(",")))
    if unknown := [name for name in names if wanted.column(name) is None]:
        raise ValidationError({"columns": [f"{unknown[0]!r} is none of {wanted.name}: {_names(wanted)}"]})
    return names


def _names(wanted: ListOf) -> str:
    return ", ".join(column.name for column in wanted.columns)


def _cursor(sort: str, place: Sequence[str | int]) -> str:
    return base64.urlsafe_b64encode(orjson.dumps([sort, *place])).decode().rstrip("=")


def _place(cursor: str, sort: str) -> Sequence[Any]:
    """The place a cursor names. ValidationError for one of another order."""
    try:
        order, *place = orjson.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, TypeError, binascii.Error):
        raise _no_cursor() from None
    if order != sort:
        raise _no_cursor()
    return list(place)


def _no_cursor() -> ValidationError:
    return ValidationError({"cursor": ["is none of this list in this order"]})
