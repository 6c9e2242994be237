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


@pytest.mark.parametrize(
    "end, with_token, code",
    [
        pytest.param(log_out, False, LOGGED_OUT, id="its person logs out"),
        pytest.param(delete_session, False, LOGGED_OUT, id="the row of the session is deleted"),
        pytest.param(expire_session, False, LOGGED_OUT, id="the session runs out"),
        pytest.param(change_password, False, LOGGED_OUT, id="the password changes"),
        pytest.param(close_account, False, LOGGED_OUT, id="the account is closed"),
        pytest.param(take_role, False, GONE, id="the role is taken away"),
        pytest.param(delete_role, False, GONE, id="the row of the role is deleted"),
        pytest.param(revoke, True, LOGGED_OUT, id="the token is revoked"),
        pytest.param(expire_token, True, LOGGED_OUT, id="the token runs out"),
        pytest.param(close_account, True, LOGGED_OUT, id="the account of the token is closed"),
        pytest.param(take_role, True, GONE, id="the role of the token's user is taken away"),
    ],
)
async def test_socket_closes_when(
    browse: Browse, gate: CountingGate, person: Person, end: Callable[[Person], None], with_token: bool, code: int
) -> None:
    browser = browse(cookie=None, token=person.secret, origin="") if with_token else browse(cookie=person.cookie)
    assert await browser.connect()
    assert (await browser.message())["type"] == "hello"
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
    going, staying = browse(cookie=person.cookie), browse()
    assert await going.connect() and await staying.connect()
    assert (await staying.message())["type"] == "hello"
    assert (await going.message())["type"] == "hello"
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


@pytest.mark.parametrize(
    "origin, host, opens",
    [
        pytest.param("http://localhost", "localhost", True, id="the same"),
        pytest.param("http://localhost:8480", "localhost:8480", True, id="the same with a port"),
        pytest.param("http://localhost:80", "localhost", True, id="the usual port written out"),
        pytest.param("https://localhost", "localhost", False, id="another scheme"),
        pytest.param("http://localhost:9000", "localhost:8480", False, id="another port"),
        pytest.param("http://127.0.0.1:8480", "localhost:8480", False, id="another name of the same machine"),
        pytest.param("http://elsewhere.example", "elsewhere.example", False, id="a host that is not ours"),
        pytest.param("https://proxy.example", "localhost", True, id="an origin that is trusted"),
        pytest.param("http://proxy.example", "localhost", False, id="a trusted name with another scheme"),
        pytest.param("https://proxy.example:444", "localhost", False, id="a trusted name with another port"),
        pytest.param("https://a.many.example", "localhost", True, id="a name under a trusted pattern"),
        pytest.param(
            "https://a.many.example:444", "localhost", False, id="a name under a trusted pattern, another port"
        ),
        pytest.param("https://a.many.example:443", "localhost", True, id="a name under a trusted pattern, its port"),
        pytest.param("http://a.many.example", "localhost", False, id="a name under a trusted pattern, another scheme"),
        pytest.param("https://many.example.evil", "localhost", False, id="a name that begins like a pattern"),
        pytest.param("http://localhost:x", "localhost", False, id="no number for a port"),
    ],
)
async def test_origin_decides_with_scheme_host_and_port(
    browse: Browse, settings: pytest.FixtureRequest, origin: str, host: str, opens: bool
) -> None:
    settings.CSRF_TRUSTED_ORIGINS = ["https://proxy.example", "https://*.many.example"]  # type: ignore[attr-defined]
    assert await browse(origin=origin, host=host).connect() is opens


@pytest.mark.parametrize(
    "told, ours",
    [
        pytest.param({"x-forwarded-proto": "https"}, True, id="it came by TLS"),
        pytest.param({"x-forwarded-proto": "https, http"}, True, id="it came by TLS to the first of two"),
        pytest.param({"x-forwarded-proto": "http"}, False, id="it did not"),
        pytest.param({}, False, id="nothing"),
    ],
)
def test_scheme_is_what_the_proxy_says(settings: pytest.FixtureRequest, told: dict[str, str], ours: bool) -> None:
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")  # type: ignore[attr-defined]
    headers = {"host": "localhost", "origin": "https://localhost", **told}
    assert is_ours({"scheme": "ws"}, headers) is ours


async def test_token_opens_a_socket_when_there_is_no_origin(browse: Browse, person: Person) -> None:
    assert await browse(cookie=None, origin="", token=person.secret).connect()


@pytest.mark.parametrize(
    "origin, token",
    [
        pytest.param("http://evil.example", "", id="a good token from a foreign page"),
        pytest.param("", "ksched_made-up", id="a token nobody made"),
    ],
)
async def test_token_opens_no_socket_when(browse: Browse, person: Person, origin: str, token: str) -> None:
    assert not await browse(cookie=person.cookie, origin=origin, token=token or person.secret).connect()


async def test_token_in_the_address_opens_no_socket(browse: Browse, person: Person) -> None:
    assert not await browse(f"?token={person.secret}", cookie=None, origin="").connect()
