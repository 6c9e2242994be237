"""Cuts off who does not read: each part of an answer has to leave the process in time.

Parts are at most 64 KiB and leave as soon as the connection has room for them, so only a reader that takes less than
some 2 KiB a second is too slow.
"""

import asyncio

import structlog

from kschedweb.common.asgi import Application, Message, Receive, Scope, Send

SECONDS = 30.0

log = structlog.get_logger(__name__)


class SlowReaders:
    """An HTTP application in front of another."""

    def __init__(self, application: Application, seconds: float = SECONDS) -> None:
        self._application = application
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_in_time(message: Message) -> None:
            try:
                await asyncio.wait_for(send(message), self._seconds)
            except TimeoutError:
                log.warning("the answer is not read, connection closed", path=scope["path"], seconds=self._seconds)
                # What Django takes for a client that is gone: the rest is not made, and the server closes.
                raise asyncio.CancelledError from None

        await self._application(scope, receive, send_in_time)
