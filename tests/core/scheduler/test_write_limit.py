"""Bindings and patches of statuses are written no faster than the configuration allows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.config.types import ClientConnection
from scheduler_core.model.effects import Effects
from scheduler_core.scheduler import checkpoint
from scheduler_core.scheduler.engine import Observer
from scheduler_core.scheduler.write_limit import WriteLimit
from tests.builders import make_node, make_pod
from tests.core.scheduler.harness import SECOND, Cluster, start
from tests.examples import examples


def limited(pods: int, *, cpu: str = "1m", **connection: Any) -> Cluster:
    """A cluster of one node whose writes are limited, with so many pods to schedule."""
    cluster = start(client_connection=ClientConnection(**connection))
    cluster.put(make_node("n").capacity(cpu="64", pods="500").build())
    cluster.put(*(make_pod(f"p{number:03}").req(cpu=cpu).build() for number in range(pods)))
    return cluster


def writes(effects: Effects) -> int:
    return len(effects.bindings) + len(effects.status_patches)


def run(cluster: Cluster, seconds: int) -> list[int]:
    """Step when something is due, for so long; how much was written in each second."""
    began, counts = cluster.now, [0] * seconds
    while cluster.now < began + seconds * SECOND:
        counts[(cluster.now - began) // SECOND] += writes(cluster.step())
        due = cluster.scheduler.next_due(cluster.now)
        if due is None:
            break
        assert due > cluster.now or cluster.effects[-1].more
        cluster.now = max(due, cluster.now)
    return counts


def test_burst_is_written_at_once_and_the_rest_at_the_rate() -> None:
    cluster = limited(100, qps=10, burst=20)
    first = cluster.step()
    assert writes(first) == 20
    assert not first.more
    assert cluster.scheduler.next_due(cluster.now) == cluster.now + SECOND // 10
    assert run(cluster, 5) == [9, 10, 10, 10, 10]


def test_refused_pods_count_by_the_patches_of_their_status() -> None:
    cluster = limited(30, cpu="900", qps=5, burst=10)
    assert run(cluster, 4) == [10 + 4, 5, 5, 5]


@pytest.mark.parametrize("connection", [{}, {"qps": 0.0}, {"qps": -1.0, "burst": 1}])
def test_without_a_rate_nothing_waits(connection: dict[str, Any]) -> None:
    assert writes(limited(300, **connection).step()) == 300


@pytest.mark.parametrize(("connection", "at_once", "wait"), [({"qps": 2.0}, 100, 500_000), ({"burst": 3}, 3, 20_000)])
def test_what_is_not_named_is_as_upstream_has_it(connection: dict[str, Any], at_once: int, wait: int) -> None:
    cluster = limited(300, **connection)
    assert writes(cluster.step()) == at_once
    assert cluster.scheduler.next_due(cluster.now) == cluster.now + wait


def test_engine_that_only_watches_writes_nothing_and_is_not_limited() -> None:
    connection = ClientConnection(qps=1, burst=1)
    cluster = start(client_connection=connection, observer=Observer())
    assert cluster.scheduler.engine.write_limit is None


def test_writes_that_cannot_wait_are_paid_for_later() -> None:
    limit = WriteLimit(qps=10, burst=2)
    limit.spend(0, 5)
    assert limit.ready_at(0) == 400_000  # three of debt, and one for the cycle


def test_loaded_engine_has_the_tokens_of_the_one_that_was_dumped() -> None:
    cluster = limited(50, qps=1, burst=7)
    cluster.step()
    twin = Cluster(start(client_connection=ClientConnection(qps=1, burst=7)).scheduler, now=cluster.now)
    checkpoint.load(twin.scheduler, checkpoint.dump(cluster.scheduler))
    assert twin.scheduler.next_due(twin.now) == cluster.now + SECOND
    assert run(twin, 3) == run(cluster, 3) == [0, 1, 1]


@examples(50)
@given(
    qps=st.floats(0.1, 500),
    burst=st.integers(1, 50),
    spans=st.lists(st.tuples(st.integers(0, 3 * SECOND), st.integers(0, 5)), max_size=30),
)
def test_never_more_than_burst_and_rate_allow(qps: float, burst: int, spans: list[tuple[int, int]]) -> None:
    limit, now, written = WriteLimit(qps, burst), 0, 0
    for passed, wanted in spans:
        now += passed
        for _ in range(wanted):
            if limit.ready_at(now) > now:
                break
            limit.spend(now, 1)
            written += 1
        assert written <= burst + now * qps / SECOND + 1e-3
