"""What an engine's steps come to as metrics: measurements of the core, and what the effects of a step tell.

Filled while a step runs and handed over once it has committed. Durations of the phases of a cycle are those of the
attempt; everything else is measured where it happens (`scheduler_core.ports.Recorder`).
Source: kubernetes v1.34.1, pkg/scheduler/metrics.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

import numpy as np

from kschedweb.common.metrics import RECORDER
from kschedweb.common.metrics.recorder import Series
from scheduler_core.config import names
from scheduler_core.framework.runtime import Framework
from scheduler_core.model.changes import Change, EvictionVerdict
from scheduler_core.model.effects import Attempt, CacheMove, Effects
from scheduler_core.model.status import CODE_NAMES, Code
from scheduler_core.queue.active_queue import InFlightEvent
from scheduler_core.scheduler.engine import Engine

SAMPLED = 0.1  # of the cycles have their plugins timed
NANOSECOND = 1e-9
ATTEMPT = ("scheduler_scheduling_attempt_duration_seconds", "scheduler_schedule_attempts_total")
ALGORITHM = ("snapshot", "pre_filter", "filter", "extenders", "post_filter", "pre_score", "score")
# Where VolumeBinding can fail, by how the message of the failure begins.
VOLUME_STAGES = {
    f'running PreFilter plugin "{names.VOLUME_BINDING}"': "predicate",
    f'running "{names.VOLUME_BINDING}" filter plugin': "predicate",
    f'running Reserve plugin "{names.VOLUME_BINDING}"': "assume",
    f'running PreBind plugin "{names.VOLUME_BINDING}"': "bind",
}
VOLUME_KINDS = ("PersistentVolume", "PersistentVolumeClaim")
POD_POPPED = "PodPopped"
Calls = tuple[str, str, int]  # plugin, extension point, how often it was asked
Usual = tuple[str, tuple[str, ...], tuple[str, ...]]  # profile, plugins that skipped Filter and Score


@dataclass
class Meter:
    """The measurements of one engine; `sample` draws whether a cycle's plugins are timed (never a decision)."""

    cluster_id: int
    monotonic: Callable[[], float]
    sample: Callable[[], float] = random.random
    _samples: dict[Series, list[float]] = field(default_factory=dict)
    _counts: dict[Series, float] = field(default_factory=dict)
    _incoming: dict[tuple[str, str], int] = field(default_factory=dict)  # counted by the queue so far
    _evicting: dict[str, float] = field(default_factory=dict)  # when evictions were asked for, by preemptor
    _inflight: dict[str, int] | None = None  # as told last

    # What the core calls

    def samples_plugins(self) -> bool:
        return self.sample() < SAMPLED

    def duration(self, metric: str, labels: tuple[str, ...], nanoseconds: int) -> None:
        self._sample(f"scheduler_{metric}_seconds", labels, nanoseconds * NANOSECOND)

    def value(self, metric: str, labels: tuple[str, ...], value: int) -> None:
        self._sample(f"scheduler_{metric}", labels, value)

    # What the loop calls

    def step_committed(
        self, engine: Engine, effects: Effects, changes: Sequence[Change], *, kind: str, epoch: int, seconds: float
    ) -> None:
        """Hand over what was measured since the last step, with what this one tells."""
        duration, attempts = ATTEMPT
        for (name, labels), values in list(self._samples.items()):
            if name == duration:
                self._count(attempts, labels, len(values))
                if labels[0] == "scheduled":
                    self._samples.setdefault(("scheduler_scheduling_duration_seconds", ()), []).extend(values)
        waiting = {m.pod_uid for m in effects.moves if isinstance(m, CacheMove) and m.kind == "waiting"}
        usual: dict[Usual, list[int]] = {}
        for attempt in effects.attempts:
            if attempt.node_order is not None:
                framework = engine.frameworks[attempt.profile]
                self._attempt(framework, attempt, attempt.pod_uid in waiting)
                alike = usual_calls(attempt)
                if alike is None:
                    self._evaluated(attempt.profile, evaluations(framework, attempt), 1)
                    continue
                key, filtered, scored = alike
                sums = usual.setdefault(key, [0, 0, 0])
                sums[0] += 1
                sums[1] += filtered
                sums[2] += scored
        for (profile, skip_filter, skip_score), (times, filtered, scored) in usual.items():
            self._evaluated(
                profile, _calls(engine.frameworks[profile], skip_filter, skip_score, filtered, scored), times
            )
        self._preemptions(effects, changes)
        self._queue(engine)
        self._volumes(effects)
        self._count("ksched_steps_total", (kind,), 1)
        self._sample("ksched_step_duration_seconds", (), seconds)
        inflight = inflight_events(engine)
        if inflight != self._inflight:
            self._inflight = inflight
            RECORDER.gauges_set(self.cluster_id, {"epoch": epoch, "inflight_events": inflight})
        counts, samples = self._counts, self._samples
        self._counts, self._samples = {}, {}
        RECORDER.add(counts, samples, cluster_id=self.cluster_id)

    def _attempt(self, framework: Framework, attempt: Attempt, waits: bool) -> None:
        spent = attempt.durations_ns
        algorithm = sum(spent.get(phase, 0) for phase in ALGORITHM)
        self._sample("scheduler_scheduling_algorithm_duration_seconds", (), algorithm * NANOSECOND)
        for point, phase, code in _points(attempt, waits):
            labels = (point, code, attempt.profile)
            self._sample(
                "scheduler_framework_extension_point_duration_seconds", labels, spent.get(phase, 0) * NANOSECOND
            )
        if attempt.post_filter is not None and any(p.name == names.DEFAULT_PREEMPTION for p in framework.post_filter):
            self._count("scheduler_preemption_attempts_total", (), 1)
            record = attempt.post_filter.preemption
            if record is not None and record.chosen:
                self._sample("scheduler_preemption_victims", (), len(record.victims))

    def _evaluated(self, profile: str, calls: Iterable[Calls], once_per_cycle: int) -> None:
        """Count calls; those of points asked once for each cycle are given as 0."""
        for plugin, point, times in calls:
            self._count("scheduler_plugin_evaluation_total", (plugin, point, profile), times or once_per_cycle)

    def _preemptions(self, effects: Effects, changes: Sequence[Change]) -> None:
        """A preemption ends with the verdict after which nothing more is to be evicted for it."""
        now = self.monotonic()
        asked = {request.preemptor_uid for request in effects.evictions}
        for change in changes:
            if isinstance(change, EvictionVerdict) and change.preemptor_uid not in asked:
                started = self._evicting.pop(change.preemptor_uid, None)
                if started is not None:
                    result = ("success" if change.done else "error",)
                    self._sample("scheduler_preemption_goroutines_duration_seconds", result, now - started)
                    self._count("scheduler_preemption_goroutines_execution_total", result, 1)
        for uid in asked:
            self._evicting.setdefault(uid, now)

    def _queue(self, engine: Engine) -> None:
        incoming = engine.queue.counters.incoming
        for labels, total in incoming.items():
            more = total - self._incoming.get(labels, 0)
            if more:
                self._count("scheduler_queue_incoming_pods_total", labels, more)
        self._incoming = dict(incoming)

    def _volumes(self, effects: Effects) -> None:
        written = sum(obj.kind in VOLUME_KINDS for obj in effects.writes)
        if written:
            self._count("scheduler_volume_binder_cache_requests_total", ("add",), written)
        for event in effects.events:
            if event.reason == "FailedScheduling" and names.VOLUME_BINDING in event.note:
                for beginning, stage in VOLUME_STAGES.items():
                    if event.note.startswith(beginning):
                        self._count("scheduler_volume_scheduling_stage_error_total", (stage,), 1)

    def _sample(self, name: str, labels: tuple[str, ...], value: float) -> None:
        self._samples.setdefault((name, labels), []).append(value)

    def _count(self, name: str, labels: tuple[str, ...], by: float) -> None:
        series = (name, labels)
        self._counts[series] = self._counts.get(series, 0) + by


