"""Another configuration takes effect between two steps: the engine is built anew, and who waited still waits."""

import pytest

from kschedweb.cluster import services
from kschedweb.cluster.models import Cluster, Pod
from kschedweb.traces.models import Attempt, EngineStep, QueueState
from tests.builders import make_node, make_pod
from tests.web.scheduling.conftest import PutObjects, lead, settle

pytestmark = pytest.mark.django_db(transaction=True)

MOST_ALLOCATED = b"""\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    score:
      disabled: [{name: "*"}]
      enabled: [{name: NodeResourcesFit}]
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy: {type: MostAllocated}
"""


def test_new_configuration_decides_from_the_next_step_on(cluster: Cluster, put_objects: PutObjects) -> None:
    nodes = [make_node(name).capacity(cpu="8", memory="8Gi", pods="110").manifest() for name in ("n1", "n2")]
    held = make_pod("held").req(cpu="2", memory="2Gi").on("n1").manifest()
    hopeless = make_pod("hopeless").req(cpu="64").manifest()
    gated = make_pod("gated").req(cpu="1").spec(schedulingGates=[{"name": "example.com/later"}]).manifest()
    put_objects(cluster, [*nodes, held, hopeless, gated, make_pod("before").req(cpu="1", memory="1Gi").manifest()])
    host = lead(cluster)
    settle(cluster, host)
    assert Pod.objects.get(cluster=cluster, name="before").node_name == "n2"  # the emptier one

    services.scheduler_config_set(cluster_id=cluster.pk, content=MOST_ALLOCATED, actor="test")
    put_objects(cluster, [make_pod("after").req(cpu="1", memory="1Gi").manifest()])
    settle(cluster, host)
    assert Pod.objects.get(cluster=cluster, name="after").node_name == "n1"  # the fuller one
    attempt = Attempt.objects.get(cluster=cluster, name="after")
    assert list(attempt.best[0]["scores"]) == ["NodeResourcesFit"]

    steps = list(EngineStep.objects.filter(cluster=cluster).order_by("id").values_list("run", "kind", "config_version"))
    changed = [step for step in steps if step[1] == "config"]
    assert changed == [(2, "config", 2)]
    assert {(run, version) for run, _, version in steps} == {(1, 1), (2, 2)}
    queued = dict(QueueState.objects.filter(cluster=cluster).values_list("pod_key", "queue"))
    assert queued == {"default/hopeless": "unschedulable", "default/gated": "gated"}


def test_configuration_given_back_takes_effect_as_well(cluster: Cluster, put_objects: PutObjects) -> None:
    put_objects(cluster, [make_node("n1").capacity(cpu="8", memory="8Gi", pods="110").manifest()])
    host = lead(cluster)
    settle(cluster, host)
    for content in (MOST_ALLOCATED, b""):
        services.scheduler_config_set(cluster_id=cluster.pk, content=content, actor="test")
        settle(cluster, host)
    kinds = EngineStep.objects.filter(cluster=cluster, kind="config").order_by("id")
    assert list(kinds.values_list("config_version", flat=True)) == [2, 3]
