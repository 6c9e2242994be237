"""Who may watch: a login session from an allowed origin, and only clusters that exist."""

from collections.abc import Callable
from typing import Any

from django.conf import settings

from kschedweb.live.feed import Feed
from tests.cases import cases
from tests.web.live.conftest import Browser

Browse = Callable[..., Browser]


async def test_connection_is_accepted_when_logged_in(browse: Browse) -> None:
    assert await browse().connect()


async def test_connection_is_refused_when_anonymous(browse: Browse, feed: Feed) -> None:
    assert not await browse(cookie=None).connect()
    assert not feed._hubs


async def test_connection_is_refused_when_the_session_is_made_up(browse: Browse) -> None:
    assert not await browse(
        cookie=f"{settings.SESSION_COOKIE_NAME}=abcdefghijklmnopqrstuvwxyz012345".encode()
    ).connect()


@cases(
    "origin",
    ("another site", "http://evil.example"),
    ("a name that begins like ours", "http://localhost.evil.example"),
    ("a sandboxed page", "null"),
    ("no origin", ""),
)
async def test_connection_is_refused_when_the_origin_is_foreign(browse: Browse, origin: str) -> None:
    assert not await browse(origin=origin).connect()


async def test_connection_is_refused_when_the_cluster_is_unknown(browse: Browse, feed: Feed) -> None:
    assert not await browse(cluster_id=424242).connect()
    assert not feed._hubs


async def test_what_a_browser_says_is_ignored(browse: Browse, change: Any) -> None:
    browser = await browse().greeted()
    await browser.socket.send_to(text_data="{not json")
    await browser.socket.send_to(bytes_data=b"\xff")
    assert len(await browser.frames_up_to(await change("a"))) == 1
