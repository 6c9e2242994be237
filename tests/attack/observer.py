"""What everybody else sees while a service is stormed, written down by a process of its own.

`python -m tests.attack.observer PORT DATA TOKEN PATH` asks /readyz and PATH (as the user of the token) every 200 ms,
each over a new connection as probes do, and looks at the memory of every process of the service; each finding is a line
of JSON on its standard output. It is a process because the one that storms would count its own waiting (for its
interpreter's lock, for its threads) as the service's.
"""

from __future__ import annotations

import http.client
import json
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from kschedweb.ops import idle

EVERY_SECONDS = 0.2
ANSWER_SECONDS = 60.0
READY, READ, MEMORY = "ready", "read", "memory"


def ask(port: int, path: str, headers: dict[str, str]) -> int:
    """The status of the answer, once all of it is there; 0 when none came."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_SECONDS)
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        answer.read()
        return answer.status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()


def memory(pids: dict[str, int]) -> dict[str, dict[str, int]]:
    """Bytes by process, named as `binding/4711`: it has `rss`, had at most `peak`, and shares `own` with none."""
    names = {"VmRSS:": "rss", "VmHWM:": "peak", "RssAnon:": "own"}
    found = {}
    for name, top in pids.items():
        for pid in (top, *idle.descendants(top)):
            with suppress(OSError):
                rows = [line.split() for line in Path(f"/proc/{pid}/status").read_text().splitlines()]
                sizes = {names[row[0]]: int(row[1]) * 1024 for row in rows if row and row[0] in names}
                if sizes:  # a process that has just ended has none
                    found[f"{name}/{pid}"] = sizes
    return found


def main(words: list[str]) -> None:
    port, data, token, path = int(words[0]), Path(words[1]), words[2], words[3]
    lock = threading.Lock()

    def tell(kind: str, **facts: Any) -> None:
        with lock:
            print(json.dumps({"kind": kind, **facts}), flush=True)

    def asking(kind: str, path: str, headers: dict[str, str]) -> None:
        at = time.monotonic()
        status = ask(port, path, headers)
        tell(kind, at=at, status=status, seconds=time.monotonic() - at)

    def looking() -> None:
        tell(MEMORY, at=time.monotonic(), processes=memory(idle.service_pids(data)))

    threading.Thread(target=_for_ever, args=(lambda: asking(READY, "/readyz", {}),), daemon=True).start()
    known = {"Authorization": f"Bearer {token}"}
    threading.Thread(target=_for_ever, args=(lambda: asking(READ, path, known),), daemon=True).start()
    _for_ever(looking)


def _for_ever(work: Callable[[], None]) -> None:
    while True:
        began = time.monotonic()
        work()
        time.sleep(max(0.0, began + EVERY_SECONDS - time.monotonic()))


if __name__ == "__main__":
    main(sys.argv[1:])
