"""What a pod looks like once it is created: defaults, classes, limits, gates."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given

from scheduler_core.admission import explain_unreadable
from scheduler_core.api.manifests import decode
from scheduler_core.api.schema import DecodeError
from scheduler_core.errors import AdmissionError
from tests.builders import PodBuilder, make, make_pod
from tests.cases import cases
from tests.core.admission.context import create
from tests.core.admission.pods import created, fresh
from tests.examples import examples
from tests.strategies import pod_manifests

MIB = 1 << 20


def resources_of(manifest: dict[str, Any]) -> Any:
    return manifest["spec"]["containers"][0]["resources"]


def test_created_pod_is_stamped() -> None:
    pod = created(fresh().container().status(phase="Running", nominatedNodeName="n"))
    assert pod["metadata"] == {"name": "a", "namespace": "default", "uid": "00000000-0000-0000-0000-000000000001",
                               "creationTimestamp": "2030-01-01T00:00:00Z", "generation": 1}  # fmt: skip
    assert pod["status"] == {"phase": "Pending", "qosClass": "BestEffort"}


def test_created_pod_has_the_constants() -> None:
    spec = created(
        make_pod("a").container(ports=[{"containerPort": 80}]).spec(schedulerName="", volumes=[{"name": "v"}])
    )["spec"]
    assert spec["schedulerName"] == "default-scheduler"
    assert spec["restartPolicy"] == "Always"
    assert spec["dnsPolicy"] == "ClusterFirst"
    assert spec["terminationGracePeriodSeconds"] == 30
    assert spec["enableServiceLinks"] is True
    assert spec["containers"][0]["ports"][0]["protocol"] == "TCP"
    assert spec["volumes"] == [{"name": "v", "emptyDir": {}}]


def test_values_given_are_kept_and_unknown_fields_dropped() -> None:
    pod = fresh().container().spec(restartPolicy="Never", terminationGracePeriodSeconds=0, fieldOfTomorrow={"a": [1]})
    spec = created(pod)["spec"]
    assert (spec["restartPolicy"], spec["terminationGracePeriodSeconds"]) == ("Never", 0)
    assert "fieldOfTomorrow" not in spec


def test_the_given_manifest_is_not_changed() -> None:
    manifest = fresh().req(cpu="100u").limit(memory="1Gi").manifest()
    before = copy.deepcopy(manifest)
    create(manifest)
    assert manifest == before


def test_generated_name_ends_with_the_uid() -> None:
    manifest = fresh("").container().manifest()
    manifest["metadata"]["generateName"] = "web-"
    assert create(manifest)["metadata"]["name"] == "web-00001"


@cases(
    "requests, limits, want",
    ("rounded up to milli", {"cpu": "100u"}, {}, {"cpu": "1m"}),
    ("canonical", {"cpu": "1500m", "memory": "1024Ki"}, {}, {"cpu": "1500m", "memory": "1Mi"}),
    ("requests from limits", {}, {"cpu": "1"}, {"cpu": "1"}),
    ("missing ones only", {"cpu": "500m"}, {"cpu": "1", "memory": "1Gi"}, {"cpu": "500m", "memory": "1Gi"}),
)
def test_requests_are_defaulted(requests: dict[str, str], limits: dict[str, str], want: dict[str, str]) -> None:
    assert resources_of(created(fresh().req(requests).limit(limits)))["requests"] == want


def test_limits_are_never_made_from_requests() -> None:
    assert "limits" not in resources_of(created(fresh().req(cpu="1")))


@cases(
    "given, want",
    ("requests alone take nothing over", {"requests": {"cpu": "3"}}, {"requests": {"cpu": "3"}}),
    ("with limits the aggregated requests of containers", {"limits": {"memory": "4Gi"}},
     {"requests": {"cpu": "1500m", "memory": "1Gi"}, "limits": {"memory": "4Gi"}}),
    ("then the limits themselves", {"limits": {"cpu": "2", "hugepages-2Mi": "4Mi"}},
     {"requests": {"cpu": "1500m", "memory": "1Gi", "hugepages-2Mi": "4Mi"},
      "limits": {"cpu": "2", "hugepages-2Mi": "4Mi"}}),
    ("empty stays empty", {}, {}),
)  # fmt: skip
def test_pod_level_resources_are_defaulted(given: dict[str, Any], want: dict[str, Any]) -> None:
    pod = fresh().container({"cpu": "1", "memory": "1Gi"}).container({"cpu": "500m"}).spec(resources=given)
    assert created(pod)["spec"]["resources"] == want


def test_pod_level_resources_of_templates_are_rounded_like_all() -> None:
    resources = {"limits": {"cpu": "5n", "memory": "1Gi"}, "requests": {"memory": "0.5Gi"}}
    spec = {"containers": [{"name": "c", "image": "i"}], "resources": resources}
    manifest = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "a", "namespace": "default"}}
    template = create({**manifest, "template": {"spec": spec}})["template"]
    assert template["spec"]["resources"] == {"limits": {"cpu": "1m", "memory": "1Gi"}, "requests": {"memory": "512Mi"}}


def test_pod_level_hugepages_limit_comes_from_the_containers() -> None:
    pages = {"hugepages-2Mi": "4Mi", "cpu": "1"}
    pod = (
        fresh().container(pages, limits=pages).container(pages, limits=pages).spec(resources={"requests": {"cpu": "2"}})
    )
    resources = created(pod)["spec"]["resources"]
    assert resources["limits"] == {"hugepages-2Mi": "8Mi"}
    assert resources["requests"]["hugepages-2Mi"] == "8Mi"


def test_host_network_turns_container_ports_into_host_ports() -> None:
    ports = [{"containerPort": 80}, {"containerPort": 81, "hostPort": 81}]
    pod = fresh().container(ports=ports).init_container(ports=[{"containerPort": 90}]).spec(hostNetwork=True)
    spec = created(pod)["spec"]
    assert [port["hostPort"] for port in spec["containers"][0]["ports"]] == [80, 81]
    assert spec["initContainers"][0]["ports"][0]["hostPort"] == 90


def limit_ranges(**item: Any) -> dict[str, Any]:
    return {"default": [make("LimitRange", "r", spec={"limits": [{"type": "Container", **item}]})]}


@cases(
    "item, want",
    ("default and default request", {"default": {"memory": "1Gi"}, "defaultRequest": {"cpu": "100m"}},
     {"requests": {"cpu": "100m", "memory": "1Gi"}, "limits": {"memory": "1Gi"}}),
    ("the maximum is the default", {"max": {"cpu": "2"}}, {"requests": {"cpu": "2"}, "limits": {"cpu": "2"}}),
    ("the minimum is the default request", {"min": {"cpu": "50m"}}, {"requests": {"cpu": "50m"}}),
)  # fmt: skip
def test_limit_range_fills_what_is_missing(item: dict[str, Any], want: dict[str, Any]) -> None:
    assert resources_of(created(fresh().container(), limit_ranges=limit_ranges(**item))) == want


def test_limit_range_comes_after_requests_from_limits_and_leaves_given_values() -> None:
    pod = created(
        fresh().limit(cpu="1"), limit_ranges=limit_ranges(default={"cpu": "2"}, defaultRequest={"cpu": "100m"})
    )
    assert resources_of(pod) == {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}
    elsewhere = create(make_pod("a", namespace="b").container().manifest(), limit_ranges=limit_ranges(max={"cpu": "1"}))
    assert elsewhere["spec"]["containers"][0]["resources"] == {}


@cases(
    "pod, want",
    ("nothing named", fresh().container(), "BestEffort"),
    ("only others named", fresh().req({"example.com/x": "1"}).limit({"example.com/x": "1"}), "BestEffort"),
    ("limits become requests", fresh().limit(cpu="1", memory="1Gi"), "Guaranteed"),
    ("memory missing", fresh().limit(cpu="1"), "Burstable"),
    ("less than the limit", fresh().req(cpu="500m").limit(cpu="1", memory="1Gi"), "Burstable"),
    ("every container must", fresh().limit(cpu="1", memory="1Gi").container(), "Burstable"),
    ("pod level", fresh().container().spec(resources={"limits": {"cpu": "1", "memory": "1Gi"}}), "Guaranteed"),
)
def test_qos_class(pod: PodBuilder, want: str) -> None:
    assert created(pod)["status"]["qosClass"] == want


def test_gated_pod_is_born_with_the_condition() -> None:
    assert created(fresh().container().gate("a.io/x"))["status"]["conditions"] == [
        {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated",
         "message": "Scheduling is blocked due to non-empty scheduling gates", "lastProbeTime": None,
         "lastTransitionTime": "2030-01-01T00:00:00Z"},
    ]  # fmt: skip


def test_gated_pod_cannot_name_a_node() -> None:
    with pytest.raises(AdmissionError) as caught:
        created(fresh().container().gate("x").on("n1"))
    assert str(caught.value) == "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"


def test_label_keys_are_merged_into_selectors() -> None:
    term = {"topologyKey": "zone", "labelSelector": {}, "matchLabelKeys": ["app", "gone"],
            "mismatchLabelKeys": ["tier"]}  # fmt: skip
    without_selector = {"topologyKey": "zone"}
    pod = fresh().container().label(app="x", tier="web").spread("zone", {"a": "b"}, matchLabelKeys=["tier"])
    pod.spec(
        affinity={
            "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term, without_selector]},
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": term}]
            },
        }
    )
    spec = created(pod)["spec"]
    merged = [
        {"key": "app", "operator": "In", "values": ["x"]},
        {"key": "tier", "operator": "NotIn", "values": ["web"]},
    ]
    first, second = spec["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert first["labelSelector"] == {"matchExpressions": merged}
    assert "labelSelector" not in second
    preferred = spec["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"][0]
    assert preferred["podAffinityTerm"]["labelSelector"] == {"matchExpressions": merged}
    assert spec["topologySpreadConstraints"][0]["labelSelector"] == {
        "matchLabels": {"a": "b"},
        "matchExpressions": [{"key": "tier", "operator": "In", "values": ["web"]}],
    }


def test_unreadable_pod_is_refused_in_the_decoders_words_and_explained_with_its_place() -> None:
    pod = fresh().req(cpu="1K")
    with pytest.raises(DecodeError, match="^unable to parse quantity's suffix$") as caught:
        created(pod)
    explained = explain_unreadable(pod.manifest(), caught.value)
    assert str(explained).startswith("spec.containers[0].resources.requests.cpu: unable to parse")


def test_null_fields_are_dropped() -> None:
    manifest = fresh().container().spec(nodeName=None, tolerations=None).manifest()
    manifest["metadata"]["creationTimestamp"] = None
    spec = create(manifest)["spec"]
    assert "nodeName" not in spec and len(spec["tolerations"]) == 2


@examples(25)
@given(pod_manifests())
def test_what_is_admitted_can_be_read_and_is_admitted_alike_again(manifest: dict[str, Any]) -> None:
    del manifest["spec"]["priority"]
    for container in manifest["spec"]["containers"] + manifest["spec"].get("initContainers", []):
        container.get("resources", {}).get("requests", {}).pop("example.com/gpu", None)
    first = create(manifest)
    decode(first)
    assert create(first) == first
