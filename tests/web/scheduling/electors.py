"""Electors with clocks of their own, over leases in the database."""

from kschedweb.scheduling.elector import Elector, LeaseTimes


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
