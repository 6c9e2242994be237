"""An ASGI application that runs in another process.

Each request goes over a socket of its own: first the scope and the whole body, then the messages of the answer as they
come. Who hangs up on one side hangs up on the other.
"""

import asyncio
import contextlib
import logging
import socket
from collections.abc import Callable
from typing import Any

import msgspec

from kschedweb.common.asgi import Application, Message, Receive, Scope, Send

LENGTH_BYTES = 4  # before each message, big-endian
# What an application may read of a scope: all of it are texts, bytes and lists of them.
PASSED_ON = (
    *("type", "http_version", "method", "scheme", "path", "raw_path", "root_path", "query_string", "headers"),
    *("client", "server"),
)

log = logging.getLogger(__name__)


class EndedError(Exception):
    """The other process ended before it answered."""


class Relay:
    """The application, as it is seen here.

    `opened`: a socket whose other end the other process is given, to be used by `answer`; OSError when there is none.
    """

    def __init__(self, opened: Callable[[], socket.socket]) -> None:
        self._opened = opened

    async def __call__(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        """Have a request answered whose body is all here; `receive` tells when the client hangs up. EndedError."""
        passed_on = {name: scope[name] for name in PASSED_ON if name in scope}
        try:
            reader, writer = await asyncio.open_unix_connection(sock=self._opened())
        except OSError as error:
            raise EndedError from error
        with contextlib.closing(writer):
            with contextlib.suppress(OSError):  # whether anybody has read it, the answer tells
                await _write(writer, {"scope": passed_on, "body": body})
            answered = asyncio.create_task(_pass_on(reader, send))
            left = asyncio.create_task(_left(receive))
            try:
                await asyncio.wait((answered, left), return_when=asyncio.FIRST_COMPLETED)
                if answered.done():
                    answered.result()
            finally:
                answered.cancel()
                left.cancel()
                await asyncio.gather(answered, left, return_exceptions=True)


async def answer(connection: socket.socket, application: Application) -> None:
    """Answer the request that comes over a socket, in the process that has the application."""
    reader, writer = await asyncio.open_unix_connection(sock=connection)
    with contextlib.closing(writer):
        request = await _read(reader)
        if request is None:
            return
        body: bytes | None = request["body"]

        async def receive() -> Message:
            nonlocal body
            if body is not None:
                whole, body = body, None
                return {"type": "http.request", "body": whole, "more_body": False}
            await reader.read()  # nothing is sent after the request: this is the end
            return {"type": "http.disconnect"}

        has_begun = False

        async def send(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await _write(writer, message)

        try:
            await application(request["scope"], receive, send)
        except ConnectionError:
            pass  # nobody waits for the answer any more
        except Exception:
            log.exception("%s failed", request["scope"]["path"])
            if not has_begun:
                await send({"type": "http.response.start", "status": 500, "headers": []})
                await send({"type": "http.response.body", "body": b""})


async def _pass_on(reader: asyncio.StreamReader, send: Send) -> None:
    has_begun = False
    while (message := await _read(reader)) is not None:
        has_begun = True
        await send(message)
        if message["type"] == "http.response.body" and not message.get("more_body"):
            return
    if not has_begun:
        raise EndedError


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _write(writer: asyncio.StreamWriter, message: Message) -> None:
    content = msgspec.msgpack.encode(message)
    writer.write(len(content).to_bytes(LENGTH_BYTES, "big") + content)
    await writer.drain()


async def _read(reader: asyncio.StreamReader) -> Any:
    """The next message; None when the other side has hung up."""
    try:
        length = int.from_bytes(await reader.readexactly(LENGTH_BYTES), "big")
        return msgspec.msgpack.decode(await reader.readexactly(length))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
