"""Claims of resource.k8s.io/v1alpha2 in the service: the examples load, and a pod with cats gets its node."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings

from kschedweb.cluster.choices import LifecycleMode
from kschedweb.cluster.intake import objects
from kschedweb.cluster.intake.files import Upload
from kschedweb.cluster.intake.limits import Limits
from kschedweb.cluster.models import ApiObject, Cluster, Pod
from kschedweb.cluster.services.objects import PutOptions, objects_put
from kschedweb.common.errors import ApplicationError
from kschedweb.lifecycle.runner import ControllerHost
from tests.builders import make_node
from tests.web.scheduling.conftest import lead, put, settle

pytestmark = pytest.mark.django_db(transaction=True)

SECOND = 1_000_000
EXAMPLES = """
apiVersion: resource.k8s.io/v1alpha2
kind: ResourceClass
metadata: {name: resource.example.com}
driverName: resource-driver.example.com
---
apiVersion: resource.k8s.io/v1alpha2
kind: ResourceClaimTemplate
metadata: {name: large-black-cat-claim-template}
spec:
  spec:
    resourceClassName: resource.example.com
    parametersRef: {apiGroup: cats.resource.example.com, kind: ClaimParameters, name: large-black-cat-claim-parameters}
---
apiVersion: v1
kind: Pod
metadata: {name: pod-with-cats}
spec:
  containers:
  - name: container0
    image: ubuntu:20.04
    resources: {claims: [{name: cat-0}]}
  - name: container1
    image: ubuntu:20.04
    resources: {claims: [{name: cat-1}]}
  resourceClaims:
  - name: cat-0
    source: {resourceClaimTemplateName: large-black-cat-claim-template}
  - name: cat-1
    source: {resourceClaimTemplateName: large-black-cat-claim-template}
"""


def load(cluster: Cluster) -> dict[str, Any]:
    items = objects.read([Upload("cats.yaml", EXAMPLES.encode())], Limits()).items
    objects_put(cluster_id=cluster.pk, items=items, options=PutOptions(), actor="test")
    return {item.kind: item.manifest for item in items}


def test_pod_with_cats_gets_a_node(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "FEATURE_GATES", {"DRAControlPlaneController": True})
    Cluster.objects.filter(pk=cluster.pk).update(lifecycle_mode=LifecycleMode.SIMULATE)
    put(cluster, make_node("n1"), make_node("n2"))
    load(cluster)
    scheduler, controllers = lead(cluster), ControllerHost.build(cluster.pk)
    for turn in range(12):
        settle(scheduler)
        controllers.step((2_000_000_000 + turn) * SECOND)
    pod = Pod.objects.get(cluster=cluster, name="pod-with-cats")
    assert pod.node_name in ("n1", "n2")
    assert pod.phase == "Running"
    claims = ApiObject.objects.filter(cluster=cluster, kind="ResourceClaim")
    assert [len(claim.manifest["status"]["reservedFor"]) for claim in claims] == [1, 1]
    assert not ApiObject.objects.filter(cluster=cluster, kind="PodSchedulingContext").exists()


def test_without_the_gate_the_examples_are_refused(cluster: Cluster) -> None:
    with pytest.raises(ApplicationError, match="pod-with-cats"):
        load(cluster)
