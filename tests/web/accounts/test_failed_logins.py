"""Guessing passwords: how often one may, what is written down of it, and that others are not held up meanwhile."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_network
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.auth import hashers as django_hashers
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client

from kschedweb.accounts import hashers, services
from kschedweb.accounts.models import FailedLogin
from kschedweb.accounts.services import logins
from kschedweb.environment import ROOT
from tests.cases import cases
from tests.waiting import HANG_SECONDS
from tests.web import tcp
from tests.web.rest import logged_in

PASSWORD = "engine-of-1843"


@pytest.fixture
def ada(db: None, settings: Any) -> User:
    settings.LOGIN_WINDOW_SECONDS = 10**9  # no window ends while a test tries
    cache.clear()
    return User.objects.create_user("ada", password=PASSWORD)


def login(username: str, password: str = "wrong", **meta: str) -> int:
    return Client().post("/login", {"username": username, "password": password}, **meta).status_code  # type: ignore[arg-type]


@cases(
    "spelled",
    ("blanks before", lambda number: " " * number + "ada"),
    ("wide blanks after", lambda number: "ada" + "\u3000" * number),
    ("many blanks", lambda number: " " * 300 * number + "ada"),
    ("full-width letters", lambda number: "\uff41da" if number % 2 else "a\uff44a"),
)
def test_other_spellings_of_a_name_count_as_one(ada: User, spelled: Callable[[int], str]) -> None:
    codes = [login(spelled(number)) for number in range(11)]
    assert codes == [200] * 10 + [429]
    assert login("ada", PASSWORD) == 429
    assert login("eve") == 200


def test_an_address_may_try_so_many_names(ada: User, settings: Any) -> None:
    settings.LOGIN_TRIES_PER_ADDRESS = 5
    forwarded = [{}, {"HTTP_X_FORWARDED_FOR": "198.51.100.1"}, {"HTTP_X_FORWARDED_FOR": "198.51.100.2"}]
    codes = [login(f"u{number}", REMOTE_ADDR="203.0.113.5", **forwarded[number % 3]) for number in range(6)]
    assert codes == [200] * 5 + [429]
    assert login("ada", PASSWORD, REMOTE_ADDR="203.0.113.5") == 429
    assert login("ada", PASSWORD, REMOTE_ADDR="203.0.113.6") == 302


@cases(
    "forwarded, address",
    ("none", "", "10.0.0.1"),
    ("by our proxy", "198.51.100.1", "198.51.100.1"),
    ("what the client wrote before is not believed", "6.6.6.6, 198.51.100.1", "198.51.100.1"),
    ("two of our proxies", "198.51.100.1, 10.0.0.2", "198.51.100.1"),
    ("no address", "nonsense", "10.0.0.1"),
)
def test_address_behind_our_proxies_is_the_nearest_that_is_none_of_them(
    ada: User, settings: Any, forwarded: str, address: str
) -> None:
    settings.PROXIES = [ip_network("10.0.0.0/8")]
    login("ada", REMOTE_ADDR="10.0.0.1", HTTP_X_FORWARDED_FOR=forwarded)
    assert FailedLogin.objects.get().address == address


def test_failed_logins_are_a_line_of_the_log_and_a_row(ada: User, log_lines: Callable[[], list[str]]) -> None:
    for _ in range(3):
        assert login("ada ", REMOTE_ADDR="203.0.113.5") == 200
    assert login("my-password-by-mistake") == 200
    assert login("a\x00da") == 200
    rows = set(FailedLogin.objects.values_list("username", "address", "tries"))
    assert rows == {("ada", "203.0.113.5", 3), ("", "127.0.0.1", 2)}
    told = [line.partition("] ")[2] for line in log_lines()]
    assert told.count('"login failed" username="ada" address="203.0.113.5"') == 3
    assert told.count('"login failed" username="" address="127.0.0.1"') == 2
    assert not any("mistake" in line for line in told)
    page = logged_in("root").get("/admin/accounts/failedlogin/")
    assert page.status_code == 200 and b"203.0.113.5" in page.content


def test_refused_login_is_one_line_of_the_log(ada: User, log_lines: Callable[[], list[str]]) -> None:
    for _ in range(10):
        login("ada")
    before = len(log_lines())
    assert login("ada") == 429
    assert len(log_lines()) == before + 1
    assert FailedLogin.objects.get().tries == 10


def test_only_the_latest_failed_logins_are_kept(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logins, "ROWS_KEPT", 3)
    for number in range(1, 7):
        services.login_failed(username="ada", address=f"203.0.113.{number}")
    kept = FailedLogin.objects.order_by("id").values_list("address", flat=True)
    assert list(kept) == ["203.0.113.4", "203.0.113.5", "203.0.113.6"]


@pytest.fixture
def production(settings: Any) -> None:
    settings.PASSWORD_HASHERS = ["kschedweb.accounts.hashers.Argon2", "kschedweb.accounts.hashers.Pbkdf2"]


def test_hash_from_before_becomes_argon2_at_the_next_login(ada: User, production: None) -> None:
    ada.password = django_hashers.PBKDF2PasswordHasher().encode(PASSWORD, "salt", iterations=1000)
    ada.save()
    assert login("ada") == 200
    assert User.objects.get().password.startswith("pbkdf2_sha256$")
    assert login("ada", PASSWORD) == 302
    assert User.objects.get().password.startswith("argon2$argon2id$")
    assert login("ada", PASSWORD) == 302


def test_passwords_are_hashed_a_few_at_a_time(production: None, monkeypatch: pytest.MonkeyPatch) -> None:
    lock, inside, most = threading.Lock(), 0, 0
    together = threading.Barrier(hashers.AT_ONCE)

    def encode(self: Any, password: str, salt: str) -> str:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        together.wait(HANG_SECONDS)
        with lock:
            inside -= 1
        return ""

    monkeypatch.setattr(django_hashers.Argon2PasswordHasher, "encode", encode)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: hashers.Argon2().encode("x", "salt"), range(16)))
    assert most == hashers.AT_ONCE


# In a process of its own, whose memory is only this. Threads that come and go hash in turn, as requests do.
HASH = """
import threading
from pathlib import Path
import django
django.setup()
from kschedweb.accounts.hashers import Argon2

