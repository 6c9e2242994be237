"""A share of a web process: so many requests of one holder are worked on, a few more are open, the rest waits."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from kschedweb.common import shares
from kschedweb.common.bodies import Refused
from kschedweb.common.shares import Shares
from tests.waiting import HANG_SECONDS


class Stage:
    """An application whose requests stand where a test wants them, and who asks it."""

    def __init__(self, seconds: float = 30.0) -> None:
        self.at_work: list[str] = []
        self.sending: list[str] = []
        self.answer, self.finish = asyncio.Event(), asyncio.Event()
        self.shares = Shares(self.application, lambda scope: scope["holder"], seconds)
        self.asked: list[asyncio.Task[None]] = []

    async def application(self, scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass
        self.at_work.append(scope["holder"])
        await self.answer.wait()
        self.at_work.remove(scope["holder"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        self.sending.append(scope["holder"])
        await self.finish.wait()

    def ask(self, holder: str | None, number: int = 1, body: Callable[[], Any] | None = None) -> None:
        async def whole() -> Any:
            return {"type": "http.request", "body": b""}

        async def send(message: Any) -> None:
            pass

        scope = {"type": "http", "holder": holder}
        self.asked += [asyncio.create_task(self.shares(scope, body or whole, send)) for _ in range(number)]

    async def settled(self) -> None:
        for _ in range(20):
            await asyncio.sleep(0)


async def test_few_of_a_holder_are_at_work_and_all_of_a_stranger() -> None:
    stage = Stage()
    stage.ask("eve", shares.OPEN)
    stage.ask("ivy", 1)
    stage.ask(None, 10)
    await stage.settled()
    assert [stage.at_work.count(holder) for holder in ("eve", "ivy", None)] == [shares.AT_WORK, 1, 10]  # type: ignore[arg-type]
    stage.answer.set()
    await stage.settled()
    assert stage.sending.count("eve") == shares.OPEN, "who has begun to answer makes room"
    stage.finish.set()
    await asyncio.gather(*stage.asked)
    assert not stage.shares._shares


async def test_body_that_comes_slowly_is_no_work() -> None:
    stage, rest = Stage(), asyncio.Event()

    async def slow() -> Any:
        await rest.wait()
        return {"type": "http.request", "body": b""}

    stage.ask("eve", shares.AT_WORK, slow)
    stage.ask("eve", 1)
    await stage.settled()
    assert stage.at_work == ["eve"]
    rest.set()
    await stage.settled()
    assert len(stage.at_work) == shares.AT_WORK


async def test_answers_that_nobody_takes_are_bounded_and_the_next_one_is_refused() -> None:
    stage = Stage(seconds=0.01)
    stage.answer.set()
    stage.ask("eve", shares.OPEN + 2)
    async with asyncio.timeout(HANG_SECONDS):
        while sum(one.done() for one in stage.asked) < 2:
            await asyncio.sleep(0.01)
    assert len(stage.sending) == shares.OPEN
    refused = [one.exception() for one in stage.asked if one.done()]
    assert len(refused) == 2 and all(isinstance(each, Refused) for each in refused)
    stage.finish.set()
    await asyncio.gather(*stage.asked, return_exceptions=True)
    assert not stage.shares._shares


@pytest.mark.parametrize("at", ["waiting for work", "at work"])
async def test_request_that_is_broken_off_makes_room(at: str) -> None:
    stage = Stage()
    stage.ask("eve", shares.AT_WORK + 1)
    await stage.settled()
    stage.asked[-1 if at == "waiting for work" else 0].cancel()
    stage.ask("eve", 1)
    stage.answer.set()
    stage.finish.set()
    told = await asyncio.gather(*stage.asked, return_exceptions=True)
    assert sum(one is None for one in told) == shares.AT_WORK + 1
    assert not stage.shares._shares
