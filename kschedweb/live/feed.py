"""One reader per cluster and web process, while anyone watches: both logs become frames, read back after commit.

A hub wakes on `NOTIFY ksched` (payload: the cluster's id; it may be lost, so the hub also looks once a second), reads
both logs past its cursor, encodes the range once and puts it into the bounded queue of every subscriber. At most ten
frames a second; after five seconds without one a heartbeat, which says that the logs were read and hold nothing new. A
subscriber whose queue is full is cut off and comes back with its cursor. While PostgreSQL is away the hub keeps its
cursor, says nothing, and tries again, at longer and longer intervals up to five seconds.

Lives below the apps that own the logs: what it reads is given to it as a Source (asgi.py).
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import psycopg
from django.db import Error as DatabaseError
from django.db import close_old_connections, connections

from kschedweb.common.connections import database_parameters
from kschedweb.common.errors import ClusterGoneError
from kschedweb.common.wake import EXPECTED_CHANNEL, READERS_CHANNEL
from kschedweb.views import Cursor, Frame, Heartbeat, LiveEvent, encode

FRAME_SECONDS = 0.1
LOOK_SECONDS = 1.0
HEARTBEAT_SECONDS = 5.0  # browsers take 15 seconds of silence for a cut
BACKOFF_SECONDS = (0.2, 0.5, 1.0, 2.0, 5.0)
ENTRIES_PER_FRAME = 2_000  # of each log
QUEUE_FRAMES = 100  # ten seconds of frames: who is further behind comes back with a cursor,
QUEUE_BYTES = 16 * 1024 * 1024  # and so does who leaves more than this
RESUME_ENTRIES = 5_000  # of both logs; who is further behind fetches the snapshot

HEARTBEAT = encode(Heartbeat())

log = logging.getLogger(__name__)
Result = TypeVar("Result")


class TooSlow(Exception):
    """The subscriber did not take its frames in time."""


@dataclass(frozen=True, slots=True)
class LogRange:
    """All entries of both logs in (after, to], in an order in which a reader can apply them.

    `at_ms` is the cluster's time when they were read, in milliseconds.
    """

    to: Cursor
    events: Sequence[LiveEvent]
    at_ms: int


class Source(Protocol):
    """The logs, as the feed needs them: ordinary blocking calls, made in a thread of the feed's own."""

    def head(self, cluster_id: int) -> Cursor | None:
        """Where both logs end now; None when there is no such cluster."""
        ...

    def read(self, cluster_id: int, after: Cursor, limit: int) -> LogRange:
        """The next entries past `after`, at most `limit` of each log."""
        ...


class Subscription:
    """One watcher's bounded queue of encoded frames."""

    def __init__(self, start: Cursor, backlog: Sequence[bytes] = ()) -> None:
        self.start = start
        self._backlog = backlog
        self._frames: asyncio.Queue[bytes | Exception] = asyncio.Queue(QUEUE_FRAMES)
        self._bytes = 0

    def offer(self, frame: bytes) -> bool:
        """Queue a frame. False when the watcher is too slow; its stream then ends with TooSlow."""
        if self._frames.full() or self._bytes > QUEUE_BYTES:
            self.end(TooSlow())
            return False
        self._frames.put_nowait(frame)
        self._bytes += len(frame)
        return True

    def end(self, reason: Exception) -> None:
        """End the watcher's stream at once and drop its queued frames."""
        while not self._frames.empty():
            self._frames.get_nowait()
        self._frames.put_nowait(reason)

    async def frames(self) -> AsyncIterator[bytes]:
        """Frames without a gap from `start` on; ends with TooSlow or ClusterGoneError."""
        for frame in self._backlog:
            yield frame
        while True:
            item = await self._frames.get()
            if isinstance(item, Exception):
                raise item
            self._bytes -= len(item)
            yield item


