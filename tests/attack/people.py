"""Who takes part: users with passwords, whom the service lets in over REST as it does everybody."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from kschedweb.environment import ROOT
from tests.faults.service import Service
from tests.web import tcp

PASSWORD = "analytical-engine-1843"
# Users are made by whoever runs the service: REST makes none.
_MAKE = """
import sys
from django.contrib.auth.models import User
for name in sys.stdin.read().split():
    User.objects.create_user(name, password="{password}")
"""


@dataclass(frozen=True)
class Person:
    """Somebody logged in, with a session and a token, at an address of their own."""

    name: str
    web: tcp.Web
    cookie: str
    csrf: str
    token: str

    @property
    def bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


def users_create(service: Service, names: list[str]) -> None:
    """Accounts with PASSWORD and no role."""
    words = [sys.executable, "manage.py", "shell", "--verbosity", "0", "-c", _MAKE.format(password=PASSWORD)]
    environment = {**service.given_environment, "DJANGO_SETTINGS_MODULE": "kschedweb.settings"}
    subprocess.run(words, cwd=ROOT, env=environment, input=" ".join(names), text=True, check=True)


def log_in(web: tcp.Web, name: str, password: str = PASSWORD) -> tuple[int, str, str]:
    """Status, session cookie and CSRF token of a try to log in; the cookie is empty when it failed."""
    csrf = web.get("/login").cookies["ksched_csrf"]
    form = {"username": name, "password": password, "csrfmiddlewaretoken": csrf}
    sent = {"Content_Type": "application/x-www-form-urlencoded", "Cookie": f"ksched_csrf={csrf}"}
    answer = web.ask("POST", "/login", urlencode(form).encode(), **sent)
    session = answer.cookies.get("ksched_session", "")
    csrf = answer.cookies.get("ksched_csrf", csrf)
    return answer.status, f"ksched_session={session}; ksched_csrf={csrf}" if session else "", csrf


def person_enter(web: tcp.Web, name: str) -> Person:
    """Log in, and make a token that may do what the user may."""
    status, cookie, csrf = log_in(web, name)
    assert status == 302, (name, status)
    person = Person(name, web, cookie, csrf, "")
    made = with_session(person, "POST", "/api/tokens", {"name": "attack", "max_role": "admin"})
    assert made.status == 201, made.body
    return Person(name, web, cookie, csrf, json.loads(made.body)["secret"])


def with_session(person: Person, method: str, path: str, body: Any = None) -> tcp.Answer:
    """As the dashboard asks: with the cookies, and the token that forms need."""
    content = json.dumps(body).encode() if body is not None else b""
    headers = {"Content_Type": "application/json", "Cookie": person.cookie, "X_CSRFToken": person.csrf}
    return person.web.ask(method, path, content, **headers)


def role_give(service: Service, cluster_id: int, name: str, role: str) -> None:
    service.client.call("PUT", f"/api/clusters/{cluster_id}/roles/{name}", json.dumps({"role": role}).encode())
