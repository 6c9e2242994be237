"""Pods arrive while everything is killed or stopped at random; then how soon scheduling goes on after the last kill.

With two scheduler workers: the leader alone is killed, so that the other takes over what it was watching already; then
both, so that each starts anew and watches for a whole lease first. Bounds hold for the lease times given; the figures
are printed after the run.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from kschedweb.ops import up
from tests.faults import audit, storm, workloads
from tests.faults.service import QUICK_LEASE, Service
from tests.faults.storm import Arrivals, Storm, wait_until_tended
from tests.waiting import HANG_SECONDS

SEED = 11
SLOW_RATE = 20  # cycles per second: what is pending lasts until the leader is killed
LATE_PODS = 300  # they arrive before each of the last two kills


@dataclass(frozen=True, slots=True)
class Lease:
    """Lease duration, renew deadline and retry period in seconds, and within what scheduling must go on."""

    duration: float
    renew_deadline: float
    retry_period: float
    survivor_within: float
    anew_within: float

    def __str__(self) -> str:
        return f"{self.duration}/{self.renew_deadline}/{self.retry_period} s"

    @property
    def environment(self) -> dict[str, str]:
        return {
            "KSCHED_LEASE_DURATION_SECONDS": str(self.duration),
            "KSCHED_RENEW_DEADLINE_SECONDS": str(self.renew_deadline),
            "KSCHED_RETRY_PERIOD_SECONDS": str(self.retry_period),
        }


DEFAULT = Lease(15, 10, 2, survivor_within=30, anew_within=45)
QUICK = Lease(6, 4, 1, survivor_within=13, anew_within=30)
QUICKEST = Lease(3, 2, 0.5, survivor_within=10, anew_within=27)


@pytest.fixture
def leased() -> Iterator[Callable[[Lease], Service]]:
    """A service of the test's own with such a lease, and with two workers of the kinds that matter."""
    made: list[Service] = []

    def start(lease: Lease) -> Service:
        service = Service(lease.environment)
        made.append(service)
        service.start()
        for name in storm.JOINED:
            service.join(name)
        return service

    try:
        yield start
    finally:
        for service in made:
            service.close()


def test_nothing_is_lost_in_a_short_storm(stormy: Service, record_property: Callable[[str, object], None]) -> None:
    assert QUICKEST.environment == QUICK_LEASE
    record_property("figures", weather(stormy, QUICKEST, nodes=100, pods=600, kills=8, stops=2, seconds=8))


@pytest.mark.slow
@pytest.mark.parametrize("lease", [DEFAULT, QUICK], ids=str)
def test_nothing_is_lost_when_5000_pods_arrive_in_a_storm(
    lease: Lease, leased: Callable[[Lease], Service], record_property: Callable[[str, object], None]
) -> None:
    figures = weather(leased(lease), lease, nodes=500, pods=5000, kills=30, stops=10, seconds=60, is_timed=True)
    record_property("figures", figures)


def weather(
    service: Service,
    lease: Lease,
    *,
    nodes: int,
    pods: int,
    kills: int,
    stops: int,
    seconds: float,
    is_timed: bool = False,
) -> str:
    """The whole course: the storm, the two last kills, the audit; what was seen, in words.

    `is_timed`: nothing else uses the machine, and scheduling has to go on within the bounds of the lease.
    """
    workload = workloads.mixed(nodes=nodes, pods=pods + 2 * LATE_PODS, seed=SEED)
    ground, manifests = workload.parted()
    cluster_id = service.cluster_create("stormy", seed=SEED)
    service.upload(cluster_id, ground.files)

    arrivals = Arrivals(service, cluster_id, manifests[:pods], seconds)
    dealt = Storm(service)
    arrivals.start()
    dealt.deal(storm.blows(kills=kills, stops=stops, seconds=seconds, seed=SEED))
    wait_until_tended(service, lambda: not arrivals.going_on, seconds=arrivals.longest_seconds)
    arrivals.wait()
    assert wait_until_tended(service, lambda: attempts(service, cluster_id) > 0, seconds=HANG_SECONDS), service.logs()
    meanwhile = attempts(service, cluster_id)
    assert dealt.kills.total() >= kills

    survivor = after_last_kill(service, dealt, cluster_id, manifests[pods : pods + LATE_PODS], lease, both=False)
    anew = after_last_kill(service, dealt, cluster_id, manifests[pods + LATE_PODS :], lease, both=True)
    ended_at = time.monotonic()
    is_settled = wait_until_tended(service, lambda: not service.unsettled(cluster_id), seconds=HANG_SECONDS)
    assert is_settled, f"not settled: {service.unsettled(cluster_id)}\n{service.logs()}"
    settled = time.monotonic() - ended_at
    with service.connect() as connection:
        found = audit.problems(connection, cluster_id, workload)
    found += not_made_again(service, "stormy", attempts(service, cluster_id))
    figures = "\n".join(
        [
            f"lease {lease}, {nodes} nodes, seed {SEED}",
            f"{len(workload.pods)} pods accepted, {service.bound(cluster_id)} bound; {pods} arrived within"
            f" {arrivals.ended_after:.0f} s (meant: {seconds:g} s), requests sent again: {arrivals.sent_again}",
            f"kills: {dealt.kills.total()} ({_listed(dealt.kills)})",
            f"stops: {dealt.stops.total()} ({_listed(dealt.stops)})",
            f"{meanwhile} attempts when all had arrived, {attempts(service, cluster_id)} in the end,"
            f" {service.epoch(cluster_id)} epochs",
            f"scheduling went on {survivor:.1f} s after the leader was killed, a standby watching"
            f" (bound {lease.survivor_within:g} s)",
            f"scheduling went on {anew:.1f} s after both scheduler workers were killed (bound {lease.anew_within:g} s)",
            f"settled {settled:.1f} s later; rules broken: {len(found)}",
        ]
    )
    assert not found, "\n".join([figures, *found])
    assert not is_timed or (survivor <= lease.survivor_within and anew <= lease.anew_within), figures
    return figures


