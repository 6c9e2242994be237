"""Imports through the REST route: formats, admission, matching with what is there, reports."""

import gzip
import time
from typing import Any

import orjson
import pytest
import yaml
from django.core.files.uploadedfile import SimpleUploadedFile

from kschedweb.cluster import clock, selectors, services
from kschedweb.cluster.models import ApiObject, Change, Cluster, Import, Node, Pod
from kschedweb.environment import ROOT
from scheduler_core.apiserver.requests import Bind, ObjectKey, Patch
from tests.cases import cases
from tests.web.rest import items, log, logged_in, node, pod, upload

OPENB = ROOT.parent / "shared" / "data" / "openb"
SMALL_OPENB = ROOT / "tests" / "recordings" / "openb"

pytestmark = pytest.mark.django_db


def kept_pod(name: str = "p1", uid: str = "uid-p1", node_name: str = "n1") -> dict[str, Any]:
    """A pod as `kubectl get -o json` prints it."""
    manifest = pod(name, uid=uid, creationTimestamp="2030-01-01T00:00:00Z", namespace="shop")
    manifest["metadata"] |= {"resourceVersion": "4711", "managedFields": [{"manager": "kubectl"}]}
    manifest["spec"]["nodeName"] = node_name
    manifest["status"] = {"phase": "Running", "startTime": "2030-01-01T00:00:05Z"}
    return manifest


@cases(
    "encode",
    ("list in JSON", lambda objects: orjson.dumps(items(*objects))),
    ("bare JSON array", lambda objects: orjson.dumps(objects)),
    ("list in YAML", lambda objects: yaml.safe_dump(items(*objects)).encode()),
    ("several YAML documents", lambda objects: yaml.safe_dump_all(objects).encode()),
    ("with a byte order mark", lambda objects: b"\xef\xbb\xbf" + orjson.dumps(items(*objects))),
    ("gzip", lambda objects: gzip.compress(orjson.dumps(items(*objects)))),
    (
        "gzip in two members",
        lambda objects: (
            gzip.compress(yaml.safe_dump(objects[0]).encode() + b"---\n")
            + gzip.compress(yaml.safe_dump(objects[1]).encode())
        ),
    ),
)
def test_import_takes_the_objects_when_they_come_in_any_format(cluster: Cluster, encode: Any) -> None:
    answer = upload(logged_in(), cluster, encode([node(), pod()]))
    assert answer.status_code == 201, answer.content
    assert answer.json()["report"]["kinds"] == {"Node": {"created": 1}, "Pod": {"created": 1}}
    assert Node.objects.get().allocatable == {"cpu": 4000, "memory": 8 << 30, "pods": 110}
    assert Pod.objects.get().requests == {"cpu": 100}
    assert log(cluster) == [(2, "created", "Node", "n1"), (3, "created", "Pod", "p1")]


def test_import_reads_a_typed_list_when_its_items_name_no_kind(cluster: Cluster) -> None:
    manifest = pod()
    del manifest["apiVersion"], manifest["kind"]
    body = {"apiVersion": "v1", "kind": "PodList", "metadata": {}, "items": [manifest]}
    assert upload(logged_in(), cluster, body).status_code == 201
    assert Pod.objects.get().manifest["kind"] == "Pod"


def test_import_takes_several_files_when_they_come_as_a_form(cluster: Cluster) -> None:
    files = [
        SimpleUploadedFile("nodes.json", orjson.dumps(items(node()))),
        SimpleUploadedFile("pods.yaml", yaml.safe_dump(pod()).encode()),
    ]
    answer = logged_in().post(
        f"/api/clusters/{cluster.pk}/import", {"file": files, "lifecycle": "simulate"}, format="multipart"
    )
    assert answer.status_code == 201, answer.content
    report = answer.json()["report"]
    assert [(file["name"], file["format"]) for file in report["files"]] == [
        ("nodes.json", "json"),
        ("pods.yaml", "yaml"),
    ]
    cluster.refresh_from_db()
    assert cluster.lifecycle_mode == "simulate"


