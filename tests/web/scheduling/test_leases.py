"""Leases on real PostgreSQL: who may lead, and that nobody who was replaced can write."""

# Longer than 400 lines because it has a test for each moment at which a lease changes hands.

import threading
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from django.db import InternalError, OperationalError, connection, transaction
from django.test.utils import CaptureQueriesContext

from kschedweb.cluster.models import Cluster, Event, Node, Pod
from kschedweb.scheduling import leases
from kschedweb.scheduling.elector import Elector, LeaseTimes
from kschedweb.scheduling.leases import FencedOutError, LeaseView
from kschedweb.scheduling.models import Binding, Lease, LeaseFence

NOW = datetime(2026, 11, 21, tzinfo=UTC)
pytestmark = pytest.mark.django_db


class Clock:
    """A monotonic clock that goes where it is told."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def make_elector(name: str, clock: Clock, woken: list[tuple[str, int]]) -> Elector:
    return Elector(
        identity=name,
        times=LeaseTimes(duration=15, renew_deadline=10, retry_period=2),
        wake=lambda cluster_id: woken.append((name, cluster_id)),
        monotonic=clock,
        jitter=lambda: 0.0,
    )


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.objects.create(name="leased")


def view_of(cluster: Cluster) -> LeaseView:
    return next(view for view in leases.leases_list() if view.cluster_id == cluster.pk)


def test_acquire_raises_the_epoch_each_time(cluster: Cluster) -> None:
    first = leases.lease_acquire(view=view_of(cluster), holder="a", duration_seconds=15, now=NOW)
    second = leases.lease_acquire(view=view_of(cluster), holder="b", duration_seconds=15, now=NOW)
    assert first is not None and second is not None
    assert second[1] == first[1] + 1
    assert Lease.objects.get(pk=cluster.pk).transitions == 2


def test_acquire_fails_when_somebody_wrote_the_lease_since(cluster: Cluster) -> None:
    stale = view_of(cluster)
    assert leases.lease_acquire(view=stale, holder="a", duration_seconds=15, now=NOW)
    assert leases.lease_acquire(view=stale, holder="b", duration_seconds=15, now=NOW) is None
    assert LeaseFence.objects.get(pk=cluster.pk).holder == "a"


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"version": -1}, id="the holder itself wrote it since"),
        pytest.param({"version": 1}, id="a version that was never written"),
        pytest.param({"holder": "b"}, id="another holds it"),
    ],
)
def test_renewal_writes_nothing_when_the_lease_is_not_as_it_was_read(
    cluster: Cluster, change: dict[str, int | str]
) -> None:
    taken = leases.lease_acquire(view=view_of(cluster), holder="a", duration_seconds=15, now=NOW)
    assert taken is not None
    known, _ = taken
    stale = LeaseView(
        known.cluster_id, str(change.get("holder", known.holder)), known.version + int(change.get("version", 0)), 15
    )
    other = Cluster.objects.create(name="other")
    free = view_of(other)
    assert leases.leases_renew(views=[stale, free], duration_seconds=40).keys() == {other.pk}
    row = Lease.objects.get(pk=cluster.pk)
    assert (row.holder, row.version, row.duration_seconds, row.renewed_at) == ("a", known.version, 15, NOW)
    assert leases.leases_renew(views=[known], duration_seconds=40)[cluster.pk].version == known.version + 1


def test_takeover_inherits_pending_bindings_and_voids_those_of_pods_and_nodes_that_are_gone(cluster: Cluster) -> None:
    epoch = leases.fence_raise(cluster_id=cluster.pk, holder="a")
    Node.objects.create(cluster=cluster, name="n", uid="n", manifest={})
    places = {"here": "n", "gone": "n", "bound": "n", "leaving": "n", "homeless": "m", "done": "n"}
    for name, node_name in places.items():
        if name != "gone":
            Pod.objects.create(
                cluster=cluster,
                namespace="d",
                name=name,
                uid=name,
                created_at=NOW,
                manifest={},
                node_name="other" if name == "bound" else "",
                deletion_timestamp=NOW if name == "leaving" else None,
            )
        Binding.objects.create(
            cluster=cluster,
            epoch=epoch,
            namespace="d",
            name=name,
            pod_uid=name,
            node_name=node_name,
            created_at=NOW,
            status="done" if name == "done" else "pending",
        )
    leases.lease_acquire(view=view_of(cluster), holder="b", duration_seconds=15, now=NOW)
    found = {name: (status, at - epoch) for name, status, at in Binding.objects.values_list("name", "status", "epoch")}
    assert found == {
        "here": ("pending", 1),
        **dict.fromkeys(("gone", "bound", "leaving", "homeless"), ("superseded", 0)),
        "done": ("done", 0),
    }


def test_fence_refuses_an_epoch_that_is_over(cluster: Cluster) -> None:
    epoch = leases.fence_raise(cluster_id=cluster.pk, holder="a")
    leases.fence_hold(cluster_id=cluster.pk, epoch=epoch)
    leases.fence_raise(cluster_id=cluster.pk, holder="b")
    with pytest.raises(FencedOutError):
        leases.fence_hold(cluster_id=cluster.pk, epoch=epoch)


@pytest.mark.django_db(transaction=True)
def test_takeover_waits_for_a_writer_under_the_old_epoch(cluster: Cluster) -> None:
    epoch = leases.fence_raise(cluster_id=cluster.pk, holder="a")
    other = connection.copy()
    try:
        with transaction.atomic():
            leases.fence_hold(cluster_id=cluster.pk, epoch=epoch)
            other.connect()
            with pytest.raises(OperationalError, match="lock timeout"), other.cursor() as cursor:
                cursor.execute("SET lock_timeout = '100ms'")
                cursor.execute("UPDATE lease_fences SET epoch = epoch + 1 WHERE cluster_id = %s", [cluster.pk])
    finally:
        other.close()
    assert leases.fence_raise(cluster_id=cluster.pk, holder="b") == epoch + 1


@pytest.mark.django_db(transaction=True)
def test_silent_transaction_does_not_keep_a_takeover_waiting(cluster: Cluster) -> None:
    epoch = leases.fence_raise(cluster_id=cluster.pk, holder="frozen")
    held, over = threading.Event(), threading.Event()

    def freeze() -> None:
        try:
            with transaction.atomic():
                leases.fence_hold(cluster_id=cluster.pk, epoch=epoch)
                held.set()
                over.wait(30)
                Cluster.objects.filter(pk=cluster.pk).update(seed=99)
        except InternalError:
            pass
        finally:
            connection.close()

    frozen = threading.Thread(target=freeze)
    frozen.start()
    try:
        assert held.wait(10)
        taken = leases.lease_acquire(view=view_of(cluster), holder="b", duration_seconds=15, lock_seconds=10)
    finally:
        over.set()
        frozen.join()
    assert taken is not None and taken[1] == epoch + 1
    cluster.refresh_from_db()
    assert cluster.seed != 99


def test_fence_is_waited_for_half_of_the_time(cluster: Cluster) -> None:
    with CaptureQueriesContext(connection) as queries:
        leases.lease_acquire(view=view_of(cluster), holder="b", duration_seconds=15, lock_seconds=10)
    told = [query["sql"] for query in queries if "lock_timeout" in query["sql"]]
    assert ["10000ms" in told[0], "5000ms" in told[1]] == [True, True], told


def test_elector_takes_a_free_cluster_and_wakes_it(cluster: Cluster) -> None:
    woken: list[tuple[str, int]] = []
    elector = make_elector("a", Clock(), woken)
    elector.tick()
    assert elector.led_clusters() == [cluster.pk]
    assert woken == [("a", cluster.pk)]


def test_standby_takes_over_only_after_the_whole_duration_of_its_own_watch(cluster: Cluster) -> None:
    clock, woken = Clock(), []
    dead, standby = make_elector("dead", clock, woken), make_elector("standby", clock, woken)
    dead.tick()
    clock.now += 600  # long dead by the record's own times
    standby.tick()  # but seen for the first time now
    assert standby.led_clusters() == []
    clock.now += 15
    standby.tick()
    assert standby.led_clusters() == []
    clock.now += 1
    standby.tick()
    assert standby.led_clusters() == [cluster.pk]


def test_standby_waits_while_the_leader_renews(cluster: Cluster) -> None:
    clock, woken = Clock(), []
    leader, standby = make_elector("leader", clock, woken), make_elector("standby", clock, woken)
    for _ in range(20):
        leader.tick()
        standby.tick()
        clock.now += 2
    assert (leader.led_clusters(), standby.led_clusters()) == ([cluster.pk], [])


def test_leader_that_was_replaced_stops_leading(cluster: Cluster) -> None:
    clock, woken = Clock(), []
    leader, standby = make_elector("leader", clock, woken), make_elector("standby", clock, woken)
    leader.tick()
    standby.tick()
    clock.now += 16
    standby.tick()
    leader.tick()
    assert (leader.led_clusters(), standby.led_clusters()) == ([], [cluster.pk])


def test_released_lease_is_taken_at_once(cluster: Cluster) -> None:
    clock, woken = Clock(), []
    leader, standby = make_elector("leader", clock, woken), make_elector("standby", clock, woken)
    leader.tick()
    leader.stop()
    standby.tick()
    assert standby.led_clusters() == [cluster.pk]


def test_cluster_whose_step_hangs_is_not_renewed(cluster: Cluster) -> None:
    clock, woken = Clock(), []
    leader = make_elector("leader", clock, woken)
    leader.tick()
    led = leader.leadership(cluster.pk)
    assert led is not None
    led.busy_since = clock.now
    clock.now += 9
    leader.tick()
    version = Lease.objects.get(pk=cluster.pk).version
    clock.now += 2
    leader.tick()
    assert Lease.objects.get(pk=cluster.pk).version == version


def test_leader_that_was_slow_goes_on_under_its_epoch_when_nobody_took_over(cluster: Cluster) -> None:
    clock, woken = Clock(), []
    leader = make_elector("leader", clock, woken)
    leader.tick()
    led = leader.leadership(cluster.pk)
    assert led is not None
    led.busy_since, version = clock.now, led.view.version
    for _ in range(20):
        clock.now += 2
        leader.tick()
    led.busy_since = None
    leader.tick()
    assert leader.leadership(cluster.pk) is led
    assert led.view.version > version
    assert LeaseFence.objects.get(pk=cluster.pk).epoch == led.epoch


def test_step_with_much_to_take_in_is_given_the_time_for_it(cluster: Cluster) -> None:
    clock, woken = Clock(), []
    leader = make_elector("leader", clock, woken)
    leader.tick()
    led = leader.leadership(cluster.pk)
    assert led is not None
    led.busy_since = clock.now
    led.be_patient(60)
    clock.now += 65
    leader.tick()
    version = Lease.objects.get(pk=cluster.pk).version
    clock.now += 10
    leader.tick()
    assert led.view.version == Lease.objects.get(pk=cluster.pk).version == version


class Broken:
    """The leases while the database is away; the rest of the time as they are."""

    def __init__(self) -> None:
        self.is_away = False

    def __getattr__(self, name: str) -> object:
        if self.is_away:
            raise OperationalError("the database is away")
        return getattr(leases, name)


@pytest.mark.parametrize(
    ("seconds", "is_kept"), [pytest.param(9, True, id="9 s are survived"), pytest.param(11, False, id="11 s are not")]
)
def test_leadership_survives_an_outage_shorter_than_the_renew_deadline(
    cluster: Cluster, seconds: int, is_kept: bool
) -> None:
    clock, lock, ended = Clock(), Broken(), []
    leader = make_elector("leader", clock, [])
    leader.lock, leader.stopped = lock, ended.append  # type: ignore[assignment]
    leader.tick()
    led = leader.leadership(cluster.pk)
    assert led is not None
    lock.is_away = True
    for _ in range(seconds):
        clock.now += 1
        with pytest.raises(OperationalError):
            leader.renew()
    assert (leader.leadership(cluster.pk) is led) == is_kept
    assert ended == ([] if is_kept else [cluster.pk])
    lock.is_away = False
    leader.tick()
    again = leader.leadership(cluster.pk)
    assert again is not None and again.epoch == led.epoch + (not is_kept)  # the engine is built anew
    assert Lease.objects.get(pk=cluster.pk).transitions == 1  # its own record, won back


def test_renewal_keeps_acquire_time_and_transitions(cluster: Cluster) -> None:
    clock = Clock()
    leader = make_elector("leader", clock, [])
    leader.tick()
    before = Lease.objects.get(pk=cluster.pk)
    clock.now += 2
    leader.tick()
    after = Lease.objects.get(pk=cluster.pk)
    assert (after.acquired_at, after.transitions) == (before.acquired_at, before.transitions)
    assert after.renewed_at is not None and before.renewed_at is not None and after.renewed_at > before.renewed_at


def test_release_leaves_an_empty_holder_and_a_second(cluster: Cluster) -> None:
    leader = make_elector("leader", Clock(), [])
    leader.tick()
    assert leader.stop() == [cluster.pk]
    lease = Lease.objects.get(pk=cluster.pk)
    assert (lease.holder, lease.duration_seconds, lease.transitions) == ("", 1, 1)
    assert lease.acquired_at == lease.renewed_at
    notes = list(
        Event.objects.filter(cluster=cluster, reason="LeaderElection").order_by("id").values_list("note", flat=True)
    )
    assert notes == ["leader became leader", "leader stopped leading"]
    leader.tick()  # whoever was told to stop takes nothing
    assert leader.led_clusters() == []


def test_own_released_lease_taken_again_counts_as_a_transition(cluster: Cluster) -> None:
    make_elector("same", Clock(), []).tick()
    Lease.objects.update(holder="")
    again = make_elector("same", Clock(), [])
    again.tick()
    lease = Lease.objects.get(pk=cluster.pk)
    assert (lease.holder, lease.transitions) == ("same", 2)


def test_release_of_a_lease_somebody_else_has_writes_nothing(cluster: Cluster) -> None:
    leader = make_elector("leader", Clock(), [])
    leader.tick()
    Lease.objects.update(holder="other")
    version = Lease.objects.get(pk=cluster.pk).version
    assert leader.stop() == []
    lease = Lease.objects.get(pk=cluster.pk)
    assert (lease.holder, lease.version) == ("other", version)


def test_duration_that_counts_is_the_holders(cluster: Cluster) -> None:
    clock = Clock()
    make_elector("dead", clock, []).tick()
    Lease.objects.update(duration_seconds=40)
    standby = make_elector("standby", clock, [])
    standby.tick()
    clock.now += 39
    standby.tick()
    assert standby.led_clusters() == []
    clock.now += 2
    standby.tick()
    assert standby.led_clusters() == [cluster.pk]


def test_clocks_an_hour_apart_change_nothing(cluster: Cluster) -> None:
    clock, ahead = Clock(), Clock()
    ahead.now += 3600
    leader, standby = make_elector("leader", clock, []), make_elector("standby", ahead, [])
    for _ in range(30):
        leader.tick()
        standby.tick()
        clock.now += 1
        ahead.now += 1
    assert (leader.led_clusters(), standby.led_clusters()) == ([cluster.pk], [])
    saw = ahead.now - 1
    while not standby.led_clusters():  # the leader is dead from now on
        ahead.now += 0.5
        standby.tick()
    assert 15 < ahead.now - saw <= 15 + 4.4
    assert Lease.objects.get(pk=cluster.pk).transitions == 2


def test_epoch_never_falls_behind_the_transitions(cluster: Cluster) -> None:
    clock, distance = Clock(), []
    one, two = make_elector("one", clock, []), make_elector("two", clock, [])
    for round_ in range(6):
        for elector in (one, two):
            elector.tick()
        (one if round_ % 2 else two).drop(cluster.pk)  # lost; won back, or taken by the other
        clock.now += 20
        epoch = LeaseFence.objects.get(pk=cluster.pk).epoch
        distance.append(epoch - Lease.objects.get(pk=cluster.pk).transitions)
    assert distance == sorted(distance)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        pytest.param({"wake": None}, "OnStartedLeading callback must not be nil", id="nobody hears of the start"),
        pytest.param({"stopped": None}, "OnStoppedLeading callback must not be nil", id="nobody hears of the end"),
        pytest.param({"lock": None}, r"Lock must not be nil\.", id="no lock"),
        pytest.param({"identity": ""}, "Lock identity is empty", id="no identity"),
    ],
)
def test_elector_refused(changed: dict[str, object], message: str) -> None:
    given = {"identity": "a", "times": LeaseTimes(), "wake": lambda _: None, **changed}
    with pytest.raises(ValueError, match=message):
        Elector(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("jitter", "pause"), [pytest.param(0.0, 2.0, id="shortest"), pytest.param(1.0, 4.4, id="longest")]
)
def test_pause_between_looks_is_jittered(jitter: float, pause: float) -> None:
    elector = make_elector("a", Clock(), [])
    elector.jitter = lambda: jitter
    assert elector._pause() == pytest.approx(pause)


def test_elector_sleeps_until_the_first_thing_is_due(monkeypatch: pytest.MonkeyPatch) -> None:
    elector, sleeps = make_elector("a", Clock(), []), list[float]()
    elector.jitter = lambda: 1.0  # the next look is due in 4.4 seconds, the next renewal in 2

    def sleep(seconds: float) -> None:
        sleeps.append(seconds)
        elector._stop.set()

    for work in ("_connect", "renew", "watch"):
        monkeypatch.setattr(elector, work, lambda: None)
    monkeypatch.setattr(elector, "_poke", SimpleNamespace(wait=sleep, clear=lambda: None))
    monkeypatch.setattr("kschedweb.scheduling.elector.connection", SimpleNamespace(close=lambda: None))
    elector._run()
    assert sleeps == [2.0]


@pytest.mark.parametrize(("times", "seconds"), [((15, 10, 2), 5), ((3, 1.5, 1), 1)])
def test_statement_may_take_half_the_time_left_to_renew_but_a_second(
    times: tuple[float, float, float], seconds: float
) -> None:
    assert LeaseTimes(*times).request == seconds


@pytest.mark.parametrize(
    ("times", "message"),
    [
        pytest.param((10, 10, 2), "leaseDuration must be greater than renewDeadline", id="duration not above deadline"),
        pytest.param(
            (15, 2.4, 2), r"renewDeadline must be greater than retryPeriod\*JitterFactor", id="deadline too near"
        ),
        pytest.param((15, 10, 0), "retryPeriod must be greater than zero", id="no retry period"),
        pytest.param((0, 0, 0), "leaseDuration must be greater than renewDeadline", id="in upstream's order"),
        pytest.param((1, 0, -1), "renewDeadline must be greater than zero", id="no deadline"),
        pytest.param((0, -1, -2), "leaseDuration must be greater than zero", id="no duration"),
    ],
)
def test_lease_times_refused(times: tuple[float, float, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LeaseTimes(*times)
