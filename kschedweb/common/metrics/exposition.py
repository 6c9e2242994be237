"""Metrics as Prometheus reads them: what is stored, with the gauges of the moment, in the text format.

Without `by_cluster` labels are exactly those of the catalog, and numbers are sums over all clusters; with it each
series has the label `cluster` in front, empty for what belongs to none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector, CollectorRegistry

from kschedweb.common.metrics.catalog import METRICS
from kschedweb.common.metrics.catalog import Metric as Entry
from kschedweb.common.metrics.stored import Stored

CONTENT_TYPE = CONTENT_TYPE_LATEST
Readings = dict[tuple[str, str, tuple[str, ...]], float]
"""(metric, name of the cluster, labels) → a gauge's value."""


class _Families(Collector):
    def __init__(
        self, stored: Stored, gauges: Readings, names: Mapping[int, str], wanted: tuple[Entry, ...], by_cluster: bool
    ) -> None:
        self._stored = stored
        self._gauges = gauges
        self._names = names
        self._wanted = wanted
        self._by_cluster = by_cluster

    def collect(self) -> Iterator[Metric]:
        for entry in self._wanted:
            labels = ("cluster", *entry.labels) if self._by_cluster else entry.labels
            if entry.kind == "gauge":
                gauge = GaugeMetricFamily(entry.name, entry.help, labels=labels)
                for values, number in self._gauges_of(entry).items():
                    gauge.add_metric(values, number)
                yield gauge
            elif entry.kind == "counter":
                counter = CounterMetricFamily(entry.name, entry.help, labels=labels)
                for values, numbers in self._totals_of(entry).items():
                    counter.add_metric(values, numbers[0])
                yield counter
            else:
                histogram = HistogramMetricFamily(entry.name, entry.help, labels=labels)
                for values, numbers in self._totals_of(entry).items():
                    *counts, total = numbers
                    below, buckets = 0.0, []
                    for bound, count in zip((*map(_text, entry.buckets), "+Inf"), counts, strict=True):
                        below += count
                        buckets.append((bound, below))
                    histogram.add_metric(values, buckets, total)
                yield histogram

    def _gauges_of(self, entry: Entry) -> dict[tuple[str, ...], float]:
        found: dict[tuple[str, ...], float] = {}
        for (name, cluster, labels), number in self._gauges.items():
            if name == entry.name:
                values = (cluster, *labels) if self._by_cluster else labels
                found[values] = found.get(values, 0.0) + number
        return dict(sorted(found.items()))

    def _totals_of(self, entry: Entry) -> dict[tuple[str, ...], list[float]]:
        found: dict[tuple[str, ...], list[float]] = {}
        for (cluster_id, labels), numbers in self._stored.totals.get(entry.name, {}).items():
            values = (self._names.get(cluster_id, ""), *labels) if self._by_cluster else labels
            found[values] = [a + b for a, b in zip(found.get(values, [0.0] * len(numbers)), numbers, strict=True)]
        if not found and not entry.labels and not self._by_cluster:
            found[()] = [0.0] * (len(entry.buckets) + 2 if entry.kind == "histogram" else 1)
        return dict(sorted(found.items()))


def render(
    stored: Stored,
    gauges: Readings,
    *,
    names: Mapping[int, str],
    by_cluster: bool = False,
    only: tuple[str, ...] = (),
    with_process: bool = False,
) -> bytes:
    """The text; `only` names the metrics to show, all when empty. `with_process` adds those of the answering one."""
    registry = CollectorRegistry()
    wanted = tuple(entry for entry in METRICS if not only or entry.name in only)
    registry.register(_Families(stored, gauges, names, wanted, by_cluster))
    if with_process:
        ProcessCollector(registry=registry)
    return generate_latest(registry)


def _text(bound: float) -> str:
    return str(int(bound)) if bound == int(bound) else repr(bound)
