"""What a request may send before it is refused: bytes, time, and who may send much."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from django.contrib.auth.models import User

from kschedweb.accounts import services as accounts
from kschedweb.accounts.choices import Role
from kschedweb.cluster import services
from kschedweb.cluster.models import Cluster
from kschedweb.common import bodies
from kschedweb.common.bodies import Bodies, Large, Patience
from tests.cases import cases
from tests.web import tcp
from tests.web.rest import items, logged_in, node

MIB = 1024 * 1024
SECONDS = 0.05  # that a body may keep a process waiting here
ALLOWED, REFUSED = Large(100_000, lambda: True), Large(100_000, lambda: False)


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """An application that answers with the length of the body."""
    size = 0
    while True:
        message = await receive()
        size += len(message["body"])
        if not message.get("more_body"):
            break
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": str(size).encode()})


async def slow_echo(scope: Any, receive: Any, send: Any) -> None:
    """The same by a process that has more to do than to read."""

    async def late() -> Any:
        time.sleep(SECONDS / 2)
        return await receive()

    await echo(scope, late, send)


def ask(
    chunks: list[bytes], headers: dict[str, str], *, large: Large | None = None, by: Any = echo, **scope: Any
) -> tuple[int, bytes, int]:
    """Status, body, and how many parts of the body were taken; after the last one the client is silent."""
    sent: list[Any] = []
    taken = 0

    async def receive() -> Any:
        nonlocal taken
        if taken == len(chunks):
            await asyncio.Event().wait()
        taken += 1
        return {"type": "http.request", "body": chunks[taken - 1], "more_body": chunks[taken - 1] != b"end"}

    async def send(message: Any) -> None:
        sent.append(message)

    named = [(name.encode(), value.encode()) for name, value in headers.items()]
    asked = {"type": "http", "method": "POST", "path": "/", "query_string": b"", "headers": named, **scope}
    asyncio.run(Bodies(by, lambda _: large, seconds=SECONDS)(asked, receive, send))
    return sent[0]["status"], sent[1]["body"], taken


def test_body_that_has_come_is_read_however_busy_the_process_is() -> None:
    chunks = [b"x"] * 10 + [b"end"]
    assert ask(chunks, {"transfer-encoding": "chunked"}, by=slow_echo) == (200, b"13", 11)


def test_part_that_came_while_the_process_was_busy_counts_as_in_time() -> None:
    async def wait() -> Any:
        came = asyncio.Event()

        async def receive() -> Any:
            await came.wait()
            return {"body": b"x"}

        loop = asyncio.get_running_loop()
        loop.call_later(SECONDS * 2, came.set)
        loop.call_soon(time.sleep, SECONDS * 3)  # nobody looks meanwhile
        return await Patience(SECONDS).part(receive)

    assert asyncio.run(wait()) == {"body": b"x"}


@cases(
    "chunks, declared, large, status, taken",
    ("as much as is allowed", [b"x" * 65_533, b"end"], "65536", None, 200, 2),
    ("more, undeclared", [b"x" * 65_536, b"end"], None, None, 413, 2),
    ("more, declared", [b"x", b"end"], "65537", None, 413, 0),
    ("a route that takes more", [b"x" * 70_000, b"end"], "70003", ALLOWED, 200, 2),
    ("a route that takes more, undeclared", [b"x" * 70_000, b"end"], None, ALLOWED, 200, 2),
    ("more than that", [b"x" * 70_000, b"end"], "100001", ALLOWED, 413, 0),
    ("from a stranger: not read", [b"x" * 70_000, b"end"], "70003", REFUSED, 200, 0),
    ("a body that stops", [b"x"], "10", None, 408, 1),
)
def test_body_is_bounded(
    chunks: list[bytes], declared: str | None, large: Large | None, status: int, taken: int
) -> None:
    headers = {"content-length": declared} if declared else {"transfer-encoding": "chunked"}
    answer = ask(chunks, headers, large=large)
    assert (answer[0], answer[2]) == (status, taken)
    if status == 413:
        assert b'"too_large"' in answer[1]
    if large is REFUSED:
        assert answer[1] == b"0"


def test_long_address_is_refused() -> None:
    assert ask([b"end"], {}, path="/" + "x" * bodies.ADDRESS_BYTES)[0] == 414
    assert ask([b"end"], {}, query_string=b"x" * bodies.ADDRESS_BYTES)[0] == 414
    assert ask([b"end"], {}, query_string=b"\xff")[0] == 400


@pytest.mark.parametrize(
    ("charset", "status"), [("utf-8", 200), ("UTF-16", 200), ("rot13", 415), ("hex", 415), ("nothing", 415), ("é", 415)]
)
def test_charset_is_one_of_text(charset: str, status: int) -> None:
    assert ask([b"end"], {"content-type": f"application/json; charset={charset}"})[0] == status


def head(method: str, path: str, length: int, credential: str = "") -> str:
    return f"{method} {path} HTTP/1.1\nContent-Length: {length}\nContent-Type: application/octet-stream\n{credential}"


@pytest.fixture
def cluster(transactional_db: None) -> Cluster:
    return services.cluster_create(name="c")


def test_running_service_reads_no_large_body_of_those_who_may_not_upload(web: tcp.Web, cluster: Cluster) -> None:
    """They get their answer before they have sent anything but the head."""
    viewer = User.objects.create_user("viewer")
    accounts.role_set(cluster=cluster, username="viewer", role=Role.VIEWER, actor="test")
    _, token = accounts.token_create(user=viewer, name="t", max_role=Role.ADMIN, days=1, actor="test")
    upload = f"/api/clusters/{cluster.pk}/import"
    before = web.log()
    for path, method, credential, status in [
        (upload, "POST", "", 401),
        (upload, "POST", "Authorization: Bearer ksched_nothing", 401),
        (upload, "POST", "Cookie: ksched_session=abcdefgh12345678", 401),
        (upload, "POST", f"Authorization: Bearer {token}", 403),
        (f"/api/clusters/{cluster.pk}/objects", "POST", "", 401),
        ("/login", "POST", "", 413),
        ("/admin/", "POST", "", 413),
        ("/api/me", "GET", "", 413),
        ("/livez", "GET", "", 413),
    ]:
        with web.begin(head(method, path, 60 * MIB, credential)) as connection:
            answer = tcp.read_answer(connection)
        assert answer.status == status, (path, answer.body)
        assert answer.headers["content-type"] == "application/json"
    said = web.log().removeprefix(before)
    assert said.count("request refused") == 4 and "Traceback" not in said


def test_upload_of_an_operator_is_read(web: tcp.Web, cluster: Cluster) -> None:
    logged_in("ada")
    _, token = accounts.token_create(
        user=User.objects.get(username="ada"), name="t", max_role=Role.OPERATOR, days=1, actor="test"
    )
    content = orjson.dumps(items(node())) + b" " * 200_000
    answer = web.ask("POST", f"/api/clusters/{cluster.pk}/import", content, Authorization=f"Bearer {token}")
    assert answer.status in (201, 202), answer.body


@pytest.mark.slow
def test_body_that_stops_is_cut_off_by_the_running_service(
    start_web: Callable[..., tcp.Web], transactional_db: None
) -> None:
    web = start_web()
    with web.begin(head("POST", "/login", 1000)) as connection:
        connection.sendall(b"x")
        assert tcp.read_answer(connection).status == 408
        assert tcp.is_closed(connection)
