"""The process that answers what is asked about the past: `python -m kschedweb.ops.past DESCRIPTOR`, by the web process.

To make a moment again takes a second of a core or more, and as much memory as a scheduler has. In a process of its own,
which scheduling goes before, nobody in the present waits for it. It is started when the first question comes, again
when it has ended, and ends with the web process.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import structlog

from kschedweb import environment
from kschedweb.common import relay
from kschedweb.common.asgi import Application
from kschedweb.ops.processes import Launch, spawn

NICENESS = 10
# Where the kernel shares out processors by session first: niceness counts within one only.
SESSION_NICENESS = Path("/proc/self/autogroup")
# Where memory is short the kernel ends this process rather than the web process: of 1000.
FIRST_TO_GO = Path("/proc/self/oom_score_adj"), "500"
# So long a thread that computes (a moment, a large list) keeps the others of its process waiting, each time they want
# to go on: with Python's 5 ms a small request waits ten times over.
SWITCH_SECONDS = 0.0005

log = structlog.get_logger(__name__)


class PastProcess:
    """The process as its parent has it; to be used from the main thread."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    def connected(self) -> socket.socket:
        """A socket to it; OSError when it cannot be had."""
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                socket.send_fds(self._running(), [b"\0"], [theirs.fileno()])
            except BaseException:
                ours.close()
                raise
        return ours

    def _running(self) -> socket.socket:
        if self._control is None or self._process is None or self._process.poll() is not None:
            if self._control is not None and self._process is not None:
                log.warning("the process that reads the past has ended", code=self._process.returncode)
                self._control.close()
            self._control, theirs = socket.socketpair()
            self._control.setblocking(False)  # where too many questions wait there the next is refused
            with theirs:
                words = (sys.executable, "-m", "kschedweb.ops.past", str(theirs.fileno()))
                launch = Launch(
                    words,
                    stop_signal=signal.SIGKILL,  # whatever it was doing, nobody waits for it
                    cwd=environment.ROOT,
                    descriptors=(theirs.fileno(),),
                )
                self._process = spawn(launch, sys.stdout.fileno())
        return self._control


def main(descriptor: int) -> None:
    os.nice(NICENESS)
    sys.setswitchinterval(SWITCH_SECONDS)
    for file, text in ((SESSION_NICENESS, str(NICENESS)), FIRST_TO_GO):
        with contextlib.suppress(OSError):
            file.write_text(text)

    from kschedweb.common.collector import ease, pause

    pause()
    from kschedweb.asgi import application
    from kschedweb.common.memory import give_back_freed

    ease()
    give_back_freed()
    asyncio.run(_serve(socket.socket(fileno=descriptor), application))


async def _serve(control: socket.socket, application: Application) -> None:
    """Answer over each socket that comes, until the other end of `control` is closed."""
    answering: set[asyncio.Task[None]] = set()
    ended = asyncio.Event()

    def come() -> None:
        said, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not said:
            ended.set()
        for each in descriptors:
            task = asyncio.create_task(relay.answer(socket.socket(fileno=each), application))
            answering.add(task)
            task.add_done_callback(answering.discard)

    asyncio.get_running_loop().add_reader(control, come)
    await ended.wait()


if __name__ == "__main__":
    main(int(sys.argv[1]))
