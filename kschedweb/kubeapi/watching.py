"""Watches that are streamed: one reader of each watched cluster's log per process, and a bounded queue per watcher.

Events are in two logs and have a reader of their own (`event_history`).

The reader wakes on the notification that the dashboard's feed wakes on, and looks once a second besides. What it reads
is given to all watchers of the cluster at once, as a batch that also keeps what was encoded of it: an event is written
as JSON once, however many watch it in the same form. A watcher whose queue is full, in entries or in bytes, is cut off;
clients begin again from where they were.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Final

import msgspec
import orjson
from django.db import Error as DatabaseError

from kschedweb.cluster.history import is_cut, logged, place_now
from kschedweb.cluster.versions import rv_of, version_of
from kschedweb.common import bulk
from kschedweb.common.connections import database_parameters
from kschedweb.kubeapi import event_history
from kschedweb.kubeapi.answering import Begun
from kschedweb.kubeapi.showing import object_in
from kschedweb.kubeapi.written import exact
from kschedweb.live.feed import BACKOFF_SECONDS, end_task, listen_forever
from scheduler_core.api.custom import DEFINITION
from scheduler_core.apiserver import events
from scheduler_core.apiserver.custom.definitions import is_defined_anew
from scheduler_core.apiserver.store import Logged, key_of
from scheduler_core.apiserver.watch import BOOKMARK, ERROR, WatchEvent, too_old

LOOK_SECONDS: Final = 1.0
BATCH_ENTRIES: Final = 2_000
BATCH_BYTES: Final = 4 * 1024 * 1024  # of its entries as the log keeps them, compressed; one entry may have more
FEW_ENTRIES: Final = 20  # are not measured before they are read
QUEUE_ENTRIES: Final = 20_000  # a watcher who is further behind is cut off
QUEUE_BYTES: Final = (
    32 * 1024 * 1024
)  # and so is one for whom so much waits, as JSON; in memory it is several times that
BOOKMARK_SECONDS: Final = 60.0
LAST_BOOKMARK_SECONDS: Final = 2.0  # before the end of a watch whose end is known
LONGEST_SECONDS: Final = 3_600
_NEVER: Final = 1 << 63  # no version of a log

log = logging.getLogger(__name__)
InThread = Callable[..., Awaitable[Any]]
# (where a range after a version ends, its entries): see `read_range`.
ReadRange = Callable[[int, int], tuple[int | None, list[Logged]]]


class Batch(msgspec.Struct, frozen=True):
    """Entries of the log in (after, to], by kind, how many and how large, and what has been encoded of them."""

    to: int
    of_kind: dict[str, list[Logged]]
    count: int
    size: int
    encoded: dict[tuple[Any, ...], bytes]


class TooSlowError(Exception):
    """The watcher did not take its events in time, or may not watch any longer."""


class Watcher:
    """A queue of batches."""

    def __init__(self, start: int) -> None:
        self.start = start
        self._batches: asyncio.Queue[Batch | None] = asyncio.Queue()
        self._entries = 0
        self._bytes = 0

    def offer(self, batch: Batch) -> bool:
        """Queue a batch; False when the watcher is too slow, whose stream then ends."""
        if self._entries > QUEUE_ENTRIES or self._bytes > QUEUE_BYTES:
            self.end()
            return False
        self._entries += batch.count
        self._bytes += batch.size
        self._batches.put_nowait(batch)
        return True

    def end(self) -> None:
        """End the stream at once, and drop what is queued."""
        while not self._batches.empty():
            self._batches.get_nowait()
        self._batches.put_nowait(None)

    async def next(self, seconds: float) -> Batch | None:
        """The next batch; None when none comes in time; TooSlowError at the end."""
        try:
            batch = await asyncio.wait_for(self._batches.get(), max(0.0, seconds))
        except TimeoutError:
            return None
        if batch is None:
            raise TooSlowError
        self._entries -= batch.count
        self._bytes -= batch.size
        return batch


class Hubs:
    """The readers of this process, one for each watched cluster, and the one connection that listens for all."""

    def __init__(self, in_thread: InThread) -> None:
        self._in_thread = in_thread
        self._hubs: dict[tuple[int, ReadRange], _Hub] = {}
        self._listener: asyncio.Task[None] | None = None

    @contextlib.asynccontextmanager
    async def watcher(self, cluster_id: int, position: int, read: ReadRange) -> AsyncIterator[Watcher]:
        """A watcher whose batches begin where the reader is; a new reader begins at the position."""
        key = (cluster_id, read)
        hub = self._hubs.get(key)
        if hub is None:
            hub = self._hubs[key] = _Hub(cluster_id, position, read, self._in_thread)
            if self._listener is None:
                self._listener = asyncio.create_task(
                    listen_forever(database_parameters, self._wake), name="kubeapi-listener"
                )
        watcher = Watcher(hub.position)
        hub.watchers.add(watcher)
        try:
            yield watcher
        finally:
            hub.watchers.discard(watcher)
            if not hub.watchers:
                if self._hubs.get(key) is hub:
                    del self._hubs[key]
                hub.stop()
                if not self._hubs and self._listener is not None:
                    listener, self._listener = self._listener, None
                    await end_task(listener)

    def _wake(self, cluster_id: int | None) -> None:
        """Something was written to the cluster, or maybe to all of them."""
        for (of_cluster, _), hub in self._hubs.items():
            if cluster_id in (None, of_cluster):
                hub.woken.set()


class _Hub:
    def __init__(self, cluster_id: int, position: int, read: ReadRange, in_thread: InThread) -> None:
        self.position = position
        self._read = read
        self.watchers: set[Watcher] = set()
        self.woken = asyncio.Event()
        self._cluster_id = cluster_id
        self._in_thread = in_thread
        self._reader = asyncio.create_task(self._read_forever(), name=f"kubeapi-hub-{cluster_id}")

    def stop(self) -> None:
        self._reader.cancel()

    async def _read_forever(self) -> None:
        failures = 0
        while True:
            self.woken.clear()
            try:
                end, entries = await self._in_thread(self._read, self._cluster_id, self.position)
                failures = 0
            except (DatabaseError, OSError) as error:
                if not failures:
                    log.warning("cluster %s: the log cannot be read, trying again: %s", self._cluster_id, error)
                await asyncio.sleep(BACKOFF_SECONDS[min(failures, len(BACKOFF_SECONDS) - 1)])
                failures += 1
                continue
            except Exception:
                log.exception("cluster %s: the log cannot be followed, its watches end", self._cluster_id)
                end = None
            if end is None:
                for watcher in list(self.watchers):
                    watcher.end()
                return
            if end > self.position:
                self._give(end, entries)
                if entries:
                    continue
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.woken.wait(), LOOK_SECONDS)

    def _give(self, end: int, entries: Sequence[Logged]) -> None:
        of_kind: dict[str, list[Logged]] = {}
        for entry in entries:
            of_kind.setdefault(key_of(entry.manifest).kind, []).append(entry)
        self.position = end
        batch = Batch(end, of_kind, len(entries), sum(entry.size for entry in entries), {})
        for watcher in list(self.watchers):
            if not watcher.offer(batch):
                log.warning("cluster %s: a watcher was too slow and is cut off", self._cluster_id)
                self.watchers.discard(watcher)


def read_range(cluster_id: int, after: int) -> tuple[int | None, list[Logged]]:
    """(the version where the range ends, its entries); None when there is no such cluster, or the range has been cut.

    Blocking.
    """
    head = place_now(cluster_id)
    if head is None:
        return None, []
    start = rv_of(after)
    if head.rv <= start:
        return max(after, head.version), []
    if is_cut(cluster_id, start):
        return None, []
    end = _end(cluster_id, start, min(head.rv, start + BATCH_ENTRIES))
    return head.version if end == head.rv else version_of(end), logged(cluster_id, start, end)


def _end(cluster_id: int, start: int, end: int) -> int:
    """Where a range ends whose entries have not too many bytes; it has one entry at least."""
    if end - start <= FEW_ENTRIES:
        return end
    ((found,),) = bulk.read_rows(
        "SELECT max(rv) FILTER (WHERE size <= %s) FROM"
        " (SELECT rv, sum(octet_length(object)) OVER (ORDER BY rv) AS size FROM cluster_change"
        " WHERE cluster_id = %s AND rv > %s AND rv <= %s) AS part",
        [BATCH_BYTES, cluster_id, start, end],
    )
    return found or start + 1


async def lines(begun: Begun, hubs: Hubs, in_thread: InThread, cluster_id: int, now: Callable[[], int]) -> Any:
    """The lines of a watch, until it ends: chunks of bytes; empty ones say that nothing came yet.

    `now` asks the database: it is called in a thread, and for tables only, which tell ages. A watch of the past is
    told what there was, and then nothing but bookmarks. One of a kind that the cluster defines ends where the
    definition says something else; one that begins before such a change has to list anew.
    """
    watch, start = begun.watch, begun.watch.position
    writer = _Writer(begun)

    async def written(told: Sequence[WatchEvent], encoded: dict[tuple[Any, ...], bytes]) -> bytes:
        moment = begun.at or 0
        if begun.at is None and told and begun.form.shape == "Table":
            moment = await in_thread(now)
        return writer.write(told, encoded, moment)

    yield await written(watch.initial, {})
    if watch.is_over:
        return
    seconds = watch.timeout_seconds or LONGEST_SECONDS
    ends_at = time.monotonic() + min(seconds, LONGEST_SECONDS)
    bookmark_at = _next_bookmark(ends_at, time.monotonic())
    read = event_history.read_range if watch.selection.kind == event_history.KIND else read_range
    silent = contextlib.nullcontext(Watcher(begun.head))
    async with silent if begun.at is not None else hubs.watcher(cluster_id, begun.head, read) as watcher:
        while watch.position < watcher.start:
            end, entries = await in_thread(read, cluster_id, watch.position)
            if end is None:
                return
            ends = _defined_anew(begun, [each for each in entries if key_of(each.manifest).kind == DEFINITION])
            of_kind = [each for each in entries if key_of(each.manifest).kind == watch.selection.kind]
            told = watch.events(each for each in of_kind if each.rv < ends)
            if ends <= begun.head:
                told.append(too_old(start, ends))
            watch.position = max(watch.position, end)
            yield await written(told, {})
            if ends < _NEVER:
                return
        reached = max(watcher.start, watch.position)
        while True:
            moment = time.monotonic()
            if moment >= ends_at:
                return
            batch = await watcher.next(min(ends_at, bookmark_at) - moment)
            if batch is not None:
                ends = _defined_anew(begun, batch.of_kind.get(DEFINITION, ()))
                of_kind = batch.of_kind.get(watch.selection.kind, [])
                told = watch.events(entry for entry in of_kind if watch.position < entry.rv < ends)
                if ends <= begun.head:
                    told.append(too_old(start, ends))
                reached = max(reached, batch.to)
                if told:
                    yield await written(told, batch.encoded)
                if ends < _NEVER:
                    return
            elif time.monotonic() >= bookmark_at:
                bookmark_at = _next_bookmark(ends_at, time.monotonic())
                if watch.tells_bookmarks:
                    yield await written([watch.bookmark(max(reached, watch.position))], {})


def _defined_anew(begun: Begun, entries: Sequence[Logged]) -> int:
    """The version from which on the kind of a watch is defined otherwise, or not at all."""
    name, start = begun.route.definition, begun.watch.position
    ends = (
        each.rv
        for each in entries
        if each.rv > start and each.manifest["metadata"]["name"] == name and is_defined_anew(each)
    )
    return min(ends, default=_NEVER) if name else _NEVER


def _next_bookmark(ends_at: float, moment: float) -> float:
    """Once a minute, and shortly before the end."""
    last = ends_at - LAST_BOOKMARK_SECONDS
    regular = moment + BOOKMARK_SECONDS
    return last if moment < last < regular else regular


class _Writer:
    """Writes events in the form of one watch."""

    def __init__(self, begun: Begun) -> None:
        self._begun = begun
        self._is_event = begun.route.api_version == events.API_VERSION
        self._has_columns = False

    def write(self, told: Sequence[WatchEvent], encoded: dict[tuple[Any, ...], bytes], now: int) -> bytes:
        form = self._begun.form
        parts = []
        for event in told:
            version = event.manifest.get("metadata", {}).get("resourceVersion", "")
            is_first = form.shape == "Table" and not self._has_columns
            key = (event.type, version, form, self._begun.include, self._begun.route.api_version, is_first)
            line = encoded.get(key) if event.type not in (BOOKMARK, ERROR) else None
            if line is None:
                line = orjson.dumps({"type": event.type, "object": exact(self._shown(event, is_first, now))}) + b"\n"
                if event.type not in (BOOKMARK, ERROR):
                    encoded[key] = line
            self._has_columns = self._has_columns or is_first
            parts.append(line)
        return b"".join(parts)

    def _shown(self, event: WatchEvent, is_first: bool, now: int) -> Any:
        manifest = event.manifest
        if event.type == ERROR:
            return manifest
        shown, custom = events.from_core(manifest) if self._is_event else manifest, self._begun.watch.shown
        form, at = self._begun.form, (self._begun.include, now)
        if event.type == BOOKMARK:
            if form.shape == "Table":
                named = {**shown, "metadata": {"name": "", **shown["metadata"]}} if custom is not None else shown
                made = object_in(manifest, named, form, at, custom)
                return {**made, "rows": [], "columnDefinitions": made["columnDefinitions"] if is_first else None}
            return object_in(manifest, shown, form, at)
        made = object_in(manifest, shown if custom is None else custom.view(shown), form, at, custom)
        return {**made, "columnDefinitions": None} if form.shape == "Table" and not is_first else made
