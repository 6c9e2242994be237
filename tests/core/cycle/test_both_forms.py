"""The default profile over random clusters: node form and table form make the same attempts, moves and patches."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut
from scheduler_core.ports import SeededDraws
from scheduler_core.scheduler.scheduler import Budget
from tests.builders import make_node, make_pod
from tests.core.scheduler.harness import SECOND, plain, profile, start
from tests.examples import examples

_APPS = st.sampled_from(["web", "db", "batch"])
_ZONES = st.sampled_from(["a", "b", "c"])
_KEYS = st.sampled_from(["kubernetes.io/hostname", "topology.kubernetes.io/zone", "disk"])


@st.composite
def _node(draw: st.DrawFn, index: int) -> Node:
    node = make_node(f"n{index:02}").capacity(
        cpu=draw(st.sampled_from(["1", "4", "16"])),
        memory=draw(st.sampled_from(["2Gi", "8Gi"])),
        pods=draw(st.sampled_from(["2", "110"])),
    )
    if draw(st.booleans()):
        node.zone(draw(_ZONES), region=draw(st.sampled_from(["r", None])))
    if draw(st.integers(0, 3)) == 0:
        node.label(disk=draw(st.sampled_from(["ssd", "hdd"])))
    if draw(st.integers(0, 3)) == 0:
        node.taint(draw(st.sampled_from(["dedicated", "gpu"])), draw(st.sampled_from(["", "x"])),
                   draw(st.sampled_from(["NoSchedule", "PreferNoSchedule", "NoExecute"])))  # fmt: skip
    if draw(st.integers(0, 4)) == 0:
        node.unschedulable()
    if draw(st.integers(0, 3)) == 0:
        node.capacity({"example.com/gpu": "2"})
    if draw(st.integers(0, 2)) == 0:
        node.images({"img:1": draw(st.sampled_from([50, 500, 2000])) * 1024 * 1024})
    return node.build()


@st.composite
def _pod(draw: st.DrawFn, name: str, num_nodes: int) -> Pod:
    pod = make_pod(name).label(app=draw(_APPS)).priority(draw(st.integers(0, 2))).image("img:1")
    pod.req(cpu=draw(st.sampled_from(["100m", "1", "3"])), memory=draw(st.sampled_from(["0", "1Gi", "3Gi"])))
    for feature in draw(st.lists(st.sampled_from(range(9)), max_size=3, unique=True)):
        match feature:
            case 0:
                pod.req({"example.com/gpu": "1"})
            case 1:
                pod.host_port(draw(st.sampled_from([80, 81])))
            case 2:
                pod.toleration("dedicated", operator="Exists")
            case 3:
                pod.node_selector(disk="ssd")
            case 4:
                term = {"matchExpressions": [{"key": "disk", "operator": draw(st.sampled_from(["In", "NotIn"])),
                                              "values": ["ssd"]}]}  # fmt: skip
                pod.preferred_node_affinity(draw(st.integers(1, 100)), term)
            case 5:
                pod.pod_affinity(draw(_KEYS), {"app": draw(_APPS)}, anti=draw(st.booleans()),
                                 weight=draw(st.sampled_from([0, 0, 30])))  # fmt: skip
            case 6:
                pod.spread(draw(_KEYS), {"app": draw(_APPS)},
                           when=draw(st.sampled_from(["DoNotSchedule", "ScheduleAnyway"])))  # fmt: skip
            case 7:
                pod.nominated(f"n{draw(st.integers(0, num_nodes)):02}")
            case 8:
                pod.required_node_affinity({"matchFields": [
                    {"key": "metadata.name", "operator": "In", "values": [f"n{draw(st.integers(0, num_nodes)):02}"]},
                ]})  # fmt: skip
    return pod.build()


@st.composite
def _history(draw: st.DrawFn) -> list[list[Change]]:
    """Steps: a cluster at first, then pods coming and going, nodes changing and leaving."""
    num_nodes = draw(st.integers(1, 12))
    first: list[Change] = [ObjectPut(draw(_node(index))) for index in range(num_nodes)]
    for index in range(draw(st.integers(0, 6))):
        bound = draw(_pod(f"bound{index}", num_nodes)).on_node(f"n{draw(st.integers(0, num_nodes - 1)):02}")
        first.append(ObjectPut(bound))
    steps = [first]
    for index in range(draw(st.integers(1, 6))):
        changes: list[Change] = [ObjectPut(draw(_pod(f"p{index}", num_nodes)))]
        match draw(st.integers(0, 5)):
            case 0:
                changes.append(ObjectPut(draw(_node(draw(st.integers(0, num_nodes))))))
            case 1:
                changes.append(ObjectDeleted("Node", "", f"n{draw(st.integers(0, num_nodes - 1)):02}"))
            case 2:
                changes.append(ObjectDeleted("Pod", "default", f"bound{draw(st.integers(0, 5))}"))
        steps.append(changes)
    return steps


def _run(steps: list[list[Change]], *, use_table: bool) -> list[Any]:
    cluster = start(profile(default=True), use_table=use_table, draws=SeededDraws(5))
    seen: list[Any] = []
    for changes in steps:
        effects = cluster.step(*changes, budget=Budget(4), after=2 * SECOND)
        seen.append([[plain(each) for each in effects.attempts], effects.moves, effects.status_patches])
    return seen


@examples(15)
@given(_history())
def test_default_profile_decides_alike_in_both_forms(steps: list[list[Change]]) -> None:
    assert _run(steps, use_table=True) == _run(steps, use_table=False)