def not_made_again(service: Service, cluster: str, cycles: int) -> list[str]:
    """What keeps the whole history of a cluster from being the same when it is made again."""
    told = service.replay(cluster)
    found = [] if told.get("difference") is None else [f"the history differs: {told['difference']}"]
    if told.get("cycles") != cycles:
        found.append(f"of {cycles} cycles {told.get('cycles')} were made again: {told['reason']}")
    return found


def after_last_kill(
    service: Service, dealt: Storm, cluster_id: int, pods: list[dict[str, Any]], lease: Lease, *, both: bool
) -> float:
    """Kill the leader, or both scheduler workers, while pods are pending; seconds until one of these is attempted."""
    all_well = lambda: up.answers_ready("127.0.0.1", service.port) and service.unsettled(cluster_id) == ""  # noqa: E731
    assert wait_until_tended(service, all_well, seconds=HANG_SECONDS), (
        f"{service.unsettled(cluster_id)}\n{service.logs()}"
    )
    pace(service, cluster_id, {"pace": "slow", "rate": SLOW_RATE})
    if not both:
        # Whoever started last must have been watching for a lease to be a standby that may take over.
        wait_until_tended(service, lambda: False, seconds=lease.duration + lease.retry_period)
    late = Arrivals(service, cluster_id, pods, seconds=0.0)
    before = attempts(service, cluster_id)
    late.start()
    late.wait()
    assert wait_until_tended(service, lambda: attempts(service, cluster_id) > before, seconds=HANG_SECONDS)
    leader = leader_name(service, cluster_id)
    at = dealt.kill(*(("scheduler", "scheduler-2") if both else (leader,)))
    # What the dead had written is there by now: their connections ended with them, or their epoch is refused.
    epoch = service.epoch(cluster_id)
    pending = service.count(
        "SELECT count(*) FROM cluster_pod p WHERE p.cluster_id = %s AND NOT EXISTS (SELECT 1 FROM traces_attempt a"
        " WHERE a.cluster_id = p.cluster_id AND a.pod_uid = p.uid)",
        cluster_id,
    )
    assert pending > 0, "nothing was pending when the leader was killed"
    went_on = wait_until_tended(service, lambda: attempts(service, cluster_id, after=epoch) > 0, seconds=HANG_SECONDS)
    seconds = time.monotonic() - at
    assert went_on, f"no attempt within {seconds:.0f} s after the last kill\n{service.logs()}"
    pace(service, cluster_id, {"pace": "run"})
    return seconds


def leader_name(service: Service, cluster_id: int) -> str:
    """Which of the scheduler workers leads: the one whose log has the holder's identity as its own."""
    holder = service.rows("SELECT holder FROM leases WHERE cluster_id = %s", cluster_id)[0][0]
    began = f'attempting to acquire leader lease kube-system/kube-scheduler..." identity="{holder}"'
    found = [
        name
        for name in ("scheduler", "scheduler-2")
        if began in (service.data / "logs" / f"{name}.log").read_text(errors="replace")
    ]
    assert len(found) == 1, f"{holder} is none of the scheduler workers or more than one: {found}"
    return found[0]


def attempts(service: Service, cluster_id: int, *, after: int = 0) -> int:
    """How many attempts the log of the engine has, of epochs after one."""
    return service.count(
        "SELECT coalesce(sum(cycles), 0) FROM traces_enginestep WHERE cluster_id = %s AND epoch > %s", cluster_id, after
    )


def pace(service: Service, cluster_id: int, wanted: dict[str, Any]) -> None:
    service.client.post(f"/api/clusters/{cluster_id}/pace", wanted)


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
