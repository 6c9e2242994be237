"""Objects of kinds that a cluster defines, in uploads and in copies: read by definitions there are, or beside them."""

from collections.abc import Mapping
from typing import Any

import orjson
import pytest
from django.contrib.auth.models import User

from kschedweb.cluster.models import ApiObject, Cluster
from kschedweb.cluster.store import PostgresStore
from kschedweb.mirror.forking import cluster_fork
from tests.cases import cases
from tests.core.apiserver.custom_samples import DENS, RIVERS, definition, den, river
from tests.web.rest import items, log, logged_in, pod, upload

pytestmark = pytest.mark.django_db

DEN, RIVER = "Den.otters.example", "River.otters.example"
DEFINITION = "CustomResourceDefinition"
FROM_CLUSTER = {"uid": "uid-1", "creationTimestamp": "2030-01-01T00:00:00Z", "namespace": "bank"}


def stored(cluster: Cluster, kind: str = DEN, name: str = "deep") -> Any:
    return ApiObject.objects.get(cluster=cluster, kind=kind, name=name).manifest


def taken(cluster: Cluster, *manifests: Mapping[str, Any], query: str = "") -> Any:
    answer = upload(logged_in(), cluster, items(*map(dict, manifests)), query)
    assert answer.status_code == 201, answer.content
    return answer.json()["report"]


