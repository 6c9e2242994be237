"""Downloads that are not read: they keep neither connections nor places from others, and are cut off in the end."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection

from kschedweb.cluster.models import Cluster
from kschedweb.common.parts import Parts
from kschedweb.common.streaming import STREAMS_PER_USER
from tests.waiting import eventually
from tests.web import tcp

SMALL_BUFFER = 4096


@pytest.fixture(scope="module")
def web(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tcp.Web]:
    """One with two connections to the database for all tests: rows come and go below it."""
    with tcp.web_process(tmp_path_factory.mktemp("web"), KSCHED_DATABASE_POOL="2") as process:
        yield process


@pytest.fixture
def long_cluster(transactional_db: None) -> Cluster:
    """A cluster with some 30 MB of events."""
    cluster = Cluster.objects.create(name="long")
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO cluster_event (cluster_id, seq, namespace, name, type, reason, action, note, regarding_kind,"
            " regarding_namespace, regarding_name, regarding_uid, reporter, count, first_at, last_at)"
            " SELECT %s, 0, 'default', 'e' || n, 'Normal', 'Scheduled', '', repeat('x', 10000), 'Pod', 'default', 'p',"
            " '', 'scheduler', 1, now(), now() FROM generate_series(1, 3000) n",
            [cluster.pk],
        )
    return cluster


def test_downloads_that_nobody_reads_hold_no_connection(web: tcp.Web, long_cluster: Cluster) -> None:
    path = f"/api/clusters/{long_cluster.pk}/export/events.jsonl"
    cookies = {name: tcp.session(name) for name in ("ada", "eve")}
    unread = [
        web.begin(f"GET {path} HTTP/1.1\nCookie: {cookie}", receive_buffer=SMALL_BUFFER)
        for cookie in cookies.values()
        for _ in range(STREAMS_PER_USER)
    ]
    try:
        for one in unread:
            assert one.recv(20).startswith(b"HTTP/1.1 200")
        # One more is refused, others are not.
        refused = web.get(path, Cookie=cookies["ada"])
        assert refused.status == 429 and b'"too_many"' in refused.body
        assert web.get("/readyz").status == web.get("/livez").status == 200
        assert web.get("/api/clusters", Cookie=cookies["ada"]).status == 200
        # Who goes away makes room, and all of a download can still be had.
        unread.pop(0).close()
        eventually(lambda: web.get(path, Cookie=cookies["ada"]).status == 200)
        assert web.get(path, Cookie=cookies["ada"]).body.count(b"\n") == 3_000
    finally:
        for one in unread:
            one.close()


def test_long_answer_that_nobody_reads_holds_no_connection(web: tcp.Web, long_cluster: Cluster) -> None:
    """Also answers that are not made while they are sent."""
    cookie = tcp.session("ada")
    path = f"/api/clusters/{long_cluster.pk}/events?limit=1000"
    unread = [web.begin(f"GET {path} HTTP/1.1\nCookie: {cookie}", receive_buffer=SMALL_BUFFER) for _ in range(4)]
    try:
        for one in unread:
            assert one.recv(20).startswith(b"HTTP/1.1 200"), web.log()
        assert web.get("/api/clusters", Cookie=cookie).status == 200
    finally:
        for one in unread:
            one.close()


@pytest.mark.slow
def test_reader_who_takes_nothing_is_cut_off_by_the_running_service(
    start_web: Callable[..., tcp.Web], long_cluster: Cluster
) -> None:
    web = start_web()
    path = f"/api/clusters/{long_cluster.pk}/export/events.jsonl"
    with web.begin(f"GET {path} HTTP/1.1\nCookie: {tcp.session('ada')}", receive_buffer=SMALL_BUFFER) as unread:
        eventually(lambda: "the answer is not read" in web.log())
        assert tcp.is_closed(unread)
    assert web.log().count("the answer is not read") == 1
    assert "Traceback" not in web.log()


def test_schema_can_be_asked_for_by_many_at_once(web: tcp.Web, transactional_db: None) -> None:
    """Its library fails when two threads make their first schema at the same time; no other test here asks for it."""
    cookie = tcp.session("ada")
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: web.get("/api/schema?format=json", Cookie=cookie).status, range(8)))
    assert answers == 8 * [200], web.log()


async def test_loop_has_its_turn_between_two_parts() -> None:
    seen: list[str] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        asyncio.get_running_loop().call_soon(seen.append, "turn")
        for part in (b"1", b"2"):
            await send({"type": "http.response.body", "body": part, "more_body": part == b"1"})

    async def send(message: Any) -> None:
        seen.append(message["body"].decode())

    await Parts(application)({"type": "http"}, None, send)  # type: ignore[arg-type]
    assert seen == ["1", "turn", "2"]
