"""Reuse between cycles changes nothing: two schedulers, one that keeps answers and one that does not, agree for ever.

Pods of few templates come and go on a small cluster whose nodes, budgets, services and namespaces change at random.
Some worlds have few kinds of pods and hardly any images, so that what a rule has to do with comes and goes as well.
After each change both schedule what waits; every attempt, in full, and everything asked for must be the same.

The engine changes its way with the number of rows, of changes and of refusals: worlds are tried with the limits of the
service and with very small ones, and a few have more nodes than a walk has to look at.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.build import build
from scheduler_core.cycle.fast.equivalence import EquivalenceClasses
from scheduler_core.cycle.fast.limits import LIMITS, Limits
from scheduler_core.model.changes import BindingVerdict, Change, ObjectDeleted, ObjectPut
from scheduler_core.model.effects import Attempt, Effects
from scheduler_core.ports import SeededDraws
from scheduler_core.scheduler.scheduler import Budget, Scheduler
from scheduler_core.trace.diff import first_divergence
from scheduler_core.trace.digest import attempt_digest
from tests.builders import NodeBuilder, PodBuilder, make, make_node, make_pod
from tools.bench.engine.cluster import InMemoryCluster

START_US = 1_900_000_000_000_000
ZONES = ("z1", "z2", "z3")
CHANGES_PER_RUN = 220
RUNS = 48  # of that many changes each: more than 10,000
MANY_NODES = 130  # a walk ends before it has seen them all, and the next one starts where it ended
CHANGES_AMONG_MANY = 60

# The small ones make the engine do on a few nodes what it does on thousands.
LIMITS_TRIED = {
    "as they are": LIMITS,
    "arrays from two rows on": Limits(few_rows=1),
    "arrays always": Limits(few_rows=0, few_changed=0),
    "changed rows at once": Limits(few_rows=1, few_changed=1000),
    "one status": Limits(few_rows=1, many_statuses=1),
    "two classes": Limits(max_rows=1, min_classes=1, max_classes=2, max_seen=3),
}

# Templates by what their pods make the plugins read; namespaces and labels make some of them see each other.
TEMPLATES: tuple[Callable[[PodBuilder], PodBuilder], ...] = (
    lambda pod: pod.req(cpu="1", memory="1Gi").label(app="plain"),
    lambda pod: pod.req(cpu="500m").label(app="web").spread("topology.kubernetes.io/zone", {"app": "web"}),
    lambda pod: pod.req(cpu="100m").label(app="web").spread("kubernetes.io/hostname", {"app": "web"}, max_skew=2),
    lambda pod: pod.req(cpu="200m").label(app="db").pod_affinity("kubernetes.io/hostname", {"app": "db"}, anti=True),
    lambda pod: pod.req(cpu="200m").label(app="near").pod_affinity("topology.kubernetes.io/zone", {"app": "db"}),
    lambda pod: pod.label(app="soft").pod_affinity("topology.kubernetes.io/zone", {"app": "web"}, weight=30),
    lambda pod: (
        pod.req(memory="2Gi")
        .label(app="soft")
        .spread("topology.kubernetes.io/zone", {"app": "soft"}, when="ScheduleAnyway")
    ),
    lambda pod: pod.req(cpu="1").host_port(8080).label(app="port"),
    lambda pod: pod.req(cpu="100m").toleration("dedicated", operator="Exists").image("big"),
    lambda pod: pod.req(cpu="300m").node_selector(disk="ssd"),
    lambda pod: pod.req(cpu="300m").preferred_node_affinity(
        7, {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
    ),
    lambda pod: pod.req(cpu="3", memory="3Gi").priority(100).label(app="urgent"),
    lambda pod: pod.req(cpu="64").priority(5).label(app="too-big"),
    lambda pod: pod.req({"example.com/gpu": "1"}).priority(10).label(app="gpu"),
)


class World:
    """What both schedulers are told, and what each answered."""

    def __init__(self, seed: int, limits: Limits = LIMITS, num_nodes: int | None = None) -> None:
        self.random = random.Random(seed)
        self.now = START_US
        self.made = 0
        self.templates = self.random.sample(TEMPLATES, self.random.choice((3, 6, len(TEMPLATES))))
        self.with_images = self.random.choice((0.02, 0.3))  # share of the nodes
        self.nodes: dict[str, Node] = {}
        self.kept = build(draws=SeededDraws(seed), limits=limits)
        self.fresh = build(draws=SeededDraws(seed), reuse=False)
        self.cluster = InMemoryCluster()
        self.answers: list[Change] = []
        initial: list[Change] = [ObjectPut(make("Namespace", name, namespace="")) for name in ("default", "other")]
        initial += [self.put_node(f"n{number}") for number in range(num_nodes or self.random.randint(3, 12))]
        self.tell(initial)

    def put_node(self, name: str) -> ObjectPut:
        pick = self.random.choice
        builder: NodeBuilder = make_node(name).capacity(
            cpu=pick("248"), memory=pick(("4Gi", "8Gi")), pods=pick(["5", "9", "20"])
        )
        if self.random.random() < 0.9:
            builder.zone(pick(ZONES))
        if self.random.random() < 0.5:
            builder.label(disk=pick(("ssd", "hdd")))
        if self.random.random() < 0.2:
            builder.taint("dedicated", effect=pick(("NoSchedule", "PreferNoSchedule")))
        if self.random.random() < 0.1:
            builder.unschedulable()
        if self.random.random() < self.with_images:
            builder.images({"big:latest": 900_000_000})
        if self.random.random() < 0.3:
            builder.capacity({"example.com/gpu": "2"})
        self.nodes[name] = builder.build()
        return ObjectPut(self.nodes[name])

    def change(self) -> list[Change]:
        """One thing that happens, or several pods that come."""
        dice = self.random.random()
        if dice < 0.62:
            return self.arrivals()
        if dice < 0.80 and self.cluster.pods:
            return [self.delete(self.random.choice([*self.cluster.pods.values()]))]
        if dice < 0.88:
            return [self.put_node(self.random.choice([*self.nodes] or ["n0"]))]
        if dice < 0.92:
            self.made += 1
            return [self.put_node(f"m{self.made}")]
        if dice < 0.95 and len(self.nodes) > 2:
            name = self.random.choice([*self.nodes])
            del self.nodes[name]
            return [ObjectDeleted("Node", "", name)]
        other = self.other_object()
        if self.random.random() < 0.3:
            return [ObjectDeleted(other.kind, other.namespace, other.name)] if other.kind == "Service" else []
        return [ObjectPut(other)]

    def arrivals(self) -> list[Change]:
        template = self.random.choice(self.templates)
        namespace = "other" if self.random.random() < 0.15 else "default"
        pods = []
        for _ in range(self.random.choice((1, 1, 2, 5))):
            self.made += 1
            pods.append(template(make_pod(f"p{self.made}", namespace=namespace)).build())
        return self.cluster.create(pods)

    def delete(self, pod: Pod) -> Change:
        del self.cluster.pods[pod.uid]
        return ObjectDeleted(Pod.kind, pod.namespace, pod.name, pod.uid)

    def other_object(self) -> KubeObject:
        app = self.random.choice(("web", "db", "plain", "soft"))
        found: KubeObject
        dice = self.random.random()
        if dice < 0.5:
            found = make("Service", f"svc-{app}", spec={"selector": {"app": app}})
        elif dice < 0.75:
            found = make("Namespace", "other", namespace="", metadata={"labels": {"team": app}})
        else:
            found = make(
                "PodDisruptionBudget",
                f"pdb-{app}",
                spec={"selector": {"matchLabels": {"app": app}}},
                status={"disruptionsAllowed": self.random.randint(0, 2)},
            )
        return found

    def tell(self, changes: list[Change]) -> None:
        """Both take a step, with what came of the one before."""
        self.now += self.random.choice((1_000, 700_000, 20_000_000))
        kept = self.kept.step(self.now, [*self.answers, *changes], Budget(max_cycles=4))
        fresh = self.fresh.step(self.now, [*self.answers, *changes], Budget(max_cycles=4))
        self.compare(kept, fresh)
        leaving = {each.pod_uid for each in kept.evictions}
        refused = [each for each in kept.bindings if each.pod_uid in leaving]
        kept.bindings = [each for each in kept.bindings if each.pod_uid not in leaving]
        self.answers = self.cluster.carry_out(kept)
        self.answers += [BindingVerdict(each.pod_uid, each.node_name, bound=False) for each in refused]

    def compare(self, kept: Effects, fresh: Effects) -> None:
        assert len(kept.attempts) == len(fresh.attempts)
        for ours, theirs in zip(kept.attempts, fresh.attempts, strict=True):
            if attempt_digest(ours) != attempt_digest(theirs):
                pytest.fail(f"{ours.pod_key}: {first_divergence(ours, theirs)}")
            assert _raw(ours) == _raw(theirs), ours.pod_key
        assert kept.bindings == fresh.bindings
        assert kept.evictions == fresh.evictions
        assert kept.status_patches == fresh.status_patches
        assert kept.moves == fresh.moves
        assert kept.events == fresh.events


def _raw(attempt: Attempt) -> object:
    rows = attempt.score_rows
    return None if rows is None else (rows.plugins, rows.raw.tolist())


def _classes(scheduler: Scheduler) -> int:
    runners = scheduler.engine.runners["default-scheduler"]
    return len(runners) if isinstance(runners, EquivalenceClasses) else 0


@pytest.mark.parametrize("limits", LIMITS_TRIED)
@pytest.mark.parametrize("seed", range(RUNS // len(LIMITS_TRIED)))
def test_reuse_changes_no_decision(seed: int, limits: str) -> None:
    world = World(seed + 100 * [*LIMITS_TRIED].index(limits), LIMITS_TRIED[limits])
    _run(world, CHANGES_PER_RUN)
    most = LIMITS_TRIED[limits].max_classes
    assert min(most - 1, len(world.templates) // 2) <= _classes(world.kept) <= most, "the comparison says nothing"


@pytest.mark.parametrize("limits", ["as they are", "arrays always", "one status"])
@pytest.mark.parametrize("seed", range(2))
def test_reuse_changes_no_decision_among_many_nodes(seed: int, limits: str) -> None:
    world = World(seed, LIMITS_TRIED[limits], MANY_NODES)
    _run(world, CHANGES_AMONG_MANY)
    assert _classes(world.kept) >= len(world.templates) // 2, "nothing was kept: the comparison says nothing"


def _run(world: World, changes: int) -> None:
    left = changes
    while left > 0:
        at_once = world.random.choice((1, 2, 5))
        world.tell([change for _ in range(at_once) for change in world.change()])
        left -= at_once
    assert _classes(world.fresh) == 0
