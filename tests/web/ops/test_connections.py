"""Connections to the web process over TCP: heads that are too large or never end, and readers that never read."""

import asyncio
import contextlib
import json
import socket
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from kschedweb.common import bodies
from kschedweb.ops import connections
from tests.cases import cases
from tests.waiting import HANG_SECONDS
from tests.web import tcp


def answer_to(web: tcp.Web, sent: bytes) -> tuple[int, bytes]:
    """Status and body of the answer to raw bytes; what cannot be sent any more is left."""
    with connect(web) as opened:
        with contextlib.suppress(ConnectionError):
            opened.sendall(sent)
        answer = tcp.read_answer(opened)
        return answer.status, answer.body


def connect(web: tcp.Web) -> socket.socket:
    return socket.create_connection(("127.0.0.1", web.port), HANG_SECONDS)


def head(path: bytes = b"/livez/ping", *headers: bytes) -> bytes:
    lines = [b"GET " + path + b" HTTP/1.1", b"Host: localhost", b"Connection: close", *headers]
    return b"\r\n".join(lines) + b"\r\n\r\n"


@cases(
    "sent",
    ("a long path", head(b"/" + b"a" * 70_000)),
    ("a long header", head(b"/livez/ping", b"X-Long: " + b"a" * 70_000)),
    ("many headers", head(b"/livez/ping", *(b"X-%d: a" % number for number in range(10_000)))),
)
def test_head_that_is_too_large_is_refused(web: tcp.Web, sent: bytes) -> None:
    status, body = answer_to(web, sent)
    assert (status, json.loads(body)["code"]) == (431, "head_too_large")


def test_head_without_end_is_refused_when_the_limit_is_reached(web: tcp.Web) -> None:
    with connect(web) as opened:
        opened.sendall(b"GET /")
        sent = 0
        with pytest.raises(ConnectionError):
            while sent < 64 << 20:
                sent += opened.send(b"a" * 65_536)
    assert web.answers()


def test_head_of_allowed_size_is_answered(web: tcp.Web) -> None:
    status, _ = answer_to(web, head(b"/livez/ping", b"X-Long: " + b"a" * (connections.HEAD_BYTES - 200)))
    assert status == 200


def test_body_does_not_count_as_head(web: tcp.Web) -> None:
    """Both in one piece, and the next request over the same connection."""
    body = b"a" * bodies.SMALL_BYTES
    lines = [
        b"POST /api/csrf HTTP/1.1",
        b"Host: localhost",
        b"Content-Length: %d" % len(body),
        b"X-Long: " + b"a" * 4096,
    ]
    post = b"\r\n".join(lines) + b"\r\n\r\n" + body
    assert len(post) > connections.HEAD_BYTES
    with connect(web) as opened:
        for sent, wanted in ((post, (403, 405)), (head(), (200,))):
            opened.sendall(sent)
            assert tcp.read_answer(opened).status in wanted


def test_what_is_not_http_is_refused_in_the_usual_form(web: tcp.Web) -> None:
    status, body = answer_to(web, b"\x16\x03\x01 hello\r\n\r\n")
    assert (status, json.loads(body)["code"]) == (400, "bad_request")


@cases(
    "sent, said",
    ("nothing was sent", b"", b""),
    ("half a head was sent", b"GET /livez/ping HTTP/1.1\r\nHos", b"head_too_slow"),
    ("after an answer", head()[:-2].replace(b"close", b"keep-alive") + b"\r\nGE", b"200 OK"),
)
@pytest.mark.slow
def test_connection_ends_when(web: tcp.Web, sent: bytes, said: bytes) -> None:
    with connect(web) as opened:
        opened.sendall(sent)
        received = b""
        while part := opened.recv(65_536):
            received += part
    assert said in received


ANSWER = 16 << 20  # more than kernels buffer


@cases(
    "unread_seconds",
    ("who reads", HANG_SECONDS),
    ("who does not", 0.2),
)
async def test_reader_who_takes_nothing_is_cut_off(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, unread_seconds: float
) -> None:
    monkeypatch.setattr(connections, "UNREAD_SECONDS", unread_seconds)
    whole = unread_seconds == HANG_SECONDS
    sent_all, has_read_all = asyncio.Event(), asyncio.Event()
    if not whole:
        has_read_all.set()

    async def application(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(ANSWER // 65_536):
            await send({"type": "http.response.body", "body": b"x" * 65_536, "more_body": True})
        await asyncio.wait_for(has_read_all.wait(), HANG_SECONDS)
        await send({"type": "http.response.body", "body": b""})
        sent_all.set()

    config = uvicorn.Config(application, http=connections.BoundedConnection, lifespan="off", log_config=None)
    config.load()
    state = ServerState()
    made: list[connections.BoundedConnection] = []

    def connected() -> connections.BoundedConnection:
        made.append(connections.BoundedConnection(config, state, {}))
        return made[-1]

    server = await asyncio.get_running_loop().create_server(connected, "127.0.0.1", 0)
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname(), limit=4096)
        writer.write(head(b"/a/path"))
        if not whole:
            await asyncio.wait_for(sent_all.wait(), HANG_SECONDS)  # for nobody: the connection is closed
        taken = 0
        with contextlib.suppress(ConnectionError):
            while part := await reader.read(65_536):
                taken += len(part)
                # Who has read what there is waits for the rest as long as that takes.
                if taken > ANSWER and made[0]._reader_timer is None:
                    has_read_all.set()
        await asyncio.wait_for(sent_all.wait(), HANG_SECONDS)
        writer.close()
    assert (taken > ANSWER) is whole
    told = [record.getMessage() for record in caplog.records if "not read" in record.getMessage()]
    assert told == ([] if whole else ["the answer is not read, connection closed: /a/path"])


def test_no_part_of_an_answer_waits_for_the_client_to_confirm_the_one_before() -> None:
    with (
        connections.listen("127.0.0.1", 0) as listening,
        socket.create_connection(listening.getsockname()),
        listening.accept()[0] as accepted,
    ):
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
