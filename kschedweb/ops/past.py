"""The process that answers what is asked about the past: `python -m kschedweb.ops.past DESCRIPTOR`, by the web process.

To make a moment again takes a second of a core or more, and as much memory as a scheduler has. In a process of its own,
which scheduling goes before, nobody in the present waits for it. It is started when the first question comes, again
when it has ended, and ends with the web process.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
from pathlib import Path

from kschedweb import environment
from kschedweb.common import relay
from kschedweb.common.asgi import Application
from kschedweb.ops.processes import Launch, spawn

NICENESS = 10
# Where the kernel shares out processors by session first: niceness counts within one only.
SESSION_NICENESS = Path("/proc/self/autogroup")


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
            if self._control is not None:
                self._control.close()
            self._control, theirs = socket.socketpair()
            with theirs:
                words = (sys.executable, "-m", "kschedweb.ops.past", str(theirs.fileno()))
                launch = Launch(words, cwd=environment.ROOT, descriptors=(theirs.fileno(),))
                self._process = spawn(launch, sys.stdout.fileno())
        return self._control


def main(descriptor: int) -> None:
    os.nice(NICENESS)
    with contextlib.suppress(OSError):
        SESSION_NICENESS.write_text(str(NICENESS))

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
        _, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not descriptors:
            ended.set()
        for each in descriptors:
            task = asyncio.create_task(relay.answer(socket.socket(fileno=each), application))
            answering.add(task)
            task.add_done_callback(answering.discard)

    asyncio.get_running_loop().add_reader(control, come)
    await ended.wait()


if __name__ == "__main__":
    main(int(sys.argv[1]))
