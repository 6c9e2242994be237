"""What an engine asks for, as requests: each names the object it means."""

from __future__ import annotations

from scheduler_core.apiserver.effects import bind_request, evict_request, status_request, write_requests
from scheduler_core.apiserver.requests import Bind, Evict, ObjectKey, ReportUnschedulable
from scheduler_core.model.effects import BindingRequest, EvictionRequest, PodStatusPatch
from tests.builders import make

POD = ObjectKey("Pod", "shop", "web")


def test_pods_are_named_by_key_and_uid() -> None:
    binding = BindingRequest(pod_uid="u", namespace="shop", name="web", node_name="n1", attempt=1)
    assert bind_request(binding) == Bind(POD, "n1", "u")
    eviction = EvictionRequest(
        pod_uid="u", namespace="shop", name="web", preemptor_uid="x", node_name="n1", message="why"
    )
    assert evict_request(eviction) == Evict(POD, "PreemptionByScheduler", "why", "u")


def test_patch_without_a_condition_reports_the_nomination_only() -> None:
    told = PodStatusPatch("u", "shop", "web", "", "", "", "")
    assert status_request(told) == ReportUnschedulable(POD, None, "", "u")
    told = PodStatusPatch("u", "shop", "web", "False", "Unschedulable", "0/1", None)
    assert status_request(told) == ReportUnschedulable(POD, ("False", "Unschedulable", "0/1"), None, "u")


def test_volume_is_written_with_its_claim_and_annotations_only() -> None:
    volume = make(
        "PersistentVolume",
        "v",
        metadata={"uid": "u", "resourceVersion": "7", "annotations": {"a": "b"}, "labels": {"c": "d"}},
        spec={"claimRef": {"name": "data", "namespace": "shop"}, "capacity": {"storage": "1Gi"}},
        status={"phase": "Bound"},
    )
    [patch] = write_requests(volume)
    assert (patch.key, patch.uid, patch.resource_version) == (ObjectKey("PersistentVolume", "", "v"), "u", "7")
    assert patch.body == {
        "metadata": {"annotations": {"a": "b"}},
        "spec": {"claimRef": {"name": "data", "namespace": "shop"}},
    }


def test_other_kinds_are_written_but_for_identity() -> None:
    config = make("PriorityClass", "high", metadata={"labels": {"c": "d"}, "annotations": {"a": "b"}}, value=7)
    assert write_requests(config)[0].body == {"metadata": {"labels": {"c": "d"}, "annotations": {"a": "b"}}, "value": 7}


def test_status_that_a_custom_plugin_writes_is_a_request_of_its_own() -> None:
    node = make("Node", "n", metadata={"uid": "u", "resourceVersion": "7"}, status={"allocatable": {"cpu": "4"}})
    first, second = write_requests(node)
    assert (first.subresource, first.resource_version, "status" in first.body) == ("", "7", False)
    assert (second.subresource, second.uid, second.resource_version) == ("status", "u", "")
    assert second.body == {"status": {"allocatable": {"cpu": "4"}}}
