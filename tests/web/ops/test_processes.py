"""What a child process is given of our environment."""

import dataclasses
from pathlib import Path

import pytest

from kschedweb.ops.postgres import Postgres
from kschedweb.ops.processes import Launch, spawn
from kschedweb.ops.valkey import Valkey
from tests.cases import cases
from tests.waiting import HANG_SECONDS

NOWHERE = Path("/nowhere")
SECRETS = {
    "KSCHED_SECRET_KEY": "signs sessions",
    "DATABASE_URL": "postgresql://u:p@h/d",
    "PGPASSWORD": "of another server",
}
HARMLESS = {"PATH": "/usr/bin:/bin", "HOME": "/root", "LANG": "C.UTF-8", "LC_TIME": "C", "TZ": "UTC", "TMPDIR": "/tmp"}


def given(launch: Launch, tmp_path: Path) -> dict[str, str]:
    """The environment that a program launched so finds."""
    output = tmp_path / "environment"
    with open(output, "wb") as file:
        # Not asked of /proc: both servers write their titles over it.
        assert spawn(dataclasses.replace(launch, argv=("env",)), file).wait(HANG_SECONDS) == 0
    return dict(line.split("=", 1) for line in output.read_text().splitlines())


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**SECRETS, **HARMLESS}.items():
        monkeypatch.setenv(name, value)


@cases(
    "launch",
    ("PostgreSQL", Postgres(binaries=NOWHERE, data=NOWHERE, run=NOWHERE).launch()),
    ("Valkey", Valkey(binary=NOWHERE, run=NOWHERE).launch()),
)
def test_databases_are_given_what_they_need_and_no_secrets(launch: Launch, tmp_path: Path) -> None:
    found = given(launch, tmp_path)
    assert HARMLESS.items() <= found.items()
    assert not found.keys() & SECRETS.keys()


def test_our_own_processes_are_given_all_and_what_the_launch_adds(tmp_path: Path) -> None:
    found = given(Launch(argv=(), environment={"ADDED": "yes"}), tmp_path)
    assert {**SECRETS, **HARMLESS, "ADDED": "yes"}.items() <= found.items()
