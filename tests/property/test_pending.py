"""What keeps a pod away alone, on random clusters: against each filter asked by itself, with a state of its own."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import msgspec
import pytest

from scheduler_core.explain import pending
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.points import PreFilterPlugin
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.scheduler import checkpoint
from tests.builders import make_node, make_pod
from tests.core.scheduler.harness import profile, start
from tests.examples import seeds

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
WEB = {"app": "web"}


def random_nodes(draws: Random) -> list[Any]:
    nodes = []
    for i in range(draws.randint(1, 12)):
        node = make_node(f"n{i}").capacity(cpu=draws.choice("2468"), memory=draws.choice(["2Gi", "8Gi"]), pods="4")
        node.label({HOST: f"n{i}", "disk": draws.choice(["ssd", "hdd"])})
        if draws.random() < 0.8:
            node.zone(f"z{draws.randrange(3)}")
        if draws.random() < 0.3:
            node.taint("only", effect=draws.choice(["NoSchedule", "NoExecute", "PreferNoSchedule"]))
        if draws.random() < 0.3:
            node.unschedulable()
            if draws.random() < 0.7:
                node.taint("node.kubernetes.io/unschedulable")  # as the API server does
        nodes.append(node)
    return nodes


def random_pod(draws: Random, name: str) -> Any:
    pod = make_pod(name).label(WEB if draws.random() < 0.5 else {"app": "db"})
    pod.req(cpu=draws.choice(["500m", "1", "3", "5"]), memory=draws.choice(["256Mi", "3Gi"]))
    if draws.random() < 0.3:
        pod.node_selector(disk="ssd")
    if draws.random() < 0.3:
        pod.pod_affinity(draws.choice([ZONE, HOST]), WEB, anti=draws.random() < 0.7)
    if draws.random() < 0.3:
        pod.spread(ZONE, WEB, max_skew=1)
    if draws.random() < 0.3:
        pod.host_port(80)
    if draws.random() < 0.2:
        pod.toleration("only")
    if draws.random() < 0.15:
        names = [f"n{draws.randrange(12)}" for _ in range(draws.randint(1, 2))]
        pod.required_node_affinity({"matchFields": [{"key": "metadata.name", "operator": "In", "values": names[:1]}]})
    if draws.random() < 0.1:
        pod.claim_volume("missing")
    return pod


def uncordoned(info: Any) -> Any:
    """The node without the taint that its cordon brings; that of a node without a cordon counts."""
    if not info.node.spec.unschedulable:
        return info
    taints = tuple(each for each in info.node.taints if each.key != "node.kubernetes.io/unschedulable")
    spec = msgspec.structs.replace(info.node.spec, taints=taints)
    return NodeInfo(lambda: 0, msgspec.structs.replace(info.node, spec=spec))


def by_hand(cycle: Any) -> list[set[tuple[str, str]]]:
    """Of each node the reasons of all plugins, each asked as if it were the only one."""
    infos = cycle.view.infos
    found: list[set[tuple[str, str]]] = [set() for _ in infos]
    instances = {each.name: each for each in [*cycle.profile.pre_filter, *cycle.profile.filter]}
    for name, plugin in instances.items():
        state, result = CycleState(), None
        if isinstance(plugin, PreFilterPlugin):
            result, status = plugin.pre_filter(state, cycle.pod, infos)
            if status.is_skip:
                continue
            if not status.is_success:
                for reasons in found:
                    reasons.update((name, reason) for reason in status.reasons)
                continue
        for info, reasons in zip(infos, found, strict=True):
            there = uncordoned(info) if name == "TaintToleration" else info
            said = plugin.filter(state, cycle.pod, there).reasons if plugin in cycle.profile.filter else ()
            reasons.update((name, reason) for reason in said)
            is_left_out = result is not None and result.node_names is not None and info.name not in result.node_names
            if is_left_out and not said:
                reasons.add((name, f"node(s) didn't satisfy plugin(s) [{name}]"))
    return found


@pytest.mark.parametrize("seed", seeds(60, 600))
def test_counts_are_those_of_each_filter_by_itself(seed: int) -> None:
    draws = Random(seed)
    cluster = start(profile(default=True))
    nodes = random_nodes(draws)
    cluster.put(*(node.build() for node in nodes))
    for i in range(draws.randint(0, 10)):
        placed = random_pod(draws, f"p{i}").on(f"n{draws.randrange(len(nodes))}")
        cluster.put(placed.build())
    cycle = pending.cycle_now(cluster.scheduler.engine, random_pod(draws, "it").build())
    assert cycle is not None
    state = checkpoint.dump(cluster.scheduler)
    said, want = pending.judged(cycle, 100), by_hand(cycle)
    all_of, alone = (
        Counter(one for each in want for one in each),
        Counter(one for each in want if len(each) == 1 for one in each),
    )
    assert {(each.plugin, each.reason): (each.nodes, each.alone) for each in said.reasons} == {
        reason: (count, alone[reason]) for reason, count in all_of.items()
    }
    assert (said.nodes, said.fitting, said.num_near) == (len(nodes), want.count(set()), sum(alone.values()))
    assert {each.node for each in said.near} == {
        info.name for info, each in zip(cycle.view.infos, want, strict=True) if len(each) == 1
    }
    assert not said.doubt and list(pending.fitting(cycle)) == [
        info.name for info, each in zip(cycle.view.infos, want, strict=True) if not each
    ]
    assert [each.alone for each in said.reasons] == sorted((each.alone for each in said.reasons), reverse=True)
    assert checkpoint.dump(cluster.scheduler) == state
