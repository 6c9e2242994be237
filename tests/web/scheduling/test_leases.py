"""Leases on real PostgreSQL: who may lead, and that nobody who was replaced can write."""

from datetime import UTC, datetime

import pytest
from django.db import OperationalError, connection, transaction

from kschedweb.cluster.models import Cluster
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


def test_takeover_supersedes_pending_bindings_and_leaves_done_ones(cluster: Cluster) -> None:
    common = {"cluster": cluster, "epoch": 1, "namespace": "d", "node_name": "n", "created_at": NOW}
    pending = Binding.objects.create(pod_uid="p", name="p", **common)
    done = Binding.objects.create(pod_uid="q", name="q", status="done", **common)
    leases.lease_acquire(view=view_of(cluster), holder="b", duration_seconds=15, now=NOW)
    pending.refresh_from_db()
    done.refresh_from_db()
    assert (pending.status, done.status) == ("superseded", "done")


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


@pytest.mark.parametrize(
    ("times", "message"),
    [
        pytest.param((10, 10, 2), "leaseDuration must be greater than renewDeadline", id="duration not above deadline"),
        pytest.param(
            (15, 2.4, 2), r"renewDeadline must be greater than retryPeriod\*JitterFactor", id="deadline too near"
        ),
        pytest.param((15, 10, 0), "retryPeriod must be greater than zero", id="no retry period"),
    ],
)
def test_lease_times_refused(times: tuple[float, float, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LeaseTimes(*times)
