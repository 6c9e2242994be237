"""Dependents follow their owners, or stay, as the deletion asked; finalizers are answered."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.apiserver.answers import Outcome
from scheduler_core.apiserver.requests import Create, Delete, ObjectKey, Patch, Propagation
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.garbage import BATCH, GarbageCollector
from scheduler_core.model.changes import ObjectDeleted
from tests.builders import written
from tests.cases import cases
from tests.core.apiserver.asking import empty_server
from tests.core.apiserver.custom_samples import DENS, den

NOW = 1_767_225_600_000_000
POD_SPEC = {"containers": [{"name": "c", "image": "i"}]}


class Cluster:
    """Objects, and a collector that follows them."""

    def __init__(self) -> None:
        self.server = empty_server()
        self.store = self.server.store
        self.collector = GarbageCollector(ClusterOptions())
        self._read = 0

    def make(self, kind: str, name: str, *owners: tuple[str, str], blocks: bool = True, **metadata: Any) -> None:
        references = [
            {"apiVersion": "v1", "kind": owner, "name": named, "uid": self.uid(owner, named),
             "blockOwnerDeletion": blocks}
            for owner, named in owners
        ]  # fmt: skip
        manifest = written(kind, name, namespace="shop", metadata={"ownerReferences": references, **metadata})
        if kind == "Pod":
            manifest["spec"] = POD_SPEC
        elif kind == "ReplicaSet":
            template = {"metadata": {"labels": {"a": "b"}}, "spec": POD_SPEC}
            manifest["spec"] = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
        (answer,) = self.server.carry_out([Create(manifest)], NOW)
        assert isinstance(answer, Outcome), answer

    def uid(self, kind: str, name: str) -> str:
        found = self.store.get(ObjectKey(kind, "shop", name))
        assert found is not None
        return str(found["metadata"]["uid"])

    def delete(self, kind: str, name: str, propagation: Propagation = Propagation.BACKGROUND) -> None:
        self.server.carry_out([Delete(ObjectKey(kind, "shop", name), 0, propagation)], NOW)

    def settle(self) -> None:
        """Let the collector work until it has nothing to do."""
        for _ in range(50):
            changes = self.store.changes_after(self._read)
            self._read = self.store.rv
            requests = self.collector.step(NOW, changes)
            self.server.carry_out(requests, NOW)
            if not requests and self._read == self.store.rv:
                return
        raise AssertionError("the collector never rests")

    def names(self, kind: str) -> list[str]:
        return [each["metadata"]["name"] for each in self.store.list(kind)]

    def owners(self, kind: str, name: str) -> list[str]:
        found = self.store.get(ObjectKey(kind, "shop", name))
        assert found is not None
        return [each["name"] for each in found["metadata"].get("ownerReferences", ())]


@pytest.fixture
def cluster() -> Cluster:
    made = Cluster()
    made.make("ReplicaSet", "web")
    made.make("Pod", "web-1", ("ReplicaSet", "web"))
    made.make("Pod", "web-2", ("ReplicaSet", "web"))
    made.make("Pod", "other")
    made.settle()
    return made


def test_dependents_are_deleted_after_their_owner(cluster: Cluster) -> None:
    cluster.delete("ReplicaSet", "web")
    assert cluster.names("ReplicaSet") == []
    cluster.settle()
    assert cluster.names("Pod") == ["other"]


def test_dependents_of_dependents_go_too(cluster: Cluster) -> None:
    cluster.make("Service", "of-pod", ("Pod", "web-1"))
    cluster.settle()
    cluster.delete("ReplicaSet", "web")
    cluster.settle()
    assert cluster.names("Service") == []


def test_orphans_lose_the_reference_and_stay(cluster: Cluster) -> None:
    cluster.delete("ReplicaSet", "web", Propagation.ORPHAN)
    assert cluster.names("ReplicaSet") == ["web"]
    cluster.settle()
    assert cluster.names("ReplicaSet") == []
    assert cluster.names("Pod") == ["other", "web-1", "web-2"]
    assert cluster.owners("Pod", "web-1") == []


def test_foreground_owner_goes_after_what_blocks_it(cluster: Cluster) -> None:
    cluster.make("Pod", "kept", ("ReplicaSet", "web"), finalizers=["example.com/kept"])
    cluster.make("Pod", "free", ("ReplicaSet", "web"), blocks=False, finalizers=["example.com/kept"])
    cluster.settle()
    cluster.delete("ReplicaSet", "web", Propagation.FOREGROUND)
    cluster.settle()
    assert cluster.names("ReplicaSet") == ["web"]
    assert cluster.names("Pod") == ["free", "kept", "other"]
    unkept = {"metadata": {"finalizers": None}}
    cluster.server.carry_out([Patch(ObjectKey("Pod", "shop", "kept"), unkept)], NOW)
    cluster.settle()
    assert cluster.names("ReplicaSet") == []
    assert cluster.names("Pod") == ["free", "other"]


def test_object_with_another_owner_stays(cluster: Cluster) -> None:
    cluster.make("ReplicaSet", "second")
    cluster.make("Pod", "shared", ("ReplicaSet", "web"), ("ReplicaSet", "second"))
    cluster.settle()
    cluster.delete("ReplicaSet", "web")
    cluster.settle()
    assert cluster.names("Pod") == ["other", "shared"]
    assert cluster.owners("Pod", "shared") == ["second"]
    cluster.delete("ReplicaSet", "second", Propagation.FOREGROUND)
    cluster.settle()
    assert (cluster.names("Pod"), cluster.names("ReplicaSet")) == (["other"], [])


def test_owner_that_was_never_there_is_not_gone(cluster: Cluster) -> None:
    """A dump has the pods and leaves out their ReplicaSets."""
    manifest = dict(cluster.store.get(ObjectKey("Pod", "shop", "other")) or {})
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "left-out", "uid": "elsewhere"}
    metadata = {"name": "dumped", "namespace": "shop", "ownerReferences": [reference]}
    cluster.server.carry_out([Create({**manifest, "metadata": metadata})], NOW)
    cluster.settle()
    assert "dumped" in cluster.names("Pod")


def test_owner_that_is_replaced_at_once_is_still_there(cluster: Cluster) -> None:
    stored = cluster.store.get(ObjectKey("ReplicaSet", "shop", "web"))
    uid = cluster.uid("ReplicaSet", "web")
    put = cluster.store.changes_after(0)[0]
    assert stored is not None
    assert cluster.collector.step(NOW, [ObjectDeleted("ReplicaSet", "shop", "web", uid), put]) == []


def test_new_collector_answers_a_deletion_that_an_older_one_missed(cluster: Cluster) -> None:
    uid = cluster.uid("ReplicaSet", "web")
    cluster.delete("ReplicaSet", "web")
    stored = [change for change in cluster.store.changes_after(0) if getattr(change, "obj", None) is not None]
    pods = [change for change in stored if change.obj.kind == "Pod"]
    requests = GarbageCollector(ClusterOptions()).step(NOW, [*pods, ObjectDeleted("ReplicaSet", "shop", "web", uid)])
    assert sorted(request.key.name for request in requests) == ["web-1", "web-2"]


def test_many_dependents_are_deleted_in_turns() -> None:
    cluster = Cluster()
    cluster.make("ReplicaSet", "web")
    for number in range(BATCH + 10):
        cluster.make("Pod", f"web-{number}", ("ReplicaSet", "web"))
    cluster.settle()
    cluster.delete("ReplicaSet", "web")
    requests = cluster.collector.step(NOW, cluster.store.changes_after(cluster.store.rv - 1))
    assert len(requests) == BATCH and cluster.collector.next_due() == 0
    assert len(cluster.collector.step(NOW, [])) == 10
    assert cluster.collector.next_due() is None


def test_foreground_deletion_waits_for_dependents_of_dependents(cluster: Cluster) -> None:
    cluster.make("ReplicaSet", "middle", ("ReplicaSet", "web"))
    cluster.make("Pod", "kept", ("ReplicaSet", "middle"), finalizers=["example.com/kept"])
    cluster.settle()
    cluster.delete("ReplicaSet", "web", Propagation.FOREGROUND)
    cluster.settle()
    assert cluster.names("ReplicaSet") == ["middle", "web"]


def test_dependent_that_comes_while_its_owner_waits_goes_too(cluster: Cluster) -> None:
    cluster.make("Pod", "kept", ("ReplicaSet", "web"), finalizers=["example.com/kept"])
    cluster.settle()
    cluster.delete("ReplicaSet", "web", Propagation.FOREGROUND)
    cluster.settle()
    cluster.make("Pod", "late", ("ReplicaSet", "web"))
    cluster.settle()
    assert cluster.names("Pod") == ["kept", "other"]


@pytest.mark.parametrize("first", ["one", "two", "three"])
@pytest.mark.parametrize("shuffled", [False, True])
def test_owners_in_a_circle_do_not_keep_each_other(cluster: Cluster, first: str, shuffled: bool) -> None:
    """Each blocks the deletion of its owner."""
    circle = {"one": "three", "two": "one", "three": "two"}
    for name in circle:
        cluster.make("Pod", name)
    pairs = [*circle.items()]
    for name, owner in reversed(pairs) if shuffled else pairs:
        reference = {"apiVersion": "v1", "kind": "Pod", "name": owner, "uid": cluster.uid("Pod", owner)}
        metadata = {"ownerReferences": [{**reference, "controller": True, "blockOwnerDeletion": True}]}
        cluster.server.carry_out([Patch(ObjectKey("Pod", "shop", name), {"metadata": metadata})], NOW)
    cluster.settle()
    assert len(cluster.names("Pod")) == 6
    cluster.delete("Pod", first, Propagation.FOREGROUND)
    cluster.settle()
    assert cluster.names("Pod") == ["other", "web-1", "web-2"]


def test_only_a_dependent_in_a_circle_blocks_no_longer(cluster: Cluster) -> None:
    cluster.make("ReplicaSet", "middle", ("ReplicaSet", "web"))
    cluster.make("Pod", "kept", ("ReplicaSet", "middle"), finalizers=["example.com/kept"])
    cluster.settle()
    cluster.delete("ReplicaSet", "web", Propagation.FOREGROUND)
    cluster.settle()
    for kind, name in (("ReplicaSet", "middle"), ("Pod", "kept")):
        found = cluster.store.get(ObjectKey(kind, "shop", name))
        assert found is not None
        assert [one["blockOwnerDeletion"] for one in found["metadata"]["ownerReferences"]] == [True]


DEN = "Den.otters.example"


@cases(
    "propagation, pods, dens",
    ("what is owned follows", Propagation.BACKGROUND, [], []),
    ("or goes first", Propagation.FOREGROUND, [], []),
    ("or stays", Propagation.ORPHAN, ["of-deep"], ["below"]),
)
def test_objects_of_a_kind_that_the_cluster_defines_own_and_are_owned(
    propagation: Propagation, pods: list[str], dens: list[str]
) -> None:
    cluster = Cluster()

    def make(manifest: dict[str, Any], name: str, owner: str = "") -> None:
        reference = {"apiVersion": "otters.example/v1", "kind": "Den", "name": owner, "controller": True}
        owners = [{**reference, "uid": cluster.uid(DEN, owner), "blockOwnerDeletion": True}] if owner else []
        metadata = {"name": name, "namespace": "shop", "ownerReferences": owners}
        (answer,) = cluster.server.carry_out([Create({**manifest, "metadata": metadata})], NOW)
        assert isinstance(answer, Outcome), answer

    cluster.server.carry_out([Create(DENS)], NOW)
    make(den(), "deep")
    make({"apiVersion": "v1", "kind": "Pod", "spec": POD_SPEC}, "of-deep", "deep")
    make(den(), "below", "deep")
    cluster.settle()
    assert (cluster.names("Pod"), cluster.names(DEN)) == (["of-deep"], ["below", "deep"])
    cluster.delete(DEN, "deep", propagation)
    cluster.settle()
    assert (cluster.names("Pod"), cluster.names(DEN)) == (pods, dens)


def test_what_objects_own_goes_with_the_definition_of_their_kind() -> None:
    cluster = Cluster()
    cluster.server.carry_out([Create(DENS)], NOW)
    made = den()
    made["metadata"]["namespace"] = "shop"
    cluster.server.carry_out([Create(made)], NOW)
    owner = {"apiVersion": "otters.example/v1", "kind": "Den", "name": "deep", "uid": cluster.uid(DEN, "deep")}
    cluster.make("Pod", "web", ownerReferences=[owner])
    cluster.settle()
    cluster.server.carry_out([Delete(ObjectKey("CustomResourceDefinition", "", "dens.otters.example"))], NOW)
    cluster.settle()
    assert cluster.names("Pod") == cluster.names(DEN) == []
