"""Runs of small workloads: what they count, what the clock covers, what is kept."""

from functools import partial
from itertools import count
from pathlib import Path

import pytest

from tests.cases import cases
from tests.tools.bench.workloads import file_of, node_template, pod_template, written
from tools.bench.engine.keeping import Keeper, Trace
from tools.bench.engine.levels import LEVELS, run_level
from tools.bench.engine.meter import Meter, idle_meter
from tools.bench.engine.prepare import prepare
from tools.bench.engine.workload import Workload, read_workload

BOTH = [pytest.param(level, id=level) for level in LEVELS]


@pytest.fixture
def plain(tmp_path: Path) -> Workload:
    return read_workload(written(tmp_path, "w.json", file_of()))


@pytest.fixture
def preempting(tmp_path: Path) -> Workload:
    """Two full nodes of low priority, two pods that need one each."""
    content = file_of(
        nodes=[node_template(cpu="4")],
        node_of=[0, 0],
        existing=[(0, 0), (0, 1)],
        existing_template=pod_template(cpu="3500m"),
        pods=[pod_template(cpu="3", priority=10)],
        pod_of=[0, 0],
    )
    return read_workload(written(tmp_path, "w.json", content))


@pytest.fixture
def failing(tmp_path: Path) -> Workload:
    content = file_of(pods=[pod_template(cpu="100")], pod_of=[0, 0, 0])
    return read_workload(written(tmp_path, "w.json", content))


@pytest.mark.parametrize("level", BOTH)
def test_pods_are_tried_in_their_order(level: str, plain: Workload) -> None:
    attempts = list(LEVELS[level](prepare(plain), idle_meter(), Keeper(Trace.ON)))
    assert [attempt.pod_key for attempt in attempts] == [f"default/pod-{index:06d}" for index in range(6)]
    assert {attempt.result for attempt in attempts} == {"scheduled"}


@pytest.mark.parametrize("level", BOTH)
def test_each_pod_has_one_lap_and_the_clock_covers_them_all(level: str, plain: Workload) -> None:
    ticks = count()
    meter = Meter(lambda: next(ticks), lambda: 0)
    figures = run_level(level, partial(prepare, plain), meter, Trace.ON)
    assert (figures.attempted, figures.scheduled, len(figures.laps_ns)) == (6, 6, 6)
    assert 0 < sum(figures.laps_ns) < figures.wall_ns
    assert figures.parse_ns > 0 and figures.build_ns > 0 and figures.snapshot_ns > 0


@pytest.mark.parametrize("level", BOTH)
def test_pod_that_preempts_has_a_second_cycle_on_the_freed_node(level: str, preempting: Workload) -> None:
    attempts = list(LEVELS[level](prepare(preempting), idle_meter(), Keeper(Trace.ON)))
    by_pod = {key: [a for a in attempts if a.pod_key == key] for key in ("default/pod-000000", "default/pod-000001")}
    for first, second in by_pod.values():
        assert (first.result, second.result) == ("unschedulable", "scheduled")
        assert first.nominated_node_name == second.node_name
        assert second.nominated is not None and second.nominated.fits
    assert len({second.node_name for _, second in by_pod.values()}) == 2


def test_clock_stands_still_while_victims_leave(preempting: Workload) -> None:
    heard: list[bool] = []
    meter = Meter(lambda: 0, lambda: 0, on_running=heard.append)
    figures = run_level("L1", partial(prepare, preempting), meter, Trace.ON)
    assert heard == [True, False, True, False, True, False]
    assert (figures.attempted, figures.scheduled, len(figures.laps_ns)) == (4, 2, 2)


@pytest.mark.parametrize("level", BOTH)
def test_pods_that_fit_nowhere_are_tried_once(level: str, failing: Workload) -> None:
    figures = run_level(level, partial(prepare, failing), idle_meter(), Trace.ON)
    assert (figures.attempted, figures.scheduled, len(figures.laps_ns)) == (3, 0, 3)


@cases(
    "trace, timed, bytes_made",
    ("off", Trace.OFF, False, False),
    ("on", Trace.ON, True, False),
    ("stored", Trace.STORED, True, True),
)
def test_trace_says_what_is_timed_and_made_into_bytes(
    trace: Trace, timed: bool, bytes_made: bool, plain: Workload
) -> None:
    ticks = count()
    figures = run_level("L1", partial(prepare, plain), Meter(lambda: next(ticks), lambda: 0), trace)
    # Two ticks for each pod's lap, two for all; further ones are of the engine's phases.
    assert (figures.wall_ns > 2 * plain.num_pods + 1) is timed
    assert (figures.bytes_stored > 0) is bytes_made


def test_repeated_attempt_is_stored_once(failing: Workload) -> None:
    (first, *_) = LEVELS["L1"](prepare(failing), idle_meter(), Keeper(Trace.ON))
    keeper = Keeper(Trace.STORED)
    keeper.end_step([first])
    stored = keeper.bytes_stored
    keeper.end_step([first])
    assert 0 < stored == keeper.bytes_stored


@pytest.mark.parametrize("level", BOTH)
def test_l1_leaves_pods_assumed_and_l2_binds_them(level: str, plain: Workload) -> None:
    ready = prepare(plain)
    list(LEVELS[level](ready, idle_meter(), Keeper(Trace.ON)))
    assigned = [pod for pod in ready.world.store.list("Pod") if pod["spec"].get("nodeName")]
    assert len(assigned) == (0 if level == "L1" else 6)
    assert ready.world.scheduler.engine.cache.pod_count() == 6


@pytest.mark.parametrize("level", BOTH)
def test_decisions_are_the_same_without_reuse(level: str, plain: Workload) -> None:
    def nodes(reuse: bool) -> list[str]:
        run = LEVELS[level](prepare(plain, reuse=reuse), idle_meter(), Keeper(Trace.ON))
        return [attempt.node_name for attempt in run]

    assert nodes(True) == nodes(False)
