"""Requests that are refused, or answered in another form, before the rules are asked."""

import json

import pytest

from tests.cases import cases
from tests.web.kubeapi.conftest import Served

pytestmark = pytest.mark.django_db

PODS = "/api/v1/namespaces/default/pods"


def test_nobody_acts_in_the_name_of_another(served: Served) -> None:
    answer = served.ask("GET", PODS, Impersonate_User="root")
    assert answer.status == 403
    assert "cannot impersonate resource" in json.loads(answer.body)["message"]


def test_who_has_no_role_there_is_told_of_no_cluster(served: Served) -> None:
    answer = served.web.ask("GET", "/k8s/nowhere/api/v1/pods", b"", Authorization=f"Bearer {served.viewer}")
    assert (answer.status, json.loads(answer.body)["reason"]) == (404, "NotFound")


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status"),
    [
        ("POST", PODS, b"k8s\0x", {"Content_Type": "application/vnd.kubernetes.protobuf"}, 400),
        ("POST", PODS, b"k8s\0", {"Content_Type": "application/vnd.kubernetes.protobuf"}, 400),
        ("DELETE", f"{PODS}/p", b"k8s\0\xff", {"Content_Type": "application/vnd.kubernetes.protobuf"}, 400),
        ("GET", PODS, b"", {"Accept": "application/vnd.kubernetes.protobuf"}, 406),
        ("GET", PODS, b"", {"Accept": "application/vnd.kubernetes.protobuf,application/json"}, 200),
        ("GET", PODS, b"", {"Accept": "application/vnd.kubernetes.protobuf, */*"}, 200),
        ("PATCH", f"{PODS}/p", b"{}", {"Content_Type": "application/apply-patch+cbor"}, 415),
        ("POST", PODS, b'{"metadata": {"name": "a\\u0000"}}', {}, 400),
        ("POST", PODS, b"[" * 100_000, {}, 400),
        ("POST", PODS, b'{"\\u007f": {}}', {}, 422),  # it is unknown, and no Warning header can say so
        ("POST", PODS, b"a: &a [*a]", {"Content_Type": "application/yaml"}, 400),
        ("POST", PODS, b"\xff\xfe", {"Content_Type": "application/yaml"}, 400),
        ("GET", f"{PODS}?continue=%00", b"", {}, 400),
        ("GET", f"{PODS}?limit=x", b"", {}, 400),
        ("GET", f"/api/v1/namespaces/{'x' * 9000}/pods", b"", {}, 414),
        ("GET", f"{PODS}/%00", b"", {}, 404),
        ("GET", "/openapi/v2", b"", {"Accept": "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"}, 200),
        ("GET", "/openapi/v2", b"", {"Accept": "text/html"}, 406),
        ("POST", "/openapi/v2", b"{}", {}, 405),
        ("BREW", PODS, b"", {}, 405),
        ("get", PODS, b"", {}, 405),
        ("TRACE", PODS, b"", {}, 405),
        ("PATCH", f"{PODS}/p", b"{", {"Content_Type": "application/strategic-merge-patch+json"}, 400),
    ],
)
def test_a_bad_request_is_the_clients(
    served: Served, method: str, path: str, body: bytes, headers: dict[str, str], status: int
) -> None:
    headers = {"Content_Type": "application/json"} | headers if body else headers
    assert served.ask(method, path, body=body, **headers).status == status


def test_method_that_there_is_not_is_refused_in_the_servers_words(served: Served) -> None:
    status = json.loads(served.ask("BREW", PODS).body)
    assert (status["kind"], status["reason"], status["code"]) == ("Status", "MethodNotAllowed", 405)


def test_parts_of_pods_that_a_kubelet_answers_are_listed(served: Served) -> None:
    listed = {one["name"]: one for one in served.get("/api/v1")["resources"]}
    assert (listed["pods/log"]["kind"], listed["pods/log"]["verbs"]) == ("Pod", ["get"])
    assert (listed["pods/exec"]["kind"], listed["pods/exec"]["verbs"]) == ("PodExecOptions", ["create", "get"])
    assert listed["pods/proxy"]["verbs"] == ["create", "delete", "get", "patch", "update"]


