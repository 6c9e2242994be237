"""What a Secret holds is shown by the Kubernetes API alone, to those who may write, and by nothing else."""

import base64
import json
from collections.abc import Iterator

import orjson
import pytest
from django.contrib.auth.models import User
from django.test import Client

from kschedweb.cluster import selectors
from kschedweb.cluster.models import ApiObject, Change
from kschedweb.scheduling.checkpoints import _object_lines
from kschedweb.traces.models import Checkpoint
from tests.web.kubeapi.conftest import Served

pytestmark = pytest.mark.django_db

VALUE = "marmalade-otter-7341"
SHOWN = (VALUE.encode(), base64.b64encode(VALUE.encode()))
SECRETS = "/api/v1/namespaces/default/secrets"


@pytest.fixture(scope="module")
def made(served: Served) -> Iterator[Served]:
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"password": VALUE}}
    answer = served.send("POST", SECRETS, body)
    assert answer.status == 201
    assert json.loads(answer.body)["data"] == {"password": SHOWN[1].decode()}
    yield served
    served.ask("DELETE", f"{SECRETS}/s")


def tells(content: bytes | str) -> bool:
    text = content if isinstance(content, bytes) else content.encode()
    return any(value in text for value in SHOWN)


def test_the_api_shows_it_to_those_who_may_write(made: Served) -> None:
    assert tells(made.ask("GET", f"{SECRETS}/s").body)
    for path in (SECRETS, f"{SECRETS}/s", "/api/v1/secrets", f"{SECRETS}?watch=1&timeoutSeconds=1"):
        answer = made.ask("GET", path, token=made.viewer)
        assert answer.status == 403 and not tells(answer.body)
    table = made.ask("GET", SECRETS, Accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    assert json.loads(table.body)["rows"][0]["cells"][:3] == ["s", "Opaque", 1] and not tells(table.body)


def test_refusals_do_not_tell_it(made: Served) -> None:
    encoded = SHOWN[1].decode()
    for method, path, content, kind in (
        ("POST", SECRETS, f'{{"data":{{"a":"{encoded}"', "application/json"),
        ("POST", SECRETS, f"{VALUE}: [", "application/yaml"),
        ("POST", SECRETS, f'{{"metadata":{{"name":"t"}},"data":{{"a":"!{encoded}"}}}}', "application/json"),
        ("POST", SECRETS, f'{{"metadata":{{"name":"t"}},"data":["{encoded}"]}}', "application/json"),
        ("PATCH", f"{SECRETS}/s", f'{{"immutable":"{encoded}"}}', "application/merge-patch+json"),
        ("PATCH", f"{SECRETS}/s", f'{{"immutable":"{encoded}"}}', "application/strategic-merge-patch+json"),
        ("PATCH", f"{SECRETS}/s", f'[{{"op":"test","path":"/data/password","value":"{VALUE}"}}]',
         "application/json-patch+json"),
        ("POST", SECRETS, f"k8s\0{VALUE}", "application/vnd.kubernetes.protobuf"),
    ):  # fmt: skip
        answer = made.ask(method, path, body=content.encode(), Content_Type=kind)
        assert answer.status >= 400, answer.body
        assert not tells(answer.body), (content, answer.body)


def test_nothing_else_has_it(made: Served) -> None:
    def get(path: str) -> bytes:
        return made.web.ask("GET", path, b"", Authorization=f"Bearer {made.admin}").body

    schema = orjson.loads(get("/api/schema?format=json"))
    asked = 0
    for path, operations in schema["paths"].items():
        if "get" not in operations:
            continue
        places = {"cluster_id": str(made.cluster_id), "namespace": "default", "name": "s", "form": "jsonl"}
        for what in ("attempts", "preemptions", "events", "moves") if "{what}" in path else ("",):
            address = path
            for name in (part.split("}")[0] for part in path.split("{")[1:]):
                address = address.replace(f"{{{name}}}", what if name == "what" else places.get(name, "1"))
            assert not tells(get(address)), address
            asked += 1
    assert asked > 20
    rows = selectors.change_rows(made.cluster_id, 0, 2**62)
    assert rows and not any(tells(repr(selectors.change_event(row))) for row in rows)
    assert not any(tells(line) for line in _object_lines(made.cluster_id))
    assert not Checkpoint.objects.filter(cluster_id=made.cluster_id).exists()
    assert not tells(made.web.log())


def test_viewers_are_not_told_that_it_is_there(made: Served) -> None:
    path = f"/api/clusters/{made.cluster_id}/lists/changes"
    answer = made.web.ask("GET", path, b"", Authorization=f"Bearer {made.admin}")
    listed = orjson.loads(answer.body)
    assert listed["results"] and not [row for row in listed["results"] if row["kind"] == "Secret"]
    rows = [row for row in selectors.change_rows(made.cluster_id, 0, 2**62) if row.kind == "Secret"]
    assert rows and [selectors.change_event(row) for row in rows] == [None] * len(rows)


def test_the_admin_pages_do_not_list_it(made: Served) -> None:
    boss = User.objects.create_superuser("boss")
    client = Client()
    client.force_login(boss)
    assert ApiObject.objects.filter(kind="Secret").exists() and Change.objects.filter(kind="Secret").exists()
    for model, rows in (("apiobject", ApiObject.objects), ("change", Change.objects)):
        row = rows.filter(kind="Secret").values_list("pk", flat=True).first()
        for path in ("", f"{row}/change/"):
            answer = client.get(f"/admin/cluster/{model}/{path}", follow=True)
            assert not tells(answer.content)
            assert b"Secret" not in answer.content or not path


def test_rules_of_a_viewer_say_that_secrets_are_not_shown(served: Served) -> None:
    body = {"kind": "SelfSubjectRulesReview", "spec": {"namespace": "default"}}
    path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
    answer = served.send("POST", path, body, served.viewer)
    rules = json.loads(answer.body)["status"]["resourceRules"]
    reading = [rule for rule in rules if "list" in rule["verbs"]]
    core = {name for rule in reading if rule["apiGroups"] == [""] for name in rule["resources"]}
    assert {"pods", "pods/log", "nodes/status", "configmaps"} <= core and not {"secrets", "*"} & core
    assert not any({"", "*"} & set(rule["apiGroups"]) for rule in reading if "*" in rule["resources"])
    assert any("apps" in rule["apiGroups"] and rule["resources"] == ["*"] for rule in reading)
