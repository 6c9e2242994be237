"""An engine that pods were tried with goes on as if nobody had: random tries leave all of it as it was."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import msgspec
import pytest

from scheduler_core.api.pod import Pod
from scheduler_core.explain.fits.changes import World, edited, labelled
from scheduler_core.explain.fits.search import fits
from scheduler_core.explain.fits.tries import Tries
from scheduler_core.scheduler.scheduler import Scheduler
from tests.builders import make_node, make_pod
from tests.core.scheduler.harness import Cluster, dumped, profile, start
from tests.property.test_fits import HOST, WEB

TRIES = 20
GPU = "example.com/gpu"


def random_engine(draws: Random) -> Cluster:
    """Nodes with images of their own and of others, and pods of which many are alike, some nominated."""
    cluster = start(profile(default=True))
    nodes = []
    for i in range(draws.randint(2, 5)):
        node = make_node(f"n{i}").capacity({GPU: "2"}, cpu="4", memory="8Gi", pods="12").zone(f"z{i % 2}")
        images = {"shared:1": 100 + i, f"own:{i}": 50} if draws.random() < 0.7 else {}
        nodes.append(node.label({HOST: f"n{i}", "disk": "ssd"}).images(images))
        if draws.random() < 0.3:
            nodes[-1].unschedulable().taint("node.kubernetes.io/unschedulable")
    cluster.put(*(node.build() for node in nodes))
    for i in range(draws.randint(5, 20)):
        pod = make_pod(f"p{i}").priority(draws.choice((0, 0, 100))).req(cpu=draws.choice(("500m", "1", "2")))
        if draws.random() < 0.3:
            pod.label(WEB).pod_affinity(HOST, WEB, anti=True)
        if draws.random() < 0.3:
            pod.host_port(80)
        if draws.random() < 0.2:
            pod.req({GPU: "1"})
        cluster.put(pod.on(f"n{draws.randrange(len(nodes))}").build())
    for i in range(3):
        waiting = make_pod(f"w{i}").priority(100).req(cpu="3")
        cluster.put((waiting.nominated(draws.choice(("n0", "n1"))) if draws.random() < 0.7 else waiting).build())
    return cluster


def waiting(draws: Random, name: str) -> Pod:
    pod = make_pod(name).label(WEB).priority(100).req(cpu=draws.choice(("500m", "3", "5"))).image("own:1")
    if draws.random() < 0.3:
        pod.host_port(80)
    if draws.random() < 0.3:
        pod.req({GPU: "1"})
    if draws.random() < 0.2:
        pod.pod_affinity(HOST, WEB, anti=True)
    return pod.build()


def random_world(draws: Random, scheduler: Scheduler, pods: tuple[Pod, ...]) -> World:
    world = World(pods[0], pods[1:])
    engine = scheduler.engine
    for info in engine.snapshot.list():
        assert info.node is not None
        if draws.random() < 0.3:
            world = world.with_node(info.node, lambda node: edited(node, unschedulable=False, taints=None))
        if draws.random() < 0.2:
            world = world.with_node(info.node, lambda node: labelled(node, {**node.labels, "disk": "hdd"}))
        if draws.random() < 0.4 and info.pods:
            gone = draws.sample(info.pods, draws.randint(1, len(info.pods)))
            world = replace(world, gone=(*world.gone, *(each.pod for each in gone)))
        if draws.random() < 0.2:
            metadata = msgspec.structs.replace(info.node.metadata, name=f"{info.name}-new", uid=f"{info.name}-new")
            world = replace(world, added=(*world.added, msgspec.structs.replace(info.node, metadata=metadata)))
    return world


@pytest.mark.parametrize("clusters", [10, pytest.param(200, marks=pytest.mark.slow)])
def test_tries_leave_the_engine_as_it_was(clusters: int) -> None:
    for seed in range(clusters):
        draws = Random(seed)
        scheduler = random_engine(draws).scheduler
        before, engine = dumped(scheduler), scheduler.engine
        order = [info.name for info in engine.snapshot.list()]
        tries = Tries(engine)
        with tries.without_extenders():
            for _ in range(TRIES):
                stored = [pod for pod in map(engine.store.pod, ("default/w0", "default/w1")) if pod is not None]
                pods = (*stored, waiting(draws, "it"), waiting(draws, "it-2"))
                world = random_world(draws, scheduler, tuple(draws.sample(pods, draws.randint(1, len(pods)))))
                draws.choice((tries.places, tries.feasible, tries.preempting))(world)
        assert dumped(scheduler) == before, seed
        assert [info.name for info in engine.snapshot.list()] == order


@pytest.mark.parametrize("clusters", [6, pytest.param(100, marks=pytest.mark.slow)])
def test_question_that_is_asked_again_is_answered_alike(clusters: int) -> None:
    """By the engine that was asked before, also of other pods, as by a fresh one."""
    for seed in range(clusters):
        kept, fresh, draws = random_engine(Random(seed)).scheduler, random_engine(Random(seed)).scheduler, Random(seed)
        pods = [waiting(draws, f"it-{i}") for i in range(3)]
        others = (waiting(draws, "it-too"),)
        for pod in pods:
            fits(kept.engine, pod)
            fits(kept.engine, pod, others)
        told = fits(kept.engine, pods[0], limit=100)
        assert told == fits(fresh.engine, pods[0], limit=100)
        assert dumped(kept) == dumped(fresh)