def test_import_keeps_an_object_as_it_is_when_it_comes_from_a_cluster(cluster: Cluster) -> None:
    report = upload(logged_in(), cluster, items(node(), kept_pod())).json()["report"]
    assert (report["kept"], report["admitted"]) == (1, 1)
    row = Pod.objects.get()
    assert (row.uid, row.node_name, row.phase) == ("uid-p1", "n1", "Running")
    assert "resourceVersion" not in row.manifest["metadata"] and "managedFields" not in row.manifest["metadata"]
    assert "tolerations" not in row.manifest["spec"]
    assert row.manifest["metadata"]["creationTimestamp"] == "2030-01-01T00:00:00Z"


def test_import_admits_as_a_creation_when_the_object_has_no_uid(cluster: Cluster) -> None:
    critical = pod()
    critical["spec"]["priorityClassName"] = "gold"
    gold = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "gold"}, "value": 77}
    # The class stands behind the pod in the file, and is admitted before it.
    assert upload(logged_in(), cluster, items(critical, gold)).status_code == 201
    row = Pod.objects.get()
    assert row.priority == 77 and row.uid and row.phase == "Pending"
    keys = [toleration["key"] for toleration in row.manifest["spec"]["tolerations"]]
    assert sorted(keys) == [f"node.kubernetes.io/{name}" for name in ("memory-pressure", "not-ready", "unreachable")]


@cases(
    "admission, kept, node_name",
    ("auto keeps it", "auto", 1, "n1"),
    ("never keeps it", "never", 1, "n1"),
    ("always admits it anew", "always", 0, "n1"),
)
def test_import_heeds_the_choice_of_admission(cluster: Cluster, admission: str, kept: int, node_name: str) -> None:
    answer = upload(logged_in(), cluster, kept_pod(), f"?admission={admission}")
    assert answer.json()["report"]["kept"] == kept
    row = Pod.objects.get()
    assert row.node_name == node_name
    assert (row.uid == "uid-p1") == bool(kept)
    assert row.phase == ("Running" if kept else "Pending")


@pytest.mark.parametrize(("condition", "ready"), [("Ready", False), ("DiskPressure", True)])
def test_import_notes_whether_a_node_is_ready(cluster: Cluster, condition: str, ready: bool) -> None:
    manifest = node()
    manifest["status"]["conditions"] = [{"type": condition, "status": "False"}]
    upload(logged_in(), cluster, manifest)
    assert Node.objects.get().ready is ready


def test_import_may_be_as_long_as_the_limit(cluster: Cluster, settings: Any) -> None:
    client, content = logged_in(), orjson.dumps(pod())
    for more, status in ((-1, 413), (0, 201)):
        settings.IMPORT_LIMITS = {"received_bytes": len(content) + more}
        assert upload(client, cluster, content).status_code == status


def test_file_under_the_name_of_an_option_is_a_file(cluster: Cluster) -> None:
    sent = {"partial": SimpleUploadedFile("pod.json", orjson.dumps(pod()))}
    answer = logged_in().post(f"/api/clusters/{cluster.pk}/import", sent, format="multipart")
    assert (answer.status_code, Pod.objects.count()) == (201, 1), answer.content


def test_import_changes_nothing_when_the_same_file_comes_again(cluster: Cluster) -> None:
    body = items(node(), kept_pod(), pod("fresh"))
    client = logged_in()
    upload(client, cluster, body)
    before = log(cluster)
    report = upload(client, cluster, body).json()["report"]
    assert report["kinds"] == {"Node": {"unchanged": 1}, "Pod": {"unchanged": 2}}
    assert log(cluster) == before


def test_import_updates_by_uid_when_the_object_changed(cluster: Cluster) -> None:
    client = logged_in()
    upload(client, cluster, kept_pod())
    changed = kept_pod()
    changed["metadata"]["labels"] = {"app": "web"}
    assert upload(client, cluster, changed).json()["report"]["kinds"] == {"Pod": {"updated": 1}}
    assert Pod.objects.get().manifest["metadata"]["labels"] == {"app": "web"}
    assert [entry[1] for entry in log(cluster)] == ["created", "updated"]


def test_import_replaces_the_pod_when_its_uid_or_node_is_another(cluster: Cluster) -> None:
    client = logged_in()
    upload(client, cluster, kept_pod())
    upload(client, cluster, kept_pod(uid="uid-new"))
    upload(client, cluster, kept_pod(uid="uid-new", node_name="n2"))
    assert [entry[1] for entry in log(cluster)] == ["created", "deleted", "created", "deleted", "created"]
    row = Pod.objects.get()
    assert (row.uid, row.node_name) == ("uid-new", "n2")
    assert row.rv == log(cluster)[-1][0]


