"""A long time of ordinary and heavy use at once: nothing grows, nobody is refused, everybody sees every frame.

`--long` only. It lasts KSCHED_SOAK_MINUTES (60). Clusters are made, imported into (by requests and by workers),
scheduled and deleted without end; a standing cluster gets and loses pods while viewers watch and others download it.
"""

import os
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import orjson
import pytest

from kschedweb.ops import idle
from kschedweb.ops.processes import wait_until
from tests.attack.conftest import Cast, Storming
from tests.attack.judgement import Seen
from tests.attack.people import role_give
from tests.attack.storm import Attacked, Storm
from tests.faults import workloads
from tests.faults.service import Service
from tests.web.rest import items, pod
from tools.bench.viewers import Viewers

VIEWERS = 20
WARM_SHARE, END_SHARE = 0.25, 0.15  # of the time: what has run that long is warm; the end is compared with just after
GROWTH, GROWTH_BYTES = 1.15, 40_000_000
MORE_CONNECTIONS = 5
KEPT_PODS = 200
EXPORTS = ("attempts.jsonl", "attempts.csv", "events.jsonl", "moves.csv")


@pytest.mark.slow
def test_soak(
    storming: Storming, attacked: Attacked, cast: Cast, record_property: Callable[[str, object], None]
) -> None:
    seconds = 60 * float(os.environ.get("KSCHED_SOAK_MINUTES", "60"))
    service = attacked.service
    standing = service.cluster_create("standing")
    service.upload(standing, workloads.roomy(nodes=20, pods=400).files)
    for person in cast.stormers:
        role_give(service, standing, person.name, "operator")
    with storming() as storm:
        use = Use(service, storm, cast, standing, time.monotonic() + seconds)
        began = time.monotonic()
        with Viewers(port=service.port, token=cast.stormers[1].token, cluster_id=standing, number=VIEWERS) as viewers:
            working = [
                threading.Thread(target=use.until_over, args=(work,), daemon=True)
                for work in (use.import_small, use.import_large, use.change, use.export, use.look)
            ]
            for thread in working:
                thread.start()
            assert wait_until(lambda: time.monotonic() > began + WARM_SHARE * seconds, seconds=seconds)
            connections = use.connections()
            for thread in working:
                thread.join(seconds + 300)
            assert not any(thread.is_alive() for thread in working) and not use.failures, use.failures
            row = service.rows("SELECT rv, seq FROM cluster_cluster WHERE id = %s", standing)[0]
            assert viewers.reached((row[0], row[1]), 60) == VIEWERS
        assert wait_until(lambda: use.grown(connections) == {}, seconds=60), (connections, use.connections())
    seen = attacked.lines(began, began + seconds)
    warm, end = memory_of(seen, began, seconds)
    shown = ", ".join(f"{name} {warm[name] / 1e6:.0f} -> {end[name] / 1e6:.0f}" for name in sorted(warm))
    record_property("figures", f"done {dict(use.done)}; own MB, warm and at the end: {shown}; {use.connections()}")
    grown = {name for name, size in end.items() if size > GROWTH * warm.get(name, 0) + GROWTH_BYTES}
    assert not grown, shown
    service.client.call("DELETE", f"/api/clusters/{standing}")


class Use:
    """What users do meanwhile, each kind in a thread; failures are kept as text."""

    def __init__(self, service: Service, storm: Storm, cast: Cast, standing: int, over: float) -> None:
        self.service, self.storm, self.cast, self.standing, self.over = service, storm, cast, standing, over
        self.done: Counter[str] = Counter()
        self.failures: list[str] = []

    def until_over(self, work: Callable[[int], None]) -> None:
        turn = 0
        while time.monotonic() < self.over and not self.failures:
            try:
                work(turn)
            except BaseException as error:
                self.failures.append(f"{work.__name__}: {error!r}")
            turn += 1
            self.done[work.__name__] += 1

    def import_small(self, turn: int) -> None:
        self._cluster_lives(f"small-{turn}", workloads.mixed(nodes=20, pods=200, seed=turn).files)

    def import_large(self, turn: int) -> None:
        """More than a request takes itself."""
        many = [pod(f"p{number}", annotations={"pad": "x" * 2_000}) for number in range(1_000)]
        self._cluster_lives(f"large-{turn}", [("large.json", orjson.dumps(items(*many)))])
        time.sleep(1)

    def change(self, turn: int) -> None:
        """A few pods come, and those of a while ago go."""
        eve, path = self.cast.stormers[0], f"/api/clusters/{self.standing}/objects"
        made = [pod(f"s{turn}-{number}") for number in range(10)]
        assert self.storm.ask(eve, "POST", path, orjson.dumps(items(*made))).status == 201
        old = turn - KEPT_PODS // 10
        for number in range(10 if old >= 0 else 0):
            assert self.storm.ask(eve, "DELETE", f"{path}/Pod/default/s{old}-{number}").status == 204
        time.sleep(0.5)

    def export(self, turn: int) -> None:
        what = EXPORTS[turn % len(EXPORTS)]
        answer = self.storm.ask(self.cast.stormers[1], "GET", f"/api/clusters/{self.standing}/export/{what}")
        assert answer.status == 200, answer.body[:300]
        time.sleep(1)

    def look(self, turn: int) -> None:
        """A dashboard is opened and closed again."""
        mallory = self.cast.stormers[1]
        for path in ("snapshot/columns", "pending", "summary", "throughput", "slowest"):
            answer = self.storm.ask(mallory, "GET", f"/api/clusters/{self.standing}/{path}")
            assert answer.status == 200, (path, answer.body[:300])
        with Viewers(port=self.service.port, token=mallory.token, cluster_id=self.standing, number=2):
            time.sleep(2)

    def connections(self) -> dict[str, int]:
        """Sessions of PostgreSQL, and open files of the web process."""
        sessions = self.service.count("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
        web = idle.service_pids(self.service.data)["web"]
        return {"sessions": sessions, "files of web": len(os.listdir(f"/proc/{web}/fd"))}

    def grown(self, before: Mapping[str, int]) -> dict[str, int]:
        return {name: now for name, now in self.connections().items() if now > before[name] + MORE_CONNECTIONS}

    def _cluster_lives(self, name: str, files: list[tuple[str, bytes]]) -> None:
        cluster_id = self.service.cluster_create(name)
        self.service.upload(cluster_id, files)
        time.sleep(1)
        self.service.client.call("DELETE", f"/api/clusters/{cluster_id}")


def memory_of(seen: Seen, began: float, seconds: float) -> tuple[dict[str, float], dict[str, float]]:
    """What each kind of process had for itself, in the middle: when it had become warm, and at the end."""

    def between(since: float, until: float) -> dict[str, float]:
        found: dict[str, list[int]] = {}
        for at, processes in seen.looks:
            if began + since * seconds <= at < began + until * seconds:
                for name, size in _by_kind(processes).items():
                    found.setdefault(name, []).append(size)
        return {name: statistics.median(sizes) for name, sizes in found.items()}

    return between(WARM_SHARE, WARM_SHARE + END_SHARE), between(1 - END_SHARE, 1)


def _by_kind(processes: Mapping[str, Mapping[str, Any]]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for name, sizes in processes.items():
        found[name.partition("/")[0]] += sizes["own"]
    return dict(found)
