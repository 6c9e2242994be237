"""The WebSocket of one cluster: a login session, then hello, then frames. Holds nothing of the cluster.

Close codes: 4401 not logged in, 4404 no such cluster, 4408 too slow (come back with your cursor).
Before the handshake a refusal reaches the browser as HTTP 403; the REST calls say why.
"""

import asyncio
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer

from kschedweb.live.events import Cursor, Hello, encode
from kschedweb.live.feed import Feed, TooSlow, UnknownCluster

UNAUTHENTICATED = 4401
UNKNOWN_CLUSTER = 4404
TOO_SLOW = 4408

CanWatch = Callable[[Any, int], bool]


class ClusterConsumer(AsyncWebsocketConsumer):
    """Sends what the feed gives; what a browser says over the socket is not read."""

    def __init__(self, *args: Any, feed: Feed, can_watch: CanWatch, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._feed = feed
        self._can_watch = can_watch
        self._pump: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        user = self.scope.get("user")
        cluster_id = int(self.scope["url_route"]["kwargs"]["cluster_id"])
        if user is None or not user.is_authenticated:
            await self.close(UNAUTHENTICATED)
        elif not await database_sync_to_async(self._can_watch)(user, cluster_id):
            await self.close(UNKNOWN_CLUSTER)
        else:
            await self.accept()
            self._pump = asyncio.create_task(self._forward(cluster_id, _cursor(self.scope["query_string"])))

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        pass

    async def disconnect(self, code: int) -> None:
        if self._pump is not None:
            self._pump.cancel()
            await asyncio.gather(self._pump, return_exceptions=True)

    async def _forward(self, cluster_id: int, after: Cursor | None) -> None:
        try:
            async with self._feed.subscribe(cluster_id, after) as subscription:
                await self.send(text_data=encode(Hello(cursor=subscription.start)).decode())
                async for frame in subscription.frames():
                    await self.send(text_data=frame.decode())
        except UnknownCluster:
            await self.close(UNKNOWN_CLUSTER)
        except TooSlow:
            await self.close(TOO_SLOW)


def _cursor(query: bytes) -> Cursor | None:
    """The cursor a browser comes back with; anything else counts as none."""
    given = parse_qs(query.decode("ascii", "replace"))
    numbers = [given.get(name, [""])[0] for name in ("rv", "seq")]
    if all(number.isascii() and number.isdecimal() and len(number) < 19 for number in numbers):
        return Cursor(int(numbers[0]), int(numbers[1]))
    return None
