"""What is shown of one pod: kubectl's words for it, whom it belongs to, and what its kubelet sets up."""

from __future__ import annotations

from typing import Any

import pytest

from kschedweb.cluster.models import Cluster, Pod
from tests.web.rest import items, logged_in, node, pod, upload

pytestmark = pytest.mark.django_db
HASH = "web-5d78c9869d"


def owned(manifest: dict[str, Any], kind: str, name: str) -> dict[str, Any]:
    reference = {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": f"uid-{name}", "controller": True}
    manifest["metadata"]["ownerReferences"] = [reference]
    return manifest


def workload(kind: str, name: str) -> dict[str, Any]:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec}


def detail(cluster: Cluster, name: str) -> dict[str, Any]:
    found: dict[str, Any] = logged_in().get(f"/api/clusters/{cluster.pk}/pods/default/{name}").json()
    return found


def test_crashing_pod_of_a_deployment(cluster: Cluster) -> None:
    crashing = owned(pod("p", uid="uid-p", creationTimestamp="2030-01-01T00:00:00Z"), "ReplicaSet", HASH)
    resources = {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "2Gi"}}
    crashing["spec"] |= {"nodeName": "n1", "containers": [{"name": "c", "image": "i", "resources": resources}]}
    ended = {"exitCode": 1, "reason": "Error", "finishedAt": "2030-01-01T00:00:00Z"}
    state = {"waiting": {"reason": "CrashLoopBackOff"}}
    status = {"name": "c", "ready": False, "restartCount": 3, "state": state, "lastState": {"terminated": ended}}
    crashing["status"] = {"phase": "Running", "qosClass": "Burstable", "containerStatuses": [status]}
    sized = node("n1")
    sized["status"]["capacity"] = {"cpu": "8", "memory": "10Gi", "pods": "110"}
    owner = owned(workload("ReplicaSet", HASH), "Deployment", "web")
    assert upload(logged_in(), cluster, items(sized, workload("Deployment", "web"), owner, crashing)).status_code < 300
    found = detail(cluster, "p")
    assert (found["status"], found["ready"], found["containers"]) == ("CrashLoopBackOff", 0, 1)
    assert found["restarts"].startswith("3 ")
    assert found["owners"] == [{"kind": "ReplicaSet", "name": HASH}, {"kind": "Deployment", "name": "web"}]
    assert found["qos"] == "Burstable"
    assert found["on_node"] == {
        "cpu_shares": 512,
        "cpu_quota_us": 100_000,
        "memory_limit_bytes": 2 << 30,
        "oom_score_adj": {"c": 900},
    }


def test_pending_pod_tells_of_a_known_fault(cluster: Cluster) -> None:
    assert upload(logged_in(), cluster, items(pod("p"), pod("q"))).status_code < 300
    message = '0/1 nodes are available: persistentvolumeclaim "c" not found. not found'
    pending = Pod.objects.get(cluster=cluster, name="p")
    pending.manifest["status"] = {"conditions": [{"type": "PodScheduled", "status": "False", "message": message}]}
    pending.save(update_fields=["manifest"])
    assert detail(cluster, "p")["known_limits"] == ["not-found-not-found"]
    assert detail(cluster, "q")["known_limits"] == []


def test_pod_without_a_node_has_nothing_set_up(cluster: Cluster) -> None:
    lone = owned(pod("p"), "ReplicaSet", "gone")
    assert upload(logged_in(), cluster, items(lone)).status_code < 300
    found = detail(cluster, "p")
    assert (found["status"], found["restarts"], found["on_node"]) == ("Pending", "0", None)
    assert found["owners"] == [{"kind": "ReplicaSet", "name": "gone"}]
    assert found["qos"] in ("BestEffort", "Burstable", "Guaranteed")
