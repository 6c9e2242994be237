"""Replacing a pod by a newer version of it ends as removing the one and adding the other does."""

from __future__ import annotations

import dataclasses
from itertools import count
from random import Random

import msgspec
import pytest

from scheduler_core.api.pod import Pod
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.types import PodInfo
from tests.builders import make_node, make_pod

replace = msgspec.structs.replace


def a_pod(name: str, kind: int) -> Pod:
    builder = make_pod(name).req(cpu=("1", "250m")[kind % 2])
    match kind // 2:
        case 1:
            builder.pod_affinity("zone", {"x": "y"})
        case 2:
            builder.pod_affinity("zone", {"x": "y"}, anti=True)
        case 3:
            builder.claim_volume("c")
        case 4:
            builder.host_port(80).req({"example.com/gpu": "1"})
    return builder.on("n").build()


def fresh() -> NodeInfo:
    info = NodeInfo(count(1).__next__)
    info.set_node(make_node("n").build())
    return info


def differing(left: NodeInfo, right: NodeInfo) -> list[str]:
    """Fields that differ, the order of the claims counted."""
    names = [each.name for each in dataclasses.fields(NodeInfo) if each.name != "next_generation"]
    names = [name for name in names if getattr(left, name) != getattr(right, name)]
    return names + ["order of claims"] * (list(left.pvc_ref_counts) != list(right.pvc_ref_counts))


@pytest.mark.parametrize("seed", range(20))
def test_replacing_equals_removing_and_adding_over_random_operations(seed: int) -> None:
    random = Random(seed)
    replaced, redone = fresh(), fresh()
    for step in range(60):
        old = a_pod(random.choice("abcdef"), random.randrange(10))
        same_kind = random.random() < 0.6
        on_node = [info.pod for info in replaced.pods if info.pod.uid == old.uid]
        if on_node and same_kind:
            new = replace(on_node[0], metadata=replace(on_node[0].metadata, resource_version=str(step)))
        else:
            new = old
        if not on_node:
            for info in (replaced, redone):
                info.add_pod(PodInfo.of(old))
        elif random.random() < 0.3:
            for info in (replaced, redone):
                info.remove_pod(old)
        else:
            assert replaced.replace_pod(old, PodInfo.of(new))
            redone.remove_pod(old)
            redone.add_pod(PodInfo.of(new))
        assert differing(replaced, redone) == []


def test_replacing_says_so_when_the_pod_is_not_here() -> None:
    info = fresh()
    info.add_pod(PodInfo.of(a_pod("a", 0)))
    generation = info.generation
    assert not info.replace_pod(a_pod("b", 0), PodInfo.of(a_pod("b", 0)))
    assert (len(info.pods), info.generation) == (1, generation)
