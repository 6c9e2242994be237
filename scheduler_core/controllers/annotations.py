"""Annotations by which a pod tells the simulated cluster how it behaves. Values are seconds, fractions allowed.

A value that is no number, negative or beyond ten years counts as not given.
"""

from __future__ import annotations

from scheduler_core.api.pod import Pod

START_SECONDS = "kschedweb.io/start-seconds"  # from being bound to Running; else the cluster's start delay
RUN_SECONDS = "kschedweb.io/run-seconds"  # from Running to Succeeded; else the pod runs for ever
STOP_SECONDS = "kschedweb.io/stop-seconds"  # what it takes to stop when deleted; else DEFAULT_STOP_US

DEFAULT_STOP_US = 1_000_000
_LONGEST_SECONDS = 10 * 365 * 86_400


def duration_us(pod: Pod, annotation: str) -> int | None:
    """Return the annotation in microseconds; None when it is missing or unusable."""
    try:
        seconds = float(pod.annotations.get(annotation, ""))
    except ValueError:
        return None
    # Written so that it is false for NaN.
    return round(seconds * 1_000_000) if 0 <= seconds <= _LONGEST_SECONDS else None