class Feed:
    """The hubs of this process, and the one connection that listens for all of them."""

    def __init__(self, source: Source, listen: Callable[[], Mapping[str, Any]] | None = None) -> None:
        self._source = source
        self._listen = listen or database_parameters
        self._hubs: dict[int, _Hub] = {}
        self._listener: asyncio.Task[None] | None = None
        self._thread: ThreadPoolExecutor | None = None

    @contextlib.asynccontextmanager
    async def subscribe(self, cluster_id: int, after: Cursor | None) -> AsyncIterator[Subscription]:
        """Watch a cluster, from `after` on when that is near enough, else from now.

        Raises ClusterGoneError.
        """
        hub = self._hubs.get(cluster_id)
        if hub is None:
            hub = self._hubs[cluster_id] = _Hub(cluster_id, self._source, self._in_thread)
            if self._listener is None:
                self._listener = asyncio.create_task(listen_forever(self._listen, self._wake), name="live-listener")
        hub.watchers += 1
        try:
            subscription = await hub.subscribe(after)
            try:
                yield subscription
            finally:
                hub.subscriptions.discard(subscription)
        finally:
            hub.watchers -= 1
            if not hub.watchers:
                if self._hubs.get(cluster_id) is hub:
                    del self._hubs[cluster_id]
                try:
                    await hub.stop()
                finally:  # also when whoever watched is cancelled meanwhile
                    await self._rest()

    async def _rest(self) -> None:
        """Close connection and thread when no cluster is watched."""
        if self._hubs:
            return
        listener, self._listener = self._listener, None
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.submit(connections.close_all)
            thread.shutdown(wait=False)
        if listener is not None:
            await end_task(listener)

    async def _in_thread(self, call: Callable[..., Result], *arguments: object) -> Result:
        """Make a blocking read on the feed's only thread, and so on its only database connection."""
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="live-feed")

        def run() -> Result:
            close_old_connections()
            try:
                return call(*arguments)
            finally:
                close_old_connections()

        return await asyncio.get_running_loop().run_in_executor(self._thread, run)

    def _wake(self, cluster_id: int | None) -> None:
        """Something was written to the cluster, or maybe to all of them."""
        if cluster_id is None:
            for hub in self._hubs.values():
                hub.wake()
        elif (named := self._hubs.get(cluster_id)) is not None:
            named.wake()


async def listen_forever(parameters: Callable[[], Mapping[str, Any]], wake: Callable[[int | None], None]) -> None:
    """Call `wake` with the cluster that each notification names, and with None when some may have been missed."""
    failures = 0
    while True:
        try:
            async with await psycopg.AsyncConnection.connect(**parameters(), autocommit=True) as connection:
                await connection.execute(f"LISTEN {READERS_CHANNEL}; LISTEN {EXPECTED_CHANNEL}")
                failures = 0
                wake(None)
                async for notice in connection.notifies():
                    if notice.payload.isdecimal():
                        wake(int(notice.payload))
        except (psycopg.Error, OSError) as error:
            if not failures:
                log.warning("not listening to PostgreSQL, looking once a second instead: %s", error)
        await asyncio.sleep(_backoff(failures))
        failures += 1


class InThread(Protocol):
    """Make a blocking call elsewhere and await its result."""

    async def __call__(self, call: Callable[..., Result], *arguments: object) -> Result: ...


