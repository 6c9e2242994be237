"""Who leads a cluster: what electors make of leases in the database.

tests/coverage/test_002_*.py shows their rules on a lock in memory.
"""

from types import SimpleNamespace

import pytest
from django.db import connection

from kschedweb.cluster.models import Cluster
from kschedweb.scheduling import leases
from kschedweb.scheduling.elector import Elector, Leadership, LeaseTimes
from kschedweb.scheduling.models import Lease, LeaseFence
from kschedweb.scheduling.runner import slices
from tests.cases import cases
from tests.web.scheduling.electors import Clock, make_elector

pytestmark = pytest.mark.django_db


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def leader(clock: Clock) -> Elector:
    return make_elector("leader", clock)


@pytest.fixture
def standby(clock: Clock) -> Elector:
    return make_elector("standby", clock)


def leadership(elector: Elector, cluster: Cluster) -> Leadership:
    led = elector.leadership(cluster.pk)
    assert led is not None
    return led


def test_renewals_after_the_first_write_nothing(
    cluster: Cluster, clock: Clock, leader: Elector, standby: Elector
) -> None:
    leader.tick()
    leader.tick()
    before = Lease.objects.values().get(pk=cluster.pk)
    for _ in range(20):
        clock.now += 2
        leader.tick()
        standby.tick()
    assert Lease.objects.values().get(pk=cluster.pk) == before
    assert (leader.led_clusters(), standby.led_clusters()) == ([cluster.pk], [])
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND pid = pg_backend_pid()"
            " AND classid::bigint = hashtext(%s)::bigint & 4294967295",
            [before["holder"]],
        )
        assert cursor.fetchone() == (1,)  # the last beat alone


@cases(
    "last_words",
    ("its session is still there, as of one that is frozen", False),
    ("its session has ended", True),
)
def test_leader_that_beats_no_more_is_replaced_after_the_duration(
    cluster: Cluster, clock: Clock, leader: Elector, standby: Elector, last_words: bool
) -> None:
    for _ in range(3):
        leader.tick()
        standby.tick()
        clock.now += 2
    if last_words:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock_all()")
    clock.now += 13  # 15 since the last beat that the standby has seen
    standby.tick()
    assert standby.led_clusters() == []
    clock.now += 1
    standby.tick()
    assert standby.led_clusters() == [cluster.pk]
    leader.tick()
    assert leader.led_clusters() == []


def test_beat_between_a_look_and_the_takeover_prevents_it(cluster: Cluster, leader: Elector) -> None:
    leader.tick()
    leader.tick()
    seen = leases.lease_get(cluster_id=cluster.pk)
    assert seen is not None and seen.beat is not None
    leader.tick()
    assert leases.lease_acquire(view=seen, holder="standby", duration_seconds=15) is None
    now = leases.lease_get(cluster_id=cluster.pk)
    assert now is not None and now.version == seen.version
    assert leases.lease_acquire(view=now, holder="standby", duration_seconds=15) is not None


def test_hung_cluster_is_taken_over_while_its_worker_beats_for_another(
    cluster: Cluster, clock: Clock, leader: Elector, standby: Elector
) -> None:
    other = Cluster.objects.create(name="other")
    leader.tick()
    leader.tick()
    led = leadership(leader, cluster)
    led.busy_since = clock.now
    waited = 0
    while not standby.led_clusters():
        clock.now += 2
        waited += 2
        leader.tick()
        standby.tick()
    assert standby.led_clusters() == [cluster.pk]
    assert waited <= 10 + 15 + 4  # the deadline, the duration, and a look at either end
    leader.tick()
    assert leader.led_clusters() == [other.pk]


def test_cluster_that_hung_for_a_while_is_in_the_beat_again(cluster: Cluster, clock: Clock, leader: Elector) -> None:
    leader.tick()
    leader.tick()
    led = leadership(leader, cluster)
    led.busy_since = clock.now
    clock.now += 11
    leader.tick()
    assert not Lease.objects.get(pk=cluster.pk).beats
    led.busy_since = None
    leader.tick()
    assert Lease.objects.get(pk=cluster.pk).beats
    assert leader.leadership(cluster.pk) is led


def test_lost_message_for_a_slice_costs_no_lease(
    cluster: Cluster, clock: Clock, leader: Elector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr(slices.wake, "send", lambda *_, **__: None)
    worker = slices.Worker("leader", leader)
    leader.tick()
    leader.tick()
    worker.wake(cluster.pk)
    beats = set()
    for _ in range(8):
        clock.now += 2
        leader.tick()
        beats.add(leases.lease_get(cluster_id=cluster.pk))
    assert len(beats) == 8


def test_leader_that_was_slow_goes_on_under_its_epoch_when_nobody_took_over(
    cluster: Cluster, clock: Clock, leader: Elector
) -> None:
    leader.tick()
    led = leadership(leader, cluster)
    led.busy_since, version = clock.now, led.view.version
    for _ in range(20):
        clock.now += 2
        leader.tick()
    led.busy_since = None
    leader.tick()
    assert leader.leadership(cluster.pk) is led
    assert led.view.version > version  # it is written anew, and only then renewed without a write
    assert LeaseFence.objects.get(pk=cluster.pk).epoch == led.epoch


def test_step_with_much_to_take_in_is_given_the_time_for_it(cluster: Cluster, clock: Clock, leader: Elector) -> None:
    leader.tick()
    led = leadership(leader, cluster)
    led.busy_since = clock.now
    led.be_patient(60)
    clock.now += 65
    leader.tick()
    version = Lease.objects.get(pk=cluster.pk).version
    clock.now += 10
    leader.tick()
    assert led.view.version == Lease.objects.get(pk=cluster.pk).version == version


def test_duration_that_counts_is_the_holders(cluster: Cluster, clock: Clock, leader: Elector, standby: Elector) -> None:
    leader.tick()
    Lease.objects.update(duration_seconds=40)
    standby.tick()
    clock.now += 39
    standby.tick()
    assert standby.led_clusters() == []
    clock.now += 2
    standby.tick()
    assert standby.led_clusters() == [cluster.pk]


def test_elector_sleeps_until_the_first_thing_is_due(monkeypatch: pytest.MonkeyPatch) -> None:
    elector, sleeps = make_elector("a", Clock()), list[float]()
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
