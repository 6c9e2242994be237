"""Clearing away the past: what goes, what stays, and what everybody who reads it sees."""

from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise

import orjson
import pytest
import zstandard

from kschedweb.cluster import clock as cluster_clock
from kschedweb.cluster import follow
from kschedweb.cluster.models import Change, Cluster, Event, Pod
from kschedweb.cluster.selectors import cluster_get
from kschedweb.common.errors import GoneError
from kschedweb.scheduling import checkpoints, retention
from kschedweb.scheduling.checkpoints import CheckpointTimer
from kschedweb.scheduling.models import Binding, EngineState
from kschedweb.scheduling.runner.host import EngineHost
from kschedweb.traces import selectors
from kschedweb.traces.models import Attempt, Checkpoint, EngineLog, EngineStep, QueueState
from kschedweb.views import Cursor
from scheduler_core import build, config
from scheduler_core.api.times import moment_of
from scheduler_core.ports import SeededDraws
from scheduler_core.scheduler import checkpoint
from tests.builders import make_node, make_pod
from tests.cases import cases
from tests.web.rest import logged_in
from tests.web.scheduling.conftest import lead, put, settle

pytestmark = pytest.mark.django_db(transaction=True)

MINUTE_US = 60_000_000
START_US = 1_790_000_000_000_000


class Clock:
    """Engine time, moved by the test."""

    now_us = START_US

    def __call__(self) -> int:
        return self.now_us


@pytest.fixture
def clock() -> Clock:
    return Clock()


Run = Callable[[str, int], EngineHost]


@pytest.fixture
def run(cluster: Cluster, clock: Clock) -> Run:
    """A wave of pods, scheduled, with a checkpoint after it; then so many minutes pass."""
    host = lead(cluster)
    host.clock_us = clock
    put(cluster, make_node("n1").capacity(cpu="64", memory="64Gi", pods="110"))

    def wave(name: str, minutes: int) -> EngineHost:
        put(cluster, *(make_pod(f"{name}-{i}").req(cpu="100m") for i in range(5)))
        settle(host)
        checkpoints.checkpoint_want(cluster_id=cluster.pk)
        host.step()
        # Changes carry the machine's time; here they are as old as what the engine made of them.
        Change.objects.filter(cluster=cluster, at__gt=moment_of(clock.now_us)).update(at=moment_of(clock.now_us))
        Binding.objects.filter(cluster=cluster, finished_at__gt=moment_of(clock.now_us)).update(
            finished_at=moment_of(clock.now_us)
        )
        clock.now_us += minutes * MINUTE_US
        return host

    return wave


@pytest.fixture
def two_waves(run: Run) -> EngineHost:
    """Pods of two hours before the newest, which are an hour old."""
    run("old", 120)
    return run("new", 60)


def prune(cluster: Cluster, clock: Clock, **limits: float) -> retention.PruneReport:
    return retention.prune(cluster_id=cluster.pk, now=moment_of(clock.now_us), **limits)


def test_what_is_older_than_the_checkpoint_at_the_cut_goes_and_state_stays(
    cluster: Cluster, clock: Clock, two_waves: EngineHost
) -> None:
    before = (Pod.objects.count(), QueueState.objects.count(), EngineState.objects.get().rv_seen)
    report = prune(cluster, clock, hours=2)
    assert report.cut is not None
    assert not report.more
    assert set(Attempt.objects.values_list("name", flat=True)) == {f"new-{i}" for i in range(5)}
    assert EngineLog.objects.order_by("seq").values_list("seq", flat=True)[0] == report.cut.seq + 1
    assert Change.objects.order_by("rv").values_list("rv", flat=True)[0] == report.cut.rv + 1
    before_cut = EngineStep.objects.filter(run=report.cut.run, step__lte=report.cut.step)
    assert not before_cut.exists() and not EngineStep.objects.filter(run__lt=report.cut.run).exists()
    assert not Event.objects.filter(regarding_name__startswith="old").exists()
    assert not Binding.objects.filter(name__startswith="old").exists()
    assert [Checkpoint.objects.filter(seq=report.cut.seq).count(), Checkpoint.objects.count()] == [1, 2]
    assert (Pod.objects.count(), QueueState.objects.count(), EngineState.objects.get().rv_seen) == before
    assert not any(prune(cluster, clock, hours=2).rows.values())
    # The engine goes on, and so does one that is built anew.
    two_waves.step()
    again = EngineHost(cluster.pk, two_waves.epoch, clock_us=clock)
    again.step()
    assert Pod.objects.exclude(node_name="n1").count() == 0


