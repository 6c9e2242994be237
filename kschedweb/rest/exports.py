"""Downloads as JSON lines or CSV, sent while they are read: memory does not grow with their length.

Rows are read in pages by key, the newest first. In CSV what is no plain value stands as JSON in its cell, and text that
a spreadsheet would take for a formula has a quote before it.
"""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

import msgspec
import orjson
import structlog
from django.db.models import Model, QuerySet
from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request

from kschedweb import views
from kschedweb.cluster import selectors as cluster_selectors
from kschedweb.common.asking import refuse_given
from kschedweb.common.errors import ClusterGoneError, NotFoundError
from kschedweb.common.streaming import stream
from kschedweb.rest import inputs
from kschedweb.rest.answers import RestView
from kschedweb.scheduling.past import asking, exporting, renaming
from kschedweb.scheduling.past.errors import HistoryCutError
from kschedweb.traces import selectors
from kschedweb.views import given

log = structlog.get_logger(__name__)

ROWS_AT_ONCE = 500
builtins_of = partial(msgspec.to_builtins, builtin_types=(datetime,))
OF_ATTEMPTS = ("attempts", "preemptions")  # of the others only the span of time can be chosen
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")
Row = dict[str, Any]
M = TypeVar("M", bound=Model)


class _Lines:
    """A file for csv.writer that gives back what was written."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def take(self) -> bytes:
        taken, self.text = self.text, ""
        return taken.encode()


class ExportView(RestView):
    @extend_schema(
        parameters=[
            OpenApiParameter("what", str, OpenApiParameter.PATH, enum=["attempts", "preemptions", "events", "moves"]),
            OpenApiParameter("form", str, OpenApiParameter.PATH, enum=["jsonl", "csv"]),
        ],
        responses={(200, "application/x-ndjson"): OpenApiTypes.STR, (200, "text/csv"): OpenApiTypes.STR},
    )
    def get(
        self, request: Request, cluster_id: int, what: str, form: str, query: views.AttemptQuery
    ) -> StreamingHttpResponse:
        """Download all attempts, searches for victims, events, or moves between queues, as JSON lines or CSV.

        Of events and moves only the span of time can be chosen.
        """
        cluster = cluster_selectors.cluster_get(cluster_id)
        if what not in SOURCES or form not in ("jsonl", "csv"):
            raise NotFoundError("there is no such export", what=what, form=form)
        if what not in OF_ATTEMPTS:
            refuse_given(given(query), views.SpanQuery.__struct_fields__)
        rows = SOURCES[what](cluster_id, inputs.attempt_filter(query, cluster_id))
        chunks = json_lines(rows) if form == "jsonl" else csv_lines(rows)
        kind = "application/x-ndjson" if form == "jsonl" else "text/csv"
        name = f'attachment; filename="{cluster.name}-{what}.{form}"'
        return stream(
            request._request,
            chunks,
            user=request.user.pk,
            content_type=f"{kind}; charset=utf-8",
            headers={"Content-Disposition": name},
        )


class HistoryExportView(RestView):
    holds_secrets = True  # whatever the manifests say: not compressed once more

    @extend_schema(responses={(200, "application/octet-stream"): OpenApiTypes.BINARY})
    def get(self, request: Request, cluster_id: int, query: views.HistorySpan) -> StreamingHttpResponse:
        """Download history as one file, which can be imported elsewhere: `from` and `to` are moments as `at` is.

        It begins with the last checkpoint before `from`; without, as early as there is history. With `anonymise` names
        are replaced, each always by the same, and its steps are made again before it comes.
        """
        span = {name: str(said) for name, said in given(query).items() if name != "anonymise"}
        plan = asking.export_planned(cluster_id, span)
        chunks = asking.anonymised(plan) if query.anonymise else _as_far_as_it_is(exporting.written(plan), cluster_id)
        cluster = renaming.CLUSTER if query.anonymise else plan.cluster.name
        name = f"{cluster}-{plan.head.end.rv}.{plan.head.end.seq}.history"
        return stream(
            request._request,
            chunks,
            user=request.user.pk,
            content_type="application/octet-stream",
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )


def json_lines(pages: Iterator[list[Row]]) -> Iterator[bytes]:
    """A line for each row."""
    for page in pages:
        yield b"".join(orjson.dumps(row) + b"\n" for row in page)


def json_array(pages: Iterable[Sequence[Mapping[str, Any]]]) -> Iterator[bytes]:
    """One array, a row on each line."""
    before = b"["
    for page in pages:
        for row in page:
            yield before + b"\n" + orjson.dumps(row)
            before = b","
    yield b"[]\n" if before == b"[" else b"\n]\n"


def csv_lines(pages: Iterable[Sequence[Mapping[str, Any]]], columns: Sequence[str] | None = None) -> Iterator[bytes]:
    """A head line with the names of the columns, then a line for each row. Without `columns` the first row has them."""
    lines = _Lines()
    writer = csv.writer(lines)
    head = columns is not None
    if columns is not None:
        writer.writerow(columns)
        yield lines.take()
    for page in pages:
        for row in page:
            if not head:
                head = bool(writer.writerow(row))
            writer.writerow(_cell(value) for value in row.values())
        yield lines.take()


def _cell(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, dict | list | tuple):
        return orjson.dumps(value).decode()
    if isinstance(value, str) and value.startswith(FORMULA_STARTS):
        return f"'{value}"
    return "" if value is None else value


def _pages(found: QuerySet[M], key: str) -> Iterator[list[M]]:
    """The rows by pages, those with the highest key first."""
    ordered = found.order_by(f"-{key}")
    page = list(ordered[:ROWS_AT_ONCE])
    while page:
        yield page
        page = list(ordered.filter(**{f"{key}__lt": getattr(page[-1], key)})[:ROWS_AT_ONCE])


def _attempts(cluster_id: int, wanted: selectors.AttemptFilter) -> Iterator[list[Row]]:
    found = selectors.attempts(cluster_id, wanted).defer(None).defer("matrix")
    for page in _pages(found, "seq"):
        yield [builtins_of(selectors.attempt_view(one)) | {"digest": bytes(one.digest).hex()} for one in page]


def _preemptions(cluster_id: int, wanted: selectors.AttemptFilter) -> Iterator[list[Row]]:
    found = selectors.preemptions(cluster_id, wanted)
    for page in _pages(found, "seq"):
        yield list(map(builtins_of, selectors.preemption_attempts(page, selectors.EVERY_NODE)))


def _events(cluster_id: int, wanted: selectors.AttemptFilter) -> Iterator[list[Row]]:
    fields = views.Event.__struct_fields__
    span = selectors.EventFilter(since=wanted.since, until=wanted.until)
    for page in _pages(selectors.events(cluster_id, span), "id"):
        yield [{name: getattr(one, name) for name in fields} for one in page]


def _moves(cluster_id: int, wanted: selectors.AttemptFilter) -> Iterator[list[Row]]:
    for page in _pages(selectors.moves(cluster_id, since=wanted.since, until=wanted.until), "seq"):
        entries = selectors.history_entries(page)
        yield [
            {"pod": row.pod_key, "pod_uid": row.pod_uid, **builtins_of(entry)}
            for row, entry in zip(page, entries, strict=True)
        ]


SOURCES: dict[str, Callable[[int, selectors.AttemptFilter], Iterator[list[Row]]]] = {
    "attempts": _attempts,
    "preemptions": _preemptions,
    "events": _events,
    "moves": _moves,
}


def _as_far_as_it_is(chunks: Iterator[bytes], cluster_id: int) -> Iterator[bytes]:
    """What is written of a history that goes meanwhile: without its end the file is refused wherever it is opened."""
    try:
        yield from chunks
    except (ClusterGoneError, HistoryCutError) as error:
        log.info("a history went while it was written into a file", cluster=cluster_id, reason=str(error))
