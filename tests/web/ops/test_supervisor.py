"""The supervisor, for real: Ctrl-C from a terminal, killed children, a killed supervisor, a second one."""

import fcntl
import json
import os
import pty
import signal
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kschedweb.environment import ROOT
from kschedweb.ops import supervisor
from tests.waiting import HANG_SECONDS, eventually

PROGRAM = Path(__file__).with_name("supervised.py")
Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start the program on tmp_path; whatever is left of it is killed after the test."""
    started: list[subprocess.Popen[bytes]] = []

    def run(*names: str, **options: object) -> subprocess.Popen[bytes]:
        with open(tmp_path / "output", "ab") as output:
            process = subprocess.Popen(
                [sys.executable, str(PROGRAM), str(tmp_path), *names],
                **{"stdout": output, "stderr": output, "env": {**os.environ, "PYTHONPATH": str(ROOT)}, **options},
            )
        started.append(process)
        eventually(lambda: "running" in _output(tmp_path) or process.poll() is not None)
        return process

    yield run
    for process in started:
        process.kill()
        process.wait()


def test_ctrl_c_stops_everything(start: Start, tmp_path: Path) -> None:
    terminal, inside = pty.openpty()

    def take_terminal() -> None:
        os.setsid()
        fcntl.ioctl(inside, termios.TIOCSCTTY, 0)

    process = start("steady", "first", stdin=inside, preexec_fn=take_terminal)
    pids = _pids(tmp_path)
    grandchild = _grandchild(tmp_path)
    os.write(terminal, b"\x03")
    assert process.wait(HANG_SECONDS) == 0
    assert _output(tmp_path).endswith("stopped\n")
    assert not any(map(_alive, [*pids.values(), grandchild]))
    assert not supervisor.status_path(tmp_path).exists()
    os.close(terminal)
    os.close(inside)


def test_stages_stop_in_reverse_order(start: Start, tmp_path: Path) -> None:
    process = start("first", "second")
    eventually(lambda: len(list(tmp_path.glob("order-ready-*"))) == 2)
    process.terminate()
    assert process.wait(HANG_SECONDS) == 0
    assert (tmp_path / "order").read_text().split() == ["second", "first"]


def test_killed_child_is_started_again_at_once(start: Start, tmp_path: Path) -> None:
    start("steady", "first")
    before, grandchild = _pids(tmp_path), _grandchild(tmp_path)
    os.kill(before["steady"], signal.SIGKILL)
    eventually(lambda: _pids(tmp_path).get("steady") not in (None, before["steady"]))
    assert _pids(tmp_path)["first"] == before["first"]
    eventually(lambda: not _alive(grandchild))
    assert "steady was ended by SIGKILL, starting it again (log" in _output(tmp_path)


def test_child_that_keeps_ending_waits_longer_each_time(start: Start, tmp_path: Path) -> None:
    start("failing")
    eventually(lambda: "again in 1 s" in _output(tmp_path))
    said = [line for line in _output(tmp_path).splitlines() if line.startswith("failing")]
    waits = [line.partition("again")[2].partition("(")[0].strip() for line in said[:3]]
    assert waits == ["", "in 0.5 s", "in 1 s"]
    assert all("failed with code 3" in line for line in said)
    assert _output(tmp_path).count("the log of failing ends: RuntimeError: nothing to do") == 1


def test_killed_supervisor_leaves_nothing_behind(start: Start, tmp_path: Path) -> None:
    process = start("steady", "first")
    left = [*_pids(tmp_path).values(), _grandchild(tmp_path)]
    assert all(map(_alive, left))
    process.kill()
    process.wait()
    eventually(lambda: not any(map(_alive, left)))


def test_second_supervisor_is_refused(start: Start, tmp_path: Path) -> None:
    process = start("first")
    with pytest.raises(supervisor.DataDirectoryInUse) as caught:
        supervisor.take_lock(tmp_path)
    assert caught.value.pid == process.pid == supervisor.holder(tmp_path)
    process.kill()
    process.wait()
    assert supervisor.holder(tmp_path) is None


def test_large_log_is_moved_aside(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "LOG_BYTES", 10)
    (tmp_path / "logs").mkdir()
    log = tmp_path / "logs" / "web.log"
    log.write_text("more than ten bytes")
    watch = supervisor.Supervisor(directory=tmp_path, say=print)
    watch.children.append(supervisor.Child(name="web", launch=lambda: pytest.fail("not started"), stage=1))
    watch._trim_logs()
    assert (log.stat().st_size, log.with_suffix(".log.1").read_text()) == (0, "more than ten bytes")


def _output(directory: Path) -> str:
    path = directory / "output"
    return path.read_text() if path.exists() else ""


def _pids(directory: Path) -> dict[str, int]:
    found = json.loads(supervisor.status_path(directory).read_text())["processes"]
    return {name: process["pid"] for name, process in found.items()}


def _grandchild(directory: Path) -> int:
    path = directory / "grandchild"
    eventually(lambda: path.exists() and path.read_text() != "")
    return int(path.read_text())


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