def inflight_events(engine: Engine) -> dict[str, int]:
    """What is kept for the pods in flight, by event; the pods themselves as PodPopped."""
    found: dict[str, int] = {}
    if len(engine.queue.active.in_flight):
        for entry in engine.queue.active.in_flight:
            label = entry.event.label if isinstance(entry, InFlightEvent) else POD_POPPED
            found[label] = found.get(label, 0) + 1
    return found


def usual_calls(attempt: Attempt) -> tuple[Usual, int, int] | None:
    """What attempts with equal calls have in common, with the nodes filtered and scored; None where one was refused."""
    status, rows, scores = attempt.pre_filter_status, attempt.filter_rows, attempt.score_rows
    if status is None or not status.is_success or rows is None or rows.statuses or scores is None:
        return None
    return (attempt.profile, attempt.skip_filter_plugins, scores.skipped), len(rows.nodes), scores.raw.shape[1]


def _calls(
    framework: Framework, skip_filter: tuple[str, ...], skip_score: tuple[str, ...], filtered: int, scored: int
) -> list[Calls]:
    """Calls of cycles in which nothing was refused, over this number of nodes in total."""
    found: list[Calls] = [(plugin.name, "PreFilter", 0) for plugin in framework.pre_filter]
    found = [each for each in found if each[0] not in skip_filter]
    if filtered:
        found += ((p.name, "Filter", filtered) for p in framework.filter if p.name not in skip_filter)
    found += ((p.name, "PreScore", 0) for p in framework.pre_score if p.name not in skip_score)
    found += ((p.name, "Score", scored) for p in framework.score if p.name not in skip_score)
    return found


