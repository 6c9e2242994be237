"""The WebSocket of one cluster: a session or a token, then hello, then frames. Holds nothing of the cluster.

Close codes: REASONS. Before the handshake a refusal reaches the browser as HTTP 403; the REST calls say why.
"""

import asyncio
import contextlib
import logging
from typing import Any
from urllib.parse import parse_qs

from channels.generic.websocket import AsyncWebsocketConsumer

from kschedweb.common.errors import ClusterGoneError
from kschedweb.live.feed import Feed, TooSlow
from kschedweb.live.guard import OK, Gate, Guard
from kschedweb.views import Cursor, Hello, encode

UNAUTHENTICATED = 4401
UNKNOWN_CLUSTER = 4404
TOO_SLOW = 4408
TRY_AGAIN = 1013  # of RFC 6455
REASONS = {
    UNAUTHENTICATED: "not logged in",
    UNKNOWN_CLUSTER: "no such cluster for you",
    TOO_SLOW: "too slow, come back with your cursor",
    TRY_AGAIN: "the service cannot follow the cluster at the moment",
}

log = logging.getLogger(__name__)


class ClusterConsumer(AsyncWebsocketConsumer):
    """Sends what the feed gives; what a browser says over the socket is not read."""

    def __init__(self, *args: Any, feed: Feed, gate: Gate, guard: Guard, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._feed = feed
        self._gate = gate
        self._guard = guard
        self._pump: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        cluster_id = int(self.scope["url_route"]["kwargs"]["cluster_id"])
        who = self._gate.credential(self.scope)
        code = UNAUTHENTICATED if who is None else await self._guard.verdict((who, cluster_id))
        if code != OK:
            await self.close(code)
            return
        await self.accept()
        self._guard.watch(self, (who, cluster_id), self._end)
        self._pump = asyncio.create_task(self._forward(cluster_id, _cursor(self.scope["query_string"])))

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        pass

    async def disconnect(self, code: int) -> None:
        self._guard.forget(self)
        await self._stop()

    async def _end(self, code: int) -> None:
        await self._stop()
        await self.close(code, REASONS[code])

    async def _stop(self) -> None:
        if self._pump is not None:
            self._pump.cancel()
            await asyncio.gather(self._pump, return_exceptions=True)

    async def _forward(self, cluster_id: int, after: Cursor | None) -> None:
        """Send until there is a reason to close; it reaches a browser that does not read when it reads again."""
        try:
            async with self._feed.subscribe(cluster_id, after) as subscription:
                await self.send(text_data=encode(Hello(cursor=subscription.start)).decode())
                async for frame in subscription.frames():
                    await self.send(text_data=frame.decode())
        except ClusterGoneError:
            code = UNKNOWN_CLUSTER
        except TooSlow:
            code = TOO_SLOW
        except OSError:
            return  # the browser has gone
        except Exception:
            log.exception("cluster %s: a WebSocket could not be served", cluster_id)
            code = TRY_AGAIN
        with contextlib.suppress(OSError):
            await self.close(code, REASONS[code])


def _cursor(query: bytes) -> Cursor | None:
    """The cursor a browser comes back with; anything else counts as none."""
    given = parse_qs(query.decode("ascii", "replace"))
    numbers = [given.get(name, [""])[0] for name in ("rv", "seq")]
    if all(number.isascii() and number.isdecimal() and len(number) < 19 for number in numbers):
        return Cursor(int(numbers[0]), int(numbers[1]))
    return None
