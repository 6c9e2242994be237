"""The cache that is shown, now and of a moment, is the one that the engine at work had after its step."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import pytest

from kschedweb.cluster import services as cluster_services
from kschedweb.cluster.models import Cluster
from kschedweb.scheduling import leases
from kschedweb.scheduling.past.moments import Position
from kschedweb.scheduling.runner.host import EngineHost
from kschedweb.traces.models import Attempt
from scheduler_core.explain.cached import Cached, Stage, looked_in
from tests.builders import make_node, make_pod
from tests.web import rest
from tests.web.scheduling import lived as living
from tests.web.scheduling.conftest import lead, put, scheduled, settle

pytestmark = pytest.mark.usefixtures("nothing_kept")

PODS = 40
ROUNDS, LONG_ROUNDS = 3, 8
_serial = itertools.count(1)


@dataclass
class Looked(living.Lived):
    """What the cache of the engine at work was after each step, by position."""

    caches: dict[Position, Cached] = field(default_factory=dict)

    def note(self, host: EngineHost) -> None:
        super().note(host)
        if host._engine is not None:
            position = Position(host._rv_seen, host._seq)
            self.caches[position] = looked_in(host._engine.engine, most_pods=PODS)


@pytest.fixture
def cluster(committed: None) -> Cluster:
    return cluster_services.cluster_create(name=f"cache{next(_serial)}", seed=1)


@pytest.fixture(scope="module")
def looked(committed: None, request: pytest.FixtureRequest) -> Iterator[Looked]:
    rounds = LONG_ROUNDS if request.config.getoption("--long") else ROUNDS
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(leases, "IDLE_IN_TRANSACTION_MS", 60_000)
        patch.setattr(living, "Lived", Looked)
        found = living.live(cluster_services.cluster_create(name="looked", seed=1), rounds=rounds)
        assert isinstance(found, Looked)
        yield found


def shown(cluster: Cluster, query: str = "") -> Any:
    return rest.get(cluster, f"cache?{query}")


def test_cache_of_a_moment_is_that_of_the_engine_then(looked: Looked) -> None:
    stages, changes = set(), set()
    for position, then in looked.caches.items():
        told = shown(looked.cluster, f"at={position}&limit={PODS}")
        snapshot = told["snapshot"]
        assert (told["rv"], told["seq"]) == (position.rv, position.seq)
        assert told["nodes"] == [asdict(node) for node in then.nodes]
        assert (told["generation"], told["nodes_total"]) == (then.generation, then.cache_nodes)
        assert (told["assumed"], told["confirmed"], told["pods_found"]) == (
            then.assumed,
            then.confirmed,
            then.pods_found,
        )
        assert (snapshot["generation"], snapshot["since"]) == (then.snapshot_generation, then.since)
        assert (snapshot["changed"], snapshot["dropped"]) == (then.changed, list(then.dropped))
        assert (snapshot["nodes"], snapshot["behind"]) == (then.snapshot_nodes, then.behind)
        assert [(pod["uid"], pod["node"], pod["stage"]) for pod in told["pods"]] == [
            (pod.uid, pod.node, pod.stage) for pod in then.pods
        ]
        for pod, held in zip(told["pods"], then.pods, strict=True):
            if held.attempt is not None:
                assert pod["attempt"] == held.attempt
            if pod["attempt_seq"] is not None:
                row = Attempt.objects.get(cluster=looked.cluster, seq=pod["attempt_seq"])
                assert (row.pod_uid, row.node_name, row.attempt) == (pod["uid"], pod["node"], pod["attempt"])
            if pod["assumed_at"] is not None and pod["confirmed_at"] is not None:
                assert pod["assumed_at"] <= pod["confirmed_at"]
            assert pod["stage"] == Stage.CONFIRMED or pod["confirmed_at"] is None
        stages |= {pod["stage"] for pod in told["pods"]}
        changes.add(snapshot["changed"])
    assert {Stage.BINDING, Stage.CONFIRMED} <= stages and {None, 1} <= changes


def test_cache_as_it_is_is_that_after_the_last_step(cluster: Cluster) -> None:
    assert shown(cluster)["pods"] == [] and shown(cluster)["stepped_at"] is None
    put(cluster, make_node("n0").capacity(cpu="4"), make_pod("held").req(cpu="1").on("n0"), make_pod("a").req(cpu="1"))
    host = lead(cluster)
    while not (told := shown(cluster))["assumed"]:
        assert host.step() is not None
    first, second = told["pods"]
    assert (first["key"], first["stage"], first["attempt"]) == ("default/a", "binding", 1)
    assert first["assumed_at"] is not None and first["attempt_seq"] is not None and first["confirmed_at"] is None
    # It came with its node: nobody assumed it.
    assert (second["key"], second["stage"], second["attempt"]) == ("default/held", "confirmed", None)
    assert second["assumed_at"] is None and second["confirmed_at"] is not None
    settle(host)
    told = shown(cluster, "find=fault/a")
    (pod,) = told["pods"]
    assert (told["assumed"], told["confirmed"], told["pods_found"], told["nodes"]) == (0, 2, 1, [])
    assert (pod["stage"], pod["attempt"], pod["attempt_seq"]) == ("confirmed", 1, first["attempt_seq"])
    assert pod["assumed_at"] == first["assumed_at"] <= pod["confirmed_at"]
    assert [node["name"] for node in shown(cluster, "find=n0")["nodes"]] == ["n0"]


def test_cache_that_cannot_be_made_again_says_why(cluster: Cluster) -> None:
    scheduled(cluster, make_node("n0").capacity(cpu="4"))
    Cluster.objects.filter(pk=cluster.pk).update(is_mirror=True)
    answer: Any = rest.logged_in().get(f"/api/clusters/{cluster.pk}/cache")
    assert (answer.status_code, answer.json()["code"]) == (409, "not_replayable")
    assert "runs elsewhere" in answer.json()["message"]
