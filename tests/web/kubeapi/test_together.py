"""Writes that arrive while another commits: one transaction, an answer each, and nobody pays for another's failure."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import IntegrityError, OperationalError

from kschedweb.cluster.models import Change
from kschedweb.cluster.versions import version_of
from kschedweb.kubeapi import access, answering, together
from kschedweb.kubeapi.access import Principal, Principals
from kschedweb.kubeapi.exchange import Answer, RefusedError, Request
from kschedweb.kubeapi.together import Regulars, Together
from tests.cases import cases
from tests.waiting import HANG_SECONDS
from tests.web.kubeapi.conftest import Served
from tests.web.kubeapi.test_watch import commit

WHO = Principal("ada", (), cluster_id=1)
PODS = "/api/v1/namespaces/default/pods"
SPEC = {"schedulerName": "nobody", "containers": [{"name": "c", "image": "i:1"}]}
JSON = {"Content_Type": "application/json"}


def body(name: str) -> bytes:
    return json.dumps({"metadata": {"name": name}, "spec": SPEC}).encode()


def creation(name: str, size: int = 0) -> Request:
    return Request("c", "POST", PODS, {}, {"content-type": "application/json"}, body(name) + b" " * size)


class Blocking:
    """Stands for the threads: notes what was asked together, and answers when it may."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.may = asyncio.Event()

    async def __call__(self, call: Any, requests: Sequence[Request], who: Principal) -> list[Any]:
        self.asked.append(len(requests))
        await self.may.wait()
        return [Answer(201, request.body) for request in requests]


async def test_what_comes_while_one_is_at_work_goes_together() -> None:
    writes, work = Together(Regulars()), Blocking()
    tasks = [asyncio.create_task(writes.answer(creation(f"p{number}"), WHO, work)) for number in range(5)]
    await asyncio.sleep(0)
    work.may.set()
    answers = await asyncio.gather(*tasks)
    assert [answer.body for answer in answers if isinstance(answer, Answer)] == [body(f"p{n}") for n in range(5)]
    assert sum(work.asked) == 5 and len(work.asked) <= 2


async def test_a_transaction_is_bounded_in_calls_and_bytes() -> None:
    writes, work = Together(Regulars()), Blocking()
    work.may.set()
    many = together.MOST_CALLS * 2
    large = [creation(f"l{number}", together.MOST_BYTES) for number in range(2)]
    requests = [*(creation(f"p{number}") for number in range(many)), *large]
    await asyncio.gather(*(writes.answer(request, WHO, work) for request in requests))
    assert max(work.asked) <= together.MOST_CALLS and work.asked[-2:] == [1, 1] and sum(work.asked) == many + 2


async def test_clients_that_take_turns_come_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of them wait while the other half is answered: the next transaction waits for these."""
    monkeypatch.setattr(together, "LINGER_SECONDS", HANG_SECONDS)
    writes, work, often, clients = Together(Regulars()), Blocking(), 6, 10
    work.may.set()

    async def client(first: int) -> None:
        for number in range(often):
            await writes.answer(creation(f"p{first}-{number}"), WHO, work)
            await asyncio.sleep(0)  # the answer travels, and the next request does

    await asyncio.gather(*(client(number) for number in range(clients)))
    assert sum(work.asked) == clients * often
    assert work.asked[1:-1] == [clients] * (len(work.asked) - 2), work.asked


async def test_a_client_alone_waits_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(together, "LINGER_SECONDS", 10 * HANG_SECONDS)
    writes, work = Together(Regulars()), Blocking()
    work.may.set()
    async with asyncio.timeout(HANG_SECONDS):
        for number in range(3):
            await writes.answer(creation(f"p{number}"), WHO, work)
    assert work.asked == [1, 1, 1]


async def test_clients_that_went_are_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(together, "LINGER_SECONDS", 0.05)
    writes, work = Together(Regulars()), Blocking()
    work.may.set()
    await asyncio.gather(*(writes.answer(creation(f"p{number}"), WHO, work) for number in range(5)))
    async with asyncio.timeout(HANG_SECONDS):
        for number in range(3):
            await writes.answer(creation(f"late-{number}"), WHO, work)
    assert work.asked[-3:] == [1, 1, 1]


async def test_clients_that_do_not_come_again_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a stream of single writes, some of which meet, only the first that meet wait for more."""
    lingered: list[int] = []
    grow = together._Line.grow

    async def grown(line: together._Line, expected: int) -> bool:
        lingered.append(expected)
        return await grow(line, expected)

    monkeypatch.setattr(together._Line, "grow", grown)
    monkeypatch.setattr(together, "IN_VAIN_SECONDS", HANG_SECONDS)
    regulars, work, answered = Regulars(), Blocking(), 0
    for pair in range(4):
        writes = Together(regulars)  # the last one went with its last request
        work.may.clear()
        tasks = [asyncio.create_task(writes.answer(creation(f"p{pair}-{each}"), WHO, work)) for each in range(2)]
        await asyncio.sleep(0)
        work.may.set()
        answered += len(await asyncio.gather(*tasks))
        while writes._lines:  # until nobody is waited for
            await asyncio.sleep(0.001)
    assert (answered, sum(work.asked), lingered) == (8, 8, [2])


