"""A namespace that is deleted is emptied, and goes when nothing is left in it."""

from __future__ import annotations

from itertools import count

from scheduler_core.apiserver.memory import MemoryStore
from scheduler_core.apiserver.requests import Bind, Create, Delete, ObjectKey, Patch
from scheduler_core.apiserver.server import ApiServer
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.namespaces import NamespaceController

NOW = 1_767_225_600_000_000
SHOP = ObjectKey("Namespace", "", "shop")
POD = {"spec": {"containers": [{"name": "c", "image": "i"}], "terminationGracePeriodSeconds": 30}}


class Cluster:
    def __init__(self) -> None:
        numbers = count(1)
        self.store = MemoryStore()
        self.server = ApiServer(
            self.store, lambda: f"00000000-0000-0000-0000-{next(numbers):012d}", keeps_namespaces=True
        )
        self.controller = NamespaceController(ClusterOptions())
        self._read = 0
        self.ask(Create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}))

    def ask(self, *requests: Create | Delete | Bind | Patch) -> None:
        self.server.carry_out(requests, NOW)

    def pod(self, name: str, namespace: str = "shop", **metadata: object) -> None:
        manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace, **metadata}}
        self.ask(Create({**manifest, **POD}))

    def settle(self) -> int:
        """The number of requests that were made."""
        made = 0
        while True:
            changes = self.store.changes_after(self._read)
            self._read = self.store.rv
            requests = self.controller.step(NOW, changes)
            made += len(requests)
            self.server.carry_out(requests, NOW)
            if self._read == self.store.rv:
                return made

    def names(self) -> list[str]:
        return [each["metadata"]["name"] for each in self.store.list("Pod")]


def test_content_goes_first() -> None:
    cluster = Cluster()
    cluster.pod("a")
    cluster.pod("b", finalizers=["example.com/kept"])
    cluster.pod("elsewhere", "other")
    cluster.settle()
    cluster.ask(Delete(SHOP))
    namespace = cluster.store.get(SHOP)
    assert namespace is not None and namespace["status"]["phase"] == "Terminating"
    cluster.settle()
    assert sorted(cluster.names()) == ["b", "elsewhere"]
    assert cluster.store.get(SHOP) is not None
    cluster.ask(Patch(ObjectKey("Pod", "shop", "b"), {"metadata": {"finalizers": None}}))
    cluster.settle()
    assert cluster.names() == ["elsewhere"]
    assert cluster.store.get(SHOP) is None


def test_running_pods_have_their_grace_and_are_asked_once() -> None:
    cluster = Cluster()
    cluster.pod("a")
    cluster.ask(Bind(ObjectKey("Pod", "shop", "a"), "node-1"))
    cluster.settle()
    cluster.ask(Delete(SHOP))
    assert cluster.settle() == 1
    cluster.ask(Patch(ObjectKey("Pod", "shop", "a"), {"metadata": {"labels": {"a": "b"}}}))
    assert cluster.settle() == 0
    cluster.ask(Delete(ObjectKey("Pod", "shop", "a"), 0))
    assert cluster.settle() == 1
    assert cluster.store.get(SHOP) is None


def test_what_comes_late_goes_too() -> None:
    cluster = Cluster()
    cluster.pod("a", finalizers=["example.com/kept"])
    cluster.ask(Delete(SHOP))
    cluster.settle()
    cluster.pod("late")
    cluster.settle()
    assert cluster.names() == ["a"]


def test_finalizers_of_the_namespace_itself_keep_it() -> None:
    cluster = Cluster()
    cluster.ask(Patch(SHOP, {"metadata": {"finalizers": ["example.com/kept"]}}))
    cluster.ask(Delete(SHOP))
    cluster.settle()
    namespace = cluster.store.get(SHOP)
    assert namespace is not None
    assert namespace["metadata"]["finalizers"] == ["example.com/kept"] and "finalizers" not in namespace["spec"]


def test_namespace_that_nobody_deletes_stays() -> None:
    cluster = Cluster()
    cluster.pod("a")
    assert cluster.settle() == 0
    cluster.ask(Delete(ObjectKey("Pod", "shop", "a"), 0))
    assert cluster.settle() == 0
    assert cluster.store.get(SHOP) is not None
