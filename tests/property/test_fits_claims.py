"""What would make a pod with claims fit, on random devices and volumes: each suggestion by another engine, and brute
force over counts, classes and claims."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from random import Random
from typing import Any

import pytest

from scheduler_core.api.manifests import decode
from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod
from scheduler_core.explain.fits.changes import Change, Kind, Suggestion, World
from scheduler_core.explain.fits.search import Fits, fits
from tests.core.plugins.dynamic_resources import devices as made
from tests.core.scheduler.harness import Cluster, dumped, profile, start
from tests.property.test_fits import LEAST_FOUND

Manifest = dict[str, Any]
IMMEDIATE, WAITS = "Immediate", "WaitForFirstConsumer"


def storage(kind: str, name: str, version: str = "v1", **fields: Any) -> Manifest:
    namespace = {"namespace": "default"} if kind == "PersistentVolumeClaim" else {}
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": name, "uid": f"uid-{name}", **namespace},
        **fields,
    }


def storage_class(name: str) -> Manifest:
    provisioner = "kubernetes.io/no-provisioner"
    return storage("StorageClass", name, "storage.k8s.io/v1", provisioner=provisioner, volumeBindingMode=WAITS)


def volume(name: str, of: str, node: str, size: str = "10Gi") -> Manifest:
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}
    spec = {
        "capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "storageClassName": of,
        "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
    }  # fmt: skip
    return storage("PersistentVolume", name, spec=spec, status={"phase": "Available"})


def volume_claim(name: str, of: str) -> Manifest:
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": of, "resources": {"requests": {"storage": "5Gi"}}}
    return storage("PersistentVolumeClaim", name, spec=spec, status={"phase": "Pending"})


def random_devices(draws: Random) -> list[Manifest]:
    """The pod is the last. Cards of two models; it may ask for more than there are, or for the other model."""
    classes = [made.device_class(each, f'device.attributes["{made.DRIVER}"].model == "{each}"') for each in ("a", "b")]
    objects, nodes = [*classes], draws.randint(1, 3)
    for number in range(nodes):
        objects.append(made.node(f"n{number}"))
        cards = [made.device(f"d{i}", model=draws.choice("ab")) for i in range(draws.randint(1, 4))]
        objects.append(made.resource_slice(f"n{number}", *cards))
    asked = made.request(deviceClassName=draws.choice("ab"), count=draws.randint(1, 5))
    objects += [made.claim("mine", asked), made.claim("other", made.request(deviceClassName=draws.choice("ab")))]
    return [*objects, made.pod("it", "mine")]


def random_volumes(draws: Random) -> list[Manifest]:
    objects = [storage_class(each) for each in ("fast", "slow")]
    for number in range(draws.randint(1, 3)):
        objects.append(made.node(f"n{number}"))
        if draws.random() < 0.7:
            size = draws.choice(["1Gi", "10Gi"])
            objects.append(volume(f"v{number}", draws.choice(["fast", "slow"]), f"n{number}", size))
    objects.append(volume_claim("mine", draws.choice(["fast", "slow", "gone"])))
    if draws.random() < 0.5:
        objects.append(volume_claim("other", draws.choice(["fast", "slow"])))
    pod = made.pod("it", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "mine"}}])
    return [*objects, pod]


def single_changes(objects: list[Manifest]) -> Iterator[tuple[str, list[Manifest]]]:
    def with_one(index: int, *path: Any, to: Any) -> list[Manifest]:
        copied = deepcopy(objects)
        place: Any = copied[index]
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = to
        return copied

    kinds = [each["kind"] for each in objects]
    for index, each in enumerate(objects):
        if each["metadata"]["name"] != "mine":
            continue
        if each["kind"] == "ResourceClaim":
            exactly = ("spec", "devices", "requests", 0, "exactly")
            for count in range(1, each["spec"]["devices"]["requests"][0]["exactly"]["count"]):
                yield f"{count} devices", with_one(index, *exactly, "count", to=count)
            for name in ("a", "b"):
                yield f"class {name}", with_one(index, *exactly, "deviceClassName", to=name)
            claims = ("spec", "resourceClaims", 0, "resourceClaimName")
            yield "another claim", with_one(kinds.index("Pod"), *claims, to="other")
        else:
            for name in ("fast", "slow"):
                yield f"class {name}", with_one(index, "spec", "storageClassName", to=name)
            if any(other["metadata"]["name"] == "other" for other in objects):
                path = ("spec", "volumes", 0, "persistentVolumeClaim", "claimName")
                yield "another claim", with_one(kinds.index("Pod"), *path, to="other")


def engine_of(objects: list[KubeObject]) -> Cluster:
    cluster = start(profile(default=True))
    cluster.put(*objects)
    return cluster


def node_of(objects: list[KubeObject], pod: Pod) -> str:
    return engine_of(objects).attempt(pod).node_name


def decoded(objects: list[Manifest]) -> tuple[list[KubeObject], Pod]:
    *others, pod = map(decode, objects)
    assert isinstance(pod, Pod)
    return others, pod


def check(objects: list[KubeObject], pod: Pod, told: Suggestion) -> None:
    world = World(pod)
    for change in told.changes:
        world = change.edit(world)
    assert node_of(with_world(objects, world), world.pod) == told.node, told
    for change in told.changes:
        if change.kind is Kind.DEVICES and int(change.new) + 1 < int(change.old):
            more = with_world(objects, one_more(change, world))
            assert not node_of(more, world.pod), change


def with_world(objects: list[KubeObject], world: World) -> list[KubeObject]:
    after = {before.key: after for before, after in world.objects}
    nodes = {before.name: after for before, after in world.nodes}
    return [*(after.get(each.key, nodes.get(each.name, each)) for each in objects), *world.added]


def one_more(change: Change, world: World) -> World:
    def edit(claim: KubeObject) -> KubeObject:
        manifest = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {
            "name": claim.name, "namespace": claim.namespace, "uid": claim.uid}}  # fmt: skip
        asked = claim.spec.devices.requests[0].exactly  # type: ignore[attr-defined]
        request = made.request(deviceClassName=asked.device_class_name, count=int(change.new) + 1)
        return decode({**manifest, "spec": {"devices": {"requests": [request]}}})

    return world.with_object(world.objects[0][0], edit)


def found_for(objects: list[KubeObject], pod: Pod) -> Fits:
    cluster = engine_of([*objects, pod])
    before = dumped(cluster.scheduler)
    found = fits(cluster.scheduler.engine, pod, limit=100)
    assert found is not None
    assert dumped(cluster.scheduler) == before  # what was tried is undone
    assert fits(cluster.scheduler.engine, pod, limit=100) == found
    return found


@pytest.mark.parametrize("random", [random_devices, random_volumes])
@pytest.mark.parametrize("clusters", [30, pytest.param(300, marks=pytest.mark.slow)])
def test_suggestions_for_claims_hold_and_none_is_missed(random: Any, clusters: int) -> None:
    there = found = 0
    for seed in range(clusters):
        manifests = random(Random(seed))
        objects, pod = decoded(manifests)
        told = found_for(objects, pod)
        assert told.node == node_of(objects, pod)
        for each in told.suggestions:
            check(objects, pod, each)
        enough = [name for name, changed in single_changes(manifests) if node_of(*decoded(changed))]
        if enough and not told.node:
            there, found = there + 1, found + any(len(each.changes) == 1 for each in told.suggestions)
            names = {each.changes[0].kind for each in told.suggestions if each.changes[0].kind is not Kind.ADD_NODE}
            assert names, (seed, enough)
    assert there and found >= LEAST_FOUND * there
