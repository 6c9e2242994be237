"""What processes use of a core, read from /proc."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from kschedweb.ops import idle

BUSY = (
    "import time\ninput()\nend = time.process_time() + {seconds}\nwhile time.process_time() < end: pass\n"
    "print(flush=True)\ntime.sleep(60)"
)
PARENT = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', {code!r}])"


@pytest.fixture
def busy() -> Iterator["subprocess.Popen[bytes]"]:
    """A process whose child, once it is told to, uses half a second of CPU and then sleeps."""
    code = PARENT.format(code=BUSY.format(seconds=0.5))
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield process
        for pid in (*idle.descendants(process.pid), process.pid):
            os.kill(pid, 9)


def test_use_of_a_process_includes_what_is_below_it(busy: "subprocess.Popen[bytes]") -> None:
    def until_done(seconds: float) -> None:
        assert busy.stdin is not None and busy.stdout is not None
        busy.stdin.write(b"\n")
        busy.stdin.flush()
        busy.stdout.readline()

    while not idle.descendants(busy.pid):
        pass
    started = time.monotonic()
    used = idle.usage({"busy": busy.pid}, seconds=1, sleep=until_done)
    passed = time.monotonic() - started
    assert used["busy"] * passed == pytest.approx(0.5, abs=0.2)


def test_sleeping_process_uses_nothing() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", "import time; print(flush=True); time.sleep(60)"], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert idle.usage({"asleep": process.pid}, seconds=0.5)["asleep"] < 0.05
        process.kill()


def test_process_that_is_gone_uses_nothing() -> None:
    with subprocess.Popen([sys.executable, "-c", "pass"]) as process:
        process.wait()
    assert idle.usage({"gone": process.pid}, seconds=0.01) == {"gone": 0.0}
