"""Annotations by which a pod tells the simulated cluster how it behaves. Durations are seconds, fractions allowed.

A value that is no number, negative or beyond ten years counts as not given. `run-seconds` and `exit-code` may be
lists (`"5,5,60"`): one for each run of a container, the last for all further ones; with `.<container>` behind the
name they are of that container alone.
"""

from __future__ import annotations

from typing import Final

import msgspec

from scheduler_core.api.pod import Container, Pod

PREFIX: Final = "kschedweb.io/"
START_SECONDS = "kschedweb.io/start-seconds"  # from being bound to Running; else the cluster's start delay
RUN_SECONDS = "kschedweb.io/run-seconds"  # from Running to Succeeded; else the pod runs for ever
STOP_SECONDS = "kschedweb.io/stop-seconds"  # what it takes to stop when deleted; else DEFAULT_STOP_US
EXIT_CODE = "kschedweb.io/exit-code"  # how the containers end; with it restartPolicy says what follows

DEFAULT_STOP_US = 1_000_000
DEFAULT_RUN_US: Final = 1_000_000  # of containers that have an exit code and no run time
_LONGEST_SECONDS = 10 * 365 * 86_400
_MOST_RUNS: Final = 100
_SIMPLE: Final = frozenset({START_SECONDS, RUN_SECONDS, STOP_SECONDS})


class Runs(msgspec.Struct, frozen=True, gc=False):
    """How the runs of one container go."""

    durations_us: tuple[int, ...] = ()  # by run, the last for all further ones; empty: it runs for ever
    exit_codes: tuple[int, ...] = (0,)
    completes: bool = False  # its end is the pod's, whatever the restart policy says

    def duration_us(self, run: int) -> int | None:
        """Return how long the run lasts, None for ever; the first run is 0."""
        return self.durations_us[min(run, len(self.durations_us) - 1)] if self.durations_us else None

    def exit_code(self, run: int) -> int:
        """Return what the run ends with."""
        return self.exit_codes[min(run, len(self.exit_codes) - 1)]


def duration_us(pod: Pod, annotation: str) -> int | None:
    """Return the annotation in microseconds; None when it is missing or unusable."""
    return seconds_us(pod.annotations.get(annotation, ""))


def seconds_us(text: str) -> int | None:
    """Return a number of seconds in microseconds; None when it is unusable."""
    try:
        seconds = float(text)
    except ValueError:
        return None
    # Written so that it is false for NaN.
    return round(seconds * 1_000_000) if 0 <= seconds <= _LONGEST_SECONDS else None


def is_detailed(pod: Pod) -> bool:
    """Return whether annotations tell more of the pod than its times of start, run and stop."""
    annotations = pod.metadata.annotations
    return annotations is not None and any(name.startswith(PREFIX) and name not in _SIMPLE for name in annotations)


def runs_of(pod: Pod, container: Container, *, is_init: bool) -> Runs:
    """Return how the runs of the container go.

    What is said of the pod holds for its containers; init containers end at once, and sidecars never, unless they are
    named.
    """
    own_times = _times(pod, f"{RUN_SECONDS}.{container.name}")
    own_codes = _codes(pod, f"{EXIT_CODE}.{container.name}")
    if is_init:
        if container.is_restartable_init:
            return Runs(own_times or ((DEFAULT_RUN_US,) if own_codes else ()), own_codes or (0,))
        return Runs(own_times or (0,), own_codes or (0,))
    codes = own_codes or _codes(pod, EXIT_CODE)
    times = own_times or _times(pod, RUN_SECONDS) or ((DEFAULT_RUN_US,) if codes else ())
    return Runs(times, codes or (0,), completes=bool(times) and not own_times and not codes)


def _times(pod: Pod, annotation: str) -> tuple[int, ...]:
    text = pod.annotations.get(annotation)
    if text is None:
        return ()
    times = [seconds_us(part) for part in text.split(",")[:_MOST_RUNS]]
    return tuple(time for time in times if time is not None) if None not in times else ()


def _codes(pod: Pod, annotation: str) -> tuple[int, ...]:
    parts = pod.annotations.get(annotation, "").split(",")[:_MOST_RUNS]
    codes = [int(part) for part in parts if part.strip().isascii() and part.strip().isdigit() and len(part) < 10]
    return tuple(codes) if len(codes) == len(parts) and all(code <= 255 for code in codes) else ()
