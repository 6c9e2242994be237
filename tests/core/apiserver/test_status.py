"""Writes of a status: what they leave alone is neither read again nor changed."""

import copy
from typing import Any

import pytest

from scheduler_core.apiserver import verbs
from scheduler_core.apiserver.admission import Admission
from scheduler_core.apiserver.answers import Outcome, Refused
from scheduler_core.apiserver.requests import Create, ObjectKey, Patch, PatchType
from scheduler_core.apiserver.store import Stored
from tests.cases import cases

NOW = 1_767_225_600_000_000
POD = {"spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}}
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, **POD}
MANIFESTS: dict[str, dict[str, Any]] = {
    "Pod": {"apiVersion": "v1", **POD},
    "Node": {"apiVersion": "v1", "spec": {"podCIDR": "10.0.0.0/24"}},
    "Deployment": {"apiVersion": "apps/v1", "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}},
}
STATUSES: dict[str, dict[str, Any]] = {
    "Pod": {"phase": "Running", "podIP": "10.0.0.7"},
    "Node": {"capacity": {"cpu": "0.5"}},
    "Deployment": {"replicas": 2},
}


@pytest.fixture
def admission() -> Admission:
    return Admission(lambda: "")


def stored(kind: str, admission: Admission) -> Stored:
    manifest = {**MANIFESTS[kind], "kind": kind, "metadata": {"name": "x", "namespace": "default"}}
    if kind == "Node":
        del manifest["metadata"]["namespace"]
    outcome = verbs.create(Create(manifest), admission, "00000000-0000-0000-0000-000000000001", NOW)
    assert isinstance(outcome, Outcome), outcome
    return outcome.changes[0].manifest


def write(kind: str, before: Stored, body: dict[str, Any], admission: Admission) -> Outcome | Refused:
    key = ObjectKey(kind, before["metadata"].get("namespace", ""), "x")
    return verbs.patch(before, Patch(key, body, PatchType.MERGE, "status"), admission, NOW + 1_000_000)


@pytest.mark.parametrize("kind", MANIFESTS)
@pytest.mark.parametrize("metadata", [{}, {"metadata": {"annotations": {"a": "b"}}}], ids=["status", "annotated"])
def test_the_object_before_stays_as_it_was(kind: str, metadata: dict[str, Any], admission: Admission) -> None:
    before = stored(kind, admission)
    copied = copy.deepcopy(before)
    outcome = write(kind, before, {"status": STATUSES[kind], **metadata}, admission)
    assert isinstance(outcome, Outcome)
    assert before == copied
    written = outcome.changes[0].manifest
    assert written["spec"] == before["spec"] and list(written) == list(before)
    assert written["status"] != before["status"]
    assert written["metadata"] is not before["metadata"]


def test_a_status_is_defaulted_and_read(admission: Admission) -> None:
    pod = write("Pod", stored("Pod", admission),
                {"status": {"podIP": "10.0.0.7", "startTime": "2026-01-01T01:00:00+01:00"}}, admission)  # fmt: skip
    assert isinstance(pod, Outcome)
    status = pod.changes[0].manifest["status"]
    assert status["podIPs"] == [{"ip": "10.0.0.7"}]
    assert status["startTime"] == "2026-01-01T00:00:00Z"
    node = write("Node", stored("Node", admission), {"status": {"capacity": {"cpu": "0.5"}}}, admission)
    assert isinstance(node, Outcome)
    assert node.changes[0].manifest["status"]["allocatable"] == {"cpu": "500m"}


@cases(
    "body, message",
    ("wrong type", {"status": {"phase": 7}}, "cannot unmarshal number into Go struct field PodStatus.status.phase"),
    ("another uid", {"metadata": {"uid": "other"}, "status": {}},
     'metadata.uid: Invalid value: "other": field is immutable'),
    ("wrong type outside the status", {"spec": {"nodeName": 7}, "status": {}}, "cannot unmarshal number"),
    ("no address", {"status": {"podIPs": [{"ip": "nowhere"}]}}, "status.podIPs[0]"),
)  # fmt: skip
def test_what_is_written_is_checked(body: dict[str, Any], message: str, admission: Admission) -> None:
    refused = write("Pod", stored("Pod", admission), body, admission)
    assert isinstance(refused, Refused)
    assert message in refused.status.message


def test_an_object_of_a_cluster_keeps_a_spec_without_defaults(admission: Admission) -> None:
    """It was taken over as it is; who writes its status does not write its spec."""
    before = stored("Pod", admission)
    del before["spec"]["dnsPolicy"]
    outcome = write("Pod", before, {"status": {"phase": "Running"}}, admission)
    assert isinstance(outcome, Outcome)
    assert "dnsPolicy" not in outcome.changes[0].manifest["spec"]
