"""What attempts keep of amounts, against what asking each refusing node by itself comes to, in plain Python.

The nodes are asked right after the cycle, in a state made anew by the node form of PreFilter. Recorded scenarios and a
recorded production cluster give the attempts.
"""

from __future__ import annotations

import csv
from pathlib import Path
from random import Random
from typing import Any

import pytest

from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.build import build
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.runtime import counts_against
from scheduler_core.model.amounts import Amounts, RefusalKey, merged, packed, unpacked
from scheduler_core.model.changes import ObjectPut
from scheduler_core.model.effects import Attempt
from scheduler_core.ports import FirstDraws
from scheduler_core.scheduler.engine import Engine
from scheduler_core.scheduler.scheduler import Budget
from tests.builders import make_node, make_pod
from tests.examples import seeds
from tests.golden.recordings import recordings
from tools.conformance.harness import run_scenario

FAMILIES = (
    "big",
    "mixed",
    "nodeaffinity",
    "nodemisc",
    "podaffinity",
    "preemption",
    "resources",
    "spread",
    "volumes",
)
OF_NODES = ("NodeAffinity", "NodeUnschedulable", "TaintToleration")  # they do not look at pods
ZONE, GPU = "topology.kubernetes.io/zone", "example.com/gpu"
OPENB = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "openb"
OWN_OPENB = Path(__file__).resolve().parents[1] / "recordings" / "openb"


class NodeByNode:
    """Keeps every attempt, with what the nodes say one by one."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.attempts: list[tuple[Attempt, dict[RefusalKey, tuple[Amounts, ...]]]] = []
        engine.keeper = self

    def keeps(self, attempt: Attempt) -> bool:
        preemption = attempt.post_filter.preemption if attempt.post_filter is not None else None
        if preemption is None or not preemption.cleared_nominations:  # who counted against the pod is as it was
            self.attempts.append((attempt, self._asked(attempt)))
        return True

    def _asked(self, attempt: Attempt) -> dict[RefusalKey, tuple[Amounts, ...]]:
        engine, rows = self.engine, attempt.filter_rows
        assert rows is not None
        framework = engine.frameworks[attempt.profile]
        pod = engine.effects.last_attempt is attempt and engine.store.pod(attempt.pod_key)
        assert pod
        infos, state = engine.snapshot.list(), CycleState()
        skipped = [each.name for each in framework.pre_filter if each.pre_filter(state, pod, infos)[1].is_skip]
        state.skip_filter_plugins = frozenset(skipped)
        told: dict[RefusalKey, list[tuple[bool, Amounts]]] = {}
        for node, code in zip(rows.nodes.tolist(), rows.codes.tolist(), strict=True):
            status = rows.statuses[code - 1]
            if not code or not status.is_rejected or status.plugin not in framework.amounts_tellers:
                continue
            info, at_node = infos[node], state
            nominated = engine.queue.nominated_pods_for_node(info.name)
            extra = [each for each in nominated if counts_against(each.pod, pod)]
            if extra:
                at_node, info, _ = framework.with_pods(state, pod, info, extra)
            teller = framework.amounts_tellers[status.plugin]
            for reason in dict.fromkeys(status.reasons):
                said = teller.amounts_on(at_node, pod, info, reason, len(status.reasons) == 1)
                key = (status.plugin, reason, status.code.name)
                comes_first = bool(extra) and status.plugin not in OF_NODES
                told.setdefault(key, []).extend((not comes_first, each) for each in said)
        found = {}
        for key, each_node in told.items():
            # Nodes with nominated pods come first where pods matter.
            in_order = [each for _, each in sorted(each_node, key=lambda pair: pair[0])]
            if amounts := merged(in_order):
                found[key] = amounts
        return found


def compare(watcher: NodeByNode) -> int:
    """The number of refusals compared."""
    for attempt, expected in watcher.attempts:
        assert dict(attempt.amounts) == expected, attempt.pod_key
        for amounts in attempt.amounts.values():
            assert unpacked(packed(amounts)) == list(amounts)
    return sum(len(expected) for _, expected in watcher.attempts)


def run_golden(scenario: dict[str, Any], *, use_table: bool) -> int:
    watchers: list[NodeByNode] = []
    run_scenario(scenario, use_table=use_table, watch=lambda engine: watchers.append(NodeByNode(engine)))
    return compare(watchers[0])


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_kept_is_what_the_nodes_say(family: str) -> None:
    chosen = recordings(family)[::10]
    assert sum(run_golden(each.scenario, use_table=True) for each in chosen) > 0


@pytest.mark.parametrize("use_table", [True, False], ids=["table", "rows"])
def test_in_either_form_of_the_rules(use_table: bool) -> None:
    chosen = [each for family in ("mixed", "taints") for each in recordings(family)[::15]]
    assert sum(run_golden(each.scenario, use_table=use_table) for each in chosen) > 0


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_in_all_scenarios_what_is_kept_is_what_the_nodes_say(family: str) -> None:
    assert sum(run_golden(each.scenario, use_table=True) for each in recordings(family)) > 0


@pytest.mark.parametrize("seed", seeds(3, 12))
def test_of_a_production_cluster_what_is_kept_is_what_the_nodes_say(seed: int) -> None:
    dice = Random(seed)
    folder, beside = (OPENB, True) if OPENB.is_dir() else (OWN_OPENB, False)
    nodes = rows_of(folder / ("openb_node_list_all_node.csv" if beside else "nodes.csv"))
    pods = rows_of(folder / ("openb_pod_list_default.csv" if beside else "pods.csv"))
    scheduler = build(draws=FirstDraws())
    watcher = NodeByNode(scheduler.engine)
    few = dice.sample(nodes, min(25, len(nodes)))
    scheduler.step(0, [ObjectPut(node_of(row, dice)) for row in few], Budget(max_cycles=0))
    for number, row in enumerate(dice.choices(pods, k=160)):
        scheduler.step(number, [ObjectPut(pod_of(row, number, dice))], Budget(max_cycles=1))
    assert compare(watcher) > 0


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open() as lines:
        return list(csv.DictReader(lines))


def node_of(row: dict[str, str], dice: Random) -> Node:
    made = make_node(row["sn"]).capacity(
        {
            "cpu": f"{row['cpu_milli']}m",
            "memory": f"{row['memory_mib']}Mi",
            "pods": str(dice.choice((4, 20))),
            GPU: row["gpu"],
        }
    )
    made.label(model=row["model"] or "none").zone(f"z{dice.randrange(3)}")
    if dice.random() < 0.2:
        made.taint("model", row["model"] or "none", dice.choice(("NoSchedule", "NoExecute")))
    return made.build()


def pod_of(row: dict[str, str], number: int, dice: Random) -> Pod:
    made = make_pod(f"{row['name']}-{number}").label(qos=row["qos"]).priority(dice.choice((0, 0, 1)))
    made.req({"cpu": f"{row['cpu_milli']}m", "memory": f"{row['memory_mib']}Mi", GPU: row["num_gpu"]})
    if dice.random() < 0.2:
        made.node_selector(model=dice.choice(("none", "T4", "P100", "nowhere")))
    if dice.random() < 0.2:
        made.host_port(dice.choice((80, 81)))
    if dice.random() < 0.2:
        made.spread(ZONE, {"qos": row["qos"]}, max_skew=1)
    if dice.random() < 0.2:
        made.pod_affinity(dice.choice((ZONE, "model")), {"qos": row["qos"]}, anti=dice.random() < 0.7)
    return made.build()
