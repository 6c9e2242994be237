"""What would place all pods of an owner, on random clusters: each suggestion by another engine, and brute force."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import msgspec
import pytest

from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.explain.fits.changes import Change, Kind, Place, Suggestion, World, edited, labelled
from scheduler_core.explain.fits.search import Fits, fits
from tests.builders import make_pod
from tests.property.test_fits import HOST, LEAST_FOUND, REASONS, Plan, Stage, random_stage, single_changes, smaller

NODE_KINDS = (Kind.UNCORDON, Kind.RELABEL, Kind.EVICT, Kind.ADD_NODE)


def little_room(plan: Plan) -> None:
    """For one pod on each node at most."""
    for i in range(len(plan.nodes)):
        pod = make_pod(f"large-{i}").priority(plan.draws.choice((0, 300))).on(f"n{i}")
        plan.pods.append(pod.req(cpu=plan.draws.choice(["2500m", "3", "3500m"])))


def one_on_each(plan: Plan) -> None:
    plan.it.host_port(8080)


GROUP_REASONS: dict[str, Callable[[Plan], Any]] = {**REASONS, "little room": little_room, "one on each": one_on_each}


@dataclass(frozen=True)
class Together(Stage):
    """The pods that come after the first."""

    others: tuple[Pod, ...] = ()

    def with_world(self, world: World) -> Together:
        changed = Stage.with_world(self, world)
        return Together(changed.nodes, changed.pods, world.pod, world.others)

    def with_spec(self, changed: Stage) -> Together:
        """The pods all with the spec that the first has there, on its nodes, among its pods."""
        others = tuple(msgspec.structs.replace(pod, spec=changed.it.spec) for pod in self.others)
        return Together(changed.nodes, changed.pods, changed.it, others)

    def places(self) -> tuple[Place, ...]:
        """Where they go, each tried in its turn, up to one that goes nowhere."""
        cluster, found = self.engine(), list[Place]()
        for pod in (self.it, *self.others):
            node = cluster.attempt(pod).node_name
            if not node:
                break
            found.append((pod.key, node))
        return tuple(found)

    def fits(self) -> bool:
        return len(self.places()) == 1 + len(self.others)


def random_group(draws: Random, reasons: int) -> Together:
    made = random_stage(draws, reasons, GROUP_REASONS)
    others = []
    for number in range(draws.randint(1, 4)):
        metadata = msgspec.structs.replace(made.it.metadata, name=f"it-{number}", uid=f"uid-it-{number}")
        others.append(msgspec.structs.replace(made.it, metadata=metadata))
    return Together(made.nodes, made.pods, made.it, tuple(others))


def found_for(stage: Together) -> Fits:
    cluster = stage.engine()
    cluster.put(stage.it, *stage.others)
    found = fits(cluster.scheduler.engine, stage.it, stage.others, limit=100)
    assert found is not None
    return found


def check(stage: Together, told: Suggestion) -> None:
    """Another engine places them alike; no number is larger than needed, and no node is changed that need not be."""
    world = World(stage.it, stage.others)
    for change in told.changes:
        world = change.edit(world)
    assert stage.with_world(world).places() == told.places, told
    assert (told.node, told.feasible) == (told.places[0][1], len({node for _, node in told.places}))
    for change in told.changes:
        for less in (*without_one(change, world), *filter(None, [smaller(change, world)])):
            assert not stage.with_world(less).fits(), (change, told)


def without_one(change: Change, world: World) -> Iterator[World]:
    """The same with one node, or one pod that is evicted, left as it is."""
    if change.kind in (Kind.UNCORDON, Kind.RELABEL) and change.more:
        for name in (change.node, *change.more):
            yield replace(world, nodes=tuple(each for each in world.nodes if each[0].name != name))
    if change.kind is Kind.ADD_NODE and change.more:
        yield replace(world, added=world.added[:-1])
    if change.kind is Kind.EVICT and len(change.pods) > 1:
        for gone in world.gone:
            yield replace(world, gone=tuple(each for each in world.gone if each is not gone))


def group_changes(stage: Together) -> Iterator[tuple[str, Together]]:
    """Every change of a single field of all the pods, or of all nodes alike, as large as can be."""
    for name, changed in single_changes(stage):
        if changed.it is not stage.it:
            yield name, stage.with_spec(changed)
    yield "uncordon", replace(stage, nodes=tuple(map(uncordoned, stage.nodes)))
    for key, value in (stage.it.spec.node_selector or {}).items():
        nodes = tuple(labelled(each, {**each.labels, key: value}) for each in stage.nodes)
        yield f"label {key}", replace(stage, nodes=nodes)
    for each in stage.nodes:
        fresh = tuple(like(each, f"fresh-{number}") for number in range(1 + len(stage.others)))
        yield f"others {each.name}", replace(stage, nodes=(*stage.nodes, *fresh))
    left = tuple(pod for pod in stage.pods if pod.priority > stage.it.priority)
    yield "evict", replace(stage, pods=left)


def uncordoned(node: Node) -> Node:
    left = tuple(taint for taint in node.taints if not taint.key.startswith("node.kubernetes.io/"))
    return edited(node, unschedulable=False, taints=left)


def like(node: Node, name: str) -> Node:
    fresh = uncordoned(labelled(node, {**node.labels, HOST: name}))
    return msgspec.structs.replace(fresh, metadata=msgspec.structs.replace(fresh.metadata, name=name, uid=name))


@pytest.mark.parametrize(
    ("reasons", "clusters"),
    [
        pytest.param(1, 16, id="one reason"),
        pytest.param(2, 10, id="two reasons"),
        pytest.param(1, 200, id="one reason, many", marks=pytest.mark.slow),
        pytest.param(2, 200, id="two reasons, many", marks=pytest.mark.slow),
    ],
)
def test_suggestions_for_an_owner_hold_and_none_is_missed(reasons: int, clusters: int) -> None:
    there = found = 0
    missed: list[Any] = []
    for seed in range(clusters):
        stage = random_group(Random(seed * 10 + reasons), reasons)
        told = found_for(stage)
        assert (told.places, bool(told.node)) == (stage.places(), stage.fits())
        if told.node:
            assert not told.suggestions
            continue
        for each in told.suggestions:
            check(stage, each)
        enough = [name for name, changed in group_changes(stage) if changed.fits()]
        singles = [each for each in told.suggestions if len(each.changes) == 1]
        assert not singles or len(singles) == len(told.suggestions)
        if enough:
            there, found = there + 1, found + bool(singles)
            missed += [] if singles else [(seed, enough)]
    assert there and found >= LEAST_FOUND * there, missed
