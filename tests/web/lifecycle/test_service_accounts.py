"""A namespace of an idle cluster gets its ServiceAccount, also when no message told of it."""

import pytest

from kschedweb.cluster import clock
from kschedweb.cluster.choices import LifecycleMode
from kschedweb.cluster.models import ApiObject, Cluster
from kschedweb.cluster.services import object_delete
from kschedweb.lifecycle.runner import ControllerHost
from kschedweb.scheduling.runner.sweep import sweep
from tests.builders import make_manifest
from tests.web.scheduling.conftest import put

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_sweep_finds_a_namespace_without_one() -> None:
    cluster = Cluster.objects.create(name="idle", seed=1, lifecycle_mode=LifecycleMode.SIMULATE)
    wanted = ("lifecycle.tick", str(cluster.pk))
    assert wanted not in sweep()
    put(cluster, make_manifest("Namespace", "a"))
    assert wanted in sweep()
    for _ in range(2):  # the second one hears of what the first one made
        host = ControllerHost.build(cluster.pk)
        host.step(clock.now_of(cluster.pk))
        host.save()
    made = ApiObject.objects.filter(cluster=cluster, namespace="a").order_by("kind")
    assert list(made.values_list("kind", "name")) == [("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default")]
    assert wanted not in sweep()
    object_delete(cluster_id=cluster.pk, kind="ServiceAccount", namespace="a", name="default", actor="test")
    assert wanted in sweep()
