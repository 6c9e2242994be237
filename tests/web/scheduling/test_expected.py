"""What a leader hears of at once, and what it waits for more of."""

from __future__ import annotations

import time
from collections.abc import Callable

import psycopg
import pytest

from kschedweb.cluster.models import Cluster
from kschedweb.cluster.services import clock_set, pod_delete
from kschedweb.common import wake
from kschedweb.common.connections import database_parameters
from kschedweb.scheduling.runner.bindings import bindings_run
from kschedweb.scheduling.runner.slices import EXPECTED_SECONDS
from kschedweb.traces.models import QueueState
from tests.cases import cases
from tests.web.scheduling.electors import led, worker

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("is_stepped", [False, True])
def test_bindings_carried_out_as_ordered_wait_for_more_unless_the_clock_waits_for_them(
    busy: Cluster, is_stepped: bool
) -> None:
    one = worker("one")
    one.elector.claim(busy.pk)
    if is_stepped:
        clock_set(cluster_id=busy.pk, mode="fast", actor="user")
    one.slice(busy.pk)
    channels = heard_of(lambda: bindings_run(busy.pk))
    assert channels == {wake.EXPECTED_CHANNEL}
    assert one.hear(wake.EXPECTED_CHANNEL, busy.pk) is is_stepped
    if not is_stepped:
        due_at = led(one, busy).due_at
        assert due_at is not None and due_at - time.monotonic() <= EXPECTED_SECONDS
    assert one.hear(wake.READERS_CHANNEL, busy.pk) is not is_stepped
    assert not QueueState.objects.filter(cluster=busy).exists(), "it is confirmed by now"


@cases(
    "due, wanted",
    ("none", None, 0.05),
    ("one that is due later", 30.0, 0.05),
    ("one that is due sooner", 0.01, 0.01),
)
def test_timer_that_is_set_at_the_latest_puts_nothing_off(cluster: Cluster, due: float | None, wanted: float) -> None:
    one = worker("one")
    one.elector.monotonic = lambda: 1000.0
    one.elector.claim(cluster.pk)
    one.elector.timer_set(cluster.pk, due)
    one.elector.timer_set(cluster.pk, 0.05, at_the_latest=True)
    assert led(one, cluster).due_at == pytest.approx(1000.0 + wanted)


def test_leader_hears_at_once_of_a_binding_that_was_refused(busy: Cluster) -> None:
    one = worker("one")
    one.elector.claim(busy.pk)
    one.slice(busy.pk)
    pod_delete(cluster_id=busy.pk, namespace="default", name="a", actor="user", grace_seconds=0)
    assert heard_of(lambda: bindings_run(busy.pk)) == {wake.READERS_CHANNEL}


def heard_of(write: Callable[[], object]) -> set[str]:
    """The channels by which those who listen hear of what is written."""
    with psycopg.connect(**database_parameters(), autocommit=True) as listening:
        for channel in (wake.READERS_CHANNEL, wake.EXPECTED_CHANNEL):
            listening.execute(f"LISTEN {channel}")
        write()
        return {notice.channel for notice in listening.notifies(timeout=0.2)}