def test_import_renames_the_object_when_its_uid_is_known(cluster: Cluster) -> None:
    client = logged_in()
    upload(client, cluster, kept_pod("a", "uid-1"))
    assert upload(client, cluster, kept_pod("b", "uid-1")).json()["report"]["kinds"] == {"Pod": {"updated": 1}}
    assert [(row.name, row.uid) for row in Pod.objects.all()] == [("b", "uid-1")]
    assert [entry[1:] for entry in log(cluster)] == [
        ("created", "Pod", "a"), ("deleted", "Pod", "a"), ("created", "Pod", "b"),
    ]  # fmt: skip


def test_import_survives_when_two_objects_swap_their_names(cluster: Cluster) -> None:
    client = logged_in()
    upload(client, cluster, items(kept_pod("a", "uid-1"), kept_pod("b", "uid-2")))
    answer = upload(client, cluster, items(kept_pod("a", "uid-2"), kept_pod("b", "uid-1")))
    assert answer.status_code == 201, answer.content
    assert dict(Pod.objects.values_list("name", "uid")) == {"a": "uid-2", "b": "uid-1"}
    operations = [entry[1] for entry in log(cluster)]
    assert operations.count("created") - operations.count("deleted") == 2


def test_import_leaves_node_and_status_when_a_bound_pod_is_named_again(cluster: Cluster) -> None:
    client = logged_in()
    upload(client, cluster, items(node(), pod()))
    bound = Pod.objects.get()
    bind = Bind(ObjectKey("Pod", bound.namespace, bound.name), "n1")
    services.requests_carry_out(cluster_id=cluster.pk, requests=[bind], actor="test", now=clock.now_of(cluster.pk))
    report = upload(client, cluster, items(node(), pod())).json()["report"]
    assert report["kinds"] == {"Node": {"unchanged": 1}, "Pod": {"unchanged": 1}}
    assert Pod.objects.get().node_name == "n1"
    # A pod that has a node cannot become another one: it is replaced and waits again.
    upload(client, cluster, pod(cpu="2"))
    replaced = Pod.objects.get()
    assert (replaced.node_name, replaced.requests["cpu"]) == ("", 2000)
    assert replaced.uid != bound.uid


def test_import_keeps_what_others_wrote_when_an_object_is_named_again(cluster: Cluster) -> None:
    client = logged_in()
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "finalizers": ["example.com/f"]},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    upload(client, cluster, claim)
    key = ObjectKey("PersistentVolumeClaim", "default", "data")
    bind = Patch(key, {"spec": {"volumeName": "v"}})
    services.requests_carry_out(cluster_id=cluster.pk, requests=[bind], actor="test", now=clock.now_of(cluster.pk))
    again = {**claim, "metadata": {"name": "data", "labels": {"a": "b"}}}
    assert upload(client, cluster, again).json()["report"]["kinds"] == {"PersistentVolumeClaim": {"updated": 1}}
    manifest = ApiObject.objects.get().manifest
    assert (manifest["metadata"]["finalizers"], manifest["metadata"]["labels"]) == (["example.com/f"], {"a": "b"})
    assert manifest["spec"]["volumeName"] == "v"


def test_import_refuses_what_no_update_may_change(cluster: Cluster) -> None:
    client = logged_in()
    named = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}}
    upload(client, cluster, {**named, "value": 1})
    answer = upload(client, cluster, {**named, "value": 2})
    assert (answer.status_code, "may not be changed" in answer.content.decode()) == (422, True)


def test_import_deletes_the_rest_when_it_replaces(cluster: Cluster) -> None:
    client = logged_in()
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"selector": {"a": "b"}}}
    upload(client, cluster, items(node("n1"), node("n2"), pod("p1"), service))
    report = upload(client, cluster, items(node("n2"), pod("p2")), "?replace=true").json()["report"]
    assert report["kinds"] == {
        "Node": {"unchanged": 1, "deleted": 1},
        "Pod": {"created": 1, "deleted": 1},
        "Service": {"deleted": 1},
    }
    assert list(Node.objects.values_list("name", flat=True)) == ["n2"]
    assert not ApiObject.objects.exists()