def test_nothing_goes_before_there_is_a_checkpoint_to_cut_at(cluster: Cluster, clock: Clock) -> None:
    host = lead(cluster)
    host.clock_us = clock
    put(cluster, make_node("n1"), make_pod("a").req(cpu="1"))
    settle(host)
    clock.now_us += 300 * MINUTE_US
    report = prune(cluster, clock, hours=1)
    assert (report.waits_for_checkpoint, report.cut, report.rows) == (True, None, {})
    assert EngineState.objects.get().checkpoint_wanted
    host.step()
    assert Checkpoint.objects.count() == 1
    assert not EngineState.objects.get().checkpoint_wanted
    clock.now_us += 120 * MINUTE_US
    assert prune(cluster, clock, hours=1).cut is not None


def test_size_alone_cuts_but_never_the_last_ten_minutes(cluster: Cluster, clock: Clock, run: Run) -> None:
    run("old", 30)
    run("new", 5)
    total = sum(size.bytes for size in retention.sizes(cluster.pk).values())
    assert prune(cluster, clock, hours=1000, megabytes=2 * total / retention.MEGABYTE).cut is None
    report = prune(cluster, clock, hours=1000, megabytes=0.001)
    assert report.cut is not None
    assert set(Attempt.objects.values_list("name", flat=True)) == {f"new-{i}" for i in range(5)}


