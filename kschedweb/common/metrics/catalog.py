"""Every metric by name: type, labels, buckets, and what it tells.

Names, labels and buckets are kube-scheduler's where it has the metric; `_seconds` are seconds.
Source: kubernetes v1.34.1, pkg/scheduler/metrics/metrics.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["counter", "gauge", "histogram"]


def exponential(start: float, factor: float, count: int) -> tuple[float, ...]:
    """`count` bounds of buckets: start, start × factor, …"""
    return tuple(float(f"{start * factor**i:.12g}") for i in range(count))


@dataclass(frozen=True, slots=True)
class Metric:
    """`buckets` are the upper bounds of a histogram, without infinity."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


ATTEMPT_SECONDS = exponential(0.001, 2, 15)
POINT_SECONDS = exponential(0.0001, 2, 12)
PLUGIN_SECONDS = exponential(0.00001, 1.5, 20)
LONG_SECONDS = exponential(0.01, 2, 20)


def _counter(name: str, help: str, *labels: str) -> Metric:
    return Metric(name, "counter", help, labels)


def _gauge(name: str, help: str, *labels: str) -> Metric:
    return Metric(name, "gauge", help, labels)


def _histogram(name: str, buckets: tuple[float, ...], help: str, *labels: str) -> Metric:
    return Metric(name, "histogram", help, labels, buckets)


METRICS = (
    _counter(
        "scheduler_schedule_attempts_total",
        "Attempts to schedule pods, by the result. 'unschedulable' means a pod could not be scheduled, 'error' that"
        " something went wrong inside.",
        "result",
        "profile",
    ),
    _histogram(
        "scheduler_scheduling_attempt_duration_seconds",
        ATTEMPT_SECONDS,
        "From taking a pod off the queue until it is bound, or until its failure is handled.",
        "result",
        "profile",
    ),
    _histogram(
        "scheduler_scheduling_duration_seconds",
        ATTEMPT_SECONDS,
        "The same of pods that were scheduled, under its older name.",
    ),
    _histogram(
        "scheduler_scheduling_algorithm_duration_seconds",
        ATTEMPT_SECONDS,
        "Finding a node for a pod; with what PostFilter does when there is none.",
    ),
    _histogram(
        "scheduler_event_handling_duration_seconds",
        POINT_SECONDS,
        "Taking over one change of the cluster, by event.",
        "event",
    ),
    _histogram("scheduler_preemption_victims", exponential(1, 2, 7), "Victims of a preemption."),
    _counter("scheduler_preemption_attempts_total", "How often DefaultPreemption looked for victims."),
    _gauge(
        "scheduler_pending_pods",
        "Pods waiting to be scheduled: ready in 'active', sitting out their penalty in 'backoff', tried in vain in"
        " 'unschedulable'; 'gated' ones were never attempted, a PreEnqueue plugin holds them back.",
        "queue",
    ),
    _gauge("scheduler_inflight_events", "Events kept for pods that are being scheduled.", "event"),
    _gauge(
        "scheduler_goroutines",
        "Pieces of work under way at once. Bindings run beside the scheduling cycle; the other operations run inside"
        " it here, one after the other.",
        "operation",
    ),
    _histogram(
        "scheduler_pod_scheduling_sli_duration_seconds",
        LONG_SECONDS,
        "From a pod's first arrival in the active queue until it is bound, by the number of attempts.",
        "attempts",
    ),
    _histogram("scheduler_pod_scheduling_attempts", exponential(1, 2, 5), "Attempts a scheduled pod needed."),
    _histogram(
        "scheduler_framework_extension_point_duration_seconds",
        POINT_SECONDS,
        "All plugins of an extension point together. Of PreEnqueue the profile is what the pod names as its scheduler.",
        "extension_point",
        "status",
        "profile",
    ),
    _histogram(
        "scheduler_plugin_execution_duration_seconds",
        PLUGIN_SECONDS,
        "One call of a plugin, in a tenth of the cycles; a question over all nodes at once is one call.",
        "plugin",
        "extension_point",
        "status",
    ),
    _histogram(
        "scheduler_queueing_hint_execution_duration_seconds",
        PLUGIN_SECONDS,
        "One call of a queueing hint.",
        "plugin",
        "event",
        "hint",
    ),
    _counter("scheduler_queue_incoming_pods_total", "Pods put into a queue, by event.", "queue", "event"),
    _histogram("scheduler_permit_wait_duration_seconds", ATTEMPT_SECONDS, "How long pods waited for Permit.", "result"),
    _gauge(
        "scheduler_cache_size",
        "Nodes and pods in the scheduler's cache; assumed pods are counted under 'pods' as well.",
        "type",
    ),
    _gauge(
        "scheduler_unschedulable_pods",
        "Pods waiting that a plugin refused or gates. Counted as they stand, without upstream's drift.",
        "plugin",
        "profile",
    ),
    _counter(
        "scheduler_plugin_evaluation_total",
        "Times a plugin was asked: of Filter and Score once for each node.",
        "plugin",
        "extension_point",
        "profile",
    ),
    _histogram(
        "scheduler_preemption_goroutines_duration_seconds",
        LONG_SECONDS,
        "Evicting the victims of one preemption.",
        "result",
    ),
    _counter("scheduler_preemption_goroutines_execution_total", "Preemptions carried out.", "result"),
    _counter("scheduler_async_api_call_execution_total", "Writes made for the scheduler.", "call_type", "result"),
    _histogram(
        "scheduler_async_api_call_execution_duration_seconds",
        ATTEMPT_SECONDS,
        "Transactions with writes for the scheduler, counted once for each write.",
        "call_type",
        "result",
    ),
    _gauge("scheduler_pending_async_api_calls", "Writes decided and not carried out yet.", "call_type"),
    _counter("scheduler_volume_binder_cache_requests_total", "Volumes and claims assumed.", "operation"),
    _counter(
        "scheduler_volume_scheduling_stage_error_total",
        "Errors of VolumeBinding: while it filters (predicate), reserves (assume) and binds.",
        "operation",
    ),
    _gauge(
        "leader_election_master_status",
        "1 when every cluster has a leader whose lease is in force; of one cluster, whether it has.",
        "name",
    ),
    _counter(
        "leader_election_slowpath_total", "Tries to renew or to acquire that had to read the lease first.", "name"
    ),
    _gauge("kubernetes_healthcheck", "What a health check says now: 1 well, 0 not.", "name", "type"),
    _counter("kubernetes_healthchecks_total", "Answers of health checks to probes.", "name", "type", "status"),
    _gauge("ksched_lease_transitions", "How often the leader of a cluster changed.", "name"),
    _gauge("ksched_fence_epoch", "The epoch in force; raised by every takeover.", "name"),
    _gauge("ksched_leaders", "Clusters led, by worker.", "worker"),
    _gauge("ksched_change_log_lag", "Changes of clusters their engines have not seen yet."),
    _gauge("ksched_history_checked_cycles", "Recorded cycles that were made again and found identical."),
    _gauge("ksched_history_unproven_cycles", "Recorded cycles that could not be made again."),
    _gauge("ksched_history_left_entries", "Entries of engine logs whose steps were not made again yet."),
    _gauge("ksched_history_differences", "Clusters in which a step made again says something else than its record."),
    _counter("ksched_steps_total", "Steps committed, by kind.", "kind"),
    _counter("ksched_steps_lost_total", "Steps whose transaction did not commit; their engines are built anew."),
    _histogram("ksched_step_duration_seconds", ATTEMPT_SECONDS, "A step with its commit."),
)
CATALOG = {metric.name: metric for metric in METRICS}
