"""Counters and histograms of this process, added up and handed to Valkey once a second while there is something.

A batch keeps its number until Valkey has answered, and Valkey takes each number once: neither a lost answer nor a
restart of the connection counts anything twice. While Valkey is away everything is kept and added up here.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from bisect import bisect_left
from collections.abc import Mapping, Sequence

import numpy as np
import orjson
import redis
import structlog
from django.conf import settings

from kschedweb.common.metrics.catalog import CATALOG, METRICS

log = structlog.get_logger(__name__)

PUSH_SECONDS = 1.0
RETRY_SECONDS = 5.0
ANSWER_SECONDS = 2.0
CLUSTERS_KEY = "ksched:metrics"
GAUGES_KEY = "ksched:metrics:gauges"
NO_CLUSTER = 0  # what belongs to none, or to one that is gone
FEW = 16

Series = tuple[str, tuple[str, ...]]
Samples = Mapping[Series, Sequence[float]]
Deltas = dict[int, dict[Series, "list[float]"]]

# KEYS: the batch's number, the set of clusters. ARGV: for each cluster its id, how many fields, field and delta …
_ADD = """
if not redis.call('SET', KEYS[1], '1', 'NX', 'EX', 3600) then return 0 end
local at = 1
while at <= #ARGV do
  local key = KEYS[2] .. ':' .. ARGV[at]
  redis.call('SADD', KEYS[2], ARGV[at])
  local last = at + 1 + 2 * tonumber(ARGV[at + 1])
  for i = at + 2, last, 2 do redis.call('HINCRBYFLOAT', key, ARGV[i], ARGV[i + 1]) end
  at = last + 1
end
return 1
"""
_BOUNDS = {metric.name: np.array(metric.buckets) for metric in METRICS if metric.kind == "histogram"}


class Recorder:
    """One for each process; every thread may record.

    A counter's delta is one number; a histogram's is a number for each bucket, the last for all above, and the sum.
    """

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._deltas: Deltas = {}
        self._gauges: dict[int, bytes] = {}
        self._batch: tuple[str, Deltas] | None = None
        self._dirty = threading.Event()
        self._thread: threading.Thread | None = None
        self._pushing = threading.Lock()

    def count(self, name: str, labels: tuple[str, ...] = (), by: float = 1, *, cluster_id: int = NO_CLUSTER) -> None:
        """Add to a counter."""
        self.add({(name, labels): by}, cluster_id=cluster_id)

    def observe(self, name: str, labels: tuple[str, ...], value: float, *, cluster_id: int = NO_CLUSTER) -> None:
        """One value of a histogram."""
        self.add({}, {(name, labels): (value,)}, cluster_id=cluster_id)

    def add(
        self, counts: Mapping[Series, float], samples: Samples | None = None, *, cluster_id: int = NO_CLUSTER
    ) -> None:
        """Add to many counters and histograms at once."""
        if not counts and not samples:
            return
        with self._lock:
            deltas = self._deltas.setdefault(cluster_id, {})
            for series, by in counts.items():
                deltas.setdefault(series, [0.0])[0] += by
            for series, values in (samples or {}).items():
                _fold(deltas, series, values)
        self._wake()

    def gauges_set(self, cluster_id: int, values: Mapping[str, object]) -> None:
        """What only the leader of a cluster knows of it now; it replaces what was said before."""
        with self._lock:
            self._gauges[cluster_id] = orjson.dumps(values)
        self._wake()

    def push(self) -> bool:
        """Hand over what has been recorded; whether Valkey took it."""
        with self._pushing:
            with self._lock:
                if self._batch is None:
                    self._batch = secrets.token_hex(8), self._deltas
                    self._deltas = {}
                gauges, self._gauges = self._gauges, {}
            number, deltas = self._batch
            try:
                with redis.Redis.from_url(
                    settings.REDIS_URL, socket_timeout=ANSWER_SECONDS, socket_connect_timeout=ANSWER_SECONDS
                ) as client:
                    if deltas:
                        client.eval(_ADD, 2, f"{CLUSTERS_KEY}:batch:{number}", CLUSTERS_KEY, *_arguments(deltas))
                    if gauges:
                        client.hset(GAUGES_KEY, mapping={str(key): value for key, value in gauges.items()})
            except (redis.RedisError, OSError) as error:
                log.debug("metrics not handed over, they are kept", error=str(error))
                with self._lock:
                    self._gauges = gauges | self._gauges
                return False
            self._batch = None
            return True

    def _wake(self) -> None:
        self._dirty.set()
        if self._thread is None:
            with self._lock:
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name="metrics", daemon=True)
                    self._thread.start()

    def _run(self) -> None:
        while True:
            self._dirty.wait()  # nothing wakes an idle process
            time.sleep(PUSH_SECONDS)
            self._dirty.clear()
            if not self.push():
                time.sleep(RETRY_SECONDS)
                self._dirty.set()


def _fold(deltas: dict[Series, list[float]], series: Series, values: Sequence[float]) -> None:
    """Add values to the buckets of a histogram."""
    buckets = CATALOG[series[0]].buckets
    width = len(buckets) + 1
    total = deltas.get(series)
    if total is None:
        total = deltas[series] = [0.0] * (width + 1)
    if len(values) <= FEW:
        for value in values:
            total[bisect_left(buckets, value)] += 1
    else:
        places = np.searchsorted(_BOUNDS[series[0]], np.asarray(values))
        for place, times in enumerate(np.bincount(places, minlength=width).tolist()):
            total[place] += times
    total[width] += sum(values)


def _arguments(deltas: Deltas) -> list[bytes | str]:
    words: list[bytes | str] = []
    for cluster_id, by_series in deltas.items():
        pairs: list[bytes | str] = []
        for (name, labels), numbers in by_series.items():
            for place, number in enumerate(numbers):
                if number:
                    pairs += (field_name(name, labels, place), repr(number))
        words += (str(cluster_id), str(len(pairs) // 2), *pairs)
    return words


def field_name(name: str, labels: Sequence[str], place: int) -> bytes:
    """How one number of a series is called in Valkey."""
    return orjson.dumps([name, labels, place])


RECORDER = Recorder()
os.register_at_fork(after_in_child=RECORDER._reset)
