"""Two workers and one cluster, over real tables: who schedules, and who hears that leading has ended."""

from __future__ import annotations

import time

import pytest

from kschedweb.cluster.models import Cluster, Pod
from kschedweb.scheduling import leases
from kschedweb.scheduling.elector import Elector, LeaseTimes
from kschedweb.scheduling.runner.slices import Worker
from kschedweb.traces.models import Attempt
from tests.builders import make_node, make_pod
from tests.web.scheduling.conftest import PutObjects

pytestmark = pytest.mark.django_db(transaction=True)


def worker(name: str) -> Worker:
    """A worker whose elector only acts when it is told to."""
    return Worker(name, Elector(f"{name}/1", LeaseTimes(), wake=lambda _: None))


@pytest.fixture
def busy(cluster: Cluster, put_objects: PutObjects) -> Cluster:
    put_objects(
        cluster,
        [
            make_node("n1").capacity(cpu="4", memory="8Gi", pods="110").manifest(),
            make_pod("a").req(cpu="1", memory="1Gi").manifest(),
        ],
    )
    return cluster


def test_standby_schedules_nothing(busy: Cluster) -> None:
    leader, standby = worker("leader"), worker("standby")
    assert leader.elector.claim(busy.pk) is not None
    standby.ensure_leader(busy.pk)
    standby.slice(busy.pk)
    assert not standby.hosts and not Attempt.objects.exists()
    leader.slice(busy.pk)
    assert Attempt.objects.filter(cluster=busy, result="scheduled").count() == 1


@pytest.mark.parametrize("end", ["resign", "drop", "replaced"])
def test_stopped_is_called_however_leading_ends(cluster: Cluster, end: str) -> None:
    ended: list[int] = []
    elector = worker("one").elector
    elector.stopped = ended.append
    elector.tick()
    if end == "replaced":
        view = leases.lease_get(cluster_id=cluster.pk)
        assert view is not None
        assert leases.lease_acquire(view=view, holder="two", duration_seconds=15) is not None
        elector.tick()
    else:
        getattr(elector, end)(cluster.pk)
    assert ended == [cluster.pk] and not elector.led_clusters()


def test_worker_that_lost_its_lease_drops_the_engine_and_stands_by(busy: Cluster, put_objects: PutObjects) -> None:
    loser = worker("loser")
    loser.elector.claim(busy.pk)
    loser.slice(busy.pk)
    assert busy.pk in loser.hosts
    leases.fence_raise(cluster_id=busy.pk, holder="winner")
    put_objects(busy, [make_pod("late").req(cpu="1", memory="1Gi").manifest()])
    loser.slice(busy.pk)
    assert not loser.hosts and not loser.elector.led_clusters()
    assert not Attempt.objects.filter(cluster=busy, name="late").exists()
    assert Pod.objects.get(cluster=busy, name="late").node_name == ""


@pytest.mark.parametrize("is_answered", [True, False], ids=["answered", "not answered"])
def test_leader_keeps_its_lease_when_its_wakings_are_answered(busy: Cluster, is_answered: bool) -> None:
    one = worker("one")
    clock = [time.monotonic()]
    one.elector.monotonic = lambda: clock[0]
    one.elector.wake = one.wake
    one.elector.tick()
    before = leases.lease_get(cluster_id=busy.pk)
    if is_answered:
        one.slice(busy.pk)
    clock[0] += one.elector.times.renew_deadline + 1
    one.elector.tick()
    after = leases.lease_get(cluster_id=busy.pk)
    assert before is not None and after is not None
    assert (after.version > before.version) == is_answered