def test_past_that_keeps_to_its_size_is_measured_again_when_more_was_written(
    cluster: Cluster, clock: Clock, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured, sizes = list[int](), retention.sizes

    def measure(cluster_id: int) -> dict[str, retention.TableSize]:
        measured.append(cluster_id)
        return sizes(cluster_id)

    monkeypatch.setattr(retention, "sizes", measure)
    for name in ("old", "new"):
        run(name, 5)
        for _ in range(2):
            prune(cluster, clock, hours=1000)
    assert measured == [cluster.pk] * 2


def test_attempt_seen_again_after_the_cut_stays(cluster: Cluster, clock: Clock) -> None:
    host = lead(cluster)
    host.clock_us = clock
    put(cluster, make_node("n1").capacity(cpu="1"), make_pod("big").req(cpu="8"))
    settle(host)
    checkpoints.checkpoint_want(cluster_id=cluster.pk)
    host.step()
    for _ in range(24):  # two hours of retries
        clock.now_us += 331_000_000
        settle(host)
    report = prune(cluster, clock, hours=1)
    assert report.cut is not None
    attempt = Attempt.objects.get()
    assert (attempt.repeat_count, attempt.seq <= report.cut.seq) == (24, True)
    assert Event.objects.get(reason="FailedScheduling").count == 25


def test_readers_behind_the_cut_are_told_to_take_a_snapshot(
    cluster: Cluster, clock: Clock, two_waves: EngineHost
) -> None:
    report = prune(cluster, clock, hours=2)
    assert report.cut is not None
    with pytest.raises(GoneError):
        list(selectors.frames_after(cluster.pk, Cursor(report.cut.rv - 3, report.cut.seq - 3)))
    assert list(selectors.frames_after(cluster.pk, Cursor(report.cut.rv, report.cut.seq)))
    with pytest.raises(follow.LogClearedError):
        follow.changes_after(cluster_id=cluster.pk, rv=report.cut.rv - 3)
    assert selectors.snapshot(cluster.pk).pods


def test_batches_are_bounded_and_the_next_call_goes_on(
    cluster: Cluster, clock: Clock, two_waves: EngineHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "BATCH_ROWS", 2)
    monkeypatch.setattr(retention, "SECONDS_AT_ONCE", 0.0)
    reports = [prune(cluster, clock, hours=2)]
    assert {table for table, rows in reports[0].rows.items() if rows} == {
        "traces_enginestep"
    }  # they go before the rest
    while reports[-1].more:
        reports.append(prune(cluster, clock, hours=2))
    assert len(reports) > 10
    assert all(sum(report.rows.values()) <= 2 * len(report.rows) for report in reports)
    assert not Attempt.objects.filter(name__startswith="old").exists()


def test_storage_is_told_and_cleared_over_rest(cluster: Cluster, clock: Clock, two_waves: EngineHost) -> None:
    client = logged_in()
    view = client.get(f"/api/clusters/{cluster.pk}/storage").json()
    rows = {table["table"]: table["rows"] for table in view["tables"]}
    assert (rows["traces_attempt"], rows["cluster_change"], view["checkpoints"]) == (10, Change.objects.count(), 2)
    assert view["bytes"] == sum(table["bytes"] for table in view["tables"]) > 10_000
    assert (view["retention_hours"], view["retention_mb"]) == (168, 4096)
    answer = client.post(f"/api/clusters/{cluster.pk}/prune", {"hours": 1_000_000}).json()
    assert (answer["cut_at"], answer["rows"], answer["more"]) == (None, {}, False)
    # By the machine's clock both waves are old, and the later checkpoint is the cut.
    answer = client.post(f"/api/clusters/{cluster.pk}/prune", {"hours": 1}).json()
    assert (answer["rows"]["traces_attempt"], answer["waits_for_checkpoint"]) == (10, False)
    changed = client.patch(f"/api/clusters/{cluster.pk}", {"retention_hours": 24, "retention_mb": 500}).json()
    assert (changed["retention_hours"], changed["retention_mb"]) == (24, 500)
    assert client.patch(f"/api/clusters/{cluster.pk}", {"retention_mb": 1}).status_code == 400


def test_every_cluster_is_cleared_by_its_own_settings(
    cluster: Cluster, clock: Clock, two_waves: EngineHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    Cluster.objects.filter(pk=cluster.pk).update(retention_hours=2)
    other = Cluster.objects.create(name="other")
    monkeypatch.setattr(cluster_clock, "now_of", lambda cluster_id: clock.now_us)
    reports = retention.prune_all()
    assert reports[cluster.pk].rows["traces_attempt"] == 5
    assert reports[other.pk].cut is None


def test_cluster_deleted_meanwhile_keeps_no_other_from_being_cleared(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = [Cluster.objects.create(name=name, seed=1) for name in ("gone", "after")]

    def look(cluster_id: int) -> Cluster:
        Cluster.objects.filter(name="gone").delete()
        return cluster_get(cluster_id)

    monkeypatch.setattr(retention, "cluster_get", look)
    assert set(retention.prune_all()) == {cluster.pk, others[1].pk}


def test_checkpoint_holds_the_engine_and_every_object(cluster: Cluster, clock: Clock, run: Run) -> None:
    run("a", 1)
    kept = Checkpoint.objects.get()
    lines = zstandard.ZstdDecompressor().decompressobj().decompress(bytes(kept.objects_packed)).splitlines()
    objects = [orjson.loads(line) for line in lines]
    assert [(entry["kind"], entry["manifest"]["metadata"]["name"]) for entry in objects] == [
        ("Node", "n1"),
        *(("Pod", f"a-{i}") for i in range(5)),
    ]
    assert {entry["rv"] for entry in objects} <= set(range(1, kept.objects_rv + 1))
    engine = build.build(
        config.load(None),
        draws=SeededDraws(cluster.seed),
        state=zstandard.ZstdDecompressor().decompress(bytes(kept.engine)),
    )
    assert sorted(pod.metadata.name for pod in engine.engine.store if pod.kind == "Pod") == [f"a-{i}" for i in range(5)]
    last = EngineStep.objects.order_by("-run", "-step")[0]
    assert (kept.run, kept.step, kept.seq, kept.rv) == (last.run, last.step, last.seq_to, last.log_to)


def test_engine_that_cannot_be_written_down_goes_on(
    cluster: Cluster, clock: Clock, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(engine: object) -> bytes:
        raise RuntimeError("a plugin's state")

    monkeypatch.setattr(checkpoint, "dump", refuse)
    run("a", 1).step()
    assert (Checkpoint.objects.count(), EngineState.objects.get().checkpoint_wanted) == (0, False)
    assert EngineStep.objects.values_list("run", flat=True).distinct().count() == 1


@cases(
    "given, want",
    ("too few entries and steps", {"seq": 4_999, "step": 4_000}, False),
    ("entries enough", {"seq": 5_000, "step": 10}, True),
    ("steps enough", {"seq": 10, "step": 5_000}, True),
    ("busy", {"seq": 5_000, "step": 10, "idle": False}, False),
    ("busy for long", {"seq": 50_000, "step": 10, "idle": False}, True),
    ("busy with what waited for a new engine", {"seq": 90_000, "step": 2, "idle": False, "first": 80_000}, False),
    ("a new engine, busy for long", {"seq": 130_000, "step": 10, "idle": False, "first": 80_000}, True),
    ("a new engine without work", {"seq": 80_000, "step": 1, "first": 80_000}, True),
    ("taken a minute ago", {"seq": 90_000, "step": 10, "monotonic": 59.0}, False),
    ("they take long", {"seq": 90_000, "step": 10, "monotonic": 399.0, "cost": 4.0}, False),
    ("long ago for that", {"seq": 90_000, "step": 10, "monotonic": 400.0, "cost": 4.0}, True),
    ("a day later", {"seq": 1, "step": 1, "monotonic": 86_400.0}, True),
    ("a day without anything", {"seq": 0, "step": 0, "monotonic": 86_400.0}, False),
    ("wanted", {"seq": 0, "step": 0, "monotonic": 0.0, "wanted": True}, True),
)
def test_checkpoint_is_due(given: dict[str, float], want: bool) -> None:
    given = dict(given)
    timer = CheckpointTimer(
        seq=0, step=0, taken_at=0.0, cost_seconds=given.pop("cost", 0.0), first_entries=int(given.pop("first", 0))
    )
    defaults = {"monotonic": 60.0, "idle": True, "wanted": False}
    assert timer.is_due(**(defaults | given)) is want  # type: ignore[arg-type]


def test_old_checkpoints_become_fewer(cluster: Cluster) -> None:
    now = moment_of(START_US)
    for seq, minutes in enumerate(range(3 * 24 * 60, -1, -20)):
        at = now - timedelta(minutes=minutes)
        Checkpoint.objects.create(
            cluster=cluster, run=1, step=seq, seq=seq, rv=0, objects_rv=0, config_version=1, at=at, engine=b"",
            objects_packed=b"",
        )  # fmt: skip
    checkpoints._thin_out(cluster.pk, now)
    ages = [now - at for at in Checkpoint.objects.values_list("at", flat=True)]
    assert sum(age < timedelta(hours=1) for age in ages) == 3
    assert 23 <= sum(timedelta(hours=1) <= age < timedelta(days=1) for age in ages) <= 25
    assert 8 <= sum(age >= timedelta(days=1) for age in ages) <= 10


def test_old_checkpoints_stay_where_much_happened_between_them(cluster: Cluster) -> None:
    """Or a moment would be far from the next one."""
    now = moment_of(START_US)
    for place in range(40):
        at = now - timedelta(hours=2) + timedelta(seconds=place)
        Checkpoint.objects.create(
            cluster=cluster, run=1, step=place, seq=place * checkpoints.EVERY_ENTRIES, rv=0, objects_rv=0,
            config_version=1, at=at, engine=b"", objects_packed=b"",
        )  # fmt: skip
    checkpoints._thin_out(cluster.pk, now)
    left = sorted(Checkpoint.objects.values_list("seq", flat=True))
    assert len(left) < 40
    assert max(later - earlier for earlier, later in pairwise(left)) <= checkpoints.MOST_APART
