"""What waits in vain is said of a moment of the past as it was said then."""

from __future__ import annotations

from typing import Any

import pytest

from kschedweb.cluster.models import Cluster
from kschedweb.cluster.services import object_delete
from kschedweb.scheduling.runner import bindings
from tests.builders import make_manifest, make_node, make_pod
from tests.web.rest import logged_in
from tests.web.scheduling.conftest import scheduled, settle

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("nothing_kept")]
WANTED = {"storageClassName": "late", "accessModes": ["ReadWriteOnce"]}
OBJECTS = [
    make_manifest("StorageClass", "late", provisioner="kubernetes.io/no-provisioner",
                  volumeBindingMode="WaitForFirstConsumer"),
    make_manifest("PersistentVolume", "v", spec={**WANTED, "capacity": {"storage": "2Gi"}, "hostPath": {"path": "/d"}}),
    make_manifest("PersistentVolumeClaim", "c", spec={**WANTED, "resources": {"requests": {"storage": "1Gi"}}}),
    make_manifest("ResourceQuota", "q", spec={"hard": {"pods": "9"}}),
    make_node("tainted").created("2030-01-01T00:00:00Z").taint("node.kubernetes.io/not-ready"),
    make_node("full").created("2030-01-01T00:00:00Z").capacity(cpu="1"),
    make_pod("low").req(cpu="1").image("i").on("full").spec(terminationGracePeriodSeconds=30).phase("Running").created("2030-01-01T00:00:00Z"),
    make_pod("claims").req(cpu="10m").image("i").claim_volume("c").created("2030-01-01T00:00:00Z"),
    make_pod("high").req(cpu="1").image("i").priority(1).created("2030-01-01T00:00:00Z"),
]  # fmt: skip
PATHS = ("objects/PersistentVolume/v", "objects/ResourceQuota/default/q", "nodes/tainted", "pods/default/claims",
         "pods/default/high")  # fmt: skip


def test_past_says_it_as_the_present_did(cluster: Cluster) -> None:
    scheduler = scheduled(cluster, *OBJECTS)
    bindings.evictions_run(cluster.pk)
    settle(scheduler)
    cluster.refresh_from_db()
    at = f"{cluster.rv}.{cluster.seq}"
    now = {path: said(cluster, path) for path in PATHS}
    quota, tainted = ("quota-uncounted", ["default/q"]), ("node-taint", ["tainted"])
    assert now["objects/PersistentVolume/v"] == [("volume-phase", ["v"])]
    assert now["nodes/tainted"] == [tainted]
    unbound = [("volume-phase", ["v"]), ("claim-placed", ["default/c"])]
    assert now["pods/default/claims"] == [*unbound, quota, tainted]
    assert now["pods/default/high"] == [quota, tainted, ("pod-leaving", ["default/low"])]
    object_delete(cluster_id=cluster.pk, kind="PersistentVolume", namespace="", name="v", actor="test")
    assert said(cluster, "pods/default/claims") == [*unbound[1:], quota, tainted]
    assert {path: said(cluster, path, at) for path in PATHS} == now


def said(cluster: Cluster, path: str, at: str = "") -> list[tuple[str, Any]]:
    answer = logged_in().get(f"/api/clusters/{cluster.pk}/{path}{f'?at={at}' if at else ''}").json()
    return [(one["reason"], one["names"]) for one in answer["in_vain"]]