class _Hub:
    """The reader of one cluster. Its cursor moves only when a frame has been put into every queue."""

    def __init__(self, cluster_id: int, source: Source, in_thread: InThread) -> None:
        self.cluster_id = cluster_id
        self.subscriptions: set[Subscription] = set()
        self.watchers = 0
        self._source = source
        self._in_thread = in_thread
        self._woken = asyncio.Event()
        self._starting = asyncio.Lock()
        self._cursor: Cursor | None = None
        self._reader: asyncio.Task[None] | None = None
        self._sent_at = time.monotonic()

    def wake(self) -> None:
        self._woken.set()

    async def subscribe(self, after: Cursor | None) -> Subscription:
        async with self._starting:
            if self._reader is None or self._cursor is None:
                self._cursor = await self._in_thread(self._source.head, self.cluster_id)
                if self._cursor is None:
                    raise ClusterGoneError(self.cluster_id)
                self._reader = asyncio.create_task(self._read_forever(), name=f"live-hub-{self.cluster_id}")
        missed = None if after is None else await self._missed(after)
        # No await from here on: the hub must not move between the last frame read above and the first it offers.
        subscription = Subscription(self._cursor) if after is None or missed is None else Subscription(after, missed)
        self.subscriptions.add(subscription)
        return subscription

    async def stop(self) -> None:
        if self._reader is not None:
            await end_task(self._reader)

    async def _missed(self, after: Cursor) -> list[bytes] | None:
        """The frames from `after` to the hub's cursor; None when they are too many or `after` lies beyond the logs."""
        assert self._cursor is not None
        head = await self._in_thread(self._source.head, self.cluster_id)
        if head is None:
            raise ClusterGoneError(self.cluster_id)
        if after.rv < 0 or after.seq < 0 or not head.covers(after) or head.entries_since(after) > RESUME_ENTRIES:
            return None
        frames: list[bytes] = []
        reached = after
        while not reached.covers(self._cursor):
            found = await self._in_thread(self._source.read, self.cluster_id, reached, ENTRIES_PER_FRAME)
            if found.to == reached:
                return None  # what lies between has been cleared away
            frames.append(_frame(reached, found))
            reached = found.to
        return frames

    async def _read_forever(self) -> None:
        failures = 0
        while True:
            started = time.monotonic()
            try:
                more = await self._read_once()
                failures = 0
            except ClusterGoneError as gone:
                for subscription in list(self.subscriptions):
                    subscription.end(gone)
                self._reader = None
                return
            except (DatabaseError, OSError) as error:
                if not failures:
                    log.warning("cluster %s: the logs cannot be read, trying again: %s", self.cluster_id, error)
                await asyncio.sleep(_backoff(failures))
                failures += 1
                continue
            except Exception:
                log.exception("cluster %s: the logs cannot be followed, trying again", self.cluster_id)
                await asyncio.sleep(BACKOFF_SECONDS[-1])
                continue
            await asyncio.sleep(max(0.0, FRAME_SECONDS - (time.monotonic() - started)))
            if not more:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._woken.wait(), LOOK_SECONDS)

    async def _read_once(self) -> bool:
        """Send one frame if there is something new; return whether there was."""
        assert self._cursor is not None
        self._woken.clear()
        cursor = self._cursor
        found = await self._in_thread(self._source.read, self.cluster_id, cursor, ENTRIES_PER_FRAME)
        if found.to == cursor:
            if await self._in_thread(self._source.head, self.cluster_id) is None:
                raise ClusterGoneError(self.cluster_id)
            if time.monotonic() - self._sent_at >= HEARTBEAT_SECONDS:
                self._send(HEARTBEAT)
            return False
        self._cursor = found.to
        self._send(_frame(cursor, found))
        return True

    def _send(self, message: bytes) -> None:
        self._sent_at = time.monotonic()
        for subscription in list(self.subscriptions):
            if not subscription.offer(message):
                log.warning("cluster %s: a watcher was too slow and is cut off", self.cluster_id)
                self.subscriptions.discard(subscription)


def _frame(after: Cursor, found: LogRange) -> bytes:
    return encode(Frame(from_=after, to=found.to, at=found.at_ms, events=found.events))


def _backoff(failures: int) -> float:
    return BACKOFF_SECONDS[min(failures, len(BACKOFF_SECONDS) - 1)]


async def end_task(task: asyncio.Task[None]) -> None:
    """End the task. It is told once: a second word would keep its connection from ending a statement in order."""
    task.cancel()
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:  # meant for us, who go when the task has gone
            cancelled = error
    if cancelled is not None:
        raise cancelled
