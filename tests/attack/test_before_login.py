"""Storms of strangers: what can be sent without a password, and tries to find one."""

import base64
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from typing import TypeVar
from urllib.parse import urlencode

import pytest
from django.conf import settings

from tests.attack import people
from tests.attack.conftest import MANY, Cast, Storming
from tests.attack.storm import Attacked, Storm, told_as_json
from tests.web import tcp

MIB = 1 << 20
T = TypeVar("T")
WINDOWS = 5  # of tries, at most: none of them lasts for less time than a turn


def test_long_paths_and_heads(storming: Storming) -> None:
    with storming() as storm:
        path = "/api/" + 60_000 * "x"
        told = storm.at_once(200, lambda number: storm.ask(storm.stranger, "GET", path))
        assert {answer.status for answer in told} == {414}
        told = storm.at_once(50, lambda number: storm.ask(storm.stranger, "GET", "/livez", X_Long=70_000 * "x"))
        assert {answer.status for answer in told} == {431}


def test_large_bodies_are_not_read(storming: Storming, cast: Cast) -> None:
    """The answer comes before anything but the head was sent, and nothing of the rest is waited for."""
    paths = {"/login": 413, "/api/me": 413, "/api/clusters": 413, f"/api/clusters/{cast.stormed}/import": 401}

    with storming() as storm:

        def send(number: int) -> None:
            path, status = list(paths.items())[number % len(paths)]
            head = f"POST {path} HTTP/1.1\nContent-Type: application/json\nContent-Length: {65 * MIB}"
            with storm.stranger.begin(head) as connection:
                answer = storm.take(tcp.read_answer(connection))
            told_as_json(answer, status)

        storm.at_once(100, send)


def test_slow_bodies_and_heads(storming: Storming, attacked: Attacked, request: pytest.FixtureRequest) -> None:
    """So many connections that say hardly anything; to their end (408) in the long form."""
    with storming() as storm, ExitStack() as stack:
        body = "POST /login HTTP/1.1\nContent-Type: application/json\nContent-Length: 1000"
        slow = [stack.enter_context(storm.stranger.begin(body)) for _ in range(150)]
        heads = [stack.enter_context(storm.stranger.send(b"GET /api/me HTTP/1.1\r\nHos")) for _ in range(150)]
        for connection in slow:
            connection.sendall(b"x")
        if not request.config.getoption("--long"):
            assert attacked.sees_from(time.monotonic()), "nobody is answered meanwhile"
            return
        for connection in (*slow, *heads):
            assert storm.take(tcp.read_answer(connection)).status == 408


def test_guessing_passwords(storming: Storming, attacked: Attacked) -> None:
    """Ten tries for a name however it is spelled, fifty for an address, and others log in as ever."""
    spelled: list[Callable[[int], str]] = [
        lambda number: " " * number + MANY[0],
        lambda number: MANY[0] + "\u3000" * number,
        lambda number: "\uff55\uff53\uff45\uff52\uff10" if number % 2 else MANY[0],
    ]

    def guess(storm: Storm, web: tcp.Web, name: str) -> int:
        status, _, _ = people.log_in(web, name, "a wrong one")
        storm.told[status] += 1
        storm.refusals += 1  # also the failed ones are a line
        return status

    def tries(storm: Storm, turn: int) -> list[object]:
        places = [f"127.0.1.{3 * turn + number}" for number in range(1, 4)]
        guesser, everywhere, elsewhere = (attacked.web(place) for place in places)
        of_one = [guess(storm, guesser, spelled[number % 3](number)) for number in range(12)]
        of_many = [guess(storm, everywhere, f"nobody{number}") for number in range(52)]
        later = guess(storm, guesser, MANY[0])
        query = "SELECT username, tries FROM accounts_failedlogin WHERE host(address) = ANY(%s)"
        rows = set(attacked.service.rows(query, places))
        return [of_one, of_many, later, people.log_in(elsewhere, MANY[0])[0], rows]

    with storming() as storm:
        found = in_one_window(partial(tries, storm))
        assert found == [10 * [200] + 2 * [429], 50 * [200] + 2 * [429], 429, 302, {(MANY[0], 10), ("", 50)}]


def test_many_log_in_at_once(storming: Storming, attacked: Attacked) -> None:
    with storming() as storm, ThreadPoolExecutor(16) as threads:
        web = attacked.web("127.0.0.70")
        told = list(threads.map(lambda name: people.log_in(web, name)[0], MANY))
        storm.told.update(told)
        assert set(told) == {302}


CURSORS = ["text", "\x00", "9" * 5000, "2024-13-45", "1.5"]
BODIES = [
    b"[" * 50_000,
    b"[" * 30_000 + b"]" * 30_000,
    b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
    b'{"name": "\\ud800"}',
    b'{"\\udfff": 1}',
    b'{"name": "\xed\xa0\x80"}',
    b"\xff\xfe",
    b'{"name": ' + b"1" * 5_000 + b"}",
]


def test_odd_cookies_and_hosts(storming: Storming) -> None:
    cookies = ['ksched_session="\\000"', "ksched_session=abcdefgh\\000ijklmnop", "ksched_session='; --"]
    with storming() as storm:
        for number in range(60):
            told_as_json(storm.ask(storm.stranger, "GET", "/api/me", Cookie=cookies[number % 3]), 401)
            told_as_json(storm.ask(storm.stranger, "GET", "/api/me", Host="evil.example"), 400)
            with storm.stranger.send(b"GET /api/me HTTP/1.1\r\nHost: localhost\r\nCookie: a=\x00\r\n\r\n") as sent:
                told_as_json(storm.take(tcp.read_answer(sent)), 400)


def test_odd_cursors_and_bodies_of_those_who_are_logged_in(storming: Storming, cast: Cast) -> None:
    eve = cast.stormers[0]
    lists = ["/api/clusters", "/api/tokens", *(f"/api/clusters/{cast.stormed}/{name}" for name in ("roles", "events"))]
    with storming() as storm:
        for path in lists:
            for position in CURSORS:
                cursor = base64.b64encode(urlencode({"p": position}).encode()).decode()
                answer = storm.ask(eve, "GET", f"{path}?{urlencode({'cursor': cursor})}")
                assert answer.status == 200 or told_as_json(answer, 400, 403, 422)
        for body in BODIES:
            answer = storm.ask(eve, "PATCH", f"/api/clusters/{cast.stormed}", body, Content_Type="application/json")
            told_as_json(answer, 400)
            assert len(answer.body) < 10_000


def in_one_window(work: Callable[[int], T]) -> T:
    """What comes of it in one of the fixed windows in which tries are counted; it is given the number of the turn."""
    for turn in range(WINDOWS):
        window = time.time() // settings.LOGIN_WINDOW_SECONDS
        found = work(turn)
        if time.time() // settings.LOGIN_WINDOW_SECONDS == window:
            return found
    raise AssertionError("a turn takes longer than a window")
