"""What stays pending does not grow: pods that fit nowhere, in a cluster where pods come and go for 30 minutes."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from kschedweb.cluster import services as cluster_services
from kschedweb.cluster.models import Change, Cluster, Event
from kschedweb.scheduling import retention
from kschedweb.scheduling.runner import bindings
from kschedweb.scheduling.runner.host import EngineHost
from kschedweb.traces.models import Attempt, Checkpoint, EngineLog, QueueState
from scheduler_core.api.times import moment_of
from tests.builders import make_node, make_pod
from tests.web.scheduling.conftest import lead, put
from tests.web.scheduling.rows import TableRows, table_rows, told, vacuum

pytestmark = pytest.mark.django_db(transaction=True)

NODES = 20
MINUTES = 30
SECOND_US = 1_000_000


@dataclass
class VirtualTime:
    """Time that passes only when the test says so."""

    now_us: int = 1_790_000_000_000_000

    def __call__(self) -> int:
        return self.now_us

    def wait(self, seconds: float) -> None:
        self.now_us += int(seconds * SECOND_US) + 1


class RealTime:
    def __call__(self) -> int:
        return time.time_ns() // 1000

    def wait(self, seconds: float) -> None:
        time.sleep(seconds)


@pytest.mark.parametrize(
    ("passing", "churn_seconds", "pending"),
    [
        pytest.param(VirtualTime, 120, 400, id="virtual minutes"),
        pytest.param(VirtualTime, 120, 1_000, id="virtual minutes of many", marks=pytest.mark.slow),
        pytest.param(RealTime, 30, 1_000, id="real minutes", marks=pytest.mark.slow),
    ],
)
def test_pods_that_stay_pending_take_no_more_room_than_their_first_attempts(
    passing: Callable[[], VirtualTime | RealTime],
    churn_seconds: int,
    pending: int,
    cluster: Cluster,
    record_property: Callable[[str, object], None],
) -> None:
    clock = passing()
    put(cluster, *(make_node(f"n{i}").capacity(cpu="4") for i in range(NODES)))
    put(cluster, make_pod("guest-0").req(cpu="100m"))
    put(cluster, *(make_pod(f"large-{i}").req(cpu=str(8 + i % 10)) for i in range(pending)))
    host = lead(cluster)
    host.clock_us = clock
    host.monotonic = lambda: clock() / SECOND_US
    ends_at = clock() + MINUTES * 60 * SECOND_US
    at_first: dict[str, TableRows] = {}
    guests = 0
    while clock() < ends_at:
        due_in = settle_now(cluster, host)
        at_first = at_first or table_rows()
        if isinstance(clock, VirtualTime):
            vacuum()
        # A pod leaves and another comes: its room is offered to all that wait.
        next_guest = ends_at - (ends_at - clock()) // (churn_seconds * SECOND_US) * churn_seconds * SECOND_US
        until_guest = (next_guest - clock()) / SECOND_US
        if until_guest <= 0 or due_in is None or due_in >= until_guest:
            clock.wait(max(until_guest, 0.0) or churn_seconds)
            cluster_services.pod_delete(
                cluster_id=cluster.pk, namespace="default", name=f"guest-{guests}", grace_seconds=0, actor="test"
            )
            guests += 1
            put(cluster, make_pod(f"guest-{guests}").req(cpu="100m"))
        else:
            clock.wait(due_in)
    settle_now(cluster, host)
    after = table_rows()
    made = EngineLog.objects.filter(kind="attempt").count()
    record_property(
        "figures",
        f"after the first attempts:\n{told(at_first)}\nafter {MINUTES} minutes, {made} attempts:\n{told(after)}",
    )
    assert made > 10 * pending
    assert QueueState.objects.count() == pending
    # One attempt, one event and one change of the condition for each pod, whatever the number of attempts.
    assert Attempt.objects.filter(name__startswith="large").count() == pending
    assert sum(Attempt.objects.values_list("repeat_count", flat=True)) + Attempt.objects.count() == made
    assert Event.objects.filter(reason="FailedScheduling").count() == pending
    assert sum(Event.objects.filter(reason="FailedScheduling").values_list("count", flat=True)) > 10 * pending
    assert Change.objects.filter(operation="updated", name__startswith="large").count() == pending
    for table in ("traces_attempt", "traces_queuestate", "cluster_event", "cluster_change"):
        assert after[table].bytes < 3 * at_first[table].bytes, table
    # What every attempt leaves in the log is small: the attempt, and its ways into the queues.
    grown = after["traces_enginelog"].bytes - at_first["traces_enginelog"].bytes
    entries = after["traces_enginelog"].rows - at_first["traces_enginelog"].rows
    assert grown / (made - pending) < 1_200
    assert entries / (made - pending) < 4
    # And retention bounds it.
    assert Checkpoint.objects.exists()
    now = moment_of(clock())
    size = sum(size.bytes for size in retention.sizes(cluster.pk).values())
    report = retention.prune(cluster_id=cluster.pk, megabytes=size / 2 / retention.MEGABYTE, now=now)
    assert report.cut is not None
    left = EngineLog.objects.count()
    assert left < entries
    record_property("figures", f"log entries after a cut at half the size: {left}")
    assert Attempt.objects.filter(name__startswith="large").count() == pending
    host.step()


def settle_now(cluster: Cluster, host: EngineHost) -> float | None:
    """Steps and bindings while something is due at once; seconds until more is."""
    while True:
        outcome = host.step()
        bound = bindings.bindings_run(cluster.pk)
        if not bound and not outcome.changes and (outcome.due_in is None or outcome.due_in > 0):
            return outcome.due_in
