"""Static pods: mirrors with upstream's names and annotations, which come back, change and go with their manifest."""

from __future__ import annotations

from typing import Any

from scheduler_core.apiserver.requests import Delete, ObjectKey
from tests.cases import cases
from tests.core.controllers.kubelet.nodes import Nodes

MANIFEST = """
apiVersion: v1
kind: Pod
metadata: {name: proxy, namespace: kube-system, labels: {app: proxy}, annotations: {a: b}}
spec:
  priorityClassName: system-node-critical
  containers: [{name: proxy, image: "proxy:1", resources: {requests: {cpu: 100m}}}]
"""
OTHER = MANIFEST.replace("name: proxy, namespace: kube-system", "name: logger")


def annotate(nodes: Nodes, text: str | None, name: str = "n1") -> None:
    nodes.annotate({"static-pods": text}, name)


def mirror(nodes: Nodes, name: str = "proxy-n1", namespace: str = "kube-system") -> Any:
    return nodes.store.get(ObjectKey("Pod", namespace, name))


def test_mirror_is_as_upstream_makes_it(nodes: Nodes) -> None:
    annotate(nodes, MANIFEST)
    nodes.run_for(2)
    found = mirror(nodes)
    metadata, spec = found["metadata"], found["spec"]
    annotations = metadata["annotations"]
    digest = annotations["kubernetes.io/config.hash"]
    assert len(digest) == 32 and annotations["kubernetes.io/config.mirror"] == digest
    assert annotations["kubernetes.io/config.source"] == "file" and annotations["a"] == "b"
    assert annotations["kubernetes.io/config.seen"] == "2030-01-01T00:00:00Z"
    assert metadata["labels"] == {"app": "proxy"}
    uid = nodes.get("n1", "Node")["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": uid, "controller": True}
    assert metadata["ownerReferences"] == [owner]
    assert {"operator": "Exists", "effect": "NoExecute"} in spec["tolerations"]
    assert (spec["nodeName"], spec["priority"], found["status"]["phase"]) == ("n1", 2_000_001_000, "Running")


def test_mirror_that_is_deleted_comes_back_and_its_containers_ran_on(nodes: Nodes) -> None:
    annotate(nodes, MANIFEST)
    nodes.run_for(60)
    before = mirror(nodes)
    nodes.ask(Delete(ObjectKey("Pod", "kube-system", "proxy-n1")))
    nodes.run_for(0.5)
    after = mirror(nodes)
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    assert "deletionTimestamp" not in after["metadata"]
    assert (after["status"]["phase"], after["status"]["startTime"]) == ("Running", before["status"]["startTime"])
    told = after["status"]["containerStatuses"][0]
    assert (told["restartCount"], told["state"]) == (0, before["status"]["containerStatuses"][0]["state"])


def test_mirror_that_is_deleted_by_force_comes_back_too(nodes: Nodes) -> None:
    annotate(nodes, MANIFEST)
    nodes.run_for(2)
    uid = mirror(nodes)["metadata"]["uid"]
    nodes.ask(Delete(ObjectKey("Pod", "kube-system", "proxy-n1"), 0))
    nodes.run_for(0.5)
    assert mirror(nodes)["metadata"]["uid"] != uid


def test_changed_manifest_replaces_its_mirror_and_starts_anew(nodes: Nodes) -> None:
    annotate(nodes, MANIFEST)
    nodes.run_for(10)
    annotate(nodes, MANIFEST.replace("proxy:1", "proxy:2"))
    nodes.run_for(2)
    found = mirror(nodes)
    assert found["spec"]["containers"][0]["image"] == "proxy:2"
    assert found["status"]["startTime"] == "2030-01-01T00:00:11Z"


def test_manifest_that_goes_takes_its_mirror_along(nodes: Nodes) -> None:
    annotate(nodes, f"{MANIFEST}---{OTHER}")
    nodes.run_for(2)
    assert mirror(nodes) and mirror(nodes, "logger-n1", "default")
    annotate(nodes, OTHER)
    nodes.run_for(2)
    assert mirror(nodes) is None and mirror(nodes, "logger-n1", "default")
    annotate(nodes, None)
    nodes.run_for(2)
    assert mirror(nodes, "logger-n1", "default") is None


def test_new_controller_neither_repeats_nor_forgets(nodes: Nodes) -> None:
    annotate(nodes, MANIFEST)
    nodes.run_for(2)
    uid = mirror(nodes)["metadata"]["uid"]
    nodes.restart()
    nodes.run_for(2)
    assert mirror(nodes)["metadata"]["uid"] == uid
    nodes.ask(Delete(ObjectKey("Pod", "kube-system", "proxy-n1"), 0))
    nodes.run_for(2)
    assert mirror(nodes)


def test_mirrors_of_other_kubelets_are_left_alone(nodes: Nodes) -> None:
    nodes.pod("etcd-n1", annotations={"kubernetes.io/config.mirror": "x", "kubernetes.io/config.source": "file"})
    annotate(nodes, MANIFEST)
    nodes.run_for(2)
    assert nodes.phase("etcd-n1") == "Running"
    nodes.delete("etcd-n1", 0)
    nodes.run_for(2)
    assert not nodes.exists("etcd-n1")


def test_silent_kubelet_makes_no_mirrors(nodes: Nodes) -> None:
    nodes.agent("stopped")
    annotate(nodes, MANIFEST)
    nodes.run_for(60)
    assert mirror(nodes) is None
    nodes.agent("running")
    nodes.run_for(2)
    assert mirror(nodes)["status"]["phase"] == "Running"


def test_static_pod_is_taken_on_a_full_node_under_a_taint() -> None:
    nodes = Nodes(room={"cpu": "1", "pods": "9"})
    nodes.pod("filler", requests={"cpu": "1"})
    nodes.run_for(2)
    nodes.patch_node({"spec": {"taints": [{"key": "x", "effect": "NoExecute"}]}})
    annotate(nodes, MANIFEST)
    nodes.run_for(40)
    assert (mirror(nodes)["status"]["phase"], nodes.phase("filler")) == ("Running", "Failed")


@cases(
    "text, problem",
    ("no YAML", "{", "is not sound YAML"),
    ("another kind", "kind: Node", "[0]: kind: expected Pod"),
    ("no name", "kind: Pod", "[0]: metadata.name: is required"),
    ("no spec", "{kind: Pod, metadata: {name: a}}", "[0]: spec: is required"),
    ("twice", f"{MANIFEST}---{MANIFEST}", "[1]: metadata.name: there are two static pods proxy"),
)
def test_annotation_that_cannot_be_read_is_told_of(nodes: Nodes, text: str, problem: str) -> None:
    annotate(nodes, text)
    ((reason, message),) = nodes.events()
    assert reason == "InvalidStaticPod" and problem in message and message.startswith("kschedweb.io/static-pods")
