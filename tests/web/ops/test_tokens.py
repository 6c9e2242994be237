"""`./ksched token`: what it makes works, its stdout can be put into a variable, and what it ends is over."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from kschedweb.accounts.models import AccessRecord, Token
from kschedweb.environment import ROOT
from kschedweb.ops import beside, tokens, up
from tests.cases import cases
from tests.web import tcp
from tests.web.ops.conftest import ask_here
from tools import cli

URL = "http://127.0.0.1:8480"
Run = Callable[..., int]


@pytest.fixture
def administrator(db: None) -> User:
    User.objects.create_user("ada")
    return User.objects.create_superuser("root")


@pytest.fixture
def run(administrator: User, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run the command in this process, on the database of the test; its exit code."""

    monkeypatch.setattr(beside, "ask", ask_here)
    monkeypatch.setattr(up, "read_status", lambda _: {"url": URL})

    def command(*words: str) -> int:
        return tokens.token(data_dir=tmp_path, options=cli.parser().parse_args(["token", *words]))

    return command


def me(secret: str) -> Any:
    return Client(headers={"Authorization": f"Bearer {secret}"}).get("/api/me")


def test_stdout_is_the_token_and_nothing_else(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("make", "--name", "ci", "--role", "operator", "--days", "7") == 0
    said = capsys.readouterr()
    secret = said.out.removesuffix("\n")
    assert (me(secret).json()["token"], me(secret).json()["username"]) == ("ci", "root")
    token = Token.objects.get()
    days = (token.expires_at - token.created_at).total_seconds() / 86_400
    assert (token.max_role, round(days, 2)) == ("operator", 7)
    lines = said.err.splitlines()
    assert lines[0] == f"token ci of root: at most operator, until {token.expires_at:%Y-%m-%d}"
    assert lines[1] == f'try: curl -H "Authorization: Bearer $TOKEN" {URL}/api/clusters'
    assert lines[2] == "to end it: ./ksched token revoke --name ci"
    assert secret not in said.err


def test_token_without_a_wish_only_reads_and_has_a_name_that_is_free(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    assert [run("make"), run("make")] == [0, 0]
    assert list(Token.objects.order_by("id").values_list("name", "max_role")) == [
        ("token-1", "viewer"), ("token-2", "viewer"),
    ]  # fmt: skip
    assert len(set(capsys.readouterr().out.split())) == 2


def test_token_of_another_user_is_theirs(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("make", "--user", "ada") == 0
    said = capsys.readouterr()
    assert me(said.out.strip()).json()["username"] == "ada"
    assert said.err.splitlines()[2] == "to end it: ./ksched token revoke --name token-1 --user ada"


def test_certificate_of_the_service_is_in_the_line_to_try(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(up, "read_status", lambda _: {"url": "https://h:1", "certificate": "/d/tls.crt"})
    assert run("make") == 0
    line = 'try: curl --cacert /d/tls.crt -H "Authorization: Bearer $TOKEN" https://h:1/api/clusters'
    assert line in capsys.readouterr().err.splitlines()


def test_programs_get_one_document(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("make", "--name", "ci", "--json") == 0
    made = json.loads(capsys.readouterr().out)
    assert (made["user"], made["name"], made["max_role"]) == ("root", "ci", "viewer")
    assert me(made.pop("secret")).status_code == 200
    assert run("list", "--json") == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed["user"] == "root" and listed["tokens"][0]["last_used_at"] is not None
    assert made == {"user": "root", **listed["tokens"][0], "last_used_at": None}
    assert run("revoke", "--name", "ci", "--json") == 0
    assert json.loads(capsys.readouterr().out)["is_over"] is True


def test_list_is_a_table_of_those_that_are_good(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    run("make", "--name", "old")
    run("revoke", "--name", "old")
    run("make", "--name", "ci")
    secret = capsys.readouterr().out.split()[-1]
    assert run("list") == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["NAME", "ROLE", "MADE", "LAST", "USED", "ENDS", "TOKEN"]
    assert [row.split()[0] for row in rows] == ["ci"]
    assert rows[0].endswith(f"…{secret[-4:]}") and " never " in rows[0]
    assert run("list", "--all") == 0
    rows = capsys.readouterr().out.splitlines()[1:]
    assert [(row.split()[0], "revoked" in row) for row in rows] == [("ci", False), ("old", True)]


def test_list_without_a_token_says_so(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("list") == 0
    assert capsys.readouterr().out == "root has no token\n"


def test_revoked_token_is_no_longer_good(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    run("make", "--name", "ci")
    secret = capsys.readouterr().out.strip()
    assert run("revoke", "--name", "ci") == 0
    assert capsys.readouterr().out == "token ci of root is no longer good\n"
    assert me(secret).status_code == 401
    assert list(AccessRecord.objects.order_by("id").values_list("actor", "action", "username")) == [
        ("command-line", "token_created", "root"), ("command-line", "token_revoked", "root"),
    ]  # fmt: skip


@cases(
    "words, said",
    ("name taken", ["make", "--name", "taken"], "there is a token named 'taken' already"),
    ("name that is none", ["make", "--name", "a@b"], "name: must be lower-case letters"),
    ("too long", ["make", "--days", "400"], "days: must be from 1 to 366"),
    ("unknown user", ["make", "--user", "eve"], "there is no such user"),
    ("closed account", ["make", "--user", "gone"], "the account is closed"),
    ("unknown token", ["revoke", "--name", "other"], "root has no token named other"),
    ("no name", ["revoke"], "revoke needs --name"),
)
def test_nothing_is_done_when(run: Run, capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    User.objects.create_user("gone", is_active=False)
    run("make", "--name", "taken")
    capsys.readouterr()
    assert run(*words) == 1
    told = capsys.readouterr()
    assert told.out == "" and told.err.startswith("ksched: ") and said in told.err
    assert Token.objects.filter(revoked_at=None).count() == 1


def test_command_needs_a_service(run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.setattr(up, "read_status", lambda _: None)
    assert run("make") == 1
    told = capsys.readouterr()
    assert told.out == "" and "start it with ./ksched up" in told.err


@pytest.mark.django_db(transaction=True)
def test_command_finds_the_database_of_the_environment(tmp_path: Path, valkey_url: str) -> None:
    User.objects.create_superuser("root")
    words = ["-P", "-m", "kschedweb.ops.cli", "token", "make", "--data-dir", str(tmp_path)]
    known = {"DATABASE_URL": tcp.database_url(), "REDIS_URL": valkey_url, "KSCHED_DEBUG": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, *words], env={**os.environ, **known}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert me(done.stdout.removesuffix("\n")).json()["token"] == "token-1"
