"""Coverage of the documents: what a running scheduler tells of itself, and how it starts."""

from __future__ import annotations

from kschedweb.common.metrics.catalog import ATTEMPT_SECONDS, CATALOG, METRICS
from kschedweb.common.metrics.exposition import render
from kschedweb.common.metrics.stored import Stored
from kschedweb.scheduling import leases
from kschedweb.scheduling.elector import Elector, LeaseTimes
from kschedweb.scheduling.pod_resources import exposed_pods
from tests.builders import make_pod


def test_001_start_sequence() -> None:
    """start sequence, election retry 2 s

    The election comes first: an engine is built by a slice, and there is none before a lease is won.
    """
    woken: list[int] = []
    elector = Elector("a", LeaseTimes(), wake=woken.append)
    assert elector.times.retry_period == 2
    assert elector.lock is leases
    assert elector.led_clusters() == [] and woken == []


def test_001_metrics_table() -> None:
    """metrics table (9 + scheduling_duration)"""
    table = {
        "scheduler_scheduling_duration_seconds": "histogram",
        "scheduler_scheduling_attempt_duration_seconds": "histogram",
        "scheduler_pod_scheduling_attempts": "histogram",
        "scheduler_queue_incoming_pods_total": "counter",
        "scheduler_pending_pods": "gauge",
        "scheduler_preemption_attempts_total": "counter",
        "scheduler_preemption_victims": "histogram",
        "scheduler_framework_extension_point_duration_seconds": "histogram",
        "scheduler_plugin_execution_duration_seconds": "histogram",
    }
    assert {name: CATALOG[name].kind for name in table} == table
    alias = CATALOG["scheduler_scheduling_duration_seconds"]
    assert (alias.labels, alias.buckets) == ((), ATTEMPT_SECONDS)
    text = render(Stored(), {}, names={}).decode()
    for metric in METRICS:
        assert f"# TYPE {metric.name} {metric.kind}\n" in text


def test_001_metrics_count_up_in_buckets() -> None:
    """metrics table (9 + scheduling_duration)"""
    name = "scheduler_pod_scheduling_attempts"
    stored = Stored({name: {(1, ()): [3, 1, 0, 0, 0, 2, 99.0], (2, ()): [1, 0, 0, 0, 0, 0, 1.0]}})
    lines = render(stored, {}, names={}, only=(name,)).decode().splitlines()
    assert [line for line in lines if not line.startswith("#")] == [
        'scheduler_pod_scheduling_attempts_bucket{le="1"} 4.0',
        'scheduler_pod_scheduling_attempts_bucket{le="2"} 5.0',
        'scheduler_pod_scheduling_attempts_bucket{le="4"} 5.0',
        'scheduler_pod_scheduling_attempts_bucket{le="8"} 5.0',
        'scheduler_pod_scheduling_attempts_bucket{le="16"} 5.0',
        'scheduler_pod_scheduling_attempts_bucket{le="+Inf"} 7.0',
        "scheduler_pod_scheduling_attempts_count 7.0",
        "scheduler_pod_scheduling_attempts_sum 100.0",
    ]


def test_004_pod_overhead_metrics() -> None:
    """kube_pod_overhead metrics"""
    pod = make_pod("web").req(cpu="1", memory="1Gi").spec(overhead={"cpu": "250m", "memory": "64Mi"}).on("n1").build()
    lines = exposed_pods([pod]).decode().splitlines()
    labels = f'{{namespace="default",node="n1",pod="web",uid="{pod.uid}"}}'
    assert [line for line in lines if line.startswith("kube_pod_overhead")] == [
        f"kube_pod_overhead_cpu_cores{labels} 0.25",
        f"kube_pod_overhead_memory_bytes{labels} 6.7108864e+07",
    ]
    requested = next(line for line in lines if line.startswith("kube_pod_resource_request{") and 'unit="cores"' in line)
    assert requested.endswith(" 1.25")