def kept(manifest: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    """The object as another cluster has it."""
    return {**manifest, "metadata": {**manifest["metadata"], **FROM_CLUSTER, **metadata}}


def test_objects_are_read_by_definitions_beside_them_whatever_the_order(cluster: Cluster) -> None:
    report = taken(cluster, den(otter=1), pod(), river(water={"cold": True}), DENS, RIVERS)
    assert report["kinds"] == {kind: {"created": n} for kind, n in ((DEN, 1), (RIVER, 1), (DEFINITION, 2), ("Pod", 1))}
    assert [kind for _, _, kind, _ in log(cluster)] == [DEFINITION, DEFINITION, DEN, RIVER, "Pod"]
    made = stored(cluster)
    assert made["spec"] == {"depth": 2, "mood": "glad"}, "unknown fields are pruned, defaults filled in"
    assert (made["kind"], made["apiVersion"]) == ("Den", "otters.example/v1")
    metadata = made["metadata"]
    assert metadata["namespace"] == "default" and metadata["uid"] and metadata["generation"] == 1
    assert "namespace" not in stored(cluster, RIVER, "long")["metadata"]
    conditions = stored(cluster, DEFINITION, "dens.otters.example")["status"]["conditions"]
    assert [(each["type"], each["status"]) for each in conditions] == [
        ("NamesAccepted", "True"),
        ("Established", "True"),
    ]


def test_objects_are_read_by_definitions_that_are_there(cluster: Cluster) -> None:
    taken(cluster, DENS)
    assert taken(cluster, den())["kinds"] == {DEN: {"created": 1}}
    before = stored(cluster)["metadata"]
    assert taken(cluster, den())["kinds"] == {DEN: {"unchanged": 1}}
    assert taken(cluster, {**den(depth=3), "status": {"replicas": 4}})["kinds"] == {DEN: {"updated": 1}}
    after = stored(cluster)
    assert (after["metadata"]["uid"], after["metadata"]["generation"]) == (before["uid"], 2)
    assert after["spec"]["depth"] == 3 and after["status"] == {"replicas": 4}
    assert taken(cluster, DENS)["kinds"] == {DEFINITION: {"unchanged": 1}}


def test_objects_of_another_cluster_are_kept_as_they_are(cluster: Cluster) -> None:
    given = kept({**den(otter=1), "status": {"replicas": 2}}, resourceVersion="7", managedFields=[], generation=5)
    report = taken(cluster, DENS, given)
    assert (report["kept"], report["admitted"]) == (1, 1)
    made = stored(cluster)
    assert made["metadata"] == {"name": "deep", **FROM_CLUSTER, "generation": 5}
    assert (made["spec"], made["status"]) == ({"depth": 2, "otter": 1}, {"replicas": 2})
    assert taken(cluster, given, query="?admission=always")["admitted"] == 1
    assert stored(cluster)["spec"] == {"depth": 2, "mood": "glad"}


@cases(
    "given, path",
    ("a value that is too low", den(depth=0), "spec.depth"),
    ("a field that is missing", {**den(), "spec": {}}, "spec.depth"),
    ("a name that cannot be", {**den(), "metadata": {"name": "Deep!"}}, "metadata.name"),
    ("metadata of another shape", {**den(), "metadata": {"name": "deep", "labels": 1}}, ""),
    ("one of a cluster with metadata of another shape", kept(den(), labels=1), ""),
)
def test_refusal_says_where(cluster: Cluster, given: dict[str, Any], path: str) -> None:
    answer = upload(logged_in(), cluster, items(DENS, given))
    assert answer.status_code == 422 and not log(cluster)
    assert answer.json()["extra"]["field"] == path, answer.json()
    report = taken(cluster, DENS, given, den("other"), query="?partial=true")
    assert report["kinds"] == {DEN: {"created": 1, "refused": 1}, DEFINITION: {"created": 1}}


def test_objects_of_a_definition_that_is_refused_are_left_out(cluster: Cluster) -> None:
    wrong = definition(versions=[])
    assert upload(logged_in(), cluster, items(wrong, den())).status_code == 422
    report = taken(cluster, wrong, den(), pod(), query="?partial=true")
    assert report["kinds"] == {DEFINITION: {"refused": 1}, "Pod": {"created": 1}}
    assert [(each["kind"], each["reason"]) for each in report["left_out"]] == [("Den", "unknown_kind")]
    other = definition("caves", "Den")  # its kind is taken
    report = taken(cluster, DENS, other, {**den(), "apiVersion": "otters.example/v2"}, den("b"))
    assert report["kinds"][DEN] == {"created": 1} and len(report["left_out"]) == 1


def test_definitions_that_are_there_are_read_once(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    animals = ("Bat", "Cat", "Dog", "Elk")
    taken(cluster, *(definition(f"{name.lower()}s", name) for name in animals))
    found: list[str] = []
    read = PostgresStore.list

    def noted(store: PostgresStore, *kinds: str, namespace: str = "") -> Any:
        found.extend(kinds)
        return read(store, *kinds, namespace=namespace)

    monkeypatch.setattr(PostgresStore, "list", noted)
    newer = [definition(f"{name.lower()}s", name, names={"shortNames": [name.lower()]}) for name in animals]
    report = taken(cluster, *newer, *({**den(), "kind": name} for name in animals))
    assert report["kinds"][DEFINITION] == {"updated": 4} and len(report["kinds"]) == 5
    assert found == [DEFINITION]


def test_replacing_a_cluster_reads_by_definitions_of_the_upload_alone(cluster: Cluster) -> None:
    taken(cluster, DENS, den())
    report = taken(cluster, RIVERS, river(), den(), query="?replace=true")
    assert report["kinds"] == {DEFINITION: {"created": 1, "deleted": 1}, RIVER: {"created": 1}, DEN: {"deleted": 1}}
    assert [each["kind"] for each in report["left_out"]] == ["Den"]


def test_objects_are_created_one_by_one(cluster: Cluster) -> None:
    url, client = f"/api/clusters/{cluster.pk}/objects", logged_in()
    for status in (201, 409):
        answer = client.post(url, orjson.dumps(items(DENS, den())), content_type="application/json")
        assert answer.status_code == status, answer.content
    assert stored(cluster)["spec"]["mood"] == "glad"


def test_objects_are_listed_shown_and_deleted(cluster: Cluster) -> None:
    taken(cluster, DENS, RIVERS, den(), river())
    url, client = f"/api/clusters/{cluster.pk}/objects", logged_in()
    (listed,) = client.get(f"{url}?kind={DEN}").json()["objects"]
    assert listed["manifest"]["spec"]["mood"] == "glad"
    for path in (f"{url}/{DEN}/default/deep", f"{url}/{RIVER}/long"):
        assert client.get(path).status_code == 200
        assert client.delete(path).status_code == 204
        assert client.get(path).status_code == 404
    assert client.get(f"{url}?kind=Nobody.knows").json()["objects"] == []
    assert client.get(f"{url}?kind=Nobody").status_code == 400


@pytest.mark.django_db(transaction=True)
def test_fork_has_them_too(cluster: Cluster, admin_user: User) -> None:
    taken(cluster, DENS, RIVERS, den(), river(), kept(den("old")))
    copy = cluster_fork(cluster_id=cluster.pk, name="copy", lifecycle_mode="frozen", owner=admin_user, actor="test")
    rows = ApiObject.objects.filter(kind__contains=".").order_by("kind", "name")
    found = [list(rows.filter(cluster=each).values_list("kind", "uid", "manifest")) for each in (cluster, copy)]
    assert len(found[0]) == 3 and found[0] == found[1]
