"""The launcher of the embedded PostgreSQL: where binaries come from, what it refuses, what it leaves on disk."""

import os
import shutil
import signal
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from kschedweb.ops import postgres, processes


@pytest.fixture
def place() -> Iterator[Path]:
    """A short directory (sockets have short names) that every user can pass through."""
    folder = Path(tempfile.mkdtemp(prefix="ksp-"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def serve() -> Iterator[object]:
    """Start a prepared server; stopped after the test."""
    started = []

    def start(server: postgres.Postgres) -> None:
        process = processes.spawn(server.launch(postgres.TEST_OPTIONS), -3)
        started.append(process)
        server.wait_ready()

    yield start
    for process in started:
        processes.stop(process, signal.SIGINT)


@pytest.fixture(scope="module")
def initialised() -> Iterator[Path]:
    """What initdb makes; it takes most of a second."""
    folder = Path(tempfile.mkdtemp(prefix="ksp-"))
    folder.chmod(0o711)
    postgres.prepare(data=folder / "pg", run=folder / "r", sync=False)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def prepared(initialised: Path, place: Path) -> postgres.Postgres:
    """A server on a directory of its own that has never run."""
    for path in (initialised / "pg", initialised / "pg.pgpass"):
        subprocess.run(["cp", "-a", path, place], check=True)
    return postgres.prepare(data=place / "pg", run=place / "r", sync=False)


def test_prepare_makes_a_server_that_answers(place: Path, serve) -> None:
    server = postgres.prepare(data=place / "d" / "pg", run=place / "r", sync=False)
    serve(server)
    server.create_database()
    server.create_database()  # harmless
    with psycopg.connect(server.url()) as connection:
        assert connection.execute("SHOW listen_addresses").fetchone() == ("",)
        assert connection.info.server_version // 10000 == postgres.major_version(server.binaries)
    assert stat.S_IMODE(server.data.stat().st_mode) == 0o700
    assert stat.S_IMODE(server.run.stat().st_mode) == 0o700


def _connect_without_password(server: postgres.Postgres) -> None:
    psycopg.connect(host=str(server.run), user=postgres.USER, dbname="postgres", passfile=os.devnull)


def test_server_asks_everybody_for_the_password_in_its_private_file(
    place: Path, prepared: postgres.Postgres, serve
) -> None:
    server = prepared
    serve(server)
    with psycopg.connect(server.url("postgres")) as connection:
        methods = connection.execute("SELECT DISTINCT auth_method FROM pg_hba_file_rules").fetchall()
        stored = connection.execute("SELECT rolpassword FROM pg_authid WHERE rolname = %s", [postgres.USER]).fetchone()
    assert methods == [("scram-sha-256",)]
    assert stored is not None and stored[0].startswith("SCRAM-SHA-256$")
    with pytest.raises(psycopg.OperationalError, match="no password supplied"):
        _connect_without_password(server)
    assert stat.S_IMODE(server.passfile.stat().st_mode) == 0o600
    assert server.passfile.stat().st_uid == os.geteuid()


def test_prepare_closes_a_data_directory_that_trusted_everybody(
    place: Path, prepared: postgres.Postgres, serve
) -> None:
    server = prepared
    rules = server.data / "pg_hba.conf"
    rules.write_text("local all all trust\nlocal replication all trust\n")
    server.passfile.unlink()
    server = postgres.prepare(data=place / "pg", run=place / "r", sync=False)
    assert "trust" not in rules.read_text()
    assert rules.stat().st_uid == server.data.stat().st_uid
    serve(server)
    with pytest.raises(psycopg.OperationalError, match="no password supplied"):
        _connect_without_password(server)


def test_prepare_keeps_the_password_and_makes_its_file_private_again(
    place: Path, prepared: postgres.Postgres, serve
) -> None:
    server = prepared
    before = server.passfile.read_text()
    server.passfile.chmod(0o644)  # as a copy of the directory may be
    server = postgres.prepare(data=place / "pg", run=place / "r", sync=False)
    assert server.passfile.read_text() == before
    serve(server)


def test_prepare_makes_another_password_when_the_file_is_gone(place: Path, prepared: postgres.Postgres, serve) -> None:
    server = prepared
    before = server.passfile.read_text()
    server.passfile.unlink()
    server = postgres.prepare(data=place / "pg", run=place / "r", sync=False)
    assert server.passfile.read_text() != before
    serve(server)


def test_password_of_another_data_directory_is_a_clear_error(place: Path, prepared: postgres.Postgres, serve) -> None:
    server = prepared
    server.passfile.write_text(server.passfile.read_text().strip() + "x\n")
    with pytest.raises(postgres.PostgresProblem, match=f"{server.passfile}.*remove it"):
        serve(server)


def test_prepare_says_why_the_password_could_not_be_set(place: Path, prepared: postgres.Postgres) -> None:
    server = prepared
    server.passfile.unlink()
    (server.data / "global" / "pg_control").write_bytes(b"")
    with pytest.raises(postgres.PostgresProblem, match=r"could not be given a password:\n.*pg_control"):
        postgres.prepare(data=place / "pg", run=place / "r", sync=False)
    assert not server.passfile.exists()


def test_programs_of_postgresql_are_given_no_secrets(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    printing = place / "bin"
    printing.mkdir()
    for program in ("postgres", "initdb"):
        (printing / program).write_text("#!/bin/sh\nenv\nexit 1\n")
        (printing / program).chmod(0o755)
    monkeypatch.setenv("KSCHED_POSTGRES_BIN", str(printing))
    monkeypatch.setenv("KSCHED_SECRET_KEY", "signs sessions")
    monkeypatch.setenv("PGPASSWORD", "of another server")
    with pytest.raises(postgres.PostgresProblem, match="initdb failed") as caught:
        postgres.prepare(data=place / "pg", run=place / "r")
    assert f"PATH={os.environ['PATH']}" in str(caught.value)
    assert "KSCHED_" not in str(caught.value)
    assert "PGPASSWORD" not in str(caught.value)


def test_prepare_starts_over_when_initdb_was_interrupted(place: Path, serve) -> None:
    half = place / "pg.part"
    half.mkdir()
    (half / "PG_VERSION").write_text("18")
    (half / "base").mkdir()
    server = postgres.prepare(data=place / "pg", run=place / "r", sync=False)
    assert not half.exists()
    serve(server)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has to become another user")
def test_prepare_uses_a_user_namespace_when_no_other_user_can_reach_the_data(place: Path, serve) -> None:
    hidden = place / "home"
    hidden.mkdir(mode=0o700)
    if not postgres._namespaces_work():
        with pytest.raises(postgres.PostgresProblem, match="choose a --data-dir"):
            postgres.prepare(data=hidden / "pg", run=place / "r", sync=False)
        return
    server = postgres.prepare(data=hidden / "pg", run=place / "r", sync=False)
    assert server.user is None
    assert server.prefix == postgres.NAMESPACE
    serve(server)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has to become another user")
def test_prepare_copies_the_binaries_when_only_they_cannot_be_reached(
    place: Path, serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    reachable = postgres._reachable
    wheel = postgres.find_binaries()
    monkeypatch.setattr(postgres, "_reachable", lambda *paths: wheel not in paths and reachable(*paths))
    monkeypatch.setattr(postgres, "_namespaces_work", lambda: False)
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    server = postgres.prepare(data=place / "pg", run=place / "r", sync=False)
    assert server.binaries.is_relative_to(place)
    serve(server)


def test_prepare_refuses_data_of_another_major_version_and_says_how_to_dump_it(place: Path) -> None:
    data = place / "pg"
    data.mkdir()
    (data / "PG_VERSION").write_text("99\n")
    with pytest.raises(postgres.PostgresProblem) as caught:
        postgres.prepare(data=data, run=place / "r")
    assert "made by PostgreSQL 99" in str(caught.value)
    assert f"pg_dumpall --host={place / 'r'}" in str(caught.value)


def test_prepare_refuses_a_socket_path_that_is_too_long(place: Path) -> None:
    with pytest.raises(postgres.PostgresProblem, match="too long"):
        postgres.prepare(data=place / "pg", run=place / ("x" * 100))


def test_find_binaries_takes_the_named_directory_first(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "postgres").touch()
    monkeypatch.setenv("KSCHED_POSTGRES_BIN", str(place))
    assert postgres.find_binaries() == place


def test_find_binaries_refuses_a_named_directory_without_them(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KSCHED_POSTGRES_BIN", str(place))
    with pytest.raises(postgres.PostgresProblem, match="KSCHED_POSTGRES_BIN"):
        postgres.find_binaries()


def test_find_binaries_takes_the_wheel_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KSCHED_POSTGRES_BIN", raising=False)
    assert postgres.find_binaries().parent.name == postgres.WHEEL_INSTALL
