"""File 001, the overview: one test per row of its coverage that speaks of scheduling."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from scheduler_core.build import build
from scheduler_core.model.changes import BindingVerdict
from scheduler_core.model.status import SUCCESS, Status
from scheduler_core.ports import SeededDraws
from scheduler_core.scheduler import checkpoint
from scheduler_core.scheduler.scheduler import Budget
from tests.builders import PodBuilder, make, make_node, make_pod
from tests.core.scheduler.harness import (
    MANY,
    SECOND,
    BindingPlugin,
    EveryPointPlugin,
    ScoringPlugin,
    ToldPlugins,
    configure,
    profile,
    start,
)
from tests.coverage.overview import moved_to, nodes, running


def test_001_only_pods_without_node_are_queued() -> None:
    """watching pods with empty nodeName"""
    cluster = nodes(start(), 1)
    effects = cluster.step(running("there", "n0").build(), make_pod("waits").build())
    assert [attempt.pod_key for attempt in effects.attempts] == ["default/waits"]
    assert moved_to(cluster, "there") == []


def test_001_filter_score_bind() -> None:
    """two phases Filter + Score, Bind"""
    cluster = start()
    cluster.put(
        *(make_node(name).capacity(cpu=cpu).build() for name, cpu in (("tiny", "1"), ("small", "4"), ("big", "16")))
    )
    effects = cluster.step(make_pod().req(cpu="2").build())
    (attempt,), (binding,) = effects.attempts, effects.bindings
    assert (attempt.evaluated_nodes, attempt.feasible is not None and len(attempt.feasible)) == (3, 2)
    assert binding.node_name == attempt.node_name == "big"
    assert cluster.confirm(effects).events[0].reason == "Scheduled"


def test_001_extension_points_in_order() -> None:
    """13 extension points and results"""
    plugins = ToldPlugins().add("P", EveryPointPlugin)
    cluster = nodes(start(profile("P"), plugins=plugins), 2)
    cluster.confirm(cluster.step(make_pod().build()))
    points = [line.split()[0] for line in plugins.log]
    assert points[:4] == ["pre_enqueue", "pre_filter", "filter", "filter"]
    assert points[4:8] == ["pre_score", "score", "score", "normalize_scores"]
    assert points[8:] == ["reserve", "permit", "pre_bind", "bind", "post_bind"]
    refused = ToldPlugins().add("P", EveryPointPlugin, filter=lambda pod, node: Status.unschedulable("full"))
    nodes(start(profile("P"), plugins=refused), 1).attempt(make_pod().build())
    assert [line.split()[0] for line in refused.log] == ["pre_enqueue", "pre_filter", "filter", "post_filter"]


@pytest.mark.parametrize(
    ("node", "pod", "plugin", "reason"),
    [
        (make_node("n").unschedulable(), make_pod(), "NodeUnschedulable", "node(s) were unschedulable"),
        (
            make_node("n"),
            make_pod().required_node_affinity(
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["m"]}]}
            ),
            "NodeAffinity",
            "node(s) didn't satisfy plugin(s) [NodeAffinity]",
        ),
        (make_node("n").taint("k", "v"), make_pod(), "TaintToleration", "node(s) had untolerated taint {k: v}"),
        (
            make_node("n"),
            make_pod().node_selector(disk="ssd"),
            "NodeAffinity",
            "node(s) didn't match Pod's node affinity/selector",
        ),
        (
            make_node("n"),
            make_pod().host_port(80),
            "NodePorts",
            "node(s) didn't have free ports for the requested pod ports",
        ),
        (make_node("n"), make_pod().req(cpu="9"), "NodeResourcesFit", "Insufficient cpu"),
        (
            make_node("n"),
            make_pod().spread("none", {"a": "b"}),
            "PodTopologySpread",
            "node(s) didn't match pod topology spread constraints (missing required label)",
        ),
        (
            make_node("n"),
            make_pod().pod_affinity("kubernetes.io/hostname", {"a": "b"}),
            "InterPodAffinity",
            "node(s) didn't match pod affinity rules",
        ),
        (
            make_node("n"),
            make_pod().claim_volume("bound"),
            "VolumeBinding",
            "node(s) didn't match PersistentVolume's node affinity",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else "",
)
def test_001_common_filter_plugins(node: Any, pod: PodBuilder, plugin: str, reason: str) -> None:
    """common Filter plugins table"""
    cluster = start()
    elsewhere = {
        "required": {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["m"]}]}
            ]
        }
    }
    cluster.put(
        node.build(),
        make_pod("web").host_port(80).on("n").build(),
        make(
            "PersistentVolumeClaim",
            "bound",
            spec={"volumeName": "pv", "accessModes": ["ReadWriteOnce"]},
            metadata={"annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
            status={"phase": "Bound"},
        ),
        make(
            "PersistentVolume",
            "pv",
            spec={
                "nodeAffinity": elsewhere,
                "capacity": {"storage": "1Gi"},
                "claimRef": {"namespace": "default", "name": "bound"},
                "accessModes": ["ReadWriteOnce"],
            },
        ),
    )
    attempt = cluster.attempt(pod.build())
    assert attempt.unschedulable_plugins == (plugin,)
    assert attempt.message.startswith(f"0/1 nodes are available: 1 {reason}.")


def test_001_score_plugins_and_weights() -> None:
    """common Score plugins and weights (older values)"""
    weights = start().scheduler.engine.frameworks["default-scheduler"].weights
    assert {name: weight for name, weight in weights.items() if name != "VolumeBinding"} == {
        "TaintToleration": 3,
        "NodeAffinity": 2,
        "PodTopologySpread": 2,
        "InterPodAffinity": 2,
        "NodeResourcesFit": 1,
        "NodeResourcesBalancedAllocation": 1,
        "ImageLocality": 1,
    }


def test_001_weighted_sum() -> None:
    """weighted sum, highest wins (130/170/120/130 example)"""
    scores = {"n0": (80, 50), "n1": (90, 80), "n2": (60, 60), "n3": (70, 60)}
    plugins = ToldPlugins()
    for index, name in enumerate(("A", "B")):
        plugins.add(name, ScoringPlugin, score=lambda pod, node, index=index: (scores[node.name][index], SUCCESS))
    attempt = nodes(start(profile("A", "B"), plugins=plugins), 4).attempt(make_pod().build())
    assert attempt.score_rows is not None
    assert attempt.score_rows.totals.tolist() == [130, 170, 120, 130]
    assert attempt.node_name == "n1"


def test_001_preemption() -> None:
    """preemption: conditions, cost order, victims, PDB (seed's "priority > 0" condition is not real: only
    lower-priority victims are needed)
    """
    cluster = start()
    cluster.put(make_node("n1").capacity(cpu="4").build(), make_node("n2").capacity(cpu="4").build())
    cluster.put(
        running("a", "n1").started("2030-01-01T10:00:00Z").build(),
        running("b", "n1").started("2030-01-01T10:05:00Z").build(),
        running("c", "n1", cpu="2", priority=50).build(),
        running("d", "n2", cpu="4").started("2030-01-01T09:00:00Z").build(),
    )
    attempt = cluster.attempt(make_pod("p").req(cpu="2").priority(100).build())
    assert attempt.post_filter is not None and attempt.post_filter.preemption is not None
    found = {one.node_name: one.victims for one in attempt.post_filter.preemption.candidates}
    assert found == {"n1": ("default/a", "default/b"), "n2": ("default/d",)}
    assert (attempt.nominated_node_name, [victim.name for victim in cluster.effects[-1].evictions]) == ("n2", ["d"])


def test_001_preemption_at_priority_zero() -> None:
    """preemption: conditions, cost order, victims, PDB (seed's "priority > 0" condition is not real: only
    lower-priority victims are needed)
    """
    cluster = nodes(start(), 1, cpu="1")
    cluster.put(running("low", "n0", priority=-1).build())
    assert cluster.attempt(make_pod("p").req(cpu="1").priority(0).build()).nominated_node_name == "n0"


def test_001_preemption_spares_budgets() -> None:
    """preemption: conditions, cost order, victims, PDB (seed's "priority > 0" condition is not real: only
    lower-priority victims are needed)
    """
    cluster = nodes(start(), 2, cpu="1")
    budget = make(
        "PodDisruptionBudget",
        "guard",
        spec={"selector": {"matchLabels": {"app": "db"}}},
        status={"disruptionsAllowed": 0},
    )
    cluster.put(budget, running("db", "n0").label(app="db").build(), running("batch", "n1", priority=5).build())
    assert cluster.attempt(make_pod("p").req(cpu="1").priority(9).build()).nominated_node_name == "n1"


def test_001_assume_bind_rollback() -> None:
    """assume, async bind, rollback"""
    cluster = nodes(start(), 1, cpu="1")
    first = cluster.step(make_pod("a").req(cpu="1").build(), make_pod("b").req(cpu="1").build())
    assert [attempt.result for attempt in first.attempts] == ["scheduled", "unschedulable"]  # a is assumed
    cluster.step(BindingVerdict("pod-default/a", "n0", bound=False, message="no"), after=SECOND)
    assert [attempt.pod_key for attempt in cluster.effects[-1].attempts] == ["default/b"]
    assert cluster.effects[-1].attempts[0].node_name == "n0"  # its room is free again


def test_001_scheduled_and_failed_events() -> None:
    """Scheduled / FailedScheduling events"""
    cluster = nodes(start(), 1)
    done = cluster.confirm(cluster.step(make_pod("a").build()))
    failed = cluster.step(make_pod("b").req(cpu="9").build())
    told = [(event.type, event.reason, event.note) for event in (*done.events, *failed.events)]
    assert told == [
        ("Normal", "Scheduled", "Successfully assigned default/a to n0"),
        (
            "Warning",
            "FailedScheduling",
            "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, "
            "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
        ),
    ]


def test_001_life_cycle() -> None:
    """life cycle: election → framework → queue → informers → loop; SIGTERM"""
    cluster = nodes(start(), 1)
    stops = iter((False, True))  # asked to stop while the first cycle runs
    effects = cluster.step(make_pod("a").build(), make_pod("b").build(), budget=Budget(9, lambda: next(stops)))
    assert [attempt.result for attempt in effects.attempts] == ["scheduled"]  # the running cycle was finished
    assert len(effects.bindings) == 1 and effects.more
    next_engine = build(configure(), draws=SeededDraws(1), state=checkpoint.dump(cluster.scheduler))
    rest = next_engine.step(cluster.now + SECOND, [], MANY)
    assert [attempt.pod_key for attempt in rest.attempts] == ["default/b"]


def test_001_reserve_permit_pre_bind_post_bind() -> None:
    """Reserve/Permit/PreBind/PostBind meaning"""
    plugins = ToldPlugins().add("A", BindingPlugin)
    plugins.add("B", BindingPlugin, permit=lambda pod, node: (Status.unschedulable("no"), 0))
    cluster = nodes(start(profile("A", "B"), plugins=plugins), 1)
    attempt = cluster.attempt(make_pod().build())
    assert attempt.message == "0/1 nodes are available: 1 no."
    assert plugins.log == ["reserve A", "reserve B", "permit A", "permit B", "unreserve B", "unreserve A"]


def test_001_single_feasible_node() -> None:
    """single feasible node shortcut"""
    plugins = ToldPlugins().add("S", ScoringPlugin)
    cluster = nodes(start(profile("S"), plugins=plugins), 1)
    assert cluster.attempt(make_pod().build()).node_name == "n0"
    assert plugins.log == []


def test_001_select_host() -> None:
    """selectHost"""
    cluster = nodes(start(profile("NodeResourcesFit"), draws=SeededDraws(7)), 4)
    effects = cluster.step(*(make_pod(f"p{number}").req(cpu="0", memory="0").build() for number in range(100)))
    assert {attempt.node_name for attempt in effects.attempts} == {"n0", "n1", "n2", "n3"}

    draws, runs, ties = SeededDraws(7), 4000, 4
    drawn = np.bincount([draws.below(ties, pod_key=f"a/p{i}", attempt=1, purpose="tie") for i in range(runs)])
    chi_squared = float(((drawn - runs / ties) ** 2 / (runs / ties)).sum())
    assert chi_squared < 11.34  # 3 degrees of freedom, 1 %