def test_a_large_answer_is_compressed_when_asked_for(served: Served) -> None:
    path = "/openapi/v3/api/v1"
    plain, small = served.ask("GET", path), served.ask("GET", path, Accept_Encoding="gzip")
    assert small.headers["content-encoding"] == "gzip" and len(small.body) * 5 < len(plain.body)


APPLY = {"Content_Type": "application/apply-patch+yaml"}


def test_body_that_is_applied_is_yaml_or_json(served: Served) -> None:
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "yaml"}}
    path = "/apis/policy/v1/namespaces/default/poddisruptionbudgets/yaml?fieldManager=me"
    created = served.send("PATCH", path, {**budget, "spec": {"minAvailable": 1}}, form=APPLY["Content_Type"])
    assert created.status == 201
    text = "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: yaml}\nspec: {minAvailable: 2}\n"
    changed = served.ask("PATCH", path, body=text.encode(), **APPLY)
    assert (changed.status, json.loads(changed.body)["spec"]["minAvailable"]) == (200, 2)
    (entry,) = json.loads(changed.body)["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"]) == ("me", "Apply")
    served.ask("DELETE", path)


@cases(
    "body, message",
    ("a list", b"[1]", "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal"
     " array into Go value of type map[string]interface {}"),
    ("no YAML", b"a: b: c", "error decoding YAML: error converting YAML to JSON: yaml: mapping values are not"
     " allowed in this context"),
    ("y is true", b"kind: Pod\napiVersion: v1\nmetadata: {name: p}\nspec: {hostNetwork: y, nodeName: y}",
     "failed to create typed patch object (/p; /v1, Kind=Pod): .spec.nodeName: expected string, got"
     " &value.valueUnstructured{Value:true}"),
)  # fmt: skip
def test_body_that_cannot_be_applied_is_refused_in_the_servers_words(served: Served, body: bytes, message: str) -> None:
    answer = served.ask("PATCH", f"{PODS}/p?fieldManager=me", body=body, **APPLY)
    assert json.loads(answer.body)["message"] == message


def test_keys_that_stand_twice_are_told_with_their_lines(served: Served) -> None:
    spec = b"spec: {containers: [{name: c, image: i}]}"
    body = b"kind: Pod\napiVersion: v1\nmetadata:\n  name: p\n  labels: {a: b, a: c}\n" + spec
    path = f"{PODS}/p?fieldManager=me&dryRun=All&fieldValidation="
    told = 'error converting YAML to JSON: yaml: unmarshal errors:\n  line 5: key "a" already set in map'
    strict = served.ask("PATCH", f"{path}Strict", body=body, **APPLY)
    assert (strict.status, json.loads(strict.body)["message"]) == (400, f"error strict decoding YAML: {told}")
    assert served.ask("PATCH", f"{path}Ignore", body=body, **APPLY).status == 201


def test_pages_are_one_list_in_the_order_of_the_storage(served: Served) -> None:
    maps = "/api/v1/namespaces/{}/configmaps"
    for namespace in ("pages", "pages-b"):
        served.send("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
        for name in ("x", "y"):
            served.send("POST", maps.format(namespace), {"metadata": {"name": name}})
    places, pages, token = [], 0, ""
    while token or not pages:
        page = served.get(f"/api/v1/configmaps?limit=1&continue={token}")
        places += [f"{item['metadata']['namespace']}/{item['metadata']['name']}" for item in page["items"]]
        pages, token = pages + 1, page["metadata"].get("continue", "")
        if pages == 2:  # what comes now is in none of the pages
            assert served.send("POST", maps.format("pages"), {"metadata": {"name": "late"}}).status == 201
    whole = served.get("/api/v1/configmaps")["items"]
    listed = [f"{item['metadata']['namespace']}/{item['metadata']['name']}" for item in whole]
    assert places == [place for place in listed if place != "pages/late"] == sorted(places)
    assert places.index("pages-b/y") < places.index("pages/x")
