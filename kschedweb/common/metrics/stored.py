"""What all processes have recorded, as Valkey keeps it: read at a scrape, and kept when a cluster goes.

Numbers of clusters that are gone are added to those of no cluster, so that a counter never falls.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import orjson
import redis
from django.conf import settings

from kschedweb.common.metrics.catalog import CATALOG
from kschedweb.common.metrics.recorder import ANSWER_SECONDS, CLUSTERS_KEY, GAUGES_KEY, NO_CLUSTER

# KEYS: the cluster's numbers, those of none, the set of clusters. ARGV: the cluster's id.
_FOLD = """
local found = redis.call('HGETALL', KEYS[1])
for i = 1, #found, 2 do redis.call('HINCRBYFLOAT', KEYS[2], found[i], found[i + 1]) end
redis.call('DEL', KEYS[1])
redis.call('SREM', KEYS[3], ARGV[1])
return #found
"""


@dataclass(slots=True)
class Stored:
    """`totals`: metric name → (cluster id, labels) → numbers, as the recorder orders them; gauges by cluster id."""

    totals: dict[str, dict[tuple[int, tuple[str, ...]], list[float]]] = field(default_factory=dict)
    gauges: dict[int, dict[str, Any]] = field(default_factory=dict)


def read(*, clusters: Collection[int]) -> Stored:
    """Everything recorded so far, where `clusters` are those there are. Raises RedisError when Valkey is away."""
    stored = Stored()
    with redis.Redis.from_url(
        settings.REDIS_URL, socket_timeout=ANSWER_SECONDS, socket_connect_timeout=ANSWER_SECONDS
    ) as client:
        known = {*clusters, NO_CLUSTER}
        ids = [int(word) for word in client.smembers(CLUSTERS_KEY)]
        for cluster_id in ids:
            if cluster_id not in known:
                keys = (f"{CLUSTERS_KEY}:{cluster_id}", f"{CLUSTERS_KEY}:{NO_CLUSTER}", CLUSTERS_KEY)
                client.eval(_FOLD, 3, *keys, str(cluster_id))
                client.hdel(GAUGES_KEY, str(cluster_id))
        for cluster_id in sorted(known & {*ids, NO_CLUSTER}):
            found: dict[bytes, bytes] = client.hgetall(f"{CLUSTERS_KEY}:{cluster_id}")
            for name, number in found.items():
                _put(stored, cluster_id, orjson.loads(name), float(number))
        gauges: dict[bytes, bytes] = client.hgetall(GAUGES_KEY)
    stored.gauges = {int(cluster_id): orjson.loads(values) for cluster_id, values in gauges.items()}
    return stored


def _put(stored: Stored, cluster_id: int, name: list[Any], number: float) -> None:
    metric = CATALOG.get(name[0])
    if metric is None:
        return  # of another version of the service
    width = len(metric.buckets) + 2 if metric.kind == "histogram" else 1
    place = int(name[2])
    if place < width and len(name[1]) == len(metric.labels):
        series = stored.totals.setdefault(metric.name, {})
        series.setdefault((cluster_id, tuple(name[1])), [0.0] * width)[place] += number