def memory():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

Argon2().encode("x", "saltsaltsalt")
before = memory()
threads = [threading.Thread(target=lambda: Argon2().encode("x", "saltsaltsalt")) for _ in range(16)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(memory() - before)
"""


def test_hashing_leaves_no_memory_behind_in_every_thread_that_asked() -> None:
    """An allocator keeps what a thread has given back for that thread."""
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "kschedweb.settings_test"}
    done = subprocess.run([sys.executable, "-c", HASH], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 4 * 19 * 2**20


def test_many_logins_at_once_leave_connections_to_others(
    start_web: Callable[..., tcp.Web], transactional_db: None
) -> None:
    """With the slow hashes from before."""
    encoded = django_hashers.PBKDF2PasswordHasher().encode(PASSWORD, "saltsaltsalt", iterations=200_000)
    User.objects.bulk_create(User(username=f"u{number}", password=encoded) for number in range(8))
    cache.clear()
    web = start_web(KSCHED_DATABASE_POOL="2")

    def log_in(number: int) -> int:
        page = web.get("/login")
        cookie = page.headers["set-cookie"].partition(";")[0]
        form = {"username": f"u{number}", "password": PASSWORD, "csrfmiddlewaretoken": cookie.partition("=")[2]}
        sent = {"Content_Type": "application/x-www-form-urlencoded", "Cookie": cookie}
        return web.ask("POST", "/login", urlencode(form).encode(), **sent).status

    with ThreadPoolExecutor(8) as threads:
        logins_under_way = [threads.submit(log_in, number) for number in range(8)]
        ready = []
        while not all(one.done() for one in logins_under_way):
            ready.append(web.get("/readyz").status)
    assert {one.result() for one in logins_under_way} == {302}, web.log()
    assert set(ready) == {200}
