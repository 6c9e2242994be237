"""How fast the nodes of a zone get NoExecute taints, by how many of it are healthy."""

from __future__ import annotations

from scheduler_core.controllers.node_zones import Disruption, Zones
from tests.cases import cases

SECOND = 1_000_000


def turns(zones: Zones, since: int, until: int) -> list[tuple[int, str]]:
    """Seconds and names of the nodes that have their turn."""
    return [(now // SECOND, name) for now in range(since, until, SECOND) for name in zones.admit(now)]


@cases(
    "healthy, unhealthy, seconds",
    ("most are healthy", 9, 3, 10),
    ("a zone without a healthy node, beside one that has some", 0, 3, 10),
    ("two unhealthy nodes never stop it", 1, 2, 10),
    ("55 % of a small zone", 2, 3, None),
    ("54.9 % of a large zone", 41, 50, 10),
    ("55.6 % of a large zone", 40, 50, 100),
    ("55 % exactly", 9, 11, None),
    ("fifty nodes are not large", 20, 30, None),
    ("fifty-one nodes are large", 20, 31, 100),
)
def test_rate_of_a_zone(healthy: int, unhealthy: int, seconds: int | None) -> None:
    zones = Zones()
    zones.count("other", healthy=1)
    zones.count("a", healthy=healthy, unhealthy=unhealthy)
    for name in ("n0", "n1", "n2"):
        zones.wait("a", name)
    assert zones.update(0) == Disruption.NONE
    found = turns(zones, 0, 1000 * SECOND)
    assert found == ([] if seconds is None else [(place * seconds, f"n{place}") for place in range(3)])
    assert zones.next_due() is None


def test_rate_changes_with_the_state() -> None:
    zones = Zones()
    zones.count("a", healthy=4)
    zones.update(0)
    zones.count("a", healthy=-1, unhealthy=1)
    zones.wait("a", "n0")
    zones.update(0)
    assert turns(zones, 0, SECOND) == [(0, "n0")]
    zones.count("a", healthy=-2, unhealthy=2)
    zones.wait("a", "n1")
    zones.wait("a", "n2")
    zones.update(5 * SECOND)
    assert zones.next_due() is None and not turns(zones, 5 * SECOND, 90 * SECOND)
    zones.count("a", healthy=2, unhealthy=-2)
    zones.update(90 * SECOND)  # whoever waited does so for another turn
    assert zones.next_due() == 100 * SECOND
    assert turns(zones, 90 * SECOND, 200 * SECOND) == [(100, "n1"), (110, "n2")]


def test_cluster_goes_down_and_comes_back() -> None:
    zones = Zones()
    zones.count("a", healthy=1)
    zones.count("b", unhealthy=1)
    assert zones.update(0) == Disruption.NONE
    zones.count("a", healthy=-1, unhealthy=1)
    zones.wait("a", "n0")
    assert zones.update(5) == Disruption.ENTERED
    assert zones.update(10) == Disruption.NONE
    zones.wait("a", "n0")
    assert zones.next_due() is None and not turns(zones, 10, 500 * SECOND)
    zones.count("b", healthy=1, unhealthy=-1)
    assert zones.update(500 * SECOND) == Disruption.LEFT
    assert turns(zones, 500 * SECOND, 600 * SECOND) == [(510, "n0")]


def test_empty_zones_say_nothing() -> None:
    zones = Zones()
    assert zones.update(0) == Disruption.NONE
    zones.count("a", healthy=1)
    zones.count("a", healthy=-1)
    zones.leave("nowhere", "n")
    assert zones.update(0) == Disruption.NONE