def test_import_reports_each_refused_object_when_it_is_partial(cluster: Cluster) -> None:
    body = items(pod("good"), pod("bad", cpu="-1"), pod("good"), {"apiVersion": "v1", "kind": "Pod"})
    report = upload(logged_in(), cluster, body, "?partial=true").json()["report"]
    assert report["kinds"] == {"Pod": {"created": 1, "refused": 3}}
    assert [(one["item"], one["field"]) for one in report["refused"]] == [
        (3, "metadata.name"),
        (4, "metadata"),
        (2, "spec.containers[0].resources.requests[cpu]"),
    ]
    assert list(Pod.objects.values_list("name", flat=True)) == ["good"]


def test_import_counts_kinds_that_are_not_understood(cluster: Cluster) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "m"}, "data": {"a": "b3R0ZXI="}}
    knative = {"apiVersion": "serving.knative.dev/v1", "kind": "Service", "metadata": {"name": "k"}}
    report = upload(logged_in(), cluster, items(pod(), secret, secret, knative)).json()["report"]
    assert report["not_understood"] == {"Secret": 2, "serving.knative.dev/v1 Service": 1}
    assert report["notes"][-2:] == [
        "Left out, unknown kind: serving.knative.dev/v1 Service (1).",
        "Left out, never imported: Secret (2).",
    ]


def test_kinds_that_scheduling_does_not_read_are_kept(cluster: Cluster) -> None:
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "system:otters", "uid": "u-1", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "rules": [{"verbs": ["get"], "resources": ["pods"], "apiGroups": [""]}],
    }
    policy = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "all"}}
    report = upload(logged_in(), cluster, items(pod(), role, policy)).json()["report"]
    assert report["kinds"]["ClusterRole"] == report["kinds"]["NetworkPolicy"] == {"created": 1}
    stored = {row.kind: row.manifest for row in ApiObject.objects.filter(cluster=cluster)}
    assert stored["ClusterRole"]["metadata"]["name"] == "system:otters"
    assert stored["NetworkPolicy"]["spec"]["policyTypes"] == ["Ingress"]
    broken = {**role, "rules": "all"}
    assert upload(logged_in(), cluster, items(broken)).status_code == 422


@cases(
    "api_version, kind, reason, note",
    ("an older version", "policy/v1beta1", "PodDisruptionBudget", "unknown_version",
     "version not read: policy/v1beta1 PodDisruptionBudget (1; write policy/v1)"),
    ("a former group", "extensions/v1beta1", "Deployment", "unknown_version",
     "version not read: extensions/v1beta1 Deployment (1; write apps/v1)"),
    ("a kind that is not read", "v1", "ComponentStatus", "not_read", "not read by the scheduler: ComponentStatus (1)"),
    ("a kind of others", "monitoring.coreos.com/v1", "ServiceMonitor", "unknown_kind",
     "unknown kind: monitoring.coreos.com/v1 ServiceMonitor (1)"),
    ("a confidential kind", "v1", "Secret", "confidential", "never imported: Secret (1)"),
)  # fmt: skip
def test_kind_that_is_left_out_has_its_true_reason(
    cluster: Cluster, api_version: str, kind: str, reason: str, note: str
) -> None:
    left = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}}
    report = upload(logged_in(), cluster, items(pod(), left)).json()["report"]
    (told,) = report["left_out"]
    assert len(told.pop("at")) == told["count"]
    assert (told["api_version"], told["kind"], told["count"], told["reason"]) == (api_version, kind, 1, reason)
    assert report["notes"][-1] == f"Left out, {note}."
    refusal = upload(logged_in(), cluster, left).json()
    assert refusal["message"] == f"upload: holds no object of a kind that is understood; {note}"


def test_import_keeps_fields_the_scheduler_does_not_read(cluster: Cluster) -> None:
    manifest = pod()
    manifest["spec"]["containers"][0]["env"] = [{"name": "A", "value": "yes"}]
    upload(logged_in(), cluster, manifest)
    assert Pod.objects.get().manifest["spec"]["containers"][0]["env"] == [{"name": "A", "value": "yes"}]


