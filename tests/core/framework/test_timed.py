"""Plugins timed one by one: the same answers, and a measurement of each call."""

from collections import Counter

from scheduler_core import build, config
from scheduler_core.model.changes import BindingVerdict, ObjectPut
from scheduler_core.ports import FirstDraws
from scheduler_core.scheduler.scheduler import Budget
from tests.builders import make_node, make_pod

NOW = 1_000_000_000_000


class Notes:
    """A recorder that keeps everything; a stopwatch beside it that shows one more each time."""

    def __init__(self, *, samples: bool) -> None:
        self.samples = samples
        self.durations: list[tuple[str, tuple[str, ...], int]] = []
        self.values: list[tuple[str, tuple[str, ...], int]] = []
        self.shown = 0

    def samples_plugins(self) -> bool:
        return self.samples

    def duration(self, metric: str, labels: tuple[str, ...], nanoseconds: int) -> None:
        self.durations.append((metric, labels, nanoseconds))

    def value(self, metric: str, labels: tuple[str, ...], value: int) -> None:
        self.values.append((metric, labels, value))

    def stopwatch(self) -> int:
        self.shown += 1
        return self.shown

    def labels_of(self, metric: str) -> Counter[tuple[str, ...]]:
        return Counter(labels for name, labels, _ in self.durations if name == metric)


def run(notes: Notes | None) -> list[str]:
    """Two nodes, one pod that fits and is bound, one that does not; the nodes chosen and the messages."""
    if notes is None:
        scheduler = build.build(config.load(None), draws=FirstDraws())
    else:
        scheduler = build.build(config.load(None), draws=FirstDraws(), recorder=notes, stopwatch=notes.stopwatch)
    nodes = [make_node(f"n{i}").capacity(cpu="4", memory="8Gi", pods="10").build() for i in range(2)]
    pods = [make_pod("fits").req(cpu="1").build(), make_pod("big").req(cpu="9").build()]
    effects = scheduler.step(NOW, [ObjectPut(obj) for obj in (*nodes, *pods)], Budget(max_cycles=10))
    told = [attempt.node_name or attempt.message for attempt in effects.attempts]
    request = effects.bindings[0]
    scheduler.step(NOW + 5_000, [BindingVerdict(request.pod_uid, request.node_name, bound=True)], Budget(max_cycles=0))
    return told


def test_decisions_are_the_same_when_plugins_are_timed() -> None:
    assert run(None) == run(Notes(samples=False)) == run(Notes(samples=True))


def test_every_plugin_call_is_measured_when_the_cycle_is_sampled() -> None:
    notes = Notes(samples=True)
    run(notes)
    found = notes.labels_of("plugin_execution_duration")
    assert found[("NodeResourcesFit", "Filter", "Success")] >= 1
    assert found[("NodeResourcesFit", "Score", "Success")] == 2  # of few nodes each is asked about by itself
    assert found[("TaintToleration", "ScoreExtensionNormalize", "Success")] == 1
    assert found[("DefaultBinder", "Bind", "Success")] == 1
    assert found[("DefaultPreemption", "PostFilter", "Unschedulable")] == 1
    assert found[("SchedulingGates", "PreEnqueue", "Success")] == 2
    assert all(nanoseconds > 0 for _, _, nanoseconds in notes.durations if nanoseconds)


def test_no_plugin_is_measured_when_the_cycle_is_not_sampled() -> None:
    notes = Notes(samples=False)
    run(notes)
    assert not notes.labels_of("plugin_execution_duration")


def test_attempts_points_and_events_are_measured_whatever_is_sampled() -> None:
    notes = Notes(samples=False)
    run(notes)
    profile = "default-scheduler"
    assert notes.labels_of("scheduling_attempt_duration") == {("scheduled", profile): 1, ("unschedulable", profile): 1}
    points = notes.labels_of("framework_extension_point_duration")
    assert points == {(point, "Success", profile): 1 for point in ("PreBind", "Bind", "PostBind")} | {
        ("PreEnqueue", "Success", profile): 2
    }
    assert notes.labels_of("event_handling_duration") == {("NodeAdd",): 2, ("UnschedulablePodAdd",): 2}
    assert ("pod_scheduling_sli_duration", ("1",), 5_000_000) in notes.durations
    assert notes.values == [("pod_scheduling_attempts", (), 1)]
