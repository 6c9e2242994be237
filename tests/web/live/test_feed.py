"""Frames: dense, in order, few, complete after every kind of trouble, and made once for all who watch."""

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from asgiref.sync import sync_to_async
from django.db import OperationalError

from kschedweb.cluster.models import Cluster
from kschedweb.common.connections import database_parameters
from kschedweb.live import consumers
from kschedweb.live import feed as feeds
from kschedweb.live.feed import Feed, Subscription, TooSlow
from kschedweb.views import Cursor
from tests.cases import cases
from tests.waiting import HANG_SECONDS
from tests.web.live.conftest import Browser, ChangeLogSource

Browse = Callable[..., Browser]


def assert_dense(frames: list[dict[str, Any]], start: list[int]) -> None:
    """Every frame begins where the one before ended, and its entries lie inside, in order."""
    for frame in frames:
        assert frame["type"] == "frame"
        assert frame["from"] == start
        positions = [event["rv"] for event in frame["events"]]
        assert positions == list(range(frame["from"][0] + 1, frame["to"][0] + 1))
        start = frame["to"]


async def test_frames_are_dense_and_in_order_when_many_transactions_commit(browse: Browse, change: Any) -> None:
    browser = await browse().greeted([0, 0])
    for index in range(20):
        last = await change(f"a{index}", f"b{index}")
    frames = await browser.frames_up_to(last)
    assert_dense(frames, [0, 0])
    names = [event["key"] for frame in frames for event in frame["events"]]
    assert names == [f"default/{letter}{index}" for index in range(20) for letter in "ab"]


async def test_frames_are_at_most_ten_a_second_when_changes_are_many(browse: Browse, change: Any) -> None:
    browser = await browse().greeted()
    started = time.monotonic()
    last = 0
    while time.monotonic() - started < 0.5:
        last = await change("a")
    frames = await browser.frames_up_to(last)
    # However slow the machine is: then fewer changes are made.
    assert len(frames) <= (time.monotonic() - started) / feeds.FRAME_SECONDS + 2


@pytest.fixture
def listening(feed: Feed, monkeypatch: pytest.MonkeyPatch) -> asyncio.Semaphore:
    """Released whenever the feed has begun to listen; its hubs are woken by notifications alone."""
    begun, wake = asyncio.Semaphore(0), feed._wake

    def named_only(cluster_id: int | None) -> None:
        if cluster_id is None:
            begun.release()
        else:
            wake(cluster_id)

    monkeypatch.setattr(feed, "_wake", named_only)
    monkeypatch.setattr(feeds, "LOOK_SECONDS", 10 * HANG_SECONDS)
    return begun


async def test_frame_follows_when_a_transaction_notifies(
    browse: Browse, change: Any, listening: asyncio.Semaphore
) -> None:
    browser = await browse().greeted()
    await asyncio.wait_for(listening.acquire(), HANG_SECONDS)
    await browser.frames_up_to(await change("a"))


async def test_frames_arrive_when_notifications_are_lost(
    browse: Browse, change: Any, feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "_listen", lambda: {"host": "/nowhere", "dbname": "none"})
    monkeypatch.setattr(feeds, "LOOK_SECONDS", 0.05)
    browser = await browse().greeted()
    assert_dense(await browser.frames_up_to(await change("a")), [0, 0])


async def test_frames_go_on_without_a_hole_when_the_database_was_away(
    browse: Browse, change: Any, source: ChangeLogSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "BACKOFF_SECONDS", (0.05,))
    browser = await browse().greeted()
    source.failures = [OperationalError("the server closed the connection"), OperationalError("away")]
    await change("a")
    last = await change("b", "c")
    assert_dense(await browser.frames_up_to(last), [0, 0])
    assert not source.failures


async def test_listener_comes_back_when_its_connection_is_killed(
    browse: Browse, change: Any, listening: asyncio.Semaphore
) -> None:
    browser = await browse().greeted()
    await asyncio.wait_for(listening.acquire(), HANG_SECONDS)

    def kill() -> int:
        with psycopg.connect(**database_parameters(), autocommit=True) as connection:
            found = connection.execute(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                " WHERE query LIKE 'LISTEN ksched;%' AND datname = current_database()"
            ).fetchone()
        return int(found[0]) if found else 0

    assert await sync_to_async(kill)() == 1
    await asyncio.wait_for(listening.acquire(), HANG_SECONDS)
    await browser.frames_up_to(await change("a"))


async def test_one_reader_serves_all_when_several_watch(browse: Browse, change: Any, source: ChangeLogSource) -> None:
    browsers = [await browse().greeted() for _ in range(3)]
    last = await change("a")
    told = [await browser.frames_up_to(last) for browser in browsers]
    assert told[0] == told[1] == told[2]
    assert source.found == 1


async def test_nothing_is_kept_when_the_last_watcher_leaves(browse: Browse, feed: Feed) -> None:
    browser = await browse().greeted()
    await browser.leave()
    assert (feed._hubs, feed._listener, feed._thread) == ({}, None, None)


