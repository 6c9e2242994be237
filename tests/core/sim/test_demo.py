"""The script: arrivals, rollouts, drains, bursts, and what it does after pauses and restarts."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from scheduler_core.api.meta import ObjectMeta
from scheduler_core.api.node import Node, NodeSpec
from scheduler_core.api.pod import Pod, PodSpec, PodStatus
from scheduler_core.apiserver.requests import Create, Delete, ObjectKey, Patch, Request
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.model.changes import ObjectDeleted, ObjectPut
from scheduler_core.sim.demo import (
    MAX_CATCH_UP_TICKS,
    DemoController,
    Job,
    NodeSummary,
    PodSummary,
    Script,
    Service,
    StateSummary,
    first_wave,
    script_tick,
)

SECOND = 1_000_000
START = 1_900_000_000 * SECOND
SPEC = {"containers": [{"name": "c", "image": "i"}]}
SCRIPT = Script(
    services=(
        Service("web", "shop", 3, SPEC, rolled_out=True),
        Service("web", "blog", 2, SPEC, rolled_out=True),
        Service("web", "fixed", 1, SPEC),
    ),
    jobs=(Job("batch", "resize", SPEC, (10, 20), share=3), Job("batch", "count", SPEC, (5, 5))),
    burst=Job("web", "launch", SPEC, (30, 30)),
    max_pods=50,
)
NODES = [NodeSummary(f"n{number}", False) for number in range(5)]


def pod(app: str, number: int = 0, revision: str = "v1", node: str = "n0", deleting: bool = False) -> PodSummary:
    namespace = "batch" if app in ("resize", "count") else "web"
    return PodSummary(
        namespace, f"{app}-{revision}-{number}", f"{app}-{number}-{revision}", app, revision, node, deleting
    )


SERVICES_UP = [pod("shop", 0), pod("shop", 1), pod("shop", 2), pod("blog", 0), pod("blog", 1), pod("fixed", 0)]
ROLLED_OUT = [pod("shop", 0, "v2"), pod("shop", 1, "v2"), pod("shop", 2, "v2"), *SERVICES_UP[3:]]  # first round


def at(seconds: float) -> int:
    return START + round(seconds * SECOND)


def tick(seconds: float, pods: list[PodSummary] = SERVICES_UP, seed: int = 1, **state: Any) -> list[Request]:
    given = StateSummary(pods=pods, nodes=NODES, started_at=START)
    return script_tick(SCRIPT, seed, replace(given, **state), at(seconds))


def created(effects: list[Request]) -> list[str]:
    return [e.manifest["metadata"]["labels"]["app"] for e in effects if isinstance(e, Create)]


def jobs_of(effects: list[Request]) -> list[str]:
    return [app for app in created(effects) if app in ("resize", "count")]


def test_two_jobs_a_second_arrive_in_the_mean() -> None:
    arrived = Counter(app for half in range(2000) for app in jobs_of(tick(half / 2)))
    drained = 0  # no job is on a node, so none is made up for
    assert 1850 < arrived.total() - drained < 2150
    assert 2.5 < arrived["resize"] / arrived["count"] < 3.6  # by their shares


def test_jobs_run_for_a_time_within_their_bounds() -> None:
    for half in range(200):
        for effect in tick(half / 2):
            if isinstance(effect, Create) and effect.manifest["metadata"]["labels"]["app"] == "resize":
                assert 10 <= int(effect.manifest["metadata"]["annotations"]["kschedweb.io/run-seconds"]) <= 20


def test_nothing_arrives_when_the_cluster_is_full() -> None:
    full = SERVICES_UP + [pod("resize", number) for number in range(SCRIPT.max_pods - len(SERVICES_UP))]
    assert not any(jobs_of(tick(half / 2, full)) for half in range(200))


def test_burst_comes_on_top_of_a_full_cluster_once() -> None:
    full = ROLLED_OUT + [pod("resize", number) for number in range(SCRIPT.max_pods - len(ROLLED_OUT))]
    assert created(tick(SCRIPT.burst_at, full)).count("launch") == SCRIPT.burst_per_tick
    for number in range(30):
        full.append(pod("launch", number))
    assert created(tick(SCRIPT.burst_at, full)) == []


@pytest.mark.parametrize(
    ("second", "pods"),
    [
        pytest.param(179.5, 0, id="before"),
        pytest.param(180, 3, id="begins"),
        pytest.param(184.5, 3, id="goes on"),
        pytest.param(185, 0, id="is over"),
        pytest.param(420, 3, id="next round"),
    ],
)
def test_burst_has_its_time(second: float, pods: int) -> None:
    assert created(tick(second)).count("launch") == pods


def test_script_says_the_same_when_asked_again() -> None:
    state = {"pods": SERVICES_UP[1:]}
    assert tick(77, **state) == tick(77, **state)
    assert any(tick(half / 2, seed=1) != tick(half / 2, seed=2) for half in range(20))


def test_missing_pods_of_a_service_come_back() -> None:
    effects = tick(1, [pod("shop", 0), pod("blog", 0), pod("blog", 1, deleting=True), pod("fixed", 0)])
    assert sorted(set(created(effects)) - {"resize", "count"}) == ["blog", "shop"]
    assert created(effects).count("shop") == 2
    names = [e.manifest["metadata"]["name"] for e in effects if isinstance(e, Create)]
    assert len(set(names)) == len(names)


def test_rollout_replaces_one_pod_at_a_time() -> None:
    effects = tick(SCRIPT.rollout_at)
    deleted = [e.key.name for e in effects if isinstance(e, Delete)]
    assert deleted == ["shop-v1-0"]
    (new,) = [e.manifest for e in effects if isinstance(e, Create) and e.manifest["metadata"]["namespace"] == "web"]
    assert new["metadata"]["labels"] == {"app": "shop", "revision": "v2"}


def test_rollout_waits_while_a_new_pod_has_no_node() -> None:
    pods = [pod("shop", 1), pod("shop", 2), pod("shop", 0, "v2", node=""), *SERVICES_UP[3:]]
    assert not [e for e in tick(62, pods) if isinstance(e, Delete)]


def test_rollouts_take_turns() -> None:
    def rolling(second: float, shop: str, blog: str) -> set[str]:
        pods = [pod("shop", n, shop) for n in range(3)] + [pod("blog", n, blog) for n in range(2)] + [pod("fixed")]
        return {e.key.name.split("-")[0] for e in tick(second, pods) if isinstance(e, Delete)}

    assert rolling(59, "v1", "v1") == set()
    assert rolling(60, "v1", "v1") == {"shop"}
    assert rolling(299, "v2", "v1") == set()
    assert rolling(300, "v2", "v1") == {"blog"}
    assert rolling(540, "v2", "v2") == {"shop"}


def test_drain_closes_one_node_and_moves_its_pods() -> None:
    (cordon,) = [e for e in tick(SCRIPT.drain_at) if isinstance(e, Patch)]
    target = cordon.key.name
    assert cordon == cordoned(target, True)
    nodes = [replace(n, unschedulable=n.name == target, cordoned_by_script=n.name == target) for n in NODES]
    on_target = [pod("resize", 7, node=target), pod("fixed", 0, node=target)]
    pods = [p for p in ROLLED_OUT if p.app != "fixed"]
    pods = [replace(p, node_name="elsewhere") for p in pods] + on_target
    done = tick(SCRIPT.drain_at + 1, pods, nodes=nodes)
    assert [e.key.name for e in done if isinstance(e, Delete)] == [on_target[0].name]
    assert created(done)[0] == "resize"  # made up for at once
    assert not [e for e in done if isinstance(e, Patch)]
    after = tick(SCRIPT.drain_at + SCRIPT.drain_seconds, pods, nodes=nodes)
    assert [e for e in after if isinstance(e, Patch)] == [cordoned(target, None)]


def test_node_closed_by_somebody_else_is_left_alone() -> None:
    nodes = [replace(node, unschedulable=True) for node in NODES]
    for second in (100, SCRIPT.drain_at, SCRIPT.drain_at + 10, 200):
        assert not [e for e in tick(second, ROLLED_OUT, nodes=nodes) if isinstance(e, (Patch, Delete))]


def workload() -> DemoController:
    return DemoController(ClusterOptions(seed=1, started_at=START), SCRIPT)


def node(name: str, closed: bool = False) -> ObjectPut:
    return ObjectPut(Node(metadata=ObjectMeta(name=name), spec=NodeSpec(unschedulable=closed)))


def cordoned(node_name: str, unschedulable: bool | None) -> Patch:
    return Patch(ObjectKey("Node", "", node_name), {"spec": {"unschedulable": unschedulable}})


def cordons(effects: list[Request]) -> list[Patch]:
    return [effect for effect in effects if isinstance(effect, Patch)]


def test_workload_opens_the_node_it_closed() -> None:
    script = workload()
    (closed,) = cordons(script.step(at(120), [node(f"n{number}") for number in range(5)]))
    assert cordons(script.step(at(121), [node(closed.key.name, True)])) == []
    assert cordons(script.step(at(161), [])) == [cordoned(closed.key.name, None)]


def test_workload_that_starts_anew_opens_what_the_one_before_left_closed() -> None:
    names = [f"n{number}" for number in range(5)]
    (closed,) = cordons(workload().step(at(120), [node(name) for name in names]))
    by_hand = next(name for name in names if name != closed.key.name)
    changes = [node(name, name in (closed.key.name, by_hand)) for name in names]
    assert cordons(workload().step(at(170), changes)) == [cordoned(closed.key.name, None)]


def test_workload_knows_pods_that_came_and_went() -> None:
    script = workload()
    script.step(at(0), [])
    meta = ObjectMeta(namespace="web", name="fixed-v1-x", uid="u", labels={"app": "fixed", "revision": "v1"})
    there = Pod(metadata=meta, spec=PodSpec(node_name="n1"))
    assert "fixed" not in created(script.step(at(1), [ObjectPut(there)]))
    assert "fixed" in created(script.step(at(2), [ObjectDeleted("Pod", "web", "fixed-v1-x")]))
    assert "fixed" not in created(script.step(at(3), [ObjectPut(there)]))
    over = Pod(metadata=meta, spec=PodSpec(node_name="n1"), status=PodStatus(phase="Succeeded"))
    assert "fixed" in created(script.step(at(4), [ObjectPut(over)]))


def test_workload_is_due_at_the_next_tick() -> None:
    script = workload()
    assert script.next_due() == 0
    script.step(at(1.2), [])
    assert script.next_due() == at(1.5)


def test_ticks_missed_in_a_short_pause_are_made_up_for() -> None:
    last = SCRIPT.tick_of(at(10))
    together = jobs_of(tick(12, last_tick=last))
    assert together == [app for half in range(1, 5) for app in jobs_of(tick(10 + half / 2))]


def test_long_pause_is_not_made_up_for() -> None:
    late = jobs_of(tick(500, last_tick=SCRIPT.tick_of(at(10))))
    assert late == [app for half in range(MAX_CATCH_UP_TICKS - 1, -1, -1) for app in jobs_of(tick(500 - half / 2))]


def test_tick_that_was_done_brings_nothing() -> None:
    assert tick(10, [], last_tick=SCRIPT.tick_of(at(10))) == []
    assert tick(9, [], last_tick=SCRIPT.tick_of(at(10))) == []


def test_first_wave_has_every_service_at_its_size_and_jobs() -> None:
    apps = Counter(manifest["metadata"]["labels"]["app"] for manifest in first_wave(SCRIPT, 5, 20))
    assert apps["shop"] == 3
    assert apps["fixed"] == 1
    assert apps.total() == 20
    assert first_wave(SCRIPT, 5, 20) == first_wave(SCRIPT, 5, 20)
