"""Servers for the tests which need them: one PostgreSQL for the whole run, one Valkey for each process of pytest.

Nothing starts before a test asks for it, except with pytest-xdist: there the first process, which outlives the workers,
starts PostgreSQL before them unless only tests were named that need none, or have services of their own.
"""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kschedweb.common import collector
from kschedweb.ops import postgres, processes, valkey
from tests import examples

RUN_DIR = Path(os.environ["KSCHED_TEST_RUN_DIR"])
SERVICE_FOLDERS = ("browser", "faults", "attack")
WITHOUT_POSTGRES = ("core", *SERVICE_FOLDERS)
COMMITTING = {"transactional_db", "committed", "start_process"}  # fixtures
IS_XDIST_WORKER = "PYTEST_XDIST_WORKER" in os.environ
_servers: list[tuple[subprocess.Popen[bytes], signal.Signals]] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run the tests marked slow as well")


def pytest_configure(config: pytest.Config) -> None:
    collector.pause()
    if config.getoption("--long"):
        examples.try_many()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if runs_a_service(item):
            item.add_marker("service")
    if config.getoption("--long"):
        return
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason="slow: run with --long"))


def pytest_collection_finish() -> None:
    collector.ease()


def runs_a_service(item: pytest.Item) -> bool:
    """Whether a test has a running service, processes or threads, which see only rows that are committed."""
    folder = item.path.relative_to(Path(__file__).parent).parts[0]
    if folder != "web":
        return folder in SERVICE_FOLDERS
    marker = item.get_closest_marker("django_db")
    commits = marker is not None and bool(marker.kwargs.get("transaction"))
    return commits or not COMMITTING.isdisjoint(getattr(item, "fixturenames", ()))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What tests measured: `record_property("figures", text)`, from whichever process they ran in."""
    told = [
        (report.nodeid.partition("::")[2], text)
        for report in terminalreporter.stats.get("passed", ())
        for name, text in getattr(report, "user_properties", ())
        if name == "figures"
    ]
    if told:
        terminalreporter.section("figures")
        for test, text in told:
            terminalreporter.write_line(f"{test}\n{text}")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config) -> None:
    needless = {Path(__file__).parent / name for name in WITHOUT_POSTGRES}
    named = [Path(argument.partition("::")[0]).resolve() for argument in config.args]
    if not all(needless & {path, *path.parents} for path in named):
        start_postgres()


def pytest_unconfigure(config: pytest.Config) -> None:
    for process, stop_signal in reversed(_servers):
        processes.stop(process, stop_signal)
    _servers.clear()
    if not IS_XDIST_WORKER:
        shutil.rmtree(RUN_DIR, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_url() -> str:
    """The address of the run's PostgreSQL (its database is the one pytest-django derives the test database from)."""
    url = os.environ["DATABASE_URL"]
    if str(RUN_DIR) in url and not IS_XDIST_WORKER:
        start_postgres()
    return url


@pytest.fixture(scope="session")
def valkey_url() -> Iterator[str]:
    """The address of this process's own Valkey."""
    url = os.environ["REDIS_URL"]
    if str(RUN_DIR) not in url:
        yield url
        return
    server = valkey.prepare(run=Path(url.removeprefix("unix://")).parent)
    with open(server.run / "log", "wb") as log:
        process = processes.spawn(server.launch(), log)
    try:
        server.wait_ready()
        yield url
    finally:
        processes.stop(process, signal.SIGTERM)


def start_postgres() -> None:
    """Start the run's PostgreSQL in this process, once."""
    if _servers or str(RUN_DIR) not in os.environ["DATABASE_URL"]:
        return
    RUN_DIR.mkdir(exist_ok=True, mode=0o711)
    server = postgres.prepare(data=RUN_DIR / "data" / "postgres", run=RUN_DIR / "pg", sync=False)
    with open(RUN_DIR / "postgres.log", "wb") as log:
        process = processes.spawn(server.launch(postgres.TEST_OPTIONS), log)
    _servers.append((process, signal.SIGINT))
    server.wait_ready()
