"""Requests no client of ours sends: each is refused in the API's form, in one line of the log, never with a 500."""

import base64
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.models import User
from django.db import OperationalError
from django.test import Client

from kschedweb.accounts import services as accounts
from kschedweb.cluster import services
from kschedweb.cluster.models import Cluster
from tests.cases import cases
from tests.web import rest

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> Cluster:
    return services.cluster_create(name="c")


def told(answer: Any, status: int) -> dict[str, Any]:
    """The refusal, which has the API's form."""
    assert answer.status_code == status, answer.content[:500]
    assert answer["Content-Type"] == "application/json"
    body: dict[str, Any] = answer.json()
    assert set(body) == {"code", "message", "extra"}
    return body


@pytest.mark.parametrize("key", ['"\\000"', '"abcdefgh\\000ijklmnop"', "'; --", "x" * 5000, "\u00e9" * 20])
@pytest.mark.parametrize("path", ["/api/me", "/login", "/", "/readyz"])
def test_cookie_that_is_no_key_is_no_session(path: str, key: str) -> None:
    answer = Client().get(path, HTTP_COOKIE=f"{django_settings.SESSION_COOKIE_NAME}={key}; ksched_csrf={key}")
    assert answer.status_code in (200, 302, 401, 503 if path == "/readyz" else 200)
    if path == "/api/me":
        told(answer, 401)


@pytest.mark.parametrize("position", ["text", "\x00", "9" * 30, "9" * 5000, "2024-13-45", "1.5", ""])
@pytest.mark.parametrize(
    "path", ["clusters", "tokens", "clusters/{}/roles", "clusters/{}/scheduler-config/versions", "clusters/{}/events"]
)
def test_cursor_of_somebody_elses_making(cluster: Cluster, path: str, position: str) -> None:
    cursor = base64.b64encode(urlencode({"p": position}).encode()).decode()
    answer = rest.logged_in().get(f"/api/{path.format(cluster.pk)}", {"cursor": cursor})
    if answer.status_code != 200:
        assert "cursor" in told(answer, 400)["extra"]["fields"]


@pytest.mark.parametrize("cursor", ["\x00", "no", "\u00e9", "x" * 4000])
def test_cursor_that_is_none(cursor: str) -> None:
    answer = rest.logged_in().get("/api/tokens", {"cursor": cursor})
    assert answer.status_code == 422 if cursor == "\x00" else "cursor" in told(answer, 400)["extra"]["fields"]


@cases(
    "body",
    ("50,000 deep", b"[" * 50_000 + b"]" * 50_000),
    ("50,000 objects deep", b'{"name":' * 50_000 + b"1" + b"}" * 50_000),
    ("lone surrogate", b'{"name": "\\ud800"}'),
    ("lone surrogate in a key", b'{"\\udfff": 1}'),
    ("lone surrogate in UTF-8", b'{"name": "\xed\xa0\x80"}'),
    ("no number", b'{"name": NaN}'),
    ("no UTF-8", b"\xff\xfe"),
)
def test_body_that_is_not_sound_json(body: bytes) -> None:
    client: Any = rest.logged_in()
    for path in ("/api/tokens", "/api/clusters"):
        answer = client.generic("POST", path, body, content_type="application/json")
        assert told(answer, 400)["code"] == "parse_error"


@pytest.mark.parametrize(
    "value", ["%ED%A0%80", "%00", "%FF", "%F4%90%80%80", "a" * 300], ids=["surrogate", "nul", "byte", "beyond", "long"]
)
def test_query_of_any_bytes(cluster: Cluster, value: str) -> None:
    client = rest.logged_in()
    for path in ("events?name=", "attempts?reason=", "attempts?node=", "pending?limit="):
        answer = client.get(f"/api/clusters/{cluster.pk}/{path}{value}")
        assert answer.status_code in (200, 400, 422), answer.content[:300]


def one_line(lines: list[str]) -> str:
    (line,) = lines
    return line


@pytest.mark.parametrize("path", ["/api/me", "/login", "/", "/api/nothing"])
def test_foreign_host_is_one_line_of_the_log(path: str, log_lines: Callable[[], list[str]]) -> None:
    answer = Client().get(path, HTTP_HOST="evil.example")
    if path.startswith("/api/"):
        assert told(answer, 400)["code"] == "bad_request"
    assert answer.status_code == 400
    assert b"evil" not in answer.content and b"<html" not in answer.content
    line = one_line(log_lines())
    assert "evil.example" in line and line.startswith("W"), "what a stranger sends is no failure of ours"


def test_missing_csrf_token_is_refused_in_the_form_of_the_api(log_lines: Callable[[], list[str]]) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.create_superuser("ada"))
    told(client.post("/api/tokens", {"name": "t"}, content_type="application/json"), 403)
    one_line(log_lines())
    page = client.post("/login", {"username": "ada", "password": "x"})
    assert page.status_code == 403 and page["Content-Type"].startswith("text/plain")


def test_other_refusals_have_the_form_of_the_api(cluster: Cluster, log_lines: Callable[[], list[str]]) -> None:
    client: Any = rest.logged_in()
    told(client.get("/api/nothing"), 404)
    told(client.get("/api/clusters/99999999999999999999"), 404)
    told(client.post("/api/me"), 405)
    told(client.generic("POST", "/api/tokens", b"a=1", content_type="text/plain"), 415)
    assert len(log_lines()) == 4


def test_failure_is_told_without_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError("a secret of the inside")

    monkeypatch.setattr("kschedweb.accounts.selectors.tokens_of", fail)
    client = rest.logged_in()
    client.raise_request_exception = False
    assert "secret" not in str(told(client.get("/api/tokens"), 500))


def test_database_that_does_not_answer_is_not_a_failure_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise OperationalError("couldn't get a connection after 10.00 sec")

    monkeypatch.setattr("kschedweb.accounts.selectors.tokens_of", fail)
    assert told(rest.logged_in().get("/api/tokens"), 503)["code"] == "unavailable"


def test_token_list_goes_on_with_its_own_cursor() -> None:
    client = rest.logged_in()
    ada = User.objects.get(username="ada")
    for number in range(3):
        accounts.token_create(user=ada, name=f"t{number}", max_role="viewer", days=1, actor="test")
    names, address = [], "/api/tokens?limit=1"
    while address:
        page = client.get(address).json()
        names += [row["name"] for row in page["results"]]
        address = page["next"]
    assert names == ["t2", "t1", "t0"]
