"""Small scenarios of our own in the form of the recorded ones, a handful for each family: clusters and pods by chance.

The families are those of the recordings of kube-scheduler, so that whatever reads these reads those as well.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from tests.builders import NodeBuilder, PodBuilder, make_manifest, make_node, make_pod

Json = dict[str, Any]
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
APPS = ("web", "db", "cache")
SCENARIOS = 5
NODES, BOUND, PENDING = 9, 10, 9
MANY_NODES = 130  # more than a walk has to look at, and more than are looked at one by one

Dress = Callable[[random.Random, PodBuilder], object]


def _plain(dice: random.Random, pod: PodBuilder) -> None:
    pod.req(cpu=dice.choice(("100m", "500m", "1", "3")), memory=dice.choice(("128Mi", "1Gi", "3Gi")))


def _gates(dice: random.Random, pod: PodBuilder) -> None:
    if dice.random() < 0.4:
        pod.gate("example.com/a", *(("example.com/b",) if dice.random() < 0.5 else ()))
    if dice.random() < 0.15:
        pod.scheduler("nobody")
    if dice.random() < 0.1:
        pod.deleted()


def _images(dice: random.Random, pod: PodBuilder) -> None:
    pod.image(dice.choice(("big", "big:1", "registry/small:2", "unknown")))


def _node_affinity(dice: random.Random, pod: PodBuilder) -> None:
    operator = dice.choice(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"))
    requirement: Json = {"key": "rank" if operator in ("Gt", "Lt") else "disk", "operator": operator}
    if operator in ("In", "NotIn"):
        requirement["values"] = dice.sample(("ssd", "hdd", "tape"), 2)
    elif operator in ("Gt", "Lt"):
        requirement["values"] = ["3"]
    if dice.random() < 0.7:
        pod.required_node_affinity({"matchExpressions": [requirement]})
    if dice.random() < 0.3:
        field = {"key": "metadata.name", "operator": "In", "values": [f"n{dice.randrange(NODES)}"]}
        pod.required_node_affinity({"matchFields": [field]})
    if dice.random() < 0.6:
        pod.preferred_node_affinity(dice.randint(1, 100), {"matchExpressions": [requirement]})
    if dice.random() < 0.2:
        pod.node_selector(disk="ssd")


def _node_misc(dice: random.Random, pod: PodBuilder) -> None:
    if dice.random() < 0.6:
        pod.host_port(dice.choice((80, 81)), protocol=dice.choice(("TCP", "UDP")), ip=dice.choice(("", "10.0.0.1")))
    if dice.random() < 0.2:
        pod.on(f"n{dice.randrange(NODES + 2)}")
    if dice.random() < 0.2:
        pod.nominated(f"n{dice.randrange(NODES + 1)}")


def _pod_affinity(dice: random.Random, pod: PodBuilder) -> None:
    for _ in range(dice.choice((1, 1, 2))):
        pod.pod_affinity(
            dice.choice((ZONE, HOST)),
            {"app": dice.choice(APPS)},
            anti=dice.random() < 0.5,
            weight=dice.choice((0, 0, 20, 70)),
        )


def _preemption(dice: random.Random, pod: PodBuilder) -> None:
    pod.req(cpu=dice.choice(("2", "4", "6"))).priority(dice.choice((0, 5, 50)))
    if dice.random() < 0.15:
        pod.never_preempts()


def _preemption_among_many(dice: random.Random, pod: PodBuilder) -> None:
    pod.req(cpu="7").priority(50)


def _resources(dice: random.Random, pod: PodBuilder) -> None:
    if dice.random() < 0.4:
        pod.container({"cpu": "200m", "example.com/gpu": dice.choice(("0", "1", "3"))})
    if dice.random() < 0.3:
        pod.init_container({"cpu": "2"}, sidecar=dice.random() < 0.5)
    if dice.random() < 0.2:
        pod.overhead(cpu="250m", memory="100Mi")
    if dice.random() < 0.2:
        pod.pod_level(cpu="1500m")


def _spread(dice: random.Random, pod: PodBuilder) -> None:
    for key in dice.sample((ZONE, HOST, "rack"), dice.choice((1, 1, 2))):
        more: Json = {}
        if dice.random() < 0.3:
            more["nodeTaintsPolicy"] = dice.choice(("Honor", "Ignore"))
        when = dice.choice(("DoNotSchedule", "DoNotSchedule", "ScheduleAnyway"))
        if when == "DoNotSchedule" and dice.random() < 0.3:
            more["minDomains"] = dice.randint(1, 4)
        pod.spread(key, {"app": dice.choice(APPS)}, max_skew=dice.randint(1, 2), when=when, **more)


def _taints(dice: random.Random, pod: PodBuilder) -> None:
    for _ in range(dice.choice((0, 1, 2))):
        operator = dice.choice(("Exists", "Equal"))
        value = dice.choice(("", "red")) if operator == "Equal" else ""
        effect = dice.choice(("", "NoSchedule", "PreferNoSchedule"))
        pod.toleration(dice.choice(("team", "slow")), operator=operator, value=value, effect=effect)


def _volumes(dice: random.Random, pod: PodBuilder) -> None:
    for claim in dice.sample(("bound", "late", "shared", "missing"), dice.choice((1, 1, 2))):
        pod.claim_volume(claim)
    if dice.random() < 0.2:
        disk = {"gcePersistentDisk": {"pdName": "pd", "readOnly": dice.random() < 0.5}}
        pod.spec(volumes=[*pod.manifest()["spec"]["volumes"], {"name": "d", **disk}])


_ALL: tuple[Dress, ...] = (
    _images, _node_affinity, _node_misc, _pod_affinity, _preemption, _resources, _spread, _taints, _volumes,
)  # fmt: skip


def _mixed(dice: random.Random, pod: PodBuilder) -> None:
    for dress in dice.sample(_ALL, 2):
        dress(dice, pod)


FAMILIES: dict[str, Dress] = {
    "gates": _gates,
    "images": _images,
    "nodeaffinity": _node_affinity,
    "nodemisc": _node_misc,
    "podaffinity": _pod_affinity,
    "preemption": _preemption,
    "resources": _resources,
    "scoring": _mixed,
    "spread": _spread,
    "taints": _taints,
    "volumes": _volumes,
    "mixed": _mixed,
    "big": _mixed,
    "percentage": _plain,
    "preemptbig": _preemption_among_many,
}
LARGE = ("big", "percentage", "preemptbig")


def scenarios(family: str) -> list[Json]:
    """The scenarios of a family, always the same."""
    return [_scenario(family, number) for number in range(2 if family in LARGE else SCENARIOS)]


def _scenario(family: str, number: int) -> Json:
    dice = random.Random(f"{family}/{number}")
    dress, num_nodes = FAMILIES[family], MANY_NODES if family in LARGE else NODES
    nodes = [_node(dice, f"n{index}").manifest() for index in range(num_nodes)]
    bound, pending = [], []
    for index in range(num_nodes if family == "preemptbig" else BOUND):
        pod = _pod(dice, f"b{index}").on(f"n{index if family == 'preemptbig' else dice.randrange(NODES)}")
        pod.phase("Running").started(f"2030-01-01T00:{index % 60:02}:00Z").priority(dice.choice((-5, 0, 5)))
        if family in ("podaffinity", "mixed", "big") and dice.random() < 0.4:
            _pod_affinity(dice, pod)
        if family in ("preemption", "preemptbig"):
            pod.req(cpu=dice.choice(("2", "4")))
        bound.append(pod.manifest())
    for index in range(PENDING):
        pod = _pod(dice, f"p{index}")
        dress(dice, pod)
        pending.append(pod.manifest())
    return {
        "name": f"{family}-{number}",
        "config": _config(dice, family),
        "objects": [*_others(dice), *nodes, *bound],
        "pending": pending,
    }


def _node(dice: random.Random, name: str) -> NodeBuilder:
    cpu, memory, pods = dice.choice(("4", "8")), dice.choice(("4Gi", "8Gi")), dice.choice(("3", "20"))
    node = make_node(name).capacity(cpu=cpu, memory=memory, pods=pods)
    if dice.random() < 0.9:
        node.zone(dice.choice(("a", "b", "c")))
    if dice.random() < 0.6:
        node.label(disk=dice.choice(("ssd", "hdd")), rank=dice.choice(("1", "5")), rack=dice.choice(("r1", "r2")))
    if dice.random() < 0.25:
        effect = dice.choice(("NoSchedule", "PreferNoSchedule"))
        node.taint(dice.choice(("team", "slow")), dice.choice(("", "red")), effect)
    if dice.random() < 0.1:
        node.unschedulable()
    if dice.random() < 0.4:
        node.images({"big:latest": 900_000_000, "registry/small:2": 40_000_000})
    if dice.random() < 0.3:
        node.capacity({"example.com/gpu": "2"})
    return node


def _pod(dice: random.Random, name: str) -> PodBuilder:
    pod = make_pod(name, namespace=dice.choice(("default", "default", "other"))).label(app=dice.choice(APPS))
    _plain(dice, pod)
    return pod


def _others(dice: random.Random) -> list[Json]:
    claims = {
        "bound": {"volumeName": "pv-bound", "storageClassName": "slow"},
        "late": {"storageClassName": "slow"},
        "shared": {"storageClassName": "quick"},
    }
    size = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    only_there = {"nodeSelectorTerms": [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["a", "b"]}]}]}
    volume = {"accessModes": ["ReadWriteOnce"], "storageClassName": "slow", "nodeAffinity": {"required": only_there}}
    done = {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    late = "WaitForFirstConsumer"
    return [
        *(
            make_manifest("Namespace", name, metadata={"labels": {"kubernetes.io/metadata.name": name}})
            for name in ("default", "other")
        ),
        make_manifest("StorageClass", "slow", provisioner="kubernetes.io/no-provisioner", volumeBindingMode=late),
        make_manifest("StorageClass", "quick", provisioner="example.com/disk", volumeBindingMode=late),
        *(
            make_manifest(
                "PersistentVolumeClaim",
                name,
                spec={**size, **spec},
                metadata=done if name == "bound" else {},
                status={"phase": "Bound" if name == "bound" else "Pending"},
            )
            for name, spec in claims.items()
        ),
        make_manifest(
            "PersistentVolume",
            "pv-bound",
            spec={
                **volume,
                "capacity": {"storage": "1Gi"},
                "claimRef": {"namespace": "default", "name": "bound", "uid": "persistentvolumeclaim-bound"},
            },
            status={"phase": "Bound"},
        ),
        make_manifest(
            "PersistentVolume",
            "pv-free",
            spec={**volume, "capacity": {"storage": "2Gi"}},
            status={"phase": "Available"},
        ),
        make_manifest("Service", "web", spec={"selector": {"app": "web"}}),
        make_manifest(
            "PodDisruptionBudget",
            "guard",
            spec={"selector": {"matchLabels": {"app": "db"}}},
            status={"disruptionsAllowed": dice.randint(0, 1)},
        ),
    ]


def _config(dice: random.Random, family: str) -> Json | None:
    """A configuration of its own where the family is about one."""
    head: Json = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    if family == "percentage":
        return {**head, "percentageOfNodesToScore": dice.choice((1, 40, 90))}
    if family != "scoring":
        return None
    kind = dice.choice(("LeastAllocated", "MostAllocated"))
    strategy = {"type": kind, "resources": [{"name": "cpu", "weight": 3}, {"name": "memory", "weight": 1}]}
    args = [{"name": "NodeResourcesFit", "args": {"scoringStrategy": strategy}}]
    score = {"enabled": [{"name": "ImageLocality", "weight": 5}], "disabled": [{"name": "NodeAffinity"}]}
    profile = {"schedulerName": "default-scheduler", "pluginConfig": args, "plugins": {"score": score}}
    return {**head, "profiles": [profile]}