def test_import_is_recorded_with_its_report(cluster: Cluster) -> None:
    client = logged_in()
    answer = upload(client, cluster, pod(), "?filename=web.json")
    again = client.get(answer["Location"])
    assert again.status_code == 200
    assert again.json() == answer.json()
    row = Import.objects.get()
    assert (row.status, row.filename, row.files, row.actor) == ("done", "web.json", [], "ada")


def test_import_wakes_the_scheduler_once(
    cluster: Cluster, django_capture_on_commit_callbacks: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[tuple[str, Any]] = []
    monkeypatch.setattr("kschedweb.common.wake.send", lambda name, **kwargs: sent.append((name, kwargs)))
    with django_capture_on_commit_callbacks(execute=True):
        upload(logged_in(), cluster, pod())
    assert sent == [("scheduling.ensure_leader", {"cluster_id": cluster.pk})]


@pytest.mark.skipif(not OPENB.exists(), reason="needs ../shared/data/openb")
def test_import_of_the_openb_pair_is_quick_and_says_what_it_means(cluster: Cluster) -> None:
    names = ("openb_node_list_all_node.csv", "openb_pod_list_default.csv")
    files = [SimpleUploadedFile(name, (OPENB / name).read_bytes()) for name in names]
    client = logged_in()
    # The time of this process, not of the wall: tests share their machine.
    started = time.process_time()
    answer = client.post(f"/api/clusters/{cluster.pk}/import", {"file": files}, format="multipart")
    seconds = time.process_time() - started
    assert answer.status_code == 201, answer.content
    report = answer.json()["report"]
    assert report["kinds"] == {"Node": {"created": 1523}, "Pod": {"created": 8152}, "PriorityClass": {"created": 2}}
    assert report["notes"][0] == "GPUs: the pods ask for 6,087 of the 6,212 there are."
    assert "fragmentation" in report["notes"][1]
    assert seconds < 8
    assert Node.objects.count() == 1523 and Pod.objects.filter(node_name="").count() == 8152
    assert {pod.manifest["spec"]["preemptionPolicy"] for pod in Pod.objects.all()} == {"Never"}
    assert set(Pod.objects.values_list("priority", flat=True)) == {0, 1000}
    assert Node.objects.filter(allocatable__has_key="example.com/gpu-milli").count() == 1213
    assert Change.objects.filter(cluster=cluster).count() == 1 + 9677
    # Every state row carries the position of its entry.
    rvs = dict(Change.objects.filter(cluster=cluster, kind="Pod").values_list("uid", "rv"))
    assert rvs == dict(Pod.objects.values_list("uid", "rv"))


def test_import_of_an_openb_pair_says_what_it_means(cluster: Cluster) -> None:
    files = [SimpleUploadedFile(name, (SMALL_OPENB / name).read_bytes()) for name in ("nodes.csv", "pods.csv")]
    answer = logged_in().post(f"/api/clusters/{cluster.pk}/import", {"file": files}, format="multipart")
    assert answer.status_code == 201, answer.content
    report = answer.json()["report"]
    assert report["kinds"] == {"Node": {"created": 6}, "Pod": {"created": 6}, "PriorityClass": {"created": 2}}
    assert report["notes"][0] == "GPUs: the pods ask for 4 of the 16 there are."
    assert "fragmentation" in report["notes"][1]
    assert {pod.manifest["spec"]["preemptionPolicy"] for pod in Pod.objects.all()} == {"Never"}
    assert set(Pod.objects.values_list("priority", flat=True)) == {0, 1000}
    assert Pod.objects.filter(node_name="").count() == 6
    assert Node.objects.filter(allocatable__has_key="example.com/gpu-milli").count() == 4


def test_import_of_openb_files_one_by_one_ties_tasks_to_models(cluster: Cluster) -> None:
    client = logged_in()
    lines = (SMALL_OPENB / "pods.csv").read_bytes().splitlines(keepends=True)
    tied = next(line for line in lines[1:] if b"|" in line)
    assert upload(client, cluster, lines[0] + tied).status_code == 201
    terms = Pod.objects.get().manifest["spec"]["affinity"]["nodeAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]["nodeSelectorTerms"]
    assert terms[0]["matchExpressions"][0]["values"] == tied.split(b",")[5].decode().split("|")
    nodes = (SMALL_OPENB / "nodes.csv").read_bytes()
    assert upload(client, cluster, gzip.compress(nodes)).status_code == 201
    assert selectors.node_overcommit(cluster.pk) == []