async def test_listener_is_told_once_to_end_when_its_watcher_is_cancelled_twice(
    cluster: Cluster, source: ChangeLogSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, may_end, heard = 0, asyncio.Event(), asyncio.Event()

    async def listen(*_: object) -> None:
        nonlocal told
        while not may_end.is_set():
            try:
                await may_end.wait()
            except asyncio.CancelledError:  # as a connection in the middle of a statement
                told += 1
                heard.set()

    async def watch() -> None:
        async with Feed(source).subscribe(cluster.pk, None):
            await asyncio.Event().wait()

    monkeypatch.setattr(feeds, "listen_forever", listen)
    watcher = asyncio.create_task(watch())
    async with asyncio.timeout(HANG_SECONDS):
        while not (told or heard.is_set()):
            await asyncio.sleep(0.01)
            watcher.cancel()
        watcher.cancel()
        await asyncio.sleep(0.05)
        is_early = watcher.done()
        may_end.set()
        await asyncio.wait([watcher])
    assert watcher.cancelled() and not is_early
    assert told == 1


async def test_who_is_cancelled_while_ending_a_task_goes_when_it_has_gone() -> None:
    begun, told, may_end = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def work() -> None:
        begun.set()
        with contextlib.suppress(asyncio.CancelledError):
            await may_end.wait()
        told.set()
        await may_end.wait()

    async with asyncio.timeout(HANG_SECONDS):
        working = asyncio.create_task(work())
        await begun.wait()
        ending = asyncio.create_task(feeds.end_task(working))
        await told.wait()
        ending.cancel()
        may_end.set()
        await asyncio.wait([ending])
    assert ending.cancelled()
    assert working.done() and not working.cancelled()


async def test_resume_sends_only_what_was_missed_when_the_cursor_is_near(browse: Browse, change: Any) -> None:
    await change("a", "b")
    browser = await browse("?rv=1&seq=0").greeted([1, 0])
    last = await change("c")
    frames = await browser.frames_up_to(last)
    assert_dense(frames, [1, 0])
    assert [event["key"] for frame in frames for event in frame["events"]] == ["default/b", "default/c"]


async def test_resume_joins_the_running_reader_without_a_hole_when_changes_go_on(browse: Browse, change: Any) -> None:
    watching = await browse().greeted()

    async def write() -> int:
        last = 0
        for index in range(40):
            last = await change(f"w{index}")
        return last

    await change("first")
    writing = asyncio.create_task(write())
    await watching.message()
    resumed = await browse("?rv=1&seq=0").greeted([1, 0])
    frames = await resumed.frames_up_to(await writing)
    # What it missed and what the reader sends may overlap; a hole they must not leave.
    reached = 1
    for frame in frames:
        assert frame["from"][0] <= reached
        reached = max(reached, frame["to"][0])
    seen = {event["rv"] for frame in frames for event in frame["events"]}
    assert set(range(2, reached + 1)) <= seen <= set(range(1, reached + 1))


@cases(
    "query",
    ("further behind than is sent again", "?rv=0&seq=0"),
    ("ahead of the log", "?rv=99&seq=0"),
    ("negative", "?rv=-1&seq=0"),
    ("half a cursor", "?rv=1"),
    ("no numbers", "?rv=1e3&seq=x"),
)
async def test_hello_names_the_end_of_the_log_when_the_cursor_is_of_no_use(
    browse: Browse, change: Any, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    monkeypatch.setattr(feeds, "RESUME_ENTRIES", 2)
    await change("a", "b", "c")
    browser = await browse(query).greeted([3, 0])
    assert_dense(await browser.frames_up_to(await change("d")), [3, 0])


async def test_subscription_ends_with_too_slow_when_frames_are_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "QUEUE_FRAMES", 3)
    subscription = Subscription(Cursor(0, 0))
    assert all(subscription.offer(b"frame") for _ in range(3))
    assert not subscription.offer(b"one too many")
    with pytest.raises(TooSlow):
        async for _ in subscription.frames():
            pytest.fail("what a slow watcher missed must not be sent as if it were all")


async def test_socket_closes_when_the_cluster_is_deleted(browse: Browse, cluster: Cluster) -> None:
    browser = await browse().greeted()
    await sync_to_async(Cluster.objects.filter(pk=cluster.pk).delete)()
    assert await browser.close_code() == consumers.UNKNOWN_CLUSTER


async def test_heartbeat_comes_only_while_the_logs_can_be_read(
    browse: Browse, source: ChangeLogSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "HEARTBEAT_SECONDS", 0.0)
    monkeypatch.setattr(feeds, "LOOK_SECONDS", 0.05)
    browser = await browse().greeted()
    assert await browser.message() == {"type": "heartbeat"}
    monkeypatch.setattr(feeds, "BACKOFF_SECONDS", (0.05,))
    source.failures = [OperationalError("the database is away")] * 10_000

    async def failures() -> None:
        """Some more reads fail."""
        wanted = len(source.failures) - 3
        async with asyncio.timeout(HANG_SECONDS):
            while len(source.failures) > wanted:
                await asyncio.sleep(0.01)

    await failures()
    while not await browser.socket.receive_nothing(timeout=0):
        await browser.message()
    await failures()
    assert await browser.socket.receive_nothing(timeout=0)
    source.failures = []
    assert await browser.message() == {"type": "heartbeat"}
