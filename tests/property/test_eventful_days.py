"""Whole clusters over virtual days: whatever happens, the rules of nodes, pods and budgets hold, and calm returns."""

from __future__ import annotations

import pytest

from tests.examples import seeds
from tests.property.eventful_days import EventfulDay

EVENTS = 40
RUNS = 200
SHORT_RUNS = 6
CALM_SECONDS = 1800
SEEDS = seeds(SHORT_RUNS, RUNS)


def lived(seed: int) -> EventfulDay:
    """A day on which much happened, and the calm after it."""
    day = EventfulDay(seed)
    day.run(60)
    for _ in range(EVENTS):
        day.happen()
        day.check()
    day.calm()
    return day


@pytest.mark.parametrize("seed", SEEDS)
def test_rules_hold_and_calm_returns(seed: int) -> None:
    day = lived(seed)
    day.check()
    version = day.version
    day.run(CALM_SECONDS)
    assert day.version == version, "something moves on its own"
    assert_all_is_well(day)


@pytest.mark.parametrize("seed", SEEDS[:: RUNS // 20 or 1])
def test_same_seed_comes_to_the_same_end(seed: int) -> None:
    assert lived(seed).digest() == lived(seed).digest()


def assert_all_is_well(day: EventfulDay) -> None:
    uids = {
        one["metadata"]["uid"] for kind in ("ReplicaSet", "DaemonSet", "StatefulSet", "Job") for one in day.all(kind)
    }
    for pod in day.typed_pods():
        assert not pod.is_terminating, f"{pod.key} does not go"
        assert all(one.uid in uids for one in pod.metadata.owner_references or ()), f"{pod.key} lost its owner"
        assert pod.is_terminal or pod.is_assigned, f"{pod.key} waits"
    for kind in ("Deployment", "StatefulSet"):
        for one in day.all(kind):
            wanted, status = one["spec"]["replicas"], one["status"]
            told = [status.get(field, 0) for field in ("replicas", "readyReplicas", "updatedReplicas")]
            assert told == [wanted] * 3, (kind, one["metadata"]["name"], status)
    for one in day.all("DaemonSet"):
        status = one["status"]
        assert (status["desiredNumberScheduled"], status["numberReady"]) == (len(day.nodes),) * 2
    for one in day.all("Job"):
        conditions = {each["type"] for each in one["status"].get("conditions", ())}
        assert conditions & {"Complete", "Failed"}, one["metadata"]["name"]
    for one in day.all("PodDisruptionBudget"):
        status = one["status"]
        assert (
            status["disruptionsAllowed"] == max(0, status["currentHealthy"] - status["desiredHealthy"])
            or not (status["expectedPods"])
        )
        assert "disruptedPods" not in status
