"""Files made after what people reported elsewhere (../shared/reports): each gives what its expected.md says."""

from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from kschedweb.cluster.models import ApiObject, Cluster, Pod
from kschedweb.environment import ROOT
from kschedweb.lifecycle.runner import ControllerHost
from tests.web.rest import log, logged_in
from tests.web.scheduling.conftest import lead, settle

REPORTS = ROOT.parent / "shared" / "reports"
SECOND = 1_000_000

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(not REPORTS.exists(), reason="needs ../shared/reports"),
]


def imported(cluster: Cluster, *names: str, query: str = "") -> Any:
    """The answer of REST to these files, named from the folder of reports."""
    form = {"file": [SimpleUploadedFile(Path(name).name, (REPORTS / name).read_bytes()) for name in names]}
    return logged_in().post(f"/api/clusters/{cluster.pk}/import{query}", form, format="multipart")


def names_of(kind: str) -> set[str]:
    return set(ApiObject.objects.filter(kind=kind).values_list("name", flat=True))


def test_document_without_kind_is_reported_and_the_others_are_taken(cluster: Cluster) -> None:
    assert imported(cluster, "12-partial/input.yaml").status_code == 422
    assert log(cluster) == []
    report = imported(cluster, "12-partial/input.yaml", query="?partial=true").json()["report"]
    assert report["kinds"] == {"Namespace": {"created": 2}}
    (refused,) = report["refused"]
    assert refused["message"] == "input.yaml: document 2: kind: is required"
    assert names_of("Namespace") == {"good", "good-too"}


def test_template_is_reported_and_the_good_file_is_taken(cluster: Cluster) -> None:
    files = ("06-mixed-files/input.yaml", "12-partial/template.yaml")
    report = imported(cluster, *files, query="?partial=true").json()["report"]
    assert [(one["file"], one["document"], one["line"]) for one in report["refused"]] == [("template.yaml", 1, 1)]
    assert names_of("Deployment") == {"web"}


@pytest.mark.parametrize("name", ["input.yaml", "crlf.yaml", "bom.yaml"])
def test_mixed_file_is_taken_and_its_pod_waits_for_its_zone(cluster: Cluster, name: str) -> None:
    report = imported(cluster, f"06-mixed-files/{name}").json()["report"]
    assert names_of("Deployment") == {"web"} and report["refused"] == []
    assert [(one["api_version"], one["kind"], one["reason"], one["read_as"]) for one in report["left_out"]] == [
        ("extensions/v1beta1", "Deployment", "unknown_version", "apps/v1"),
        ("policy/v1beta1", "PodDisruptionBudget", "unknown_version", "policy/v1"),
        ("monitoring.coreos.com/v1", "ServiceMonitor", "unknown_kind", ""),
    ]
    settle(lead(cluster))
    pod = Pod.objects.get(name="db-0")
    assert (pod.phase, pod.node_name) == ("Pending", "")
    assert "node(s) had no available volume zone" in pod.condition_message


def test_volumes_are_bound_as_they_would_be(cluster: Cluster) -> None:
    assert imported(cluster, "11-volumes/input.yaml", query="?lifecycle=simulate").status_code == 201
    scheduler, controllers = lead(cluster), ControllerHost.build(cluster.pk)
    for turn in range(12):
        settle(scheduler)
        controllers.step((2_000_000_000 + turn) * SECOND)
    nodes = dict(Pod.objects.exclude(node_name="").values_list("name", "node_name"))
    assert nodes == {"a-local": "n1", "d-gone": "n2", "f-ephemeral": "n2"}


def test_chart_leaves_out_only_what_nobody_knows(cluster: Cluster) -> None:
    report = imported(cluster, "10-kubectl-ops/chart.yaml").json()["report"]
    reasons = {one["kind"]: one["reason"] for one in report["left_out"]}
    assert reasons == {"ServiceMonitor": "unknown_kind"}
    assert {"ClusterRole", "HorizontalPodAutoscaler", "Ingress"} <= set(report["kinds"])


def test_lists_are_taken(cluster: Cluster) -> None:
    names = ("nodes.json", "pods.json", "eventlist.json")
    report = imported(cluster, *(f"05-lists/{name}" for name in names)).json()["report"]
    assert report["kinds"] == {"Event": {"created": 1}, "Node": {"created": 1}, "Pod": {"created": 1}}


def test_documents_one_after_another_are_taken_and_logs_between_are_counted(cluster: Cluster) -> None:
    report = imported(cluster, "05-lists/concatenated.json").json()["report"]
    assert report["kinds"] == {"Node": {"created": 1}, "Pod": {"created": 1}}
    report = imported(cluster, "05-lists/dump.txt").json()["report"]
    assert report["kinds"] == {"Event": {"created": 1}, "Node": {"unchanged": 1}, "Pod": {"unchanged": 1}}
    assert (report["passed_over"], report["refused_total"]) == ({"logs": 1}, 0)
