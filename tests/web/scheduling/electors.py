"""Electors with clocks of their own, over leases in the database."""

from kschedweb.cluster.models import Cluster
from kschedweb.scheduling.elector import Elector, Leadership, LeaseTimes
from kschedweb.scheduling.runner.slices import Worker


class Clock:
    """A monotonic clock that goes where it is told."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def make_elector(name: str, clock: Clock) -> Elector:
    return Elector(
        identity=name,
        times=LeaseTimes(duration=15, renew_deadline=10, retry_period=2),
        wake=lambda cluster_id: None,
        monotonic=clock,
        jitter=lambda: 0.0,
    )


def worker(name: str) -> Worker:
    """A worker whose elector only acts when it is told to."""
    return Worker(name, Elector(f"{name}/1", LeaseTimes(), wake=lambda _: None))


def led(one: Worker, cluster: Cluster) -> Leadership:
    found = one.elector.leadership(cluster.pk)
    assert found is not None
    return found
