"""Uploads of which a part cannot be read: `partial` takes the rest and names each, without it all of them are named."""

import gzip
from typing import Any

import orjson
import pytest
import yaml
from django.core.files.uploadedfile import SimpleUploadedFile

from kschedweb.cluster.models import ApiObject, Cluster, Node
from tests.cases import cases
from tests.web.rest import items, log, logged_in, node, upload

pytestmark = pytest.mark.django_db

TEMPLATE = "; the file has {{, as templates do: import what comes of it, as of helm template"
NODES = "sn,cpu_milli,memory_mib,gpu,model\n"


def namespace(name: str) -> str:
    return yaml.safe_dump({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})


def sent(cluster: Cluster, files: dict[str, bytes], query: str = "") -> Any:
    """Several files, as the command sends them."""
    form = {"file": [SimpleUploadedFile(name, content) for name, content in files.items()]}
    return logged_in().post(f"/api/clusters/{cluster.pk}/import{query}", form, format="multipart")


GOOD = orjson.dumps(items(node()))


@cases(
    "files, refused",
    ("no object, between two",
     {"x.yaml": f"{namespace('a')}---\nresources: [a.yaml]\n---\n{namespace('b')}".encode(), "good": GOOD},
     [("x.yaml: document 2: kind: is required", 2, None)]),
    ("no version", {"x.yaml": b"kind: Pod\nmetadata: {name: a}\n", "good": GOOD},
     [("x.yaml: document 1 (Pod a): apiVersion: is required", 1, None)]),
    ("a template, beside a good file", {"template.yaml": b"replicaCount: {{ .Values.n }}\n", "good": GOOD},
     [(f"template.yaml: document 1: line 1: a key must be text, not a list or an object{TEMPLATE}", 1, 1)]),
    ("a template that begins with a condition",
     {"template.yaml": f"{{{{- if .Values.on }}}}\n{{{{- end }}}}\n---\n{namespace('a')}".encode(), "good": GOOD},
     [(f"template.yaml: document 1: line 1: a key must be text, not a list or an object{TEMPLATE}", 1, 1)]),
    ("an object without kind is called by its name",
     {"x.json": b'{"metadata": {"namespace": "a", "name": "p"}}', "good": GOOD},
     [("x.json: document 1 (a/p): kind: is required", 1, None)]),
    ("a template, before good documents", {"x.yaml": f"a: {{{{ b }}}}\n---\n{namespace('a')}".encode(), "good": GOOD},
     [("x.yaml: document 1: line 1: ", 1, 1)]),
    ("JSON that is cut", {"x.json": b'{"kind": "Pod",\n', "good": GOOD},
     [("x.json: document 1: line 2: is not sound JSON", 1, 2)]),
    ("JSON of something else", {"x.json": b'{"replicas": 3}', "good": GOOD},
     [("x.json: document 1: kind: is required", 1, None)]),
    ("items that are none", {"x.json": orjson.dumps(items(node("n2"), 7, {"kind": "Pod"})), "good": GOOD},  # type: ignore[arg-type]
     [("x.json: document 1, item 2: expected an object, got the number 7", 1, None),
      ("x.json: document 1, item 3 (Pod): apiVersion: is required", 1, None)]),
    ("another encoding", {"x.yaml": "kind: Pod # Grüße".encode("latin-1"), "good": GOOD},
     [("x.yaml: is not UTF-8: byte 0xfc at offset 14", None, None)]),
    ("gzip that is cut", {"x.gz": gzip.compress(GOOD)[:-12], "good": GOOD},
     [("x.gz: is not a sound gzip file: it ends too early", None, None)]),
    ("rows", {"x.csv": f"{NODES}n2,1,1,0,\nn3,x,1,0,\nn4,1\n".encode(), "good": GOOD},
     [("x.csv: line 3: cpu_milli: expected a whole number", None, 3), ("x.csv: line 4: expected 5 columns", None, 4)]),
    ("a table of something else", {"x.csv": b"a,b\n1,2\n", "good": GOOD},
     [("x.csv: line 1: expected the columns", None, 1)]),
)  # fmt: skip
def test_what_cannot_be_read_is_named_and_the_rest_is_taken(
    cluster: Cluster, files: dict[str, bytes], refused: list[tuple[str, int | None, int | None]]
) -> None:
    answer = sent(cluster, files)
    assert (answer.status_code // 100, log(cluster)) == (4, []), "without partial"
    told = answer.json()["extra"].get("refused") or [answer.json()]
    assert len(told) == len(refused)
    answer = sent(cluster, files, "?partial=true")
    assert answer.status_code == 201, answer.content
    report = answer.json()["report"]
    assert report["refused_total"] == len(refused)
    for one, strict, (message, document, line) in zip(report["refused"], told, refused, strict=True):
        assert one["message"].startswith(message)
        assert (one.get("document"), one.get("line")) == (document, line)
        assert strict["message"] == one["message"]
    assert Node.objects.filter(name="n1").exists()
    names = set(ApiObject.objects.filter(kind="Namespace").values_list("name", flat=True))
    assert names == {name for name in ("a", "b") if any(f"name: {name}\n".encode() in text for text in files.values())}


def test_all_that_cannot_be_read_is_named_before_anything_is_imported(cluster: Cluster) -> None:
    files = {
        "kustomization.yaml": b"resources: [a.yaml]\n",
        "values.yaml": f"replicas: {{{{ x }}}}\n---\n{namespace('a')}---\n- 1\n".encode(),
        "good.json": GOOD,
    }
    answer = sent(cluster, files)
    told = answer.json()
    assert (answer.status_code, told["code"], told["extra"]["refused_total"]) == (422, "upload_refused", 3)
    assert told["message"] == "3 parts of the upload cannot be taken"
    assert [one["message"].partition(":")[0] for one in told["extra"]["refused"]] == [
        "kustomization.yaml", "values.yaml", "values.yaml",
    ]  # fmt: skip
    assert log(cluster) == []


@pytest.mark.parametrize("query", ["", "?partial=true"])
def test_upload_of_which_nothing_can_be_taken_is_refused_with_all_reasons(cluster: Cluster, query: str) -> None:
    secret = b"apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n"
    told = upload(logged_in(), cluster, b"a: 1\n---\nb: ]\n", query).json()
    assert (told["code"], told["extra"]["refused_total"]) == ("upload_refused", 2)
    told = upload(logged_in(), cluster, b"a: ]\n---\n" + secret, "?partial=true").json()
    assert [one["message"] for one in told["extra"]["refused"]][1] == (
        "upload: holds no object of a kind that is understood; never imported: Secret (1)"
    )


def test_refusals_beyond_those_listed_are_counted(cluster: Cluster, settings: Any) -> None:
    settings.IMPORT_LIMITS = {"refusals_listed": 2}
    body = "---\n".join(["a: 1\n"] * 4 + [namespace("a")]).encode()
    for query in ("", "?partial=true"):
        answer = upload(logged_in(), cluster, body, query).json()
        told = answer["report"] if query else answer["extra"]
        assert (len(told["refused"]), told["refused_total"]) == (2, 4)
