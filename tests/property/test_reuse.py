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
from typing import Any

import pytest

from scheduler_core import config
from scheduler_core.api.pod import Pod
from scheduler_core.apiserver.requests import Delete, ObjectKey
from scheduler_core.apiserver.store import key_of
from scheduler_core.build import build
from scheduler_core.cycle.fast.equivalence import EquivalenceClasses
from scheduler_core.cycle.fast.limits import LIMITS, Limits
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.handle import Handle
from scheduler_core.framework.reuse import DependsOn
from scheduler_core.model.effects import Attempt, Effects
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import SUCCESS, Status
from scheduler_core.ports import SeededDraws
from scheduler_core.scheduler.scheduler import Budget, Scheduler
from scheduler_core.sim.world import World
from scheduler_core.trace.diff import first_divergence
from scheduler_core.trace.digest import attempt_digest
from tests.builders import NodeBuilder, PodBuilder, make_manifest, make_node, make_pod
from tests.examples import seeds

Manifest = dict[str, Any]

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


WITH_NODE_FORMS = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: default-scheduler
    plugins: {multiPoint: {enabled: [{name: FewPods}, {name: Ssd}]}}
"""


class FewPods:
    """Refuses nodes with many pods and prefers empty ones; it has only the node form."""

    name = "FewPods"

    def __init__(self, args: object, handle: Handle) -> None:
        pass

    def depends_on(self, pod: Pod) -> DependsOn:
        return DependsOn.NODE_INFO

    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status:
        return Status.unschedulable("node(s) had many pods") if len(node_info.pods) >= 7 else SUCCESS

    def score(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> tuple[int, Status]:
        return 100 - min(100, 10 * len(node_info.pods)), SUCCESS


class Ssd:
    """Keeps some pods off nodes with fast disks; it has only the node form."""

    name = "Ssd"

    def __init__(self, args: object, handle: Handle) -> None:
        pass

    def depends_on(self, pod: Pod) -> DependsOn:
        return DependsOn.NODE_OBJECT

    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status:
        node = node_info.node
        is_fast = node is not None and node.labels.get("disk") == "ssd"
        return Status.unresolvable("node(s) had a fast disk") if is_fast and pod.labels.get("app") == "web" else SUCCESS


class Pair:
    """One world whose changes are told to two schedulers; it carries out what the first asks for."""

    def __init__(self, seed: int, limits: Limits = LIMITS, num_nodes: int | None = None) -> None:
        self.random = random.Random(seed)
        self.made = 0
        self.templates = self.random.sample(TEMPLATES, self.random.choice((3, 6, len(TEMPLATES))))
        self.with_images = self.random.choice((0.02, 0.3))  # share of the nodes
        self.nodes: set[str] = set()
        loaded = config.load(WITH_NODE_FORMS if self.random.random() < 0.5 else None)
        registry = {plugin.name: plugin for plugin in (FewPods, Ssd)}
        self.cached = build(loaded, draws=SeededDraws(seed), limits=limits, registry=registry)
        self.fresh = build(loaded, draws=SeededDraws(seed), reuse=False, registry=registry)
        self.world = World(self.cached, now=START_US, evict_gracefully=False)
        self.world.load([make_manifest("Namespace", name) for name in ("default", "other")])
        for number in range(num_nodes or self.random.randint(3, 12)):
            self.put_node(f"n{number}")
        self.tell()

    def put_node(self, name: str) -> None:
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
        self.nodes.add(name)
        self.world.load([builder.manifest()])

    def change(self) -> None:
        """One thing that happens, or several pods that come."""
        dice = self.random.random()
        pods = self.world.store.list("Pod")
        if dice < 0.62:
            self.arrivals()
        elif dice < 0.80 and pods:
            self.delete(self.random.choice(pods))
        elif dice < 0.88:
            self.put_node(self.random.choice(sorted(self.nodes) or ["n0"]))
        elif dice < 0.92:
            self.made += 1
            self.put_node(f"m{self.made}")
        elif dice < 0.95 and len(self.nodes) > 2:
            name = self.random.choice(sorted(self.nodes))
            self.nodes.remove(name)
            self.world.request(Delete(ObjectKey("Node", "", name)))
        else:
            other = self.other_object()
            if self.random.random() >= 0.3:
                self.world.load([other])
            elif other["kind"] == "Service":
                self.delete(other)

    def arrivals(self) -> None:
        template = self.random.choice(self.templates)
        namespace = "other" if self.random.random() < 0.15 else "default"
        for _ in range(self.random.choice((1, 1, 2, 5))):
            self.made += 1
            self.world.load([template(make_pod(f"p{self.made}", namespace=namespace)).manifest()])

    def delete(self, manifest: Manifest) -> None:
        self.world.request(Delete(key_of(manifest), 0))

    def other_object(self) -> Manifest:
        app = self.random.choice(("web", "db", "plain", "soft"))
        found: Manifest
        dice = self.random.random()
        if dice < 0.5:
            found = make_manifest("Service", f"svc-{app}", spec={"selector": {"app": app}})
        elif dice < 0.75:
            found = make_manifest("Namespace", "other", metadata={"labels": {"team": app}})
        else:
            found = make_manifest(
                "PodDisruptionBudget",
                f"pdb-{app}",
                spec={"selector": {"matchLabels": {"app": app}}},
                status={"disruptionsAllowed": self.random.randint(0, 2)},
            )
        return found

    def tell(self) -> None:
        """Both take a step, with what happened since the one before."""
        self.world.now += self.random.choice((1_000, 700_000, 20_000_000))
        changes = self.world.take_changes()
        cached = self.cached.step(self.world.now, changes, Budget(max_cycles=4))
        fresh = self.fresh.step(self.world.now, changes, Budget(max_cycles=4))
        self.compare(cached, fresh)
        self.world.carry_out(cached)

    def compare(self, cached: Effects, fresh: Effects) -> None:
        assert len(cached.attempts) == len(fresh.attempts)
        for ours, theirs in zip(cached.attempts, fresh.attempts, strict=True):
            if attempt_digest(ours) != attempt_digest(theirs):
                pytest.fail(f"{ours.pod_key}: {first_divergence(ours, theirs)}")
            assert _raw(ours) == _raw(theirs), ours.pod_key
        assert cached.bindings == fresh.bindings
        assert cached.evictions == fresh.evictions
        assert cached.status_patches == fresh.status_patches
        assert cached.moves == fresh.moves
        assert cached.events == fresh.events


def _raw(attempt: Attempt) -> object:
    rows = attempt.score_rows
    return None if rows is None else (rows.plugins, rows.raw.tolist())


def _classes(scheduler: Scheduler) -> int:
    runners = scheduler.engine.runners["default-scheduler"]
    return len(runners) if isinstance(runners, EquivalenceClasses) else 0


@pytest.mark.parametrize("limits", LIMITS_TRIED)
@pytest.mark.parametrize("seed", seeds(4, RUNS // len(LIMITS_TRIED)))
def test_reuse_changes_no_decision(seed: int, limits: str) -> None:
    pair = Pair(seed + 100 * [*LIMITS_TRIED].index(limits), LIMITS_TRIED[limits])
    _run(pair, CHANGES_PER_RUN)
    most = LIMITS_TRIED[limits].max_classes
    assert min(most - 1, len(pair.templates) // 2) <= _classes(pair.cached) <= most, "the comparison says nothing"


@pytest.mark.parametrize("limits", ["as they are", "arrays always", "one status"])
@pytest.mark.parametrize("seed", seeds(1, 2))
def test_reuse_changes_no_decision_among_many_nodes(seed: int, limits: str) -> None:
    pair = Pair(seed, LIMITS_TRIED[limits], MANY_NODES)
    _run(pair, CHANGES_AMONG_MANY)
    assert _classes(pair.cached) >= len(pair.templates) // 2, "nothing was cached: the comparison says nothing"


def _run(pair: Pair, changes: int) -> None:
    left = changes
    while left > 0:
        at_once = pair.random.choice((1, 2, 5))
        for _ in range(at_once):
            pair.change()
        pair.tell()
        left -= at_once
    assert _classes(pair.fresh) == 0
