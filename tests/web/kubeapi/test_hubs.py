"""What ends with the last watcher of the Kubernetes API."""

import asyncio
from typing import Any

import pytest

from kschedweb.kubeapi import watching
from kschedweb.kubeapi.watching import Hubs
from tests.waiting import HANG_SECONDS


def test_the_listener_ends_its_statement_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    told = 0

    async def listen(*_: object) -> None:
        nonlocal told
        while told < 2:
            try:
                await asyncio.sleep(0.1 if told else HANG_SECONDS)
                return
            except asyncio.CancelledError:  # as a connection in the middle of a statement
                told += 1

    async def nothing_to_read(*_: object) -> Any:
        await asyncio.sleep(HANG_SECONDS)

    async def watch() -> None:
        async with Hubs(nothing_to_read).watcher(1, 0, lambda *_: None):  # type: ignore[arg-type,return-value]
            await asyncio.sleep(0)  # the listener begins
        await asyncio.sleep(0.01)

    monkeypatch.setattr(watching, "listen_forever", listen)
    asyncio.run(watch())  # which tells all tasks that are left to end
    assert told == 1
