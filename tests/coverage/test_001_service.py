"""Coverage of the documents: what a running scheduler tells of itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from kschedweb.common.metrics.catalog import ATTEMPT_SECONDS, CATALOG, METRICS
from kschedweb.common.metrics.exposition import render
from kschedweb.common.metrics.recorder import Series
from kschedweb.common.metrics.stored import Stored
from kschedweb.scheduling.pod_resources import exposed_pods
from kschedweb.scheduling.runner import meter
from scheduler_core.build import build
from scheduler_core.model.changes import BindingVerdict
from scheduler_core.ports import FirstDraws
from tests.builders import make_node, make_pod
from tests.core.scheduler.harness import Cluster, configure


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


def test_001_metrics_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """metrics table (9 + scheduling_duration)"""
    counted: dict[Series, float] = {}
    sampled: dict[Series, list[float]] = {}

    def add(counts: Mapping[Series, float], samples: Mapping[Series, Sequence[float]], *, cluster_id: int) -> None:
        for series, by in counts.items():
            counted[series] = counted.get(series, 0) + by
        for series, values in samples.items():
            sampled.setdefault(series, []).extend(values)

    monkeypatch.setattr(meter.RECORDER, "add", add)
    monkeypatch.setattr(meter.RECORDER, "gauges_set", lambda *_: None)
    measured = meter.Meter(1, monotonic=lambda: 0.0, sample=lambda: 0.0)
    cluster = Cluster(build(configure(), draws=FirstDraws(), recorder=measured))

    def step(*changes: Any) -> None:
        effects = cluster.step(*changes)
        measured.step_committed(cluster.scheduler.engine, effects, [], kind="apply", epoch=1, seconds=0.0)
        for binding in effects.bindings:
            step(BindingVerdict(binding.pod_uid, binding.node_name, bound=True))

    step(make_node("n").capacity(cpu="2").build())
    step(make_pod("free").build())
    step(*(make_pod(name).req(cpu="1").on("n").phase("Running").build() for name in ("low", "lower")))
    step(make_pod("high").req(cpu="2").priority(9).build())

    assert counted["scheduler_preemption_attempts_total", ()] == 1
    assert sampled["scheduler_preemption_victims", ()] == [2]
    assert counted["scheduler_queue_incoming_pods_total", ("active", "UnschedulablePodAdd")] == 2
    assert counted["scheduler_schedule_attempts_total", ("scheduled", "default-scheduler")] == 1
    assert counted["scheduler_schedule_attempts_total", ("unschedulable", "default-scheduler")] == 1
    assert sampled["scheduler_pod_scheduling_attempts", ()] == [1]
    assert len(sampled["scheduler_scheduling_duration_seconds", ()]) == 1
    attempt = "scheduler_scheduling_attempt_duration_seconds"
    assert {labels[0] for name, labels in sampled if name == attempt} == {"scheduled", "unschedulable"}
    point = "scheduler_framework_extension_point_duration_seconds"
    assert {"PreFilter", "Filter", "PostFilter", "Bind"} <= {labels[0] for name, labels in sampled if name == point}
    plugin = "scheduler_plugin_execution_duration_seconds"
    assert ("NodeResourcesFit", "Filter") in {labels[:2] for name, labels in sampled if name == plugin}


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
