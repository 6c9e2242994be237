"""Pods evicted and nodes acted upon through REST; the rules themselves are tested with the core."""

from typing import Any

import pytest

from kschedweb.cluster import services
from kschedweb.cluster.choices import LifecycleMode
from kschedweb.cluster.models import Cluster, Node, Pod
from scheduler_core.controllers.drain import DRAIN
from scheduler_core.controllers.node_agent import KUBELET, KUBELET_SINCE, KUBELET_UNTIL, time_of
from tests.cases import cases
from tests.web.rest import items, logged_in, node, pod, upload

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> Cluster:
    return services.cluster_create(name="c", lifecycle_mode=LifecycleMode.SIMULATE)


def running(name: str, ready: bool = True) -> dict[str, Any]:
    """A pod of the shop that runs on a node."""
    built = pod(name, uid=f"uid-{name}", creationTimestamp="2030-01-01T00:00:00Z", labels={"app": "shop"})
    built["spec"] |= {"nodeName": "n1", "terminationGracePeriodSeconds": 30}
    conditions = [{"type": "Ready", "status": str(ready), "lastTransitionTime": "2030-01-01T00:00:00Z"}]
    return {**built, "status": {"phase": "Running", "conditions": conditions}}


def budget(name: str = "guard", allowed: int = 0, **fields: Any) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {
            "name": name, "namespace": "default", "uid": name, "generation": 3,
            "creationTimestamp": "2030-01-01T00:00:00Z",
        },
        "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "shop"}}, **fields.get("spec", {})},
        "status": {
            "observedGeneration": 3, "disruptionsAllowed": allowed, "currentHealthy": 2, "desiredHealthy": 2,
            "expectedPods": 3, **fields.get("status", {}),
        },
    }  # fmt: skip


def evict(cluster: Cluster, name: str, **body: Any) -> Any:
    return logged_in().post(f"/api/clusters/{cluster.pk}/pods/default/{name}/eviction", body, format="json")


def test_first_eviction_is_allowed_and_the_second_is_not(cluster: Cluster) -> None:
    upload(logged_in(), cluster, items(running("a"), running("b"), running("c"), budget(allowed=1)))
    answer = evict(cluster, "a")
    assert (answer.status_code, answer.json()) == (200, {"gone": False})
    manifest = Pod.objects.get(name="a").manifest
    assert manifest["metadata"]["deletionGracePeriodSeconds"] == 30
    assert manifest["status"]["conditions"][-1]["reason"] == "EvictionByEvictionAPI"
    answer = evict(cluster, "b")
    assert answer.status_code == 429
    assert answer.json() == {
        "code": "too_many",
        "message": "Cannot evict pod as it would violate the pod's disruption budget.",
        "extra": {
            "kind": "",
            "name": "",
            "reason": "The disruption budget guard needs 2 healthy pods and has 2 currently",
            "retry_after_seconds": 0,
        },
    }
    assert evict(cluster, "a").status_code == 200  # it goes already


@cases(
    "budgets, code",
    ("no budget", [], 200),
    ("two budgets", [budget("one", 1), budget("two", 1)], 500),
    ("a negative number", [budget(allowed=-1)], 403),
    ("not computed yet", [budget(allowed=1, status={"observedGeneration": 2})], 429),
)
def test_answers(cluster: Cluster, budgets: list[dict[str, Any]], code: int) -> None:
    upload(logged_in(), cluster, items(running("a"), *budgets))
    answer = evict(cluster, "a")
    assert answer.status_code == code
    if code == 429:
        assert answer.json()["extra"]["retry_after_seconds"] == 10


def test_options_of_an_eviction(cluster: Cluster) -> None:
    upload(logged_in(), cluster, items(running("a")))
    assert evict(cluster, "none").status_code == 404
    assert evict(cluster, "a", uid="another").status_code == 409
    assert evict(cluster, "a", grace_seconds=5).status_code == 200
    assert Pod.objects.get(name="a").manifest["metadata"]["deletionGracePeriodSeconds"] == 5
    assert evict(cluster, "a", grace_seconds=0).json() == {"gone": True}


def change(cluster: Cluster, **body: Any) -> Any:
    return logged_in().patch(f"/api/clusters/{cluster.pk}/nodes/n1", body, format="json")


def annotations() -> dict[str, str]:
    return dict(Node.objects.get(name="n1").manifest["metadata"].get("annotations") or {})


def test_kubelet_is_stopped_for_a_while_and_brought_back(cluster: Cluster) -> None:
    upload(logged_in(), cluster, items(node()))
    assert change(cluster, kubelet="off", kubelet_seconds=600).status_code == 200
    told = annotations()
    since, until = time_of(told[KUBELET_SINCE]), time_of(told[KUBELET_UNTIL])
    assert told[KUBELET] == "off" and since is not None and until == since + 600_000_000
    assert change(cluster, kubelet="stopped").status_code == 200
    assert annotations().keys() == {KUBELET, KUBELET_SINCE}
    assert change(cluster, kubelet="running").status_code == 200
    assert annotations() == {KUBELET: "running"}


def test_node_is_drained(cluster: Cluster) -> None:
    upload(logged_in(), cluster, items(node()))
    assert change(cluster, drain=True).status_code == 200
    assert annotations() == {DRAIN: "requested"}
    assert change(cluster, drain=False, unschedulable=True).status_code == 200
    assert annotations() == {} and Node.objects.get(name="n1").manifest["spec"]["unschedulable"]


def test_wrong_actions_are_refused(cluster: Cluster) -> None:
    upload(logged_in(), cluster, items(node()))
    assert change(cluster, kubelet="asleep").status_code == 400
    for body in ({"kubelet_seconds": 5}, {"kubelet": "running", "kubelet_seconds": 5}):
        answer = change(cluster, **body)
        assert (answer.status_code, answer.json()["extra"]) == (422, {"field": "kubelet_seconds"})
    services.cluster_change(cluster_id=cluster.pk, lifecycle_mode=LifecycleMode.FROZEN, actor="ada")
    for body in ({"kubelet": "off"}, {"drain": True}):
        assert change(cluster, **body).status_code == 409
    assert change(cluster, unschedulable=True).status_code == 200