def evaluations(framework: Framework, attempt: Attempt) -> list[tuple[str, str, int]]:
    """(plugin, extension point, calls) of one cycle, as one question per node where upstream has one."""
    found: list[tuple[str, str, int]] = []
    skipped = set(attempt.skip_filter_plugins)
    asked = [plugin.name for plugin in framework.pre_filter if plugin.name not in skipped]
    status = attempt.pre_filter_status
    if status is not None and not status.is_success and status.code is not Code.Unschedulable:
        last = status.plugin or next(
            (name for name in asked if f'"{name}"' in status.message), asked[-1] if asked else ""
        )
        asked = [*takewhile(lambda name: name != last, asked), *([last] if last in asked else [])]
    found += ((name, "PreFilter", 1) for name in asked)
    rows = attempt.filter_rows
    if rows is not None and len(rows.nodes):
        left = len(rows.nodes)
        refused: dict[str, int] = {}
        times = np.bincount(rows.codes, minlength=len(rows.statuses) + 1)[1:].tolist()
        for refusal, many in zip(rows.statuses, times, strict=True):
            refused[refusal.plugin] = refused.get(refusal.plugin, 0) + many
        for plugin in framework.filter:
            if plugin.name not in skipped and left:
                found.append((plugin.name, "Filter", left))
                left -= refused.get(plugin.name, 0)
    scores = attempt.score_rows
    if scores is not None:
        found += ((p.name, "PreScore", 1) for p in framework.pre_score if p.name not in scores.skipped)
        found += ((name, "Score", scores.raw.shape[1]) for name, _ in scores.plugins)
    return found


def _points(attempt: Attempt, waits: bool) -> list[tuple[str, str, str]]:
    """(extension point, phase of the attempt's durations, status code) of the points the cycle came to."""
    spent, failed = attempt.durations_ns, attempt.result == "error"
    found: list[tuple[str, str, str]] = []
    if "pre_filter" in spent and attempt.pre_filter_status is not None:
        found.append(("PreFilter", "pre_filter", CODE_NAMES[attempt.pre_filter_status.code]))
    if "filter" in spent:
        found.append(("Filter", "filter", "Error" if failed and "filter plugin" in attempt.message else "Success"))
    if attempt.post_filter is not None:
        found.append(("PostFilter", "post_filter", attempt.post_filter.code))
    unscored = failed and attempt.score_rows is None
    if "pre_score" in spent:
        found.append(("PreScore", "pre_score", "Error" if unscored and "score" not in spent else "Success"))
    if "score" in spent:
        found.append(("Score", "score", "Success"))
    refusal = "Error" if failed else "Unschedulable"
    if "reserve" in spent:
        found.append(("Reserve", "reserve", "Success" if "permit" in spent else refusal))
    if "permit" in spent:
        allowed = "Wait" if waits else "Success"
        found.append(("Permit", "permit", refusal if attempt.result in ("error", "unschedulable") else allowed))
    return found