async def test_a_write_whose_turn_does_not_come_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(together, "WAIT_SECONDS", 0.05)
    writes, work = Together(Regulars()), Blocking()
    first = asyncio.create_task(writes.answer(creation("first"), WHO, work))
    while not work.asked:
        await asyncio.sleep(0)
    with pytest.raises(RefusedError) as refused:
        async with asyncio.timeout(HANG_SECONDS):
            await writes.answer(creation("second"), WHO, work)
    assert (refused.value.status.code, refused.value.status.reason) == (429, "TooManyRequests")
    work.may.set()
    assert isinstance(await first, Answer)  # it was carried out, so it is waited for
    assert work.asked == [1]


async def test_those_of_different_people_stay_apart() -> None:
    writes, work = Together(Regulars()), Blocking()
    work.may.set()
    others = [WHO, Principal("bob", (), cluster_id=1)]
    await asyncio.gather(*(writes.answer(creation("p"), who, work) for who in others))
    assert work.asked == [1, 1]


async def test_an_error_of_the_threads_is_everybodys() -> None:
    async def busy(call: Any, requests: Sequence[Request], who: Principal) -> list[Any]:
        raise OperationalError("no connection")

    writes = Together(Regulars())
    found = await asyncio.gather(
        *(writes.answer(creation(f"p{number}"), WHO, busy) for number in range(3)), return_exceptions=True
    )
    assert [type(each) for each in found] == [OperationalError] * 3


@cases(
    "error, want",
    ("each alone when the transaction fails", IntegrityError(), [Answer, Answer]),
    ("not again when it may have been committed", OperationalError(), [OperationalError] * 2),
)
def test_a_transaction_that_fails(error: Exception, want: list[type], monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(asked: Sequence[Any], who: Principal) -> list[Answer]:
        raise error

    monkeypatch.setattr(answering, "write", failing)
    monkeypatch.setattr(answering, "answer", lambda request, who: Answer(201, request.body))
    found = together.answer_all([creation("a"), creation("b")], WHO)
    assert [type(each) for each in found] == want


@pytest.mark.django_db
def test_clients_at_once_get_their_own_answers_and_versions(served: Served) -> None:
    names = [f"many-{number}" for number in range(40)]

    def ask(name: str) -> Any:
        wrong = name.endswith("7")  # some are refused
        content = body(name.upper() if wrong else name)
        return wrong, name, served.ask("POST", PODS, body=content, **JSON)

    with ThreadPoolExecutor(10) as threads:
        answers = list(threads.map(ask, names))
    made = {}
    for wrong, name, answer in answers:
        found = json.loads(answer.body)
        assert answer.status == (422 if wrong else 201), answer.body
        if not wrong:
            assert found["metadata"]["name"] == name
            made[int(found["metadata"]["resourceVersion"])] = (name, found["metadata"]["uid"])
    commit()
    logged = Change.objects.filter(cluster_id=served.cluster_id, kind="Pod", name__startswith="many-")
    rows = logged.values_list("rv", "name", "uid")
    assert {version_of(rv): (name, uid) for rv, name, uid in rows} == made


def test_who_asks_is_kept_for_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    moment, asked = 10.0, 0
    verdict: Principal | None = WHO

    def of_secret(secret: str, cluster: str) -> Principal | None:
        nonlocal asked
        asked += 1
        return verdict

    monkeypatch.setattr(access, "of_secret", of_secret)
    principals = Principals(lambda: moment)
    request = Request("c", "GET", "/api", {}, {"authorization": "Bearer t"})
    assert principals.kept(request) is None
    assert principals.read(request) is WHO and principals.kept(request) is WHO
    assert principals.kept(Request("other", "GET", "/api", {}, request.headers)) is None
    assert principals.kept(Request("c", "GET", "/api", {}, {"authorization": "Bearer u"})) is None
    moment += access.KEPT_SECONDS
    verdict = None
    assert principals.kept(request) is None
    with pytest.raises(RefusedError):
        principals.read(request)
    assert principals.kept(request) is None and asked == 2


def test_whoever_has_no_role_is_looked_up_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    nobody = Principal("ada", ())
    monkeypatch.setattr(access, "of_secret", lambda secret, cluster: nobody)
    principals = Principals(lambda: 0.0)
    request = Request("c", "GET", "/api", {}, {"authorization": "Bearer t"})
    assert principals.read(request) is nobody and principals.kept(request) is None
