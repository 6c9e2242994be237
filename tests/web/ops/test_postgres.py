"""The launcher of the embedded PostgreSQL: where binaries come from, what it refuses, what it leaves on disk."""

import os
import shutil
import signal
import stat
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
