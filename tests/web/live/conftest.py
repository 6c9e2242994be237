"""The WebSocket application over the real change log, and a browser's end of it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import orjson
import pytest
import pytest_asyncio
from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator
from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import connections, transaction
from django.test import Client

from kschedweb.asgi import Gate
from kschedweb.cluster import clock
from kschedweb.cluster.changes import ChangeEntry, changes_commit
from kschedweb.cluster.models import Cluster
from kschedweb.cluster.selectors import change_event, change_rows
from kschedweb.live.feed import Feed, LogRange
from kschedweb.live.guard import Guard, Watcher
from kschedweb.live.routing import websocket_application
from kschedweb.views import Cursor
from tests.waiting import HANG_SECONDS

ORIGIN = "http://localhost"


class ChangeLogSource:
    """The change log alone; counts the reads that found something, and can be told to fail as a database does."""

    def __init__(self) -> None:
        self.found = 0
        self.failures: list[Exception] = []

    def head(self, cluster_id: int) -> Cursor | None:
        row = Cluster.objects.filter(pk=cluster_id).values_list("rv", "seq").first()
        return None if row is None else Cursor(*row)

    def read(self, cluster_id: int, after: Cursor, limit: int) -> LogRange:
        if self.failures:
            raise self.failures.pop()
        rows = change_rows(cluster_id, after.rv, after.rv + limit)
        self.found += bool(rows)
        events = [event for row in rows if (event := change_event(row)) is not None]
        return LogRange(Cursor(rows[-1].rv if rows else after.rv, after.seq), events, clock.now_of(cluster_id) // 1000)


class CountingGate(Gate):
    """Counts its decisions; `looked` waits until those that were open when it was called have been looked at."""

    def __init__(self) -> None:
        self.decisions = 0

    def verdicts(self, watchers: Sequence[Watcher]) -> list[int]:
        self.decisions += 1
        return super().verdicts(watchers)

    async def looked(self) -> None:
        wanted = self.decisions + 2  # the next one may be under way
        async with asyncio.timeout(HANG_SECONDS):
            while self.decisions < wanted:
                await asyncio.sleep(0.01)


class Browser:
    """A WebsocketCommunicator that speaks in messages."""

    def __init__(self, application: Any, path: str, headers: list[tuple[bytes, bytes]]) -> None:
        self.socket = WebsocketCommunicator(application, path, headers=headers)

    async def connect(self) -> bool:
        connected, _ = await self.socket.connect(timeout=HANG_SECONDS)
        return bool(connected)

    async def greeted(self, cursor: list[int] | None = None) -> "Browser":
        """It has connected, and was told where its log begins."""
        assert await self.connect()
        hello = await self.message()
        assert hello["type"] == "hello" and cursor in (None, hello["cursor"]), hello
        return self

    async def message(self) -> dict[str, Any]:
        said: dict[str, Any] = orjson.loads(await self.socket.receive_from(timeout=HANG_SECONDS))
        return said

    async def frames_up_to(self, rv: int) -> list[dict[str, Any]]:
        """All frames until one that reaches `rv`."""
        frames: list[dict[str, Any]] = []
        while not frames or frames[-1]["to"][0] < rv:
            said = await self.message()
            if said["type"] != "heartbeat":
                frames.append(said)
        return frames

    async def close_code(self) -> int:
        """The code with which the service closes; what it says before is dropped."""
        while True:
            output = await self.socket.receive_output(timeout=HANG_SECONDS)
            if output["type"] == "websocket.close":
                return int(output["code"])

    async def is_open(self) -> bool:
        """Whether it has not been closed so far; what was said is dropped."""
        while not await self.socket.receive_nothing(timeout=0):
            if (await self.socket.receive_output(timeout=0))["type"] == "websocket.close":
                return False
        return True

    async def leave(self) -> None:
        await self.socket.disconnect()


@pytest.fixture
def source() -> ChangeLogSource:
    return ChangeLogSource()


@pytest.fixture
def feed(source: ChangeLogSource) -> Feed:
    return Feed(source)


@pytest.fixture
def cluster(transactional_db: None) -> Cluster:
    return Cluster.objects.create(name="watched")


@pytest.fixture
def session_cookie(transactional_db: None) -> bytes:
    user = get_user_model().objects.create_superuser("ann", password="only-for-this-test")
    client = Client()
    client.force_login(user)
    return f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}".encode()


@pytest.fixture
def gate() -> CountingGate:
    return CountingGate()


@pytest_asyncio.fixture
async def browse(
    feed: Feed, gate: CountingGate, cluster: Cluster, session_cookie: bytes
) -> AsyncIterator[Callable[..., Browser]]:
    """`browse()` is a browser that has logged in; `query`, `origin`, `cookie` and `cluster_id` make it another."""
    application = websocket_application(feed, gate, Guard(gate, look_seconds=0.05))
    opened: list[Browser] = []

    def make(
        query: str = "",
        *,
        origin: str = ORIGIN,
        host: str = "localhost",
        cookie: bytes | None = session_cookie,
        token: str = "",
        cluster_id: int = cluster.pk,
    ) -> Browser:
        headers = [(b"host", host.encode())]
        headers += [(b"authorization", f"Bearer {token}".encode())] if token else []
        headers += [(b"origin", origin.encode())] if origin else []
        headers += [(b"cookie", cookie)] if cookie else []
        opened.append(Browser(application, f"/ws/clusters/{cluster_id}/{query}", headers))
        return opened[-1]

    yield make
    for browser in opened:
        await browser.leave()
    await sync_to_async(connections.close_all)()


@pytest.fixture
def change(cluster: Cluster) -> Callable[..., Any]:
    """`await change("a", "b")`: one transaction of changes, which gives the log's new end."""

    def commit(*names: str, operation: str = "updated") -> int:
        entries = [ChangeEntry("Service", "default", name, f"uid-{name}", operation, {}, "test") for name in names]
        with transaction.atomic():
            return changes_commit(cluster_id=cluster.pk, entries=entries, now=clock.now_of(cluster.pk))

    return sync_to_async(commit)
