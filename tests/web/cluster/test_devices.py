"""REST says which devices a pod's claims got, and who has the devices of a node."""

from __future__ import annotations

from typing import Any

import pytest

from kschedweb.cluster import services
from kschedweb.cluster.models import Cluster
from tests.builders import make_manifest, make_node
from tests.web.rest import items, logged_in, pod, upload

pytestmark = pytest.mark.django_db

REQUEST = {"name": "r", "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}}
DRIVER = "gpu.example.com"


def slice_of(name: str, generation: int, *devices: dict[str, Any]) -> dict[str, Any]:
    pool = {"name": "n1", "generation": generation, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": "n1", "pool": pool, "devices": list(devices)}
    return make_manifest("ResourceSlice", name, spec=spec)


def claim(name: str, device: str = "", **result: Any) -> dict[str, Any]:
    manifest = make_manifest("ResourceClaim", name, spec={"devices": {"requests": [REQUEST]}})
    manifest["metadata"] |= {"uid": f"uid-{name}", "creationTimestamp": "2030-01-01T00:00:00Z"}
    if device:
        results = [{"request": "r", "driver": DRIVER, "pool": "n1", "device": device, **result}]
        users = [{"resource": "pods", "name": "user", "uid": "uid-user"}]
        manifest["status"] = {"allocation": {"devices": {"results": results}}, "reservedFor": users}
    return manifest


@pytest.fixture(scope="module")
def cluster(lasting: None) -> Cluster:
    cluster = services.cluster_create(name="c")
    user = pod("user")
    user["metadata"] |= {"uid": "uid-user", "creationTimestamp": "2030-01-01T00:00:00Z"}
    user["spec"]["resourceClaims"] = [
        {"name": "gpu", "resourceClaimName": "mine"},
        {"name": "more", "resourceClaimTemplateName": "t"},
        {"name": "later", "resourceClaimTemplateName": "t"},
    ]
    user["status"] = {
        **user.get("status", {}),
        "resourceClaimStatuses": [{"name": "more", "resourceClaimName": "made"}],
    }
    attributes = {"model": {"string": "a100"}, "cores": {"int": 108}, "ecc": {"bool": True}}
    described = {"attributes": attributes, "capacity": {"memory": {"value": "40Gi"}}}
    objects = [
        make_node("n1").manifest(),
        make_node("n2").manifest(),
        slice_of("old", 1, {"name": "gone"}),
        slice_of("new", 2, {"name": "gpu-0", **described}, {"name": "gpu-1"}, {"name": "gpu-2"}),
        claim("mine", "gpu-0"),
        claim("made"),
        claim("looks", "gpu-1", adminAccess=True),
        user,
    ]
    answer = upload(logged_in(), cluster, items(*objects))
    assert answer.status_code == 201, answer.content
    return cluster


def test_pod_says_what_its_claims_got(cluster: Cluster) -> None:
    found = logged_in().get(f"/api/clusters/{cluster.pk}/pods/default/user").json()["claims"]
    device = {"request": "r", "driver": DRIVER, "pool": "n1", "device": "gpu-0"}
    assert found == [
        {"entry": "gpu", "claim": "mine", "allocated": True, "reserved": True, "devices": [device]},
        {"entry": "more", "claim": "made", "allocated": False, "reserved": False, "devices": []},
        {"entry": "later", "claim": "", "allocated": False, "reserved": False, "devices": []},
    ]


def test_node_says_who_has_its_devices(cluster: Cluster) -> None:
    found = logged_in().get(f"/api/clusters/{cluster.pk}/nodes/n1").json()["devices"]
    assert [(one["device"], one["claim"], one["pods"]) for one in found] == [
        ("gpu-0", "default/mine", ["default/user"]),
        ("gpu-1", "", []),
        ("gpu-2", "", []),
    ]
    assert found[0]["attributes"] == {"model": "a100", "cores": "108", "ecc": "true"}
    assert found[0]["capacity"] == {"memory": "40Gi"}
    assert logged_in().get(f"/api/clusters/{cluster.pk}/nodes/n2").json()["devices"] == []
