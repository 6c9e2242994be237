"""The log of slow cycles: one record for each pod whose search for a node took longer than 100 ms.

Steps that took their share of it are shown; all of them with much logging.
Source: kubernetes v1.34.1, k8s.io/utils/trace, pkg/scheduler/schedule_one.go (schedulePod).
"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

from scheduler_core.model.effects import Attempt

THRESHOLD_NS = 100_000_000
MILLISECOND_NS = 1_000_000
# Upstream's words for the steps, and the phases of an attempt that make them up.
STEPS = (
    ("Snapshotting scheduler cache and node infos done", ("snapshot",)),
    ("Computing predicates done", ("pre_filter", "filter", "extenders")),
    ("Prioritizing done", ("pre_score", "score")),
)


def trace_of(attempt: Attempt, *, all_steps: bool = False, number: int | None = None) -> str | None:
    """The record, or None when the cycle was not slow. `number` tells one record's lines from another's."""
    spent = attempt.durations_ns
    took = [(text, sum(spent.get(phase, 0) for phase in phases)) for text, phases in STEPS]
    if attempt.score_rows is None:
        took = took[:-1]
    total = sum(nanoseconds for _, nanoseconds in took)
    if total <= THRESHOLD_NS:
        return None
    number = random.getrandbits(31) if number is None else number
    began = datetime.fromtimestamp(attempt.started_at / 1_000_000, UTC)
    namespace, _, name = attempt.pod_key.partition("/")
    lines = [
        f'Trace[{number}]: "Scheduling" namespace:{namespace},name:{name} ({began:%d-%b-%Y %H:%M:%S}.'
        f"{began.microsecond // 1000:03}) (total time: {total // MILLISECOND_NS}ms):"
    ]
    passed = 0
    for text, nanoseconds in took:
        passed += nanoseconds
        if all_steps or nanoseconds >= THRESHOLD_NS // (len(took) + 1):
            at = began + timedelta(microseconds=passed // 1000)
            lines.append(
                f'Trace[{number}]: ---"{text}" {nanoseconds // MILLISECOND_NS}ms'
                f" ({at:%H:%M:%S}.{at.microsecond // 1000:03})"
            )
    seconds = f"{total / MILLISECOND_NS:.6f}".rstrip("0").rstrip(".")
    lines.append(f"Trace[{number}]: [{seconds}ms] [{seconds}ms] END")
    return "\n".join(lines)
