"""Open sockets close when what they were opened with ends; pages of other origins open none."""

import asyncio
from collections.abc import Callable
from datetime import timedelta

import pytest
from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from kschedweb import asgi
from kschedweb.accounts import services
from kschedweb.accounts.models import RoleBinding, Token
from kschedweb.cluster.models import Cluster
from kschedweb.live import guard as guards
from kschedweb.live.origin import is_ours
from tests.cases import cases
from tests.waiting import HANG_SECONDS
from tests.web.live.conftest import Browser, CountingGate

Browse = Callable[..., Browser]
LOGGED_OUT, GONE = 4401, 4404


class Person:
    """A viewer of the cluster with a session and a token."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.user = User.objects.create_user("vic", password="only-for-this-test")
        services.role_set(cluster=cluster, username="vic", role="viewer", actor="test")
        self.client = Client()
        self.client.force_login(self.user)
        self.token, self.secret = services.token_create(
            user=self.user, name="watch", max_role="viewer", days=1, actor="test"
        )

    @property
    def cookie(self) -> bytes:
        return f"{settings.SESSION_COOKIE_NAME}={self.client.cookies[settings.SESSION_COOKIE_NAME].value}".encode()


@pytest.fixture
def person(cluster: Cluster) -> Person:
    return Person(cluster)


def log_out(person: Person) -> None:
    person.client.post("/logout")


def delete_session(person: Person) -> None:
    Session.objects.all().delete()


def expire_session(person: Person) -> None:
    Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))


def change_password(person: Person) -> None:
    person.user.set_password("another-one-entirely")
    person.user.save()


def close_account(person: Person) -> None:
    User.objects.filter(pk=person.user.pk).update(is_active=False)


def take_role(person: Person) -> None:
    services.role_remove(cluster=person.cluster, username="vic", actor="test")


def delete_role(person: Person) -> None:
    RoleBinding.objects.all().delete()


def revoke(person: Person) -> None:
    services.token_revoke(user=person.user, token_id=person.token.pk, actor="test")


def expire_token(person: Person) -> None:
    past = timezone.now() - timedelta(days=2)
    Token.objects.update(created_at=past, expires_at=past + timedelta(days=1))


@cases(
    "end, with_token, code",
    ("its person logs out", log_out, False, LOGGED_OUT),
    ("the row of the session is deleted", delete_session, False, LOGGED_OUT),
    ("the session runs out", expire_session, False, LOGGED_OUT),
    ("the password changes", change_password, False, LOGGED_OUT),
    ("the account is closed", close_account, False, LOGGED_OUT),
    ("the role is taken away", take_role, False, GONE),
    ("the row of the role is deleted", delete_role, False, GONE),
    ("the token is revoked", revoke, True, LOGGED_OUT),
    ("the token runs out", expire_token, True, LOGGED_OUT),
    ("the account of the token is closed", close_account, True, LOGGED_OUT),
    ("the role of the token's user is taken away", take_role, True, GONE),
)
async def test_socket_closes_when(
    browse: Browse, gate: CountingGate, person: Person, end: Callable[[Person], None], with_token: bool, code: int
) -> None:
    browser = browse(cookie=None, token=person.secret, origin="") if with_token else browse(cookie=person.cookie)
    await browser.greeted()
    await gate.looked()
    assert await browser.is_open()
    await sync_to_async(end)(person)
    assert await browser.close_code() == code


async def test_socket_of_the_service_closes_after_its_next_look(cluster: Cluster, person: Person) -> None:
    assert guards.LOOK_SECONDS < 5  # as long as an open page may still show what its reader has lost
    """The application as it is served, with its own interval."""
    headers = [(b"host", b"localhost"), (b"origin", b"http://localhost"), (b"cookie", person.cookie)]
    socket = WebsocketCommunicator(asgi.application, f"/ws/clusters/{cluster.pk}/", headers=headers)
    assert (await socket.connect(timeout=HANG_SECONDS))[0]
    await socket.receive_from(timeout=HANG_SECONDS)
    await sync_to_async(log_out)(person)
    while (output := await socket.receive_output(timeout=HANG_SECONDS))["type"] != "websocket.close":
        pass
    assert output["code"] == LOGGED_OUT
    await socket.disconnect()


async def test_others_stay_open_when_one_closes(browse: Browse, gate: CountingGate, person: Person) -> None:
    going, staying = await browse(cookie=person.cookie).greeted(), await browse().greeted()
    await sync_to_async(take_role)(person)
    assert await going.close_code() == GONE
    await gate.looked()
    assert await staying.is_open()


async def test_next_look_comes_when_one_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[list[int] | Exception] = [RuntimeError("the database is away"), [LOGGED_OUT]]

    class Gate:
        def credential(self, scope: object) -> str:
            return "somebody"

        def verdicts(self, watchers: object) -> list[int]:
            answer = answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer

    codes: list[int] = []

    async def end(code: int) -> None:
        codes.append(code)

    guard = guards.Guard(Gate(), look_seconds=0.01)
    guard.watch("socket", ("somebody", 1), end)
    async with asyncio.timeout(HANG_SECONDS):
        while not codes:
            await asyncio.sleep(0.01)
    assert codes == [LOGGED_OUT]
    guard.forget("socket")
    assert guard._task is None


@cases(
    "origin, host, opens",
    ("the same", "http://localhost", "localhost", True),
    ("the same with a port", "http://localhost:8480", "localhost:8480", True),
    ("the usual port written out", "http://localhost:80", "localhost", True),
    ("another scheme", "https://localhost", "localhost", False),
    ("another port", "http://localhost:9000", "localhost:8480", False),
    ("another name of the same machine", "http://127.0.0.1:8480", "localhost:8480", False),
    ("a host that is not ours", "http://elsewhere.example", "elsewhere.example", False),
    ("an origin that is trusted", "https://proxy.example", "localhost", True),
    ("a trusted name with another scheme", "http://proxy.example", "localhost", False),
    ("a trusted name with another port", "https://proxy.example:444", "localhost", False),
    ("a name under a trusted pattern", "https://a.many.example", "localhost", True),
    ("a name under a trusted pattern, another port", "https://a.many.example:444", "localhost", False),
    ("a name under a trusted pattern, its port", "https://a.many.example:443", "localhost", True),
    ("a name under a trusted pattern, another scheme", "http://a.many.example", "localhost", False),
    ("a name that begins like a pattern", "https://many.example.evil", "localhost", False),
    ("no number for a port", "http://localhost:x", "localhost", False),
)
async def test_origin_decides_with_scheme_host_and_port(
    browse: Browse, settings: pytest.FixtureRequest, origin: str, host: str, opens: bool
) -> None:
    settings.CSRF_TRUSTED_ORIGINS = ["https://proxy.example", "https://*.many.example"]  # type: ignore[attr-defined]
    assert await browse(origin=origin, host=host).connect() is opens


@cases(
    "told, ours",
    ("it came by TLS", {"x-forwarded-proto": "https"}, True),
    ("it came by TLS to the first of two", {"x-forwarded-proto": "https, http"}, True),
    ("it did not", {"x-forwarded-proto": "http"}, False),
    ("nothing", {}, False),
)
def test_scheme_is_what_the_proxy_says(settings: pytest.FixtureRequest, told: dict[str, str], ours: bool) -> None:
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")  # type: ignore[attr-defined]
    headers = {"host": "localhost", "origin": "https://localhost", **told}
    assert is_ours({"scheme": "ws"}, headers) is ours


async def test_token_opens_a_socket_when_there_is_no_origin(browse: Browse, person: Person) -> None:
    assert await browse(cookie=None, origin="", token=person.secret).connect()


@cases(
    "origin, token",
    ("a good token from a foreign page", "http://evil.example", ""),
    ("a token nobody made", "", "ksched_made-up"),
)
async def test_token_opens_no_socket_when(browse: Browse, person: Person, origin: str, token: str) -> None:
    assert not await browse(cookie=person.cookie, origin=origin, token=token or person.secret).connect()


async def test_token_in_the_address_opens_no_socket(browse: Browse, person: Person) -> None:
    assert not await browse(f"?token={person.secret}", cookie=None, origin="").connect()
