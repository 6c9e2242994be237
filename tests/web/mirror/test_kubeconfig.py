"""Which context is meant, what may not come over REST, and how credentials are kept."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
import yaml

from kschedweb.common.errors import InvalidError
from kschedweb.mirror import kubeconfig, sealing
from kschedweb.mirror.source import Source, SourceError
from kschedweb.ops.mirroring import flattened
from scheduler_core.following.kinds import Collected
from tests.cases import cases
from tests.web.mirror.conftest import https


def config(user: dict[str, Any] | None = None, **cluster: Any) -> dict[str, Any]:
    return {
        "current-context": "b",
        "contexts": [
            {"name": "a", "context": {"cluster": "k", "user": "other"}},
            {"name": "b", "context": {"cluster": "k", "user": "u"}},
        ],
        "clusters": [{"name": "k", "cluster": {"server": "https://127.0.0.1:1/", **cluster}}],
        "users": [{"name": "u", "user": user or {"token": "t"}}, {"name": "other", "user": {"token": "secret"}}],
    }


def _choose(document: Any, **given: Any) -> kubeconfig.Chosen:
    return kubeconfig.choose(yaml.safe_dump(document).encode(), **given)


def test_only_the_chosen_context_is_kept() -> None:
    chosen = _choose(config())
    assert (chosen.context, chosen.server) == ("b", "https://127.0.0.1:1")
    assert "secret" not in str(chosen.document)
    assert _choose(config(), context="a").document["users"][0]["name"] == "other"


@cases(
    "document, field",
    ("no object", "text", "expected one document"),
    ("no context", {**config(), "current-context": ""}, "current-context"),
    ("unknown context", {**config(), "current-context": "c"}, "contexts: has no entry named 'c'"),
    ("no cluster", {**config(), "clusters": []}, "clusters: has no entry named 'k'"),
    ("no user", {**config(), "users": None}, "users: has no entry named 'u'"),
    ("no URL", config(server="ftp://x"), "clusters[k].cluster.server"),
    ("provider that is no more", config({"auth-provider": {"name": "gcp"}}), "auth-provider"),
)
def test_what_cannot_be_used_is_refused_with_its_field(document: Any, field: str) -> None:
    with pytest.raises(InvalidError) as refused:
        _choose(document)
    assert field in refused.value.message


@cases(
    "document, field",
    ("program", config({"exec": {"command": "sh"}}), "users[u].user.exec"),
    ("token file", config({"tokenFile": "/etc/shadow"}), "users[u].user.tokenFile"),
    ("key file", config({"client-key": "/k"}), "users[u].user.client-key"),
    ("CA", config(**{"certificate-authority": "/c"}), "clusters[k].cluster.certificate-authority"),
    ("CA of an issuer", config({"auth-provider": {"name": "oidc", "config": {"idp-certificate-authority": "/c"}}}),
     "idp-certificate-authority"),
)  # fmt: skip
def test_programs_and_files_come_from_this_machine_only(document: Any, field: str) -> None:
    with pytest.raises(InvalidError) as refused:
        _choose(document)
    assert field in refused.value.message and "./ksched mirror" in refused.value.message
    assert _choose(document, is_trusted=True).server


def test_credentials_are_stored_encrypted(settings: Any) -> None:
    stored = sealing.sealed(b"token: secret")
    assert b"secret" not in stored and sealing.opened(stored) == b"token: secret"
    settings.SECRET_KEY = "another" * 10
    with pytest.raises(sealing.SealError, match="give the kubeconfig anew"):
        sealing.opened(stored)


def test_named_files_are_taken_along(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("CA")
    found = flattened(config({"tokenFile": "t"}, **{"certificate-authority": "ca.pem"}), tmp_path)
    assert found["clusters"][0]["cluster"]["certificate-authority-data"] == "Q0E="
    assert "certificate-authority" not in found["clusters"][0]["cluster"]
    assert found["users"][0]["user"]["tokenFile"] == str(tmp_path / "t")


def test_program_makes_tokens_and_is_asked_again_when_one_has_run_out(tmp_path: Path) -> None:
    counter = tmp_path / "count"
    program = tmp_path / "tokens"
    program.write_text(
        f"#!/bin/sh\necho x >> {counter}\n"
        'echo \'{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",'
        ' "status": {"token": "t"}}\'\n'
    )
    program.chmod(0o755)
    user = {
        "exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(program), "interactiveMode": "Never"}
    }
    from tests.web.mirror.proxy import Fault, proxying

    with proxying(1) as proxy:
        proxy.plan = lambda _: Fault(status=401)
        document = _choose(config(user, server=f"http://127.0.0.1:{proxy.port}"), is_trusted=True).document
        source = Source(document)
        with pytest.raises(SourceError) as refused:
            source.page(Collected("Pod"), "")
        source.close()
    assert refused.value.code == 401
    assert counter.read_text().count("x") == 2
    assert proxy.verbs == {"GET": 2}


def test_certificate_of_another_is_refused(tmp_path: Path) -> None:
    with https(BaseHTTPRequestHandler, tmp_path) as (server, _):
        source = Source(_choose(config(server=server)).document)
        with pytest.raises(SourceError, match="(?i)certificate"):
            source.page(Collected("Pod"), "")
