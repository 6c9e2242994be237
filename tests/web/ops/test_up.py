"""`./ksched up` as a whole: first start, Ctrl-C, second start, killed children, a taken port, a second service."""

import contextlib
import hashlib
import http.client
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kschedweb.environment import ROOT, variables
from kschedweb.ops import supervisor, up
from tests.waiting import HANG_SECONDS, eventually
from tests.web import tcp


class Service:
    """A data directory with the command line on it."""

    def __init__(self) -> None:
        self.data = Path(tempfile.mkdtemp(prefix="ksup-"))
        self.port = tcp.free_port()
        self.process: subprocess.Popen[bytes] | None = None
        self.outputs: list[str] = []  # of each start
        inherited = {name: value for name, value in os.environ.items() if name not in variables()}
        self.environment = {**inherited, "PYTHONPATH": str(ROOT)}
        self.environment.pop("DJANGO_SETTINGS_MODULE", None)

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-P", "-m", "kschedweb.ops.cli", *words, "--data-dir", str(self.data)]

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*words), cwd=ROOT, env=self.environment, capture_output=True, text=True, timeout=HANG_SECONDS
        )

    def up(self) -> None:
        with open(self.data / "output", "wb") as output:
            self.process = subprocess.Popen(
                self.command("up", "--port", str(self.port), "--no-sample"), cwd=ROOT, env=self.environment,
                stdout=output, stderr=output, start_new_session=True,
            )  # fmt: skip
        eventually(lambda: "open http" in self.output or self.ended, lambda: self.output)
        assert not self.ended, self.output
        self.outputs.append(self.output)

    @property
    def ended(self) -> bool:
        return self.process is not None and self.process.poll() is not None

    @property
    def output(self) -> str:
        return (self.data / "output").read_text()

    def pids(self) -> dict[str, int]:
        facts = json.loads(supervisor.status_path(self.data).read_text())
        return {name: process["pid"] for name, process in facts["processes"].items()}

    def close(self) -> None:
        if self.process is not None and not self.ended:
            self.process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(HANG_SECONDS)
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.data, ignore_errors=True)


@pytest.fixture(scope="module")
def of_this_file() -> Iterator[Service]:
    made = Service()
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def service(of_this_file: Service) -> Service:
    """The service, which runs, whatever the test before did to it."""
    if of_this_file.process is None or of_this_file.ended:
        of_this_file.up()
    return of_this_file


def test_first_start_prints_a_password_and_a_link(service: Service) -> None:
    first = service.outputs[0]
    assert re.search(r"user admin, password [0-9a-f-]{19} ", first)
    assert re.search(rf"open http://127\.0\.0\.1:{service.port}/login/once/\S+", first)
    password = re.search(r"password (\S+)", first)
    assert password is not None
    for path in service.data.rglob("*"):
        if path.is_file() and path.name != "output" and "postgres" not in path.parts:
            assert password[1] not in path.read_text(errors="replace"), path


def test_password_of_the_database_is_in_its_private_file_only(service: Service) -> None:
    passfile = service.data / "postgres.pgpass"
    assert stat.S_IMODE(passfile.stat().st_mode) == 0o600
    password = passfile.read_text().strip().rpartition(":")[2]
    assert password
    for name, pid in service.pids().items():
        for fact in ("environ", "cmdline"):
            assert password not in Path(f"/proc/{pid}/{fact}").read_text(), f"{fact} of {name}"


def test_status_names_every_process(service: Service) -> None:
    result = service.run("status")
    assert result.returncode == 0, result.stdout
    for name in ("postgres", "valkey", "web", "scheduler", "binding", "lifecycle", "beat"):
        assert re.search(rf"^  {name} +\d+ ", result.stdout, re.MULTILINE), result.stdout


def test_second_service_on_the_same_data_is_refused(service: Service) -> None:
    result = service.run("up", "--port", "1")
    assert result.returncode == 1
    assert f"in use by another kschedweb (process {service.process.pid})" in result.stderr


def test_taken_port_is_a_clear_error(service: Service) -> None:
    other = Service()
    try:
        result = other.run("up", "--port", str(service.port))
        assert result.returncode == 1
        assert f"cannot listen on 127.0.0.1:{service.port}" in result.stderr
        assert "choose another with --port" in result.stderr
        assert "Traceback" not in result.stderr
        assert not (other.data / "postgres").exists()
    finally:
        other.close()


@pytest.mark.parametrize("name", ["valkey", "postgres", "web", "scheduler", "binding", "lifecycle", "beat"])
def test_killed_process_comes_back_and_the_service_with_it(service: Service, name: str) -> None:
    before = service.pids()
    os.kill(before[name], signal.SIGKILL)
    eventually(lambda: service.pids()[name] not in (None, before[name]))
    eventually(lambda: up.answers_ready("127.0.0.1", service.port))
    after = service.pids()
    assert {other for other in before if before[other] != after[other]} == {name}


def test_killed_supervisor_leaves_nothing_and_the_next_start_works(service: Service) -> None:
    assert service.process is not None
    everything = _descendants(service.process.pid)
    assert len(everything) > 12  # with the children of PostgreSQL, Celery and the web server
    service.process.kill()
    service.process.wait()
    eventually(lambda: not any(map(_alive, everything)), lambda: [*filter(_alive, everything)])
    service.up()
    assert "password" not in service.output
    assert "open http" in service.output


def test_down_stops_everything(service: Service) -> None:
    assert service.process is not None
    everything = _descendants(service.process.pid)
    result = service.run("down")
    assert result.returncode == 0, result.stderr
    assert service.process.wait(HANG_SECONDS) == 0
    assert not any(map(_alive, everything))
    digest = hashlib.sha256(os.fsencode(service.data)).hexdigest()[:8]
    assert not list(Path(tempfile.gettempdir()).glob(f"ksched-*-{digest}"))
    with pytest.raises(OSError):
        http.client.HTTPConnection("127.0.0.1", service.port, timeout=HANG_SECONDS).request("GET", "/")
    assert service.run("status").returncode == 1


def _descendants(pid: int) -> list[int]:
    parents: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            parents.setdefault(int(fields[1]), []).append(int(path.parent.name))
    found, left = [], [pid]
    while left:
        children = parents.get(left.pop(), [])
        found += children
        left += children
    return found


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
