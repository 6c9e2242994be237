"""A storm: pods arrive while processes are killed or stopped, one after the other as a seed says.

Every pod is sent until the service has taken it. Two workers of each kind that schedules or binds run: those of
`./ksched up`, and one of each that joins them as from another machine. Kills and arrivals have their own threads of
time; a process that is down when its turn comes is taken once it runs again.
"""

import contextlib
import http.client
import json
import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import psycopg

from kschedweb.ops.client import Refused
from kschedweb.ops.processes import wait_until
from tests.faults.service import Service, children, descendants
from tests.waiting import HANG_SECONDS

JOINED = ("scheduler-2", "binding-2")
TARGETS = ("scheduler", "scheduler-2", "binding", "binding-2", "lifecycle", "beat", "web", "valkey", "postgres")
WITH_POOL = ("scheduler", "scheduler-2", "binding", "binding-2", "lifecycle")
BATCH_PODS = 25
LONGEST_STOP_SECONDS = 8.0


@dataclass(frozen=True, slots=True)
class Blow:
    """What is done to whom, in seconds from the beginning; no `stopped_seconds`: killed."""

    at: float
    name: str
    stopped_seconds: float = 0.0


def blows(*, kills: int, stops: int, seconds: float, seed: int) -> list[Blow]:
    """So many over so long, each process about as often as any other; half of those with a pool lose only its child."""
    chance = random.Random(seed)
    names: list[str] = []
    while len(names) < kills + stops:
        names += chance.sample(TARGETS, len(TARGETS))
    is_stop = [True] * stops + [False] * kills
    chance.shuffle(is_stop)
    found = []
    for place, stop in enumerate(is_stop):
        at, name = seconds * (place + chance.random()) / len(is_stop), names[place]
        if stop:
            found.append(Blow(at, name, chance.uniform(0.5, LONGEST_STOP_SECONDS)))
        else:
            found.append(Blow(at, f"{name}/child" if name in WITH_POOL and chance.random() < 0.5 else name))
    return found


@dataclass
class Arrivals:
    """A thread that sends pods in batches over a time, each until it is taken; `wait` says when all are."""

    service: Service
    cluster_id: int
    pods: Sequence[Mapping[str, Any]]
    seconds: float
    sent_again: int = 0
    ended_after: float = 0.0
    refusal: str = ""
    _thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def wait(self) -> None:
        assert self._thread is not None
        self._thread.join(self.longest_seconds)
        assert not self._thread.is_alive() and not self.refusal, f"not taken: {self.refusal}\n{self.service.logs()}"

    @property
    def longest_seconds(self) -> float:
        return self.seconds + 2 * HANG_SECONDS

    @property
    def going_on(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _run(self) -> None:
        began = time.monotonic()
        batches = [self.pods[start : start + BATCH_PODS] for start in range(0, len(self.pods), BATCH_PODS)]
        for place, batch in enumerate(batches):
            time.sleep(max(0.0, began + self.seconds * place / len(batches) - time.monotonic()))
            self.refusal = self._send(batch)
            if self.refusal:
                return
        self.ended_after = time.monotonic() - began

    def _send(self, batch: Sequence[Mapping[str, Any]]) -> str:
        """Until the service has taken it, or the last refusal; a lost answer is looked up before it is sent again."""
        body = json.dumps({"apiVersion": "v1", "kind": "List", "items": batch}).encode()
        names = [pod["metadata"]["name"] for pod in batch]
        deadline, refusal = time.monotonic() + HANG_SECONDS, ""
        while time.monotonic() < deadline:
            try:
                self.service.client.call("POST", f"/api/clusters/{self.cluster_id}/objects", body)
                return ""
            except (Refused, OSError, http.client.HTTPException, ValueError) as error:
                refusal = f"{names[0]} and after: {error!r}"
                with contextlib.suppress(psycopg.OperationalError):
                    if self._are_there(names):
                        return ""
            self.sent_again += 1
            time.sleep(0.3)
        return refusal

    def _are_there(self, names: list[str]) -> bool:
        found = self.service.count(
            "SELECT count(*) FROM cluster_pod WHERE cluster_id = %s AND name = ANY(%s)", self.cluster_id, names
        )
        return found == len(names)


@dataclass
class Storm:
    """Deals blows; `kills` and `stops` by name are what was really dealt."""

    service: Service
    kills: Counter[str] = field(default_factory=Counter)
    stops: Counter[str] = field(default_factory=Counter)
    _frozen: list[tuple[float, str, list[int]]] = field(default_factory=list)

    def deal(self, planned: Sequence[Blow]) -> None:
        """All of them, each at its time or as soon after as its process runs."""
        began = time.monotonic()
        for blow in planned:
            self._rest(until=began + blow.at)
            deadline = time.monotonic() + 60
            while not self._hit(blow):
                assert time.monotonic() < deadline, f"{blow.name} does not come back\n{self.service.logs()}"
                self._rest(until=time.monotonic() + 0.1)
        self.calm()

    def calm(self) -> None:
        """Nobody stays stopped."""
        while self._frozen:
            self._rest(until=self._frozen[0][0])

    def kill(self, *names: str) -> float:
        """Kill all of them at once; when it was, monotonic."""
        for name in names:
            assert self._hit(Blow(0.0, name)), f"{name} does not run"
        return time.monotonic()

    def _hit(self, blow: Blow) -> bool:
        """Whether there was something to hit."""
        kind, _, child = blow.name.partition("/")
        with contextlib.suppress(ProcessLookupError, OSError, ValueError, KeyError):
            pid = self.service.pid(kind)
            pids = [] if pid is None else children(pid) if child else [pid]
            if not pids:
                return False
            if blow.stopped_seconds:
                everything = descendants(pids[0])
                for each in everything:
                    os.kill(each, signal.SIGSTOP)
                self._frozen.append((time.monotonic() + blow.stopped_seconds, kind, everything))
                self._frozen.sort()
                self.stops[kind] += 1
                return True
            for each in pids:
                os.kill(each, signal.SIGKILL)
            self.kills[blow.name] += 1
            return True
        return False

    def _rest(self, *, until: float) -> None:
        """Wait, and meanwhile go on with what was stopped and start again what had joined."""
        while True:
            self.service.revive()
            now = time.monotonic()
            while self._frozen and self._frozen[0][0] <= now:
                for pid in self._frozen.pop(0)[2]:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGCONT)
            if now >= until:
                return
            time.sleep(min(0.1, until - now))


def wait_until_tended(service: Service, ready: Any, *, seconds: float) -> bool:
    """Like `wait_until`, while what joined the service is started again when it ends."""

    def tended() -> bool:
        service.revive()
        try:
            return bool(ready())
        except psycopg.OperationalError:
            return False

    return wait_until(tended, seconds=seconds, pause_seconds=0.1)
