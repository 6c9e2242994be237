"""Who leads a cluster: electors that take, renew, lose and give up leases."""

from types import SimpleNamespace

import pytest
from django.db import OperationalError, connection

from kschedweb.cluster.models import Cluster
from kschedweb.scheduling import leases
from kschedweb.scheduling.elector import Elector, LeaseTimes
from kschedweb.scheduling.models import Lease, LeaseFence
from kschedweb.scheduling.runner import slices
from tests.cases import cases
from tests.web.scheduling.electors import Clock, make_elector

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.objects.create(name="leased")


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


def test_renewals_after_the_first_write_nothing(cluster: Cluster) -> None:
    clock, woken = Clock(), []
    leader, standby = make_elector("leader", clock, woken), make_elector("standby", clock, woken)
    leader.tick()
    leader.tick()
    before = Lease.objects.values().get(pk=cluster.pk)
    for _ in range(20):
        clock.now += 2
        leader.tick()
        standby.tick()
    assert Lease.objects.values().get(pk=cluster.pk) == before
    assert (leader.led_clusters(), standby.led_clusters()) == ([cluster.pk], [])


@cases(
    "last_words",
    ("its session is still there, as of one that is frozen", False),
    ("its session has ended", True),
)
def test_leader_that_beats_no_more_is_replaced_after_the_duration(cluster: Cluster, last_words: bool) -> None:
    clock, woken = Clock(), []
    leader, standby = make_elector("leader", clock, woken), make_elector("standby", clock, woken)
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


def test_beat_between_a_look_and_the_takeover_prevents_it(cluster: Cluster) -> None:
    clock, woken = Clock(), []
    leader = make_elector("leader", clock, woken)
    leader.tick()
    leader.tick()
    seen = leases.lease_get(cluster_id=cluster.pk)
    assert seen is not None and seen.beat is not None
    leader.tick()
    assert leases.lease_acquire(view=seen, holder="standby", duration_seconds=15) is None
    now = leases.lease_get(cluster_id=cluster.pk)
    assert now is not None and now.version == seen.version
    assert leases.lease_acquire(view=now, holder="standby", duration_seconds=15) is not None


def test_hung_cluster_is_taken_over_while_its_worker_beats_for_another(cluster: Cluster) -> None:
    clock, woken = Clock(), []
    other = Cluster.objects.create(name="other")
    leader, standby = make_elector("leader", clock, woken), make_elector("standby", clock, woken)
    leader.tick()
    leader.tick()
    led = leader.leadership(cluster.pk)
    assert led is not None
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


def test_cluster_that_hung_for_a_while_is_in_the_beat_again(cluster: Cluster) -> None:
    clock, woken = Clock(), []
    leader = make_elector("leader", clock, woken)
    leader.tick()
    leader.tick()
    led = leader.leadership(cluster.pk)
    assert led is not None
    led.busy_since = clock.now
    clock.now += 11
    leader.tick()
    assert not Lease.objects.get(pk=cluster.pk).beats
    led.busy_since = None
    leader.tick()
    assert Lease.objects.get(pk=cluster.pk).beats
    assert leader.leadership(cluster.pk) is led


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


def test_lost_message_for_a_slice_costs_no_lease(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, woken = Clock(), []
    leader = make_elector("leader", clock, woken)
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
    assert led.view.version > version  # it is written anew, and only then renewed without a write
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


@cases(
    "changed, message",
    ("nobody hears of the start", {"wake": None}, "OnStartedLeading callback must not be nil"),
    ("nobody hears of the end", {"stopped": None}, "OnStoppedLeading callback must not be nil"),
    ("no lock", {"lock": None}, r"Lock must not be nil\."),
    ("no identity", {"identity": ""}, "Lock identity is empty"),
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


@cases(
    "times, message",
    ("duration not above deadline", (10, 10, 2), "leaseDuration must be greater than renewDeadline"),
    ("deadline too near", (15, 2.4, 2), r"renewDeadline must be greater than retryPeriod\*JitterFactor"),
    ("no retry period", (15, 10, 0), "retryPeriod must be greater than zero"),
    ("in upstream's order", (0, 0, 0), "leaseDuration must be greater than renewDeadline"),
    ("no deadline", (1, 0, -1), "renewDeadline must be greater than zero"),
    ("no duration", (0, -1, -2), "leaseDuration must be greater than zero"),
)
def test_lease_times_refused(times: tuple[float, float, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LeaseTimes(*times)
