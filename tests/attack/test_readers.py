"""Storms of readers: downloads that nobody takes, and sockets that are told when they are over."""

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
from websockets.sync.client import ClientConnection, connect

from kschedweb.common.shares import OPEN
from kschedweb.common.streaming import STREAMS_PER_USER
from kschedweb.ops.processes import wait_until
from scheduler_core.scheduler.failure import MAX_NOTE_BYTES
from tests.attack import people
from tests.attack.conftest import MANY, Cast, Storming
from tests.attack.people import Person
from tests.attack.storm import Attacked
from tests.faults import workloads
from tests.waiting import HANG_SECONDS
from tests.web import tcp
from tests.web.live.test_over_tcp import GONE, LOGGED_OUT, REASONS, closing

SMALL_BUFFER = 4096
EVENTS = 25_000
SOCKETS_OF_EACH = 10


@pytest.fixture
def much_to_read(attacked: Attacked, cast: Cast) -> Iterator[str]:
    """The address of what the stormed cluster tells, with some 30 MB of events."""
    with attacked.service.connect() as database:
        database.execute(
            "INSERT INTO cluster_event (cluster_id, seq, namespace, name, type, reason, action, note, regarding_kind,"
            " regarding_namespace, regarding_name, regarding_uid, reporter, count, first_at, last_at)"
            " SELECT %s, 0, 'default', 'long' || n, 'Normal', 'Scheduled', '', repeat('x', %s), 'Pod', 'default',"
            " 'p', '', 'scheduler', 1, now(), now() FROM generate_series(1, %s) n",
            [cast.stormed, MAX_NOTE_BYTES, EVENTS],
        )
        yield f"/api/clusters/{cast.stormed}"
        database.execute("DELETE FROM cluster_event WHERE cluster_id = %s", [cast.stormed])


def test_downloads_that_nobody_reads(
    storming: Storming, cast: Cast, much_to_read: str, request: pytest.FixtureRequest
) -> None:
    """Of two users, as many as each may have; in the long form until they are cut off."""
    is_long = request.config.getoption("--long")
    paths = [f"{much_to_read}/export/events.{form}" for form in ("jsonl", "csv")]
    with storming() as storm, ExitStack() as stack:
        unread, more_unread = [], []
        for person in cast.stormers:
            for number in range(STREAMS_PER_USER):
                unread.append(stack.enter_context(_begun(person, paths[number % 2])))
        for connection in unread:
            assert connection.recv(20).startswith(b"HTTP/1.1 200")
        for person in cast.stormers:
            assert storm.ask(person, "GET", paths[0]).status == 429
            # Long answers that are no downloads are left unread as well.
            more = stack.enter_context(_begun(person, f"{much_to_read}/events?limit=1000"))
            assert more.recv(20).startswith(b"HTTP/1.1 200")
            more_unread.append(more)
        assert storm.stranger.get("/livez").status == 200
        innocents = f"/api/clusters/{cast.innocent_cluster}/export/attempts.jsonl"
        assert storm.ask(cast.innocent, "GET", innocents).body.count(b"\n") == 40
        if is_long:
            cut = "the answer is not read"
            assert wait_until(lambda: storm.stranger.log().count(cut) == len(unread), seconds=HANG_SECONDS)
            storm.refusals += len(unread)  # those lines; of the others the application has let go already
            for connection in (*unread, *more_unread):
                assert tcp.is_closed(connection, seconds=HANG_SECONDS)
    # Whoever has gone makes room.
    eve = cast.stormers[0]
    assert wait_until(lambda: eve.web.get(paths[0], **eve.bearer).status == 200, seconds=HANG_SECONDS)


def test_long_answers_that_nobody_reads(storming: Storming, cast: Cast, much_to_read: str) -> None:
    """As many as one may have open, of more than a megabyte each."""
    with storming():
        for person in cast.stormers:
            with ExitStack() as stack:
                path = f"{much_to_read}/events?limit=1000"
                unread = [stack.enter_context(_begun(person, path)) for _ in range(OPEN)]
                for connection in unread:
                    assert connection.recv(20).startswith(b"HTTP/1.1 200")


def test_heavy_reads_at_once(storming: Storming, attacked: Attacked, cast: Cast) -> None:
    """Each takes a core for a while and holds a connection, of which there are far fewer."""
    service = attacked.service
    large = service.cluster_create("large")
    service.client.post(f"/api/clusters/{large}/pace", {"pace": "pause"})
    service.upload(large, workloads.roomy(nodes=50, pods=2_000).files)
    for person in cast.stormers:
        people.role_give(service, large, person.name, "viewer")
    paths = [f"/api/clusters/{large}/{what}" for what in ("snapshot", "snapshot/columns", "summary")]
    paths.append("/api/schema?format=json")
    with storming() as storm:

        def read(number: int) -> int:
            return storm.ask(cast.stormers[number % 2], "GET", paths[number // 2 % len(paths)]).status

        assert set(storm.at_once(48, read, threads=48)) == {200}
    service.client.call("DELETE", f"/api/clusters/{large}")


def test_sockets_are_closed_when_their_ground_goes(storming: Storming, attacked: Attacked, cast: Cast) -> None:
    """After a logout and after a lost role, all of them, with a close frame."""
    service = attacked.service
    for name in MANY[1:3]:
        people.role_give(service, cast.stormed, name, "viewer")
    leaves, loses = (people.person_enter(attacked.web("127.0.0.71"), name) for name in MANY[1:3])
    with storming() as storm, ExitStack() as stack:
        opened = {
            person.name: [stack.enter_context(_watching(person, cast.stormed)) for _ in range(SOCKETS_OF_EACH)]
            for person in (leaves, loses)
        }
        assert people.with_session(leaves, "POST", "/logout").status == 302
        service.client.call("DELETE", f"/api/clusters/{cast.stormed}/roles/{loses.name}")
        for socket_ in opened[leaves.name]:
            assert closing(socket_) == (LOGGED_OUT, REASONS[LOGGED_OUT])
        for socket_ in opened[loses.name]:
            assert closing(socket_) == (GONE, REASONS[GONE])
        assert storm.take(people.with_session(leaves, "GET", "/api/me")).status == 401


def _begun(person: Person, path: str) -> socket.socket:
    head = f"GET {path} HTTP/1.1\nAuthorization: Bearer {person.token}"
    return person.web.begin(head, receive_buffer=SMALL_BUFFER)


@contextmanager
def _watching(person: Person, cluster_id: int) -> Iterator[ClientConnection]:
    """A socket of the person's session that has been greeted."""
    place = f"127.0.0.1:{person.web.port}"
    with connect(
        f"ws://{place}/ws/clusters/{cluster_id}/",
        origin=f"http://{place}",  # type: ignore[arg-type]
        additional_headers={"Cookie": person.cookie},
        ping_interval=None,
        close_timeout=1,
    ) as opened:
        assert json.loads(opened.recv(10))["type"] == "hello"
        yield opened
