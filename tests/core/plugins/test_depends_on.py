"""What every default plugin says its answers depend on: caching goes by it, and less than the truth decides wrongly."""

from __future__ import annotations

from scheduler_core import config
from scheduler_core.build import build
from scheduler_core.framework.reuse import DependsOn
from scheduler_core.ports import FirstDraws
from scheduler_core.table.node_table import NodeTable
from tests.builders import PodBuilder, make_pod
from tests.cases import cases

PLAIN = {
    "NodeUnschedulable": DependsOn.NODE_OBJECT,
    "NodeName": DependsOn.NODE_OBJECT,
    "TaintToleration": DependsOn.NODE_OBJECT,
    "NodeAffinity": DependsOn.NODE_OBJECT,
    "NodePorts": DependsOn.NODE_INFO,
    "NodeResourcesFit": DependsOn.NODE_INFO,
    "NodeResourcesBalancedAllocation": DependsOn.NODE_INFO,
    "VolumeRestrictions": DependsOn.POD,
    "NodeVolumeLimits": DependsOn.POD,
    "VolumeBinding": DependsOn.POD,
    "VolumeZone": DependsOn.POD,
    "DynamicResources": DependsOn.POD,
    "PodTopologySpread": DependsOn.CLUSTER,
    "InterPodAffinity": DependsOn.CLUSTER,
    "ImageLocality": DependsOn.CLUSTER,
}
VOLUMES = dict.fromkeys(("VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone"))
CLAIMS = {"DynamicResources": DependsOn.CLUSTER}


@cases(
    "pod, differs",
    ("a plain pod", make_pod("p"), {}),
    ("with volumes", make_pod("p").spec(volumes=[{"name": "v", "emptyDir": {}}]), VOLUMES),
    ("with claims", make_pod("p").spec(resourceClaims=[{"name": "c", "resourceClaimName": "c"}]), CLAIMS),
)
def test_plugins_say_what_their_answers_depend_on(pod: PodBuilder, differs: dict[str, DependsOn | None]) -> None:
    (profile,) = build(config.load(None), draws=FirstDraws()).engine.frameworks.values()
    built = pod.build()
    assert {name: plugin.depends_on(built) for name, plugin in profile.cacheable.items()} == PLAIN | differs
    assert not profile.ends_reuse


@cases(
    "pod, asked",
    ("a plain pod", make_pod("p"), set()),
    ("with affinity", make_pod("p").pod_affinity("zone", {"app": "db"}), {"InterPodAffinity"}),
    ("with constraints", make_pod("p").spread("zone", {"app": "db"}), {"PodTopologySpread"}),
    ("with a controller", make_pod("p").owner("ReplicaSet", "rs"), {"PodTopologySpread"}),
)
def test_plugins_depend_on_an_empty_cluster_only_for_pods_they_are_about(pod: PodBuilder, asked: set[str]) -> None:
    (profile,) = build(config.load(None), draws=FirstDraws()).engine.frameworks.values()
    built, table = pod.build(), NodeTable()
    found = {plugin.name for plugin in profile.sometimes_on_cluster if plugin.depends_on_cluster(built, table)}
    assert found == asked
