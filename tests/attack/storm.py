"""A service that is stormed: its observer, and one storm after the other, each judged by itself.

    with attacked.storm() as storm:
        answer = storm.ask(storm.stranger, "GET", "/api/" + 60_000 * "x")

What stormers ask goes through the storm, which counts what they are told: a refusal is to be one line of the log.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from kschedweb.environment import ROOT
from kschedweb.ops import idle
from kschedweb.ops.processes import wait_until
from tests.attack import judgement
from tests.attack.observer import EVERY_SECONDS
from tests.attack.people import Person
from tests.faults.service import Service
from tests.waiting import HANG_SECONDS
from tests.web import tcp

T = TypeVar("T")
STRANGER = "127.0.0.66"  # whom nobody knows


@dataclass
class Storm:
    """One storm under way."""

    stranger: tcp.Web
    told: Counter[int] = field(default_factory=Counter)
    refusals: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def ask(self, who: tcp.Web | Person, method: str, path: str, body: bytes = b"", **headers: str) -> tcp.Answer:
        """One request of a stormer, a person's with their token."""
        if isinstance(who, Person):
            return self.take(who.web.ask(method, path, body, **{**who.bearer, **headers}))
        return self.take(who.ask(method, path, body, **headers))

    def take(self, answer: tcp.Answer, *, refused: bool | None = None) -> tcp.Answer:
        """Count an answer that came otherwise; `refused` where its status does not tell."""
        with self._lock:
            self.told[answer.status] += 1
            self.refusals += answer.status >= 400 if refused is None else refused
        return answer

    def at_once(self, number: int, work: Callable[[int], T], *, threads: int = 8) -> list[T]:
        """So many of them, a few at a time; what each came to."""
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(work, range(number)))


@dataclass
class Attacked:
    """The service and who watches it; `is_timed` as for judgement.problems."""

    service: Service
    is_timed: bool
    written: Path
    _observer: subprocess.Popen[bytes] | None = None

    def observe(self, innocent: Person, path: str) -> None:
        """Have the observer ask /readyz, and this path as that user; from when this returns on."""
        words = [str(self.service.port), str(self.service.data), innocent.token, path]
        with open(self.written, "wb") as output:
            self._observer = subprocess.Popen(
                [sys.executable, "-m", "tests.attack.observer", *words], cwd=ROOT, stdout=output
            )
        # The first storm may be over in less time than a process takes to start.
        assert self.sees_from(0.0), "the observer does not begin"

    def close(self) -> None:
        if self._observer is not None:
            self._observer.kill()
            self._observer.wait()

    def web(self, address: str = STRANGER) -> tcp.Web:
        return tcp.Web(self.service.port, self.service.data / "logs" / "web.log", address)

    @contextlib.contextmanager
    def storm(self, tell: Callable[[str], None]) -> Iterator[Storm]:
        """What is done inside is judged when it is over; figures go to `tell`."""
        self._forget_peaks()
        pids, sizes, began = self.service.pids(), self._log_sizes(), time.monotonic()
        storm = Storm(self.web())
        yield storm
        over = time.monotonic()
        seen = self._seen(began, over)
        is_ready = wait_until(lambda: self.web().get("/readyz").status == 200, seconds=HANG_SECONDS)
        wait_until(lambda: self._refusals_logged(sizes) >= storm.refusals, seconds=HANG_SECONDS)
        tell(f"{over - began:.1f} s, answers {dict(sorted(storm.told.items()))}; {seen.figures}")
        after = self.service.pids()
        found = judgement.problems(
            seen,
            told=storm.told,
            refusals=storm.refusals,
            logs=self._logs_since(sizes),
            ended=[name for name, pid in pids.items() if after.get(name) != pid],
            is_timed=self.is_timed,
        )
        found += [] if is_ready else ["/readyz does not say 200 when it is over"]
        assert not found, "\n".join(found)

    def _seen(self, since: float, over: float) -> judgement.Seen:
        """All that was begun since, and something that was begun when it was over: what it leaves is judged too."""
        assert self.sees_from(over), "the observer is gone"
        return self.lines(since, float("inf"))

    def sees_from(self, moment: float) -> bool:
        """Wait until the observer has seen all it looks at after that moment; whether it has."""

        def has_seen() -> bool:
            seen = self.lines(moment, float("inf"))
            return bool(seen.ready and seen.read and seen.looks)

        return wait_until(has_seen, seconds=HANG_SECONDS, pause_seconds=EVERY_SECONDS)

    def lines(self, since: float, until: float) -> judgement.Seen:
        with open(self.written) as lines:
            return judgement.lines_between(lines, since, until)

    def _forget_peaks(self) -> None:
        """Let the kernel count the most memory of each process from now on."""
        for top in idle.service_pids(self.service.data).values():
            for pid in (top, *idle.descendants(top)):
                with contextlib.suppress(OSError):
                    Path(f"/proc/{pid}/clear_refs").write_text("5")

    def _log_sizes(self) -> dict[str, int]:
        return {path.stem: path.stat().st_size for path in (self.service.data / "logs").glob("*.log")}

    def _logs_since(self, sizes: dict[str, int]) -> dict[str, str]:
        found = {}
        for path in (self.service.data / "logs").glob("*.log"):
            with open(path, "rb") as log:
                log.seek(sizes.get(path.stem, 0))
                found[path.stem] = log.read().decode(errors="replace")
        return found

    def _refusals_logged(self, sizes: dict[str, int]) -> int:
        return judgement.refusal_lines(self._logs_since(sizes)["web"])


def told_as_json(answer: tcp.Answer, *statuses: int) -> dict[str, Any]:
    """The refusal, which has one of these statuses and the form of the API."""
    assert answer.status in statuses, (answer.status, answer.body[:300])
    assert answer.headers["content-type"] == "application/json"
    body: dict[str, Any] = json.loads(answer.body)
    assert set(body) == {"code", "message", "extra"}, body
    return body
