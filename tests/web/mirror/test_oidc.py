"""A kubeconfig that uses OIDC: a token that has run out is renewed at its issuer, and the new one is kept."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from kschedweb.mirror.source import Source, SourceError
from scheduler_core.following.kinds import Collected
from tests.web.mirror.conftest import https


def jwt(name: str, expires_in: float) -> str:
    """A token as issuers make them; nobody here looks at its signature."""

    def part(value: Any) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    return ".".join([part({"alg": "none"}), part({"sub": name, "exp": int(time.time() + expires_in)}), "x"])


class Issuer:
    """Renews tokens; also the API server that asks for the new one."""

    def __init__(self) -> None:
        self.new = jwt("new", 3600)
        self.asked: list[dict[str, list[str]]] = []
        self.tokens: list[str] = []
        self.url = ""

    def handler(self) -> type[BaseHTTPRequestHandler]:
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: object) -> None:
                pass

            def do_GET(self) -> None:
                if self.path.endswith("/.well-known/openid-configuration"):
                    return self.answer(200, {"token_endpoint": f"{issuer.url}/token"})
                issuer.tokens.append(self.headers.get("Authorization", ""))
                is_new = issuer.tokens[-1] == f"Bearer {issuer.new}"
                return self.answer(200 if is_new else 401, {"metadata": {"resourceVersion": "1"}, "items": []})

            def do_POST(self) -> None:
                length = int(self.headers.get("Content-Length", 0))
                issuer.asked.append(parse_qs(self.rfile.read(length).decode()))
                self.answer(
                    200,
                    {"id_token": issuer.new, "refresh_token": "second", "token_type": "Bearer", "access_token": "a"},
                )

            def answer(self, code: int, value: Any) -> None:
                content = json.dumps(value).encode()
                self.send_response(code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        return Handler


@contextmanager
def serving(issuer: Issuer, folder: Path) -> Iterator[str]:
    """The issuer over https; its certificate, PEM."""
    with https(issuer.handler(), folder) as (issuer.url, certificate):
        yield certificate


def document(issuer: Issuer, token: str, authority: str, certificate: str) -> dict[str, Any]:
    config = {"client-id": "c", "client-secret": "s", "idp-issuer-url": issuer.url, "id-token": token}
    config |= {"refresh-token": "first"}
    if authority:
        config["idp-certificate-authority-data"] = base64.b64encode(authority.encode()).decode()
    known = base64.b64encode(certificate.encode()).decode()
    return {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {"server": issuer.url, "certificate-authority-data": known}}],
        "users": [{"name": "u", "user": {"auth-provider": {"name": "oidc", "config": config}}}],
    }


def test_token_that_has_run_out_is_renewed_and_kept(tmp_path: Path) -> None:
    issuer, kept = Issuer(), list[dict[str, Any]]()
    with serving(issuer, tmp_path) as certificate:
        source = Source(document(issuer, jwt("old", -60), certificate, certificate), persist=kept.append)
        assert source.page(Collected("Pod"), "")["items"] == []
        source.close()
    assert issuer.tokens == [f"Bearer {issuer.new}"]
    (asked,) = issuer.asked
    assert (asked["grant_type"], asked["refresh_token"]) == (["refresh_token"], ["first"])
    config = kept[-1]["users"][0]["user"]["auth-provider"]["config"]
    assert (config["id-token"], config["refresh-token"]) == (issuer.new, "second")


def test_token_that_is_good_is_used_as_it_is(tmp_path: Path) -> None:
    issuer = Issuer()
    with serving(issuer, tmp_path) as certificate:
        source = Source(document(issuer, issuer.new, certificate, certificate))
        assert source.page(Collected("Pod"), "")["items"] == []
        source.close()
    assert not issuer.asked


def test_issuer_with_a_certificate_nobody_knows_gets_no_token(tmp_path: Path) -> None:
    issuer = Issuer()
    with serving(issuer, tmp_path) as certificate:
        source = Source(document(issuer, jwt("old", -60), "", certificate))
        with pytest.raises(SourceError):
            source.page(Collected("Pod"), "")
        source.close()
    assert not issuer.asked
