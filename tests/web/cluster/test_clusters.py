"""Clusters, their pace and mode, nodes and objects through REST; checks over the state."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from kschedweb import views
from kschedweb.cluster import selectors, services
from kschedweb.cluster.intake.objects import Item
from kschedweb.cluster.intake.problems import Place
from kschedweb.cluster.models import ApiObject, Change, Cluster, Node, Pod
from kschedweb.common import packing
from kschedweb.traces.models import EngineLog, QueueState
from tests.cases import cases
from tests.web.rest import items, log, logged_in, node, pod, upload

pytestmark = pytest.mark.django_db


@pytest.fixture
def client() -> APIClient:
    return logged_in()


def test_clusters_are_made_listed_changed_and_deleted(client: APIClient) -> None:
    made = client.post("/api/clusters", {"name": "lab", "seed": 7})
    assert made.status_code == 201
    view = made.json()
    assert (view["name"], view["seed"], view["lifecycle_mode"], view["pace"]) == ("lab", 7, "frozen", "run")
    listed = client.get("/api/clusters").json()["results"]
    assert listed == [view]
    url = f"/api/clusters/{view['id']}"
    changed = client.patch(url, {"name": "lab-2", "lifecycle_mode": "simulate"}).json()
    assert (changed["name"], changed["lifecycle_mode"]) == ("lab-2", "simulate")
    assert client.get(url).json()["objects"] == {"Node": 0, "Pod": 0}
    assert list(Change.objects.order_by("rv").values_list("rv", "operation")) == [(1, "setting"), (2, "setting")]
    assert client.delete(url).status_code == 204
    assert client.get(url).status_code == 404
    assert Change.objects.count() == 0


def test_description_is_changed_and_told_in_the_log(client: APIClient, cluster: Cluster) -> None:
    url = f"/api/clusters/{cluster.pk}"
    assert client.patch(url, {"description": "capacity plan for spring"}).json()["description"] == (
        "capacity plan for spring"
    )
    change = Change.objects.filter(cluster=cluster).latest("rv")
    event = selectors.change_event(selectors.change_rows(cluster.pk, change.rv - 1, change.rv)[0])
    assert isinstance(event, views.ClusterSetting)
    assert event.cluster.description == "capacity plan for spring"
    assert client.patch(url, {"description": ""}).json()["description"] == ""
    assert client.patch(url, {"description": "x" * 501}).status_code == 400


def test_log_of_an_older_version_is_read(client: APIClient, cluster: Cluster) -> None:
    assert "leader" not in client.get(f"/api/clusters/{cluster.pk}").json(), "who leads is no setting: see /leadership"
    change = Change.objects.get(cluster=cluster)
    setting = packing.unpacked(change.object)
    change.object = packing.packed_object(setting | {"leader": None, "gone": {"since": "long"}})
    change.save()
    event = selectors.change_event(selectors.change_rows(cluster.pk, 0, change.rv)[0])
    assert isinstance(event, views.ClusterSetting) and event.cluster.name == "c"


@cases(
    "body, status, code",
    ("the name is taken", {"name": "c"}, 409, "conflict"),
    ("the name is no label", {"name": "Not a label"}, 422, "invalid"),
    ("there is no name", {}, 400, "invalid"),
    ("the mode is unknown", {"name": "x", "lifecycle_mode": "melt"}, 400, "invalid"),
)
def test_cluster_is_refused_when(client: APIClient, cluster: Cluster, body: Any, status: int, code: str) -> None:
    answer = client.post("/api/clusters", body)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert set(answer.json()) == {"code", "message", "extra"}


@pytest.mark.parametrize("form", ["multipart/form-data; boundary=x", "application/x-www-form-urlencoded"])
def test_forms_are_refused(client: APIClient, cluster: Cluster, form: str) -> None:
    answer = client.patch(f"/api/clusters/{cluster.pk}", "name=", content_type=form)
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")
    assert Cluster.objects.get().name == "c"


def test_cluster_list_takes_the_same_queries_for_many_clusters(
    client: APIClient, django_assert_num_queries: Any
) -> None:
    for number in range(12):
        services.cluster_create(name=f"c{number}")
    with django_assert_num_queries(3):  # session, user, clusters
        page = client.get("/api/clusters?limit=5").json()
    assert len(page["results"]) == 5 and page["next"]


def test_cluster_delete_takes_the_rows_of_every_app_along(client: APIClient, cluster: Cluster) -> None:
    other = services.cluster_create(name="other")
    for one in (cluster, other):
        upload(client, one, items(node(), pod()))
        at = Change.objects.filter(cluster=one).latest("rv").at
        EngineLog.objects.create(cluster=one, seq=1, rv=1, step=1, kind="step", at=at)
        QueueState.objects.create(cluster=one, pod_uid="u", pod_key="a/b", queue="active", since=at, seq=1)
    services.cluster_delete(cluster_id=cluster.pk)
    for model in (Node, Pod, Change, EngineLog, QueueState):
        assert set(model.objects.values_list("cluster_id", flat=True)) == {other.pk}  # type: ignore[attr-defined]


def test_pace_is_set_and_recorded(client: APIClient, cluster: Cluster) -> None:
    url = f"/api/clusters/{cluster.pk}/pace"
    assert client.post(url, {"pace": "slow", "rate": 2.5}).json()["pace_rate"] == 2.5
    assert client.post(url, {"pace": "pause"}).json()["pace"] == "pause"
    client.post(url, {"pace": "pause", "steps": 3})
    client.post(url, {"steps": 1})
    cluster.refresh_from_db()
    assert (cluster.pace, cluster.pace_rate, cluster.pace_steps_requested) == ("pause", None, 4)
    client.post(url, {"pace": "run"})
    cluster.refresh_from_db()
    assert cluster.pace_steps_requested == cluster.pace_steps_done == 0
    assert Change.objects.filter(operation="setting").count() == 6


@cases(
    "body, message",
    ("slow without a rate", {"pace": "slow"}, "rate: is required"),
    ("rate 0", {"pace": "slow", "rate": 0}, "rate: must be above 0"),
    ("steps while it runs", {"pace": "run", "steps": 1}, "steps: can only be asked for"),
    ("no steps", {"pace": "pause", "steps": 0}, "steps: must be from 1"),
)
def test_pace_is_refused_when(client: APIClient, cluster: Cluster, body: Any, message: str) -> None:
    answer = client.post(f"/api/clusters/{cluster.pk}/pace", body)
    assert answer.status_code == 422 and message in answer.json()["message"]
    assert Change.objects.count() == 1


def test_node_is_cordoned_and_tainted(client: APIClient, cluster: Cluster) -> None:
    upload(client, cluster, node())
    url = f"/api/clusters/{cluster.pk}/nodes/n1"
    assert client.patch(url, {"unschedulable": True}).status_code == 200
    assert Node.objects.get().unschedulable
    assert client.patch(url, {"unschedulable": True}).status_code == 200
    taints = [{"key": "a", "value": "b", "effect": "NoSchedule"}]
    assert client.patch(url, {"unschedulable": False, "taints": taints}).status_code == 200
    shown = client.get(url).json()
    assert shown["manifest"]["spec"] == {"taints": taints}
    assert [entry[1] for entry in log(cluster)] == ["created", "updated", "updated"]
    assert selectors.node_views(cluster.pk)[0].taints == ["a=b:NoSchedule"]
    assert client.patch(f"/api/clusters/{cluster.pk}/nodes/nobody", {"unschedulable": True}).status_code == 404


def test_objects_are_created_once_and_deleted(client: APIClient, cluster: Cluster) -> None:
    url = f"/api/clusters/{cluster.pk}/objects"
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"selector": {"a": "b"}}}
    made = client.post(url, items(pod(), service), format="json")
    assert made.status_code == 201, made.content
    again = client.post(url, pod(), format="json")
    assert (again.status_code, again.json()["code"]) == (409, "conflict")
    assert client.delete(f"{url}/Service/default/s").status_code == 204
    assert client.delete(f"{url}/Service/default/s").status_code == 404
    assert not ApiObject.objects.exists()


def test_objects_that_exist_are_passed_over_when_the_put_is_partial(cluster: Cluster) -> None:
    options = services.PutOptions(create=True, partial=True)
    for manifests in ([pod("a")], [pod("a"), pod("b")]):
        given = [Item(Place("test"), manifest, "v1", "Pod") for manifest in manifests]
        report = services.objects_put(cluster_id=cluster.pk, items=given, options=options, actor="test")
    assert report.kinds == {"Pod": {"created": 1, "refused": 1}}
    assert "already exists" in report.refused.listed[0]["message"]
    assert [entry[1:] for entry in log(cluster)] == [("created", "Pod", "a"), ("created", "Pod", "b")]


def test_objects_are_looked_up_by_name_when_few_are_put(
    client: APIClient, cluster: Cluster, django_assert_max_num_queries: Any
) -> None:
    upload(client, cluster, items(*(pod(f"p{number}") for number in range(50))))
    with django_assert_max_num_queries(20):
        assert client.post(f"/api/clusters/{cluster.pk}/objects", pod("one-more"), format="json").status_code == 201


def test_capacity_is_that_of_the_cluster_alone(client: APIClient, cluster: Cluster) -> None:
    upload(client, cluster, items(node(), pod()))
    want = {"cpu": 4000, "memory": 8 << 30, "pods": 110}, {"cpu": 100, "pods": 1}
    assert selectors.capacity(cluster.pk) == want
    upload(client, services.cluster_create(name="other"), items(node("n2"), pod("p2")))
    assert selectors.capacity(cluster.pk) == want


def test_node_overcommit_names_what_is_over(cluster: Cluster) -> None:
    placed = [pod("a", cpu="3"), pod("b", cpu="3"), pod("done", cpu="3")]
    for one in placed:
        one["spec"]["nodeName"] = "n1"
    full = node()
    full["status"]["allocatable"]["pods"] = "1"
    upload(logged_in(), cluster, items(full, *placed, pod("waiting", cpu="3")))
    Pod.objects.filter(name="done").update(phase="Succeeded")
    found = [(one.node, one.resource, one.used, one.allocatable) for one in selectors.node_overcommit(cluster.pk)]
    assert found == [("n1", "cpu", 6000, 4000), ("n1", "pods", 2, 1)]
