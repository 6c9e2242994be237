"""One cluster being followed: a thread for each collection reads, one thread stores what they read.

Readers hand over pages and events through a short queue: when storing is slow, they stop reading, and the other API
server holds back what it has. The storing thread takes what came within a moment as one transaction, in the order of
the other cluster's versions, and once a second says how it goes.
"""

from __future__ import annotations

import queue
import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

import orjson
import structlog
from django.db import connection

from kschedweb.cluster.services import Copied
from kschedweb.mirror import services
from kschedweb.mirror.choices import MirrorState
from kschedweb.mirror.services import Held, NotHeldError, Progress
from kschedweb.mirror.source import WATCH_SECONDS, Source, SourceError
from scheduler_core.following.events import BrokenEventError, Failed, Reached, Seen, in_order, read_event, read_item
from scheduler_core.following.kinds import REQUIRED, Collected, collections
from scheduler_core.following.stream import Ask, State, Stream

log = structlog.get_logger(__name__)

GATHER_SECONDS = 0.05
MOST_AT_ONCE = 2_000  # events in a transaction
PAGES_AHEAD = 2
TELL_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a list; `version` is that of the list, once it is complete."""

    collected: Collected
    seen: list[Seen]
    is_first: bool
    version: str


@dataclass(frozen=True, slots=True)
class Batch:
    """Events of a watch, and the version they lead to; `read_at` in monotonic seconds."""

    collected: Collected
    seen: list[Seen]
    version: str
    read_at: float


@dataclass(frozen=True, slots=True)
class Forgotten:
    """The other side does not know the position any more: a list follows."""

    collected: Collected


Read = Page | Batch | Forgotten


class Reader:
    """Follows one collection until it is told to stop; everything it reads goes into the queue."""

    def __init__(self, collected: Collected, stream: Stream, source: Source, session: Session) -> None:
        self.collected = collected
        self.stream = stream
        self.failures = 0
        self.heard_at = 0.0
        self._source = source
        self._session = session
        self._is_first = True

    def run(self) -> None:
        """In a thread of its own."""
        try:
            while not self._session.is_over:
                self._once(self.stream.next())
        except Exception:
            log.exception("reader ended", cluster=self._session.held.cluster_id, collection=self.collected.key)
            self._session.end("a reader of this service failed: see its log")

    def _once(self, ask: Ask) -> None:
        if ask.pause and self._session.over.wait(ask.pause):
            return
        known = self.stream.position
        try:
            if ask.is_watch:
                self._watch(ask)
            else:
                self._list(ask)
        except SourceError as error:
            self._fail(error.code, error.message, error.retry_after)
        except BrokenEventError as error:
            self._fail(0, f"{self.collected.key}: {error}")
        if known and not self.stream.position:
            self._session.put(Forgotten(self.collected))

    def _fail(self, code: int, message: str, retry_after: float = 0.0) -> None:
        if self._session.is_over:
            return
        self.failures += 1
        self.stream.on_failure(code, message, random.random(), retry_after)
        log.info("mirror request failed", cluster=self._session.held.cluster_id, collection=self.collected.key,
                 code=code, reason=message)  # fmt: skip

    def _list(self, ask: Ask) -> None:
        answer = self._source.page(self.collected, ask.token)
        metadata = answer.get("metadata") or {}
        version, token = str(metadata.get("resourceVersion") or ""), str(metadata.get("continue") or "")
        items = answer.get("items") or []
        if not version or not isinstance(items, list):
            raise SourceError(0, "the list has no version")
        kind, api_version = self.collected.kind, self.collected.api_version
        seen = [read_item(item, kind, api_version) for item in items]
        is_first = not ask.token
        self.heard_at = time.monotonic()
        is_last = not token
        self._session.put(Page(self.collected, seen, is_first, version if is_last else ""))
        self.stream.on_page(version, token)

    def _watch(self, ask: Ask) -> None:
        began = time.monotonic()
        came = False
        for lines in self._source.watch(self.collected, ask.version, int(WATCH_SECONDS * (1 + random.random()))):
            self.heard_at = time.monotonic()
            if not lines:
                self.stream.on_begin()
                continue
            came = True
            self._take(lines)
            if self._session.is_over or not self.stream.position or self.stream.state is not State.WATCHING:
                return
        if not self._session.is_over:
            self.stream.on_end(was_useful=came or time.monotonic() - began > 1.0)

    def _take(self, lines: list[bytes]) -> None:
        """Hand over what the lines say; an error among them ends the watch."""
        kind, api_version = self.collected.kind, self.collected.api_version
        seen: list[Seen] = []
        version, failed = "", None
        for line in lines:
            if not line.strip():
                continue
            try:
                event = read_event(orjson.loads(line), kind, api_version)
            except orjson.JSONDecodeError as error:
                raise BrokenEventError(f"a line of the watch is not sound JSON: {error}") from None
            if isinstance(event, Failed):
                failed = event
                break
            version = event.version
            if not isinstance(event, Reached):
                seen.append(event)
        if version:
            self._session.put(Batch(self.collected, seen, version, time.monotonic()))
            self.stream.on_version(version)
        if failed is not None:
            self._fail(failed.code, failed.message)


@dataclass
class Session:
    """One mirror being followed in this process. `run` returns when it is over, for whatever reason."""

    held: Held
    source: Source
    over: threading.Event = field(default_factory=threading.Event)
    problem: str = ""
    _queue: queue.Queue[Read] = field(default_factory=lambda: queue.Queue(PAGES_AHEAD))
    _readers: list[Reader] = field(default_factory=list)
    _listed: dict[str, set[tuple[str, str]]] = field(default_factory=dict)
    _settled: set[str] = field(default_factory=set)  # collections that are stored completely
    _is_synced: bool | None = None
    _counts: Progress = field(default_factory=Progress)
    _failures_told: int = 0
    _told_at: float = 0.0

    @property
    def is_over(self) -> bool:
        return self.over.is_set()

    def run(self) -> None:
        """Follow until `end` is called or the mirror is somebody else's."""
        for collected in collections(self.held.namespaces):
            position = self.held.positions.get(collected.key, "")
            if position:
                self._settled.add(collected.key)
            self._readers.append(Reader(collected, Stream(position), self.source, self))
        threads = [
            threading.Thread(target=reader.run, name=f"mirror-{reader.collected.key}", daemon=True)
            for reader in self._readers
        ]
        try:
            for thread in threads:
                thread.start()
            while not self.is_over:
                self._store(self._gathered())
                if time.monotonic() - self._told_at >= TELL_SECONDS:
                    self._tell()
        except NotHeldError:
            log.info("mirror is followed by another process, or stopped", cluster=self.held.cluster_id)
        finally:
            self.over.set()
            self.source.close()
            connection.close()

    def end(self, problem: str = "") -> None:
        """Stop following; from any thread."""
        self.problem = self.problem or problem
        self.over.set()

    def put(self, read: Read) -> None:
        """Hand over what a reader read; waits while storing is behind."""
        while not self.is_over:
            try:
                self._queue.put(read, timeout=0.2)
                return
            except queue.Full:
                continue

    def _gathered(self) -> list[Read]:
        """What came within a moment; nothing when nothing came for a while."""
        try:
            found = [self._queue.get(timeout=TELL_SECONDS / 2)]
        except queue.Empty:
            return []
        ends_at = time.monotonic() + GATHER_SECONDS
        count = len(getattr(found[0], "seen", ()))
        while count < MOST_AT_ONCE:
            try:
                found.append(self._queue.get(timeout=max(0.0, ends_at - time.monotonic())))
            except queue.Empty:
                break
            count += len(getattr(found[-1], "seen", ()))
        return found

    def _store(self, gathered: list[Read]) -> None:
        """Events together, each page by itself, in the order in which they came."""
        for group in _grouped(gathered):
            first = group[0]
            if isinstance(first, Page):
                self._store_page(first)
            elif isinstance(first, Forgotten):
                self._settled.discard(first.collected.key)
                self._sync()
            else:
                self._store_batches([each for each in group if isinstance(each, Batch)])

    def _store_page(self, page: Page) -> None:
        key = page.collected.key
        if page.is_first:
            self._listed[key] = set()
        listed = self._listed.setdefault(key, set())
        listed |= {seen.key[1:] for seen in page.seen}
        copied = [Copied(seen.manifest) for seen in page.seen]
        services.batch_store(held=self.held, copied=copied, positions={}, is_synced=None)
        if page.version:
            self._listed.pop(key)
            self._settled.add(key)
            self._counts.lists += 1
            services.listed_store(
                held=self.held,
                collected=page.collected,
                listed=listed,
                version=page.version,
                is_synced=self._synced_now(),
            )

    def _store_batches(self, batches: list[Batch]) -> None:
        seen = in_order(event for batch in batches for event in batch.seen)
        copied = [Copied(each.manifest, each.is_deleted) for each in seen]
        positions = {batch.collected.key: batch.version for batch in batches}
        services.batch_store(held=self.held, copied=copied, positions=positions, is_synced=self._synced_now())
        self._counts.events += len(seen)
        if seen:
            self._counts.lag_seconds = time.monotonic() - min(batch.read_at for batch in batches if batch.seen)

    def _synced_now(self) -> bool | None:
        """Whether all is here; None when the cluster's row says so already."""
        is_synced = (
            all(
                reader.collected.key in self._settled or reader.stream.state in (State.FORBIDDEN, State.ABSENT)
                for reader in self._readers
            )
            and self._has_required()
        )
        if is_synced is self._is_synced:
            return None
        self._is_synced = is_synced
        return is_synced

    def _has_required(self) -> bool:
        return all(reader.collected.key in self._settled for reader in self._readers if _is_required(reader))

    def _sync(self) -> None:
        now = self._synced_now()
        if now is not None:
            services.batch_store(held=self.held, copied=(), positions={}, is_synced=now)

    def _tell(self) -> None:
        """Say how it goes; a collection that is not served may be what was missing."""
        self._sync()
        counts, self._counts = self._counts, Progress()
        failures = sum(reader.failures for reader in self._readers)
        counts.failures, self._failures_told = failures - self._failures_told, failures
        counts.is_heard = any(reader.heard_at > self._told_at for reader in self._readers)
        counts.collections = {
            reader.collected.key: (str(reader.stream.state), reader.stream.problem[:300]) for reader in self._readers
        }
        waiting = [
            reader
            for reader in self._readers
            if _is_required(reader) and reader.stream.state in (State.WAITING, State.FORBIDDEN, State.ABSENT)
        ]
        if waiting:
            counts.state = MirrorState.PROBLEM
            counts.problem = f"{waiting[0].collected.key}: {waiting[0].stream.problem}"
        elif self._is_synced:
            counts.state = MirrorState.FOLLOWING
        else:
            counts.state = MirrorState.LISTING
        services.mirror_renew(held=self.held, progress=counts)
        self._told_at = time.monotonic()


class Follows(Protocol):
    """What the runner needs of a session."""

    def run(self) -> None: ...
    def end(self, problem: str = "") -> None: ...


def open_session(held: Held) -> Session:
    """A session with connections of its own; renewed credentials are kept."""
    return Session(held, Source(held.document, persist=lambda document: services.credentials_keep(
        held=held, document=document)))  # fmt: skip


Open = Callable[[Held], Follows]


def _is_required(reader: Reader) -> bool:
    return reader.collected.kind in REQUIRED


def _grouped(gathered: list[Read]) -> Iterator[list[Read]]:
    """Batches that follow each other as one group, everything else alone."""
    group: list[Read] = []
    for each in gathered:
        if group and not (isinstance(each, Batch) and isinstance(group[0], Batch)):
            yield group
            group = []
        group.append(each)
    if group:
        yield group
