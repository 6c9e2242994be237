"""What a browser receives when the service closes its socket: a close frame with code and reason, over TCP, at once."""

import contextlib
import json
import socket
from collections.abc import Callable, Iterator

import pytest
from django.db import transaction
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from kschedweb.cluster import clock
from kschedweb.cluster import services as cluster_services
from kschedweb.cluster.changes import ChangeEntry, changes_commit
from kschedweb.cluster.models import Cluster
from kschedweb.live import feed
from tests.cases import cases
from tests.waiting import HANG_SECONDS
from tests.web import tcp
from tests.web.live.test_guard import Person, change_password, log_out, revoke, take_role

SILENCE_SECONDS = 15.0  # after which a browser takes the socket for dead
# A web process like any other, which looks more often, and keeps less for those who do not read.
HASTY = """
from kschedweb.live import feed, guard
feed.HEARTBEAT_SECONDS, feed.QUEUE_BYTES = 0.5, 2_000_000
guard.Guard.__init__.__defaults__ = (0.2,)
from kschedweb.ops import web
web.main()
"""

LOGGED_OUT, GONE, SLOW = 4401, 4404, 4408
REASONS = {LOGGED_OUT: "not logged in", GONE: "no such cluster for you", SLOW: "too slow, come back with your cursor"}


@pytest.fixture(scope="module")
def web(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tcp.Web]:
    """One for all tests: rows come and go below it."""
    with tcp.web_process(tmp_path_factory.mktemp("web"), words=("-c", HASTY)) as process:
        yield process


@pytest.fixture
def cluster(transactional_db: None) -> Cluster:
    return Cluster.objects.create(name="watched")


@pytest.fixture
def person(cluster: Cluster) -> Person:
    return Person(cluster)


@contextlib.contextmanager
def watch(web: tcp.Web, person: Person, *, token: bool = False, buffer: int = 0) -> Iterator[ClientConnection]:
    """A socket that has been greeted, opened with the person's session or token; `buffer` bytes are received unread."""
    headers = {"Authorization": f"Bearer {person.secret}"} if token else {"Cookie": person.cookie.decode()}
    plain = socket.socket()
    if buffer:
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    plain.connect(("127.0.0.1", web.port))
    address = f"ws://127.0.0.1:{web.port}/ws/clusters/{person.cluster.pk}/"
    origin = None if token else f"http://127.0.0.1:{web.port}"
    with connect(
        address,
        sock=plain,
        origin=origin,  # type: ignore[arg-type]
        additional_headers=headers,
        max_size=None,
        compression=None,
        max_queue=1,  # read when the test asks for it
        ping_interval=None,
        close_timeout=1,
    ) as opened:
        assert json.loads(opened.recv(HANG_SECONDS))["type"] == "hello"
        yield opened


def closing(opened: ClientConnection) -> tuple[int, str]:
    """Code and reason of the close frame, once it has come; what comes before it is read and dropped."""
    try:
        while True:
            opened.recv(HANG_SECONDS)
    except ConnectionClosed as closed:
        assert closed.rcvd is not None, f"the connection ended without a close frame: {closed}"
        return closed.rcvd.code, closed.rcvd.reason


def change(cluster: Cluster, number: int) -> int:
    """One transaction of so many changes, which gives the log's new end; 2,000 make a frame of about a megabyte."""
    entries = [
        ChangeEntry("Service", "n" * 63, f"{index:0250}", f"uid-{index}", "updated", {}, "test")
        for index in range(number)
    ]
    with transaction.atomic():
        return changes_commit(cluster_id=cluster.pk, entries=entries, now=clock.now_of(cluster.pk))


def read_up_to(opened: ClientConnection, rv: int) -> None:
    """Read frames until one reaches this version."""
    while (said := json.loads(opened.recv(HANG_SECONDS)))["type"] == "heartbeat" or said["to"][0] < rv:
        pass


def delete_cluster(person: Person) -> None:
    cluster_services.cluster_delete(cluster_id=person.cluster.pk)


@cases(
    "end, token, code",
    ("its person logs out", log_out, False, LOGGED_OUT),
    ("the password changes", change_password, False, LOGGED_OUT),
    ("the token is revoked", revoke, True, LOGGED_OUT),
    ("the role is taken away", take_role, False, GONE),
    ("the cluster is deleted", delete_cluster, False, GONE),
)
def test_close_frame_arrives_when(
    web: tcp.Web, person: Person, end: Callable[[Person], None], token: bool, code: int
) -> None:
    with watch(web, person, token=token) as opened:
        end(person)
        assert closing(opened) == (code, REASONS[code])


def test_close_frame_arrives_when_a_browser_that_was_too_slow_reads_again(web: tcp.Web, person: Person) -> None:
    with watch(web, person) as steady, watch(web, person, buffer=4096) as slow:
        for _ in range(100):
            read_up_to(steady, change(person.cluster, 4_000))
            if "a watcher was too slow" in web.log():
                break
        assert closing(slow) == (SLOW, REASONS[SLOW])
        read_up_to(steady, change(person.cluster, 1))  # nobody else was cut


def test_close_of_one_is_not_waited_for_by_the_others(web: tcp.Web, person: Person) -> None:
    """A browser that does not read cannot be told; those who do are."""
    with watch(web, person, buffer=4096), watch(web, person) as other:
        change(person.cluster, 20_000)
        log_out(person)
        assert closing(other) == (LOGGED_OUT, REASONS[LOGGED_OUT])


def test_service_says_something_before_a_browser_takes_it_for_dead(web: tcp.Web, person: Person) -> None:
    assert 2 * feed.HEARTBEAT_SECONDS < SILENCE_SECONDS
    with watch(web, person) as opened:
        for _ in range(2):
            assert json.loads(opened.recv(HANG_SECONDS)) == {"type": "heartbeat"}
