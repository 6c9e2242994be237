"""Kubelets write their own nodes, pods and leases, and nothing that would draw pods to them."""

from __future__ import annotations

from typing import Any

from scheduler_core.apiserver.answers import Outcome, Refused
from scheduler_core.apiserver.memory import MemoryStore
from scheduler_core.apiserver.requests import Create, Delete, Evict, ObjectKey, Patch, Request, Update
from scheduler_core.apiserver.server import ApiServer
from tests.builders import make_manifest, make_node, make_pod
from tests.cases import cases

NOW = 1_893_456_000_000_000
OWN, OTHER = ObjectKey("Node", "", "n1"), ObjectKey("Node", "", "n2")
MINE, YOURS = ObjectKey("Pod", "default", "mine"), ObjectKey("Pod", "default", "yours")
RESTRICTED = "node-restriction.kubernetes.io/tier"


def labels(key: ObjectKey, **found: str | None) -> Patch:
    return Patch(key, {"metadata": {"labels": found}})


def lease(name: str, namespace: str = "kube-node-lease") -> Create:
    manifest = make_manifest("Lease", name, namespace=namespace, spec={"holderIdentity": name})
    return Create({**manifest, "apiVersion": "coordination.k8s.io/v1"})


def mirror(node: str = "n1", owner: str = "n1", annotation: str = "kubernetes.io/config.mirror") -> Create:
    pod = make_pod("static").container(image="i").on(node).annotation({annotation: "x"})
    manifest = pod.owner("Node", owner, uid="node-n1", api="v1").manifest()
    return Create(manifest)


def asked(request: Request) -> Outcome | Refused:
    """What the kubelet of n1 is answered."""
    store = MemoryStore()
    given = [make_node("n1").label(own="1"), make_node("n2")]
    pods = [make_pod("mine").container(image="i").on("n1"), make_pod("yours").container(image="i").on("n2")]
    everybody = ApiServer(store, lambda: "u")
    for answer in everybody.carry_out([Create(one.manifest()) for one in (*given, *pods)], NOW):
        assert isinstance(answer, Outcome), answer
    (answer,) = ApiServer(store, lambda: "v", node="n1").carry_out([request], NOW)
    if isinstance(answer, Refused):
        assert (answer.status.code, answer.status.reason) == (403, "Forbidden")
    return answer


@cases(
    "request_",
    ("its own labels", labels(OWN, **{"example.com/a": "b", "kubernetes.io/hostname": "x"})),
    ("its domains", labels(OWN, **{"kubelet.kubernetes.io/a": "b", "x.node.kubernetes.io/a": "b"})),
    ("its own status", Patch(OWN, {"status": {"conditions": []}}, subresource="status")),
    ("status of its pod", Patch(MINE, {"status": {"phase": "Running"}}, subresource="status")),
    ("deletion of its pod", Delete(MINE, 0)),
    ("eviction of its pod", Evict(MINE, "r", asks_budgets=True)),
    ("its lease", lease("n1")),
    ("a mirror pod", mirror()),
)
def test_kubelet_writes_what_is_its_own(request_: Request) -> None:
    assert isinstance(asked(request_), Outcome)


def renamed(**fields: Any) -> Update:
    return Update(OWN, make_node("n1").spec(**fields).manifest())


@cases(
    "request_, message",
    ("another node", labels(OTHER, a="b"), 'nodes "n2" is forbidden: node "n1" is not allowed to modify node "n2"'),
    ("another node goes", Delete(OTHER), 'nodes "n2" is forbidden: node "n1" is not allowed to modify node "n2"'),
    ("a restricted label", labels(OWN, **{RESTRICTED: "gold", "a": "b"}),
     f'nodes "n1" is forbidden: is not allowed to modify labels: {RESTRICTED}'),
    ("labels of Kubernetes", labels(OWN, **{"x.k8s.io/b": "1", "kubernetes.io/a": "1"}),
     'nodes "n1" is forbidden: is not allowed to modify labels: kubernetes.io/a, x.k8s.io/b'),
    ("its taints", Patch(OWN, {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}),
     'nodes "n1" is forbidden: node "n1" is not allowed to modify taints'),
    ("one more node", Create(make_node("n3").manifest()),
     'nodes "n3" is forbidden: node "n1" is not allowed to modify node "n3"'),
    ("a pod of its own", labels(MINE, a="b"),
     'pods "mine" is forbidden: unexpected operation "UPDATE", node "n1" can only create and delete mirror pods'),
    ("a pod of another node goes", Delete(YOURS),
     'pods "yours" is forbidden: node "n1" can only delete pods with spec.nodeName set to itself'),
    ("a pod of another node is evicted", Evict(YOURS, "r", asks_budgets=True),
     'pods "yours" is forbidden: node n1 can only evict pods with spec.nodeName set to itself'),
    ("status of a pod of another node", Patch(YOURS, {"status": {"phase": "Running"}}, subresource="status"),
     'pods "yours" is forbidden: node "n1" can only update pod status for pods with spec.nodeName set to itself'),
    ("a mirror without its mark", mirror(annotation="a"),
     'pods "static" is forbidden: pod does not have "kubernetes.io/config.mirror" annotation, node "n1" can only'
     " create mirror pods"),
    ("a mirror on another node", mirror(node="n2"),
     'pods "static" is forbidden: node "n1" can only create pods with spec.nodeName set to itself'),
    ("a mirror that another node owns", mirror(owner="n2"),
     'pods "static" is forbidden: node "n1" can only create pods with an owner reference set to itself'),
    ("the lease of another node", lease("n2"),
     'leases.coordination.k8s.io "n2" is forbidden: can only access node lease with the same name as the'
     " requesting node"),
    ("a lease elsewhere", lease("n1", "default"),
     'leases.coordination.k8s.io "n1" is forbidden: can only access leases in the "kube-node-lease" system namespace'),
)  # fmt: skip
def test_kubelet_is_refused_what_is_not(request_: Request, message: str) -> None:
    answer = asked(request_)
    assert isinstance(answer, Refused) and answer.status.message == message


def test_node_may_not_be_made_with_restricted_labels() -> None:
    store = MemoryStore()
    request = Create(make_node("n1").label({RESTRICTED: "gold"}).manifest())
    (answer,) = ApiServer(store, lambda: "v", node="n1").carry_out([request], NOW)
    assert isinstance(answer, Refused)
    assert answer.status.message == (
        f'nodes "n1" is forbidden: node "n1" is not allowed to set the following labels: {RESTRICTED}'
    )
    assert store.get(OWN) is None
