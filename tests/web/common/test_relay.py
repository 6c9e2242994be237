"""An application in another process, played by two ends of one event loop."""

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import pytest

from kschedweb.common import relay
from kschedweb.common.asgi import Application, Message, Receive, Scope, Send
from tests.waiting import HANG_SECONDS

SCOPE: Scope = {
    "type": "http",
    "http_version": "1.1",
    "method": "POST",
    "scheme": "http",
    "path": "/api/clusters/1/fits",
    "raw_path": b"/api/clusters/1/fits",
    "query_string": b"at=4.7",
    "headers": [(b"host", b"localhost"), (b"cookie", b"sessionid=\xff")],
    "client": ("127.0.0.1", 4711),
    "server": ("127.0.0.1", 8000),
    "extensions": {"of this process": object()},
}


class Client:
    """Who asks: what was answered, and when they hang up."""

    def __init__(self) -> None:
        self.answered: list[Message] = []
        self.left = asyncio.Event()

    async def receive(self) -> Message:
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        self.answered.append(message)


def opened(application: Application, tasks: list[asyncio.Task[None]]) -> Callable[[], socket.socket]:
    def open_one() -> socket.socket:
        ours, theirs = socket.socketpair()
        tasks.append(asyncio.create_task(relay.answer(theirs, application)))
        return ours

    return open_one


async def asked(application: Application, client: Client, body: bytes = b"") -> None:
    tasks: list[asyncio.Task[None]] = []
    async with asyncio.timeout(HANG_SECONDS):
        await relay.Relay(opened(application, tasks))(SCOPE, body, client.receive, client.send)
        await asyncio.gather(*tasks, return_exceptions=True)


async def test_request_and_answer_are_passed_on() -> None:
    seen: list[Any] = []

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        seen.extend([scope, await receive()])
        await send({"type": "http.response.start", "status": 200, "headers": [(b"ksched-position", b"4.7")]})
        for number in range(3):
            await send({"type": "http.response.body", "body": b"%d" % number * 300_000, "more_body": number < 2})

    client = Client()
    await asked(application, client, b"a: pod" * 50_000)
    scope, request = seen
    assert [tuple(each) for each in scope.pop("headers")] == SCOPE["headers"]
    assert {**scope, "client": tuple(scope["client"]), "server": tuple(scope["server"])} == {
        name: value for name, value in SCOPE.items() if name not in ("headers", "extensions")
    }
    assert request == {"type": "http.request", "body": b"a: pod" * 50_000, "more_body": False}
    assert [message["type"] for message in client.answered] == ["http.response.start"] + ["http.response.body"] * 3
    assert b"".join(message.get("body", b"") for message in client.answered) == b"".join(
        b"%d" % number * 300_000 for number in range(3)
    )


async def test_client_who_hangs_up_is_gone_there_too() -> None:
    seen: list[Message] = []
    client = Client()

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        client.left.set()
        seen.append(await receive())

    await asked(application, client)
    assert seen == [{"type": "http.disconnect"}]


async def test_answer_that_nobody_takes_is_not_gathered() -> None:
    """What is sent waits until the client has taken it, in both processes."""
    sent, taken = 0, asyncio.Event()

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal sent
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(1000):
            await send({"type": "http.response.body", "body": b"x" * 65_536, "more_body": True})
            sent += 1

    class Slow(Client):
        async def send(self, message: Message) -> None:
            await taken.wait()

    client = Slow()
    asking = asyncio.create_task(asked(application, client))
    before = -1
    while before != sent:
        before = sent
        await asyncio.sleep(0.05)
    assert sent < 50
    client.left.set()
    await asking


@pytest.mark.parametrize("has_begun", [False, True])
async def test_process_that_ends(has_begun: bool) -> None:
    """Before its answer it is said to have ended; later the answer is cut off, as nothing else can be said."""

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        if has_begun:
            await send({"type": "http.response.start", "status": 200, "headers": []})

    client = Client()
    if has_begun:
        await asked(application, client)
        assert [message["type"] for message in client.answered] == ["http.response.start"]
    else:
        with pytest.raises(relay.EndedError):
            await asked(application, client)


async def test_no_process() -> None:
    def refused() -> socket.socket:
        raise BrokenPipeError

    client = Client()
    with pytest.raises(relay.EndedError):
        await relay.Relay(refused)(SCOPE, b"", client.receive, client.send)


async def test_application_that_fails_is_answered_by_500() -> None:
    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        raise ZeroDivisionError

    client = Client()
    await asked(application, client)
    assert [message.get("status") for message in client.answered] == [500, None]
