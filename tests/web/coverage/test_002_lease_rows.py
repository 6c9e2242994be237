"""Coverage of the document on leader election: what its record says once electors have written it in PostgreSQL.

tests/coverage/test_002_leader_election.py shows the electors on a lock in memory; here the same is read from the rows.
"""

from __future__ import annotations

from datetime import datetime

import pytest
from django.db import transaction

from kschedweb.cluster.models import Cluster
from kschedweb.scheduling import leases
from kschedweb.scheduling.elector import Elector, LeaseTimes
from kschedweb.scheduling.leases import FencedOutError
from kschedweb.scheduling.models import Lease

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("patient_fence")]


def candidate(name: str) -> Elector:
    return Elector(name, LeaseTimes(duration=15, renew_deadline=10, retry_period=2), wake=lambda _: None)


def row(cluster: Cluster) -> Lease:
    return Lease.objects.get(pk=cluster.pk)


def acquired_at(cluster: Cluster) -> datetime:
    at = row(cluster).acquired_at
    assert at is not None
    return at


def test_002_record_has_its_fields_in_the_database(cluster: Cluster) -> None:
    """record fields"""
    candidate("a").tick()
    found = row(cluster)
    assert (found.holder, found.duration_seconds, found.transitions, found.version) == ("a", 15, 1, 1)
    assert found.acquired_at is not None and found.acquired_at == found.renewed_at


def test_002_renewal_keeps_transitions_and_acquire_time_in_the_database(cluster: Cluster) -> None:
    """transitions count, acquireTime kept"""
    leader, other = candidate("a"), candidate("b")
    leader.tick()
    first = acquired_at(cluster)
    leader.tick()
    renewed = row(cluster)
    assert (renewed.transitions, renewed.acquired_at) == (1, first)
    assert renewed.renewed_at is not None and renewed.renewed_at > first
    # One's own record is won back: a new epoch, but nobody else led meanwhile.
    leader.drop(cluster.pk)
    leader.tick()
    assert (row(cluster).transitions, row(cluster).acquired_at) == (1, first)
    leader.stop()
    other.tick()
    assert (row(cluster).holder, row(cluster).transitions) == ("b", 2)
    assert acquired_at(cluster) > first


def test_002_release_frees_the_lease_in_the_database(cluster: Cluster) -> None:
    """release on cancel"""
    leader, standby = candidate("a"), candidate("b")
    leader.tick()
    held = leader.leadership(cluster.pk)
    assert held is not None
    assert leader.stop() == [cluster.pk]
    free = row(cluster)
    assert (free.holder, free.duration_seconds) == ("", 1)
    standby.tick()
    assert standby.led_clusters() == [cluster.pk]
    # What a former leader still wants to give up is not its own any more.
    assert leases.lease_release(view=held.view) is False
    assert row(cluster).holder == "b"


def test_002_writes_under_an_old_epoch_are_refused(cluster: Cluster) -> None:
    """no fencing, monitoring transitions"""
    first, second = candidate("a"), candidate("b")
    first.tick()
    old = first.leadership(cluster.pk)
    first.stop()
    second.tick()
    new = second.leadership(cluster.pk)
    assert old is not None and new is not None
    with transaction.atomic():
        leases.fence_hold(cluster_id=cluster.pk, epoch=new.epoch)
    for epoch in (old.epoch, new.epoch + 1):
        with pytest.raises(FencedOutError), transaction.atomic():
            leases.fence_hold(cluster_id=cluster.pk, epoch=epoch)
