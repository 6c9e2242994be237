"""Bounds what a request may send, in bytes and in time, before it reaches the disk or the application.

Every request may send SMALL_BYTES. Where a route takes more, only those who may upload there are listened to: for all
others the application gets an empty body, and refuses them in its own words. A body has to keep coming.
"""

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass

import structlog
from asgiref.sync import sync_to_async
from django.utils.http import parse_header_parameters

from kschedweb.common.asgi import Application, Message, Receive, Scope, Send

SMALL_BYTES = 64 * 1024
ADDRESS_BYTES = 8 * 1024
# A body may take START_SECONDS, and a second more for every BYTES_PER_SECOND that have come.
START_SECONDS = 20.0
BYTES_PER_SECOND = 32 * 1024
LOOK_AGAIN_SECONDS = 0.5

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Large:
    """A route with a higher limit: its bytes, and a check whether the sender may use it (blocking)."""

    limit: int
    is_allowed: Callable[[], bool]


class Patience:
    """How long a body may keep this process waiting: some seconds, and one more for every BYTES_PER_SECOND that came.

    Only waiting counts. How long a busy process took over what had come is not the sender's doing.
    """

    def __init__(self, seconds: float) -> None:
        self._left = seconds
        self._has_looked_again = False

    async def part(self, receive: Receive) -> Message:
        """The next part of the body; TimeoutError when there is none in time."""
        asked_at = time.monotonic()
        try:
            async with asyncio.timeout(max(0.0, self._left)):
                message = await receive()
        except TimeoutError:
            if self._has_looked_again:
                raise
            # Where this process was the late one the part is there by now.
            self._has_looked_again = True
            async with asyncio.timeout(LOOK_AGAIN_SECONDS):
                return await receive()
        self._left += len(message.get("body", b"")) / BYTES_PER_SECOND - (time.monotonic() - asked_at)
        return message


class Bodies:
    """An ASGI application in front of another; `large` tells the routes that take more from all others."""

    def __init__(
        self, application: Application, large: Callable[[Scope], Large | None], seconds: float = START_SECONDS
    ) -> None:
        self._application = application
        self._large = large
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        try:
            await self._application(scope, await self._bounded(scope, receive), send)
        except Refused as refusal:
            await refusal.answer(scope, send)

    async def _bounded(self, scope: Scope, receive: Receive) -> Receive:
        query = scope.get("query_string", b"")
        if len(scope.get("raw_path") or scope["path"].encode(errors="surrogateescape")) + len(query) > ADDRESS_BYTES:
            raise Refused(414, "address_too_long", f"the address is longer than {ADDRESS_BYTES:,} bytes")
        if not query.isascii():
            raise Refused(400, "bad_request", "the query is not percent-encoded")
        headers = dict(scope["headers"])
        if not _is_text(headers.get(b"content-type", b"").decode("latin1")):
            raise Refused(415, "unsupported_media_type", "the charset of the body is unknown")
        declared = headers.get(b"content-length", b"")
        length = int(declared[:20]) if declared.isdigit() else None
        if length is None and b"transfer-encoding" not in headers:
            length = 0
        limit = SMALL_BYTES
        if length is None or length > SMALL_BYTES:
            large = self._large(scope)
            if large is not None:
                limit = large.limit
                if not await sync_to_async(large.is_allowed, thread_sensitive=False)():
                    return _nothing()
        if length is not None and length > limit:
            raise _TooLarge(limit)
        return self._counted(receive, limit)

    def _counted(self, receive: Receive, limit: int) -> Receive:
        patience = Patience(self._seconds)
        received = 0
        is_over = False

        async def counted() -> Message:
            nonlocal received, is_over
            if is_over:
                return await receive()
            try:
                message = await patience.part(receive)
            except TimeoutError:
                raise Refused(408, "too_slow", "the body of the request came too slowly") from None
            received += len(message.get("body", b""))
            if received > limit:
                raise _TooLarge(limit)
            is_over = not message.get("more_body")
            return message

        return counted


def _is_text(content_type: str) -> bool:
    """Whether the charset, if one is named, is one of text: Django fails on what Python knows as other codecs."""
    if "charset" not in content_type.lower():
        return True
    try:
        "a".encode(parse_header_parameters(content_type)[1].get("charset", "utf-8"))
    except (LookupError, ValueError):
        return False
    return True


def _nothing() -> Receive:
    """An empty body; then nothing comes any more, also not what was sent."""
    told = False

    async def receive() -> Message:
        nonlocal told
        if told:
            await asyncio.Event().wait()
        told = True
        return {"type": "http.request", "body": b"", "more_body": False}

    return receive


class Refused(Exception):
    """Raised by what stands in front of the application, before anything is answered; Bodies answers in its place."""

    def __init__(self, status: int, code: str, message: str, **extra: object) -> None:
        super().__init__(message)
        self._status = status
        self._body = {"code": code, "message": message, "extra": extra}

    async def answer(self, scope: Scope, send: Send) -> None:
        """Answer in place of the application, and leave the rest of the body unread."""
        log.warning("request refused", path=scope["path"], status=self._status, reason=self._body["code"])
        headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
        await send({"type": "http.response.start", "status": self._status, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps(self._body).encode()})


class _TooLarge(Refused):
    def __init__(self, limit: int) -> None:
        super().__init__(413, "too_large", f"the request is larger than {limit:,} bytes", limit=limit)
