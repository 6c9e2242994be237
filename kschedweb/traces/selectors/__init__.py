"""Reads of the traces: for browsers that follow, for pages of attempts and pods, for questions over many attempts."""

from kschedweb.traces.selectors.agreement import agreement, comparisons
from kschedweb.traces.selectors.attempts import (
    EVERY_NODE,
    AttemptFilter,
    attempt_detail,
    attempt_get,
    attempt_matrix,
    attempt_preemption,
    attempt_seed,
    attempt_view,
    attempts,
    first_attempts,
    pod_attempts,
    preemption_attempts,
    preemptions,
)
from kschedweb.traces.selectors.history import (
    EventFilter,
    events,
    events_about,
    history_entries,
    moves,
    pod_log,
    pod_uid,
)
from kschedweb.traces.selectors.lists import list_page, list_rows, list_total, list_values
from kschedweb.traces.selectors.live import (
    SNAPSHOT_ATTEMPTS,
    SNAPSHOT_EVENTS,
    frames_after,
    head,
    log_event,
    log_range,
    pod_queue,
    queue_view,
    snapshot,
)
from kschedweb.traces.selectors.pending import pending_pods, pending_summary
from kschedweb.traces.selectors.questions import node_refusals, refused_attempts, slowest_attempts
from kschedweb.traces.selectors.searching import search
from kschedweb.traces.selectors.throughput import throughput

__all__ = [
    "EVERY_NODE",
    "SNAPSHOT_ATTEMPTS",
    "SNAPSHOT_EVENTS",
    "AttemptFilter",
    "EventFilter",
    "agreement",
    "attempt_detail",
    "attempt_get",
    "attempt_matrix",
    "attempt_preemption",
    "attempt_seed",
    "attempt_view",
    "attempts",
    "comparisons",
    "events",
    "events_about",
    "first_attempts",
    "frames_after",
    "head",
    "history_entries",
    "list_page",
    "list_rows",
    "list_total",
    "list_values",
    "log_event",
    "log_range",
    "moves",
    "node_refusals",
    "pending_pods",
    "pending_summary",
    "pod_attempts",
    "pod_log",
    "pod_queue",
    "pod_uid",
    "preemption_attempts",
    "preemptions",
    "queue_view",
    "refused_attempts",
    "search",
    "slowest_attempts",
    "snapshot",
    "throughput",
]
