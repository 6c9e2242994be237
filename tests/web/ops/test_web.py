"""The web process while nobody asks anything of it."""

import asyncio
import signal

import pytest
import uvicorn

from kschedweb.ops import web
from tests.waiting import HANG_SECONDS


async def test_signal_wakes_a_server_that_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "TICK_SECONDS", 10 * HANG_SECONDS)
    server, looks = web.Server(uvicorn.Config("nothing")), 0

    async def look(_: int) -> bool:
        nonlocal looks
        looks += 1
        return server.should_exit

    monkeypatch.setattr(server, "on_tick", look)
    serving = asyncio.create_task(server.main_loop())
    await asyncio.sleep(0)
    server.handle_exit(signal.SIGTERM, None)
    await asyncio.wait_for(serving, HANG_SECONDS)
    assert looks == 2
