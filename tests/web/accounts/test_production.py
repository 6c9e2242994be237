"""What a production service refuses to start with, what answers carry, how often one may ask, what the log hides."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import redis
from django.conf import settings as django_settings
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client
from rest_framework.test import APIClient

from kschedweb.accounts import checks
from kschedweb.cluster import services as cluster_services
from kschedweb.common import redaction, throttling
from kschedweb.environment import ROOT
from tests.cases import cases
from tests.waiting import HANG_SECONDS
from tests.web import rest, tcp

PRODUCTION = {
    "DATABASE_URL": "postgresql://ksched:w7Kq-2x@db/ksched",
    "REDIS_URL": "redis://valkey/0",
    "KSCHED_SECRET_KEY": "7Qd0cVnq1yZkX3sLw9mBtR5uJg8hPfEa2oTi6bNrGvC4WxYzAeUy",
    "KSCHED_ALLOWED_HOSTS": "ksched.test",
    "DJANGO_SETTINGS_MODULE": "kschedweb.settings",
}


def run(*words: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("KSCHED_", "DJANGO_"))}
    return subprocess.run(
        [sys.executable, *words], cwd=ROOT, env={**inherited, **PRODUCTION, **environment}, capture_output=True,
        text=True, timeout=HANG_SECONDS,
    )  # fmt: skip


def test_deployment_check_finds_nothing_in_production_settings() -> None:
    result = run("manage.py", "check", "--deploy", "--fail-level", "WARNING")
    assert result.returncode == 0, result.stderr
    assert "no issues (0 silenced)" in result.stdout


def test_web_process_refuses_to_start_and_tells_no_secret() -> None:
    """What else is refused is tested with the environment."""
    secret = "please-changeme-" * 3
    result = run("-m", "kschedweb.ops.web", KSCHED_SECRET_KEY=secret)
    assert result.returncode != 0 and secret not in result.stderr
    assert "cannot start, the environment is not usable:\nKSCHED_SECRET_KEY: " in result.stderr


@cases(
    "password, found",
    ("a well-known one", "admin", ["root"]),
    ("their own name", "root", ["root"]),
    ("one of their own", "well-kept-by-the-owner", []),
    ("none at all", None, []),
)
@pytest.mark.django_db
def test_default_password_is_found_when_an_administrator_has(password: str | None, found: list[str]) -> None:
    User.objects.create_superuser("root", password=password)
    User.objects.create_user("guest", password="guest")
    assert checks.default_passwords() == checks.default_passwords() == found


@pytest.mark.django_db(transaction=True)
def test_web_process_refuses_to_start_with_a_default_password() -> None:
    User.objects.create_superuser("root", password="changeme")
    url = tcp.database_url()
    result = run("-m", "kschedweb.ops.web", DATABASE_URL=url, DJANGO_SETTINGS_MODULE="kschedweb.settings_test")
    assert result.returncode != 0
    assert "the password of root is a default one" in result.stderr


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/", "/login", "/api/me", "/api/clusters", "/api/docs", "/nowhere", "/livez"])
def test_answer_carries_the_security_headers(path: str) -> None:
    answer = rest.logged_in().get(path)
    policy = answer["Content-Security-Policy"]
    assert "default-src 'self'" in policy and "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["X-Frame-Options"] == "DENY"
    assert answer["Referrer-Policy"] == "same-origin"
    assert answer["Cross-Origin-Opener-Policy"] == answer["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "camera=()" in answer["Permissions-Policy"]
    if path.startswith("/api/"):
        assert "no-store" in answer["Cache-Control"]


@pytest.mark.django_db
def test_admin_pages_run_no_script_written_into_them() -> None:
    policy = rest.logged_in().get("/admin/")["Content-Security-Policy"]
    scripts = next(part for part in policy.split("; ") if part.startswith("script-src"))
    assert scripts == "script-src 'self' 'unsafe-eval'"


def test_pages_have_nothing_inline() -> None:
    pages = [*ROOT.glob("kschedweb/*/templates/**/*.html"), ROOT / "frontend" / "dist" / "index.html"]
    assert len(pages) >= 4
    for page in pages:
        text = page.read_text()
        assert "<style" not in text and "style=" not in text and " onclick" not in text, page
        assert all(
            script.startswith((' type="module" crossorigin src=', ' src="')) for script in text.split("<script")[1:]
        )


@pytest.fixture
def rates(monkeypatch: pytest.MonkeyPatch) -> None:
    cache.clear()
    monkeypatch.setattr(throttling, "time", SimpleNamespace(time=lambda: 30.0))  # no minute ends while a test asks
    rates = {"imports": "2/minute", "objects": "3/minute"}
    monkeypatch.setitem(django_settings.REST_FRAMEWORK, "DEFAULT_THROTTLE_RATES", rates)


@pytest.mark.django_db
def test_uploads_are_limited_for_each_user(rates: None) -> None:
    cluster = cluster_services.cluster_create(name="c")
    ada, eve = rest.logged_in("ada"), rest.logged_in("eve")
    codes = [rest.upload(ada, cluster, rest.items(rest.node())).status_code for _ in range(3)]
    assert codes == [201, 201, 429]
    refused = rest.upload(ada, cluster, rest.items(rest.node()))
    assert refused.json()["code"] == "throttled"
    assert 0 < int(refused["Retry-After"]) <= 60
    # Configurations count with imports, single objects for themselves, and other users not at all.
    config = ada.generic("PUT", f"/api/clusters/{cluster.pk}/scheduler-config", b"", content_type="application/yaml")
    assert config.status_code == 429
    posts = [ada.post(f"/api/clusters/{cluster.pk}/objects", rest.node(f"o{i}")).status_code for i in range(4)]
    assert posts == [201, 201, 201, 429]
    assert ada.get(f"/api/clusters/{cluster.pk}/scheduler-config").status_code == 200
    assert rest.upload(eve, cluster, rest.items(rest.node())).status_code == 201


@pytest.mark.django_db
def test_uploads_are_counted_once_for_all_processes(rates: None) -> None:
    """What another process counted is counted: the numbers are in Valkey."""
    cluster = cluster_services.cluster_create(name="c")
    client = rest.logged_in("ada")
    rest.upload(client, cluster, rest.items(rest.node()))
    with redis.Redis.from_url(django_settings.REDIS_URL) as valkey:
        (key,) = [key for key in valkey.scan_iter() if b"rate:imports:" in key]
        assert valkey.incr(key) == 2
        assert 0 < valkey.ttl(key) <= 120
    assert rest.upload(client, cluster, rest.items(rest.node())).status_code == 429


@pytest.mark.django_db
def test_uploads_are_taken_when_nothing_can_be_counted(rates: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: Any, **__: Any) -> None:
        raise redis.ConnectionError("away")

    monkeypatch.setattr(cache, "add", away)
    cluster = cluster_services.cluster_create(name="c")
    codes = {rest.upload(rest.logged_in(), cluster, rest.items(rest.node())).status_code for _ in range(4)}
    assert codes == {201}


@pytest.mark.django_db
def test_guessing_a_password_is_limited(rates: None) -> None:
    User.objects.create_user("ada", password="engine-of-1843")
    client = Client()
    codes = [client.post("/login", {"username": "ada", "password": str(i)}).status_code for i in range(11)]
    assert codes == [200] * 10 + [429]
    # The right one does not help either, until the window is over; others are not held up.
    assert client.post("/login", {"username": "ada", "password": "engine-of-1843"}).status_code == 429
    assert client.post("/login", {"username": "eve", "password": "x"}).status_code == 200


@pytest.mark.parametrize(
    "text, clean",
    [
        ("GET /login/once/aB3-_x HTTP", "GET /login/once/*** HTTP"),
        ("Authorization: Bearer abc.def", "Authorization: Bearer ***"),
        ("token ksched_" + "x" * 43, "token ksched_***"),
        ("Cookie: ksched_session=abc; ksched_csrf=def", "Cookie: ksched_session=***; ksched_csrf=***"),
        ("postgresql://u:p4ss@h/n and redis://:pw@h/0", "postgresql://u:***@h/n and redis://:***@h/0"),
        ("host=h password=pw user=u", "host=h password=*** user=u"),
        ("ksched_session is a cookie, http://h:80/p is no password", None),
    ],
)
def test_log_hides(text: str, clean: str | None) -> None:
    assert redaction.redacted(text) == (text if clean is None else clean)


@pytest.mark.django_db
def test_login_link_and_token_are_not_in_the_log(log_lines: Callable[[], list[str]]) -> None:
    """A refused link and a refused token are warnings of Django's."""
    Client().get("/login/once/s3cret-of-the-link")
    APIClient().get("/api/me", HTTP_AUTHORIZATION="Bearer ksched_" + "s3cret" * 8)
    said = "\n".join(log_lines())
    assert "/login/once/***" in said
    assert "s3cret" not in said


@pytest.mark.django_db
@pytest.mark.parametrize("pump", ["a+", "a://:", "bearer ", "password ", "ksched_"])
def test_long_address_is_one_line_of_the_log_at_once(pump: str, log_lines: Callable[[], list[str]]) -> None:
    began = time.thread_time()
    assert Client().get(f"/{pump * (60_000 // len(pump))}").status_code == 404
    assert time.thread_time() - began < 10
    (line,) = log_lines()
    assert "Not Found: /" in line and len(line) < 30_000


def test_secret_at_the_end_of_what_is_shown_of_a_long_text_is_blotted_out() -> None:
    before = "x" * (redaction.SHOWN - len("postgresql://u:p4s"))
    assert "p4s" not in redaction.redacted(f"{before}postgresql://u:p4ss@host/name {'x' * 100_000}")


def test_data_directory_of_the_service_keeps_its_secrets_private(tmp_path: Path) -> None:
    from kschedweb.ops.supervisor import write_private

    write_private(tmp_path / "secret", "x")
    assert (tmp_path / "secret").stat().st_mode & 0o077 == 0
