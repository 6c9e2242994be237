"""`./ksched kubeconfig`: a file that kubectl can use, or nothing at all."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from kschedweb.ops import kubernetes, up
from tests.cases import cases
from tools import cli

HTTP, HTTPS = "http://127.0.0.1:8480", "https://127.0.0.1:8480"
GRANTED = {"user": "kubectl-demo-admin", "name": "demo-admin-1", "token": "s3cret"}
Run = Callable[..., tuple[int, list[Any]]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run the command on a service at that address; its exit code, and what was asked of the database."""

    def command(url: str, *words: str) -> tuple[int, list[Any]]:
        asked: list[Any] = []

        def granting(argv: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
            asked.append(argv)
            then = {"position": "12.34", "time": "2026-11-25T22:55:00Z"} if "--at" in argv else {}
            return subprocess.CompletedProcess(argv, 0, json.dumps(GRANTED | then), "")

        monkeypatch.setattr(up, "read_status", lambda _: {"url": url})
        monkeypatch.setattr(subprocess, "run", granting)
        options = cli.parser().parse_args(["kubeconfig", "demo", *words])
        return kubernetes.kubeconfig(data_dir=tmp_path, options=options), asked

    return command


@cases(
    "url, server",
    ("the service has no TLS", HTTP, None),
    ("the address given has none", HTTPS, "http://ksched.example"),
    ("the address given has no scheme", HTTP, "ksched.example"),
)
@pytest.mark.parametrize("out", [True, False], ids=["to a file", "to stdout"])
def test_nothing_is_made_that_kubectl_could_not_use(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str], url: str, server: str | None, out: bool
) -> None:
    file = tmp_path / "demo.yaml"
    words = [*(["--server", server] if server else []), *(["--out", str(file)] if out else [])]
    assert run(url, *words) == (1, [])
    said = capsys.readouterr()
    assert (said.out, file.exists()) == ("", False)
    assert "https only" in said.err and "./ksched up --tls" in said.err and (server or url) in said.err


@cases(
    "url, server",
    ("the service has TLS", HTTPS, None),
    ("a proxy ends TLS", HTTP, "https://ksched.example"),
)
def test_file_leads_to_the_cluster_and_the_last_line_says_how_its_token_is_ended(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str], url: str, server: str | None
) -> None:
    file = tmp_path / "demo.yaml"
    code, asked = run(url, "--out", str(file), *(["--server", server] if server else []))
    assert (code, len(asked)) == (0, 1)
    assert yaml.safe_load(file.read_text())["clusters"][0]["cluster"]["server"] == f"{server or url}/k8s/demo"
    assert capsys.readouterr().out.splitlines() == [
        f"{file}: admin of demo",
        f"try: kubectl --kubeconfig {file} get nodes",
        "to end the token: ./ksched kubeconfig demo --revoke demo-admin-1",
    ]


def test_file_of_a_moment_leads_to_its_position_and_its_token_may_read_only(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "demo.yaml"
    code, ((*_, cluster, role_word, role, _, _, at_word, at),) = run(HTTPS, "--at", "10m ago", "--out", str(file))
    assert (code, cluster, role_word, role, at_word, at) == (0, "demo", "--role", "viewer", "--at", "10m ago")
    written = yaml.safe_load(file.read_text())
    assert written["clusters"][0]["cluster"]["server"] == f"{HTTPS}/k8s/demo/at/12.34"
    assert written["current-context"] == "demo@12.34"
    assert (
        capsys.readouterr().out.splitlines()[0] == f"{file}: viewer of demo as it was at 12.34 (2026-11-25T22:55:00Z)"
    )


def test_token_is_ended_without_tls_too(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    code, asked = run(HTTP, "--revoke", "demo-admin-1")
    assert (code, len(asked)) == (0, 1)
    assert "no longer good" in capsys.readouterr().out
