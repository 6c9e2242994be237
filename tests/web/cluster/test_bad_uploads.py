"""Uploads that cannot be taken: each is answered 4xx with words that help, and leaves the cluster as it was."""

import gzip
import io
import time
import zlib
from collections.abc import Callable
from typing import Any

import orjson
import pytest
import yaml

from kschedweb.cluster import runner, services
from kschedweb.cluster.models import ApiObject, Change, Cluster, Import, ImportPiece, Node, Pod
from tests.cases import cases
from tests.web.rest import items, logged_in, node, pod, upload

pytestmark = pytest.mark.django_db

MIB = 1024 * 1024


def without(manifest: dict[str, Any], *path: str) -> dict[str, Any]:
    """The manifest without one of its fields."""
    holder = manifest
    for step in path[:-1]:
        holder = holder[step]
    del holder[path[-1]]
    return manifest


def with_(manifest: dict[str, Any], value: Any, *path: Any) -> dict[str, Any]:
    """The manifest with one of its fields set."""
    holder: Any = manifest
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = value
    return manifest


def packed_spaces(size: int) -> bytes:
    """A small gzip file that unpacks to `size` bytes."""
    out = io.BytesIO()
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    for _ in range(size // MIB):
        out.write(packer.compress(b" " * MIB))
    out.write(packer.flush())
    return out.getvalue()


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{chr(ord(name) + 1)}: &{chr(ord(name) + 1)} [{', '.join([f'*{name}'] * 9)}]\n" for name in "abcdefghi"
)
NODE_HEADER = b"sn,cpu_milli,memory_mib,gpu,model\n"
POD_HEADER = (
    b"name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
)

STATUSES = {"upload_unreadable": 400, "upload_invalid": 422, "upload_too_large": 413}
UNREADABLE = {
    "nothing at all": (b"", "upload: has no file"),
    "an empty list": (b"[]", "upload: has no object"),
    "truncated JSON": (orjson.dumps(items(node(), pod()))[:-20], "upload: document 1: line 1: is not sound JSON: "),
    "truncated YAML": (b"kind: [Pod\n", "is not sound YAML: "),
    "broken second document": (yaml.safe_dump(pod()).encode() + b"---\nkind: {\n", "upload: document 2: line "),
    "broken gzip": (b"\x1f\x8b\x08garbage", "is not a sound gzip file"),
    "truncated gzip": (gzip.compress(orjson.dumps(items(pod())))[:-12], "it ends too early"),
    "not UTF-8": ("kind: Pod # Grüße".encode("latin-1"), "upload: is not UTF-8: byte 0xfc at offset 14"),
    "half of UTF-16": (
        orjson.dumps(items(pod())).decode().encode("utf-16")[:-1],
        "is not sound UTF-16: truncated data",
    ),
    "an alias into itself": (b"a: &a [*a]\n", "the alias *a names no finished anchor"),
    "duplicate YAML keys": (b"kind: Pod\nkind: Node\n", "line 2: the key 'kind' stands twice"),
    "a YAML list as key": (b"? [a]\n: b\n", "a key must be text"),
    "a YAML tag": (b"a: !!python/object:os.system x\n", "has no meaning here"),
    "infinity": (b"a: .inf\n", ".inf is no number that JSON knows"),
    "CSV: no number": (
        NODE_HEADER + b"n1,1000,abc,0,\n",
        "upload: line 2: memory_mib: expected a whole number from 0 on, got 'abc'",
    ),
    "CSV: negative": (NODE_HEADER + b"n1,-1,1,0,\n", "line 2: cpu_milli: expected a whole number"),
    "CSV: too few columns": (NODE_HEADER + b"n1,1000,1\n", "line 2: expected 5 columns, got 3"),
    "CSV: unknown qos": (
        POD_HEADER + b"p,1,1,0,0,,XX,Running,0,0,0\n",
        "line 2: qos: expected one of LS, Burstable, Guaranteed, BE, got 'XX'",
    ),
}
TOO_LARGE = {
    "deep JSON": (b"[" * 100_000, "is nested more than 64 deep"),
    "deep sound JSON": (b"[" * 100_000 + b"]" * 100_000, "is nested more than 64 deep"),
    "deep YAML": (b"- " * 500, "is nested more than 64 deep"),
    "YAML bomb": (BOMB.encode(), "aliases repeat more than 10,000 values"),
}
# An object that is no object as the API knows it; bytes are sent as they are.
INVALID: dict[str, tuple[Any, str]] = {
    "a bare text": (b'"just text"', "expected an object with apiVersion and kind, got the text 'just text'"),
    "items is no list": (items() | {"items": {}}, "items: expected a list, got an object"),
    "an item is a number": (items(pod(), 7), "upload: document 1, item 2: expected an object, got the number 7"),
    "no kind": (without(pod(), "kind"), "kind: is required"),
    "no apiVersion": (without(pod(), "apiVersion"), "(Pod p1): apiVersion: is required"),
    "kind is a number": (pod() | {"kind": 7}, "kind: expected text, got the number 7"),
    "no metadata": (pod() | {"metadata": None}, "metadata: is required"),
    "no name": (without(pod(), "metadata", "name"), "metadata.name: is required"),
    "a bad name": (
        pod("Not A Name"),
        "metadata.name: expected at most 253 lower-case letters, digits, '-' and '.', got 'Not A Name'",
    ),
    "a name that is too long": (pod("x" * 254), "metadata.name: expected"),
    "a text for a number": (
        items(node(), with_(pod(), "many", "spec", "priority")),
        "upload: document 1, item 2 (Pod default/p1): spec.priority: expected an integer, got text ('many')",
    ),
    "an object for a list": (
        with_(pod(), {"x": 1}, "spec", "containers"),
        "spec.containers: expected a list, got an object",
    ),
    "a truth value for a text": (
        yaml.safe_dump_all([pod("a"), with_(pod("b"), True, "spec", "nodeName")]).encode(),
        "upload: document 2 (Pod default/b): spec.nodeName: expected text, got true or false (True)",
    ),
    "no quantity": (pod(cpu="lots"), "quantities must match the regular expression"),
    "a negative quantity": (pod(cpu="-100m"), "spec.containers[0].resources.requests[cpu]: Invalid value"),
    "a negative quantity of a kept object": (
        with_(node(uid="u", creationTimestamp="2030-01-01T00:00:00Z"), "-4", "status", "allocatable", "cpu"),
        "status.allocatable[cpu]: Invalid value",
    ),
    "duplicate names": (
        items(pod("a"), pod("b"), pod("a")),
        "item 3 (Pod default/a): metadata.name: the name stands twice, first at upload: document 1, item 1",
    ),
    "duplicate uids": (items(pod("a", uid="u"), pod("b", uid="u")), "metadata.uid: the uid stands twice"),
    "an unknown phase": (
        with_(pod(uid="u", creationTimestamp="2030-01-01T00:00:00Z"), {"phase": "Sleeping"}, "status"),
        "status.phase: expected one of Pending",
    ),
    "a missing class": (with_(pod(), "gold", "spec", "priorityClassName"), "no PriorityClass with name gold was found"),
    "unknown kinds only": (
        items({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "m"}}),
        "holds no object of a kind that is understood; never imported: Secret (1)",
    ),
    "a character of code 0": (pod(annotations={"a": "x\0y"}), "has a character of code 0"),
    "CSV: duplicate names": (
        NODE_HEADER + b"n1,1,1,0,\nn1,1,1,0,\n",
        "upload: line 3 (Node n1): metadata.name: the name stands twice, first at upload: line 2",
    ),
}
CASES = [
    pytest.param(body, code, message, id=name)
    for code, cases in zip(STATUSES, (UNREADABLE, INVALID, TOO_LARGE), strict=True)
    for name, (body, message) in cases.items()
]


@pytest.fixture(scope="module")
def cluster(lasting: None) -> Cluster:
    cluster = services.cluster_create(name="c")
    assert upload(logged_in(), cluster, items(node("there"), pod("there"))).status_code == 201
    return cluster


def state(cluster: Cluster) -> Any:
    """Everything an upload might touch."""
    cluster.refresh_from_db()
    return (
        cluster.rv,
        Change.objects.count(),
        list(Node.objects.values_list("name", "rv", "manifest")),
        list(Pod.objects.values_list("name", "rv", "manifest")),
        ApiObject.objects.count(),
    )


@pytest.mark.parametrize(("body", "code", "message"), CASES)
def test_upload_is_refused_with_words_that_help_when_it_is_bad(
    cluster: Cluster, body: Any, code: str, message: str
) -> None:
    before = state(cluster)
    answer = upload(logged_in(), cluster, body, "?replace=true")
    told = answer.json()
    assert (answer.status_code, told["code"]) == (STATUSES[code], code), told
    assert message in told["message"]
    assert state(cluster) == before
    assert Import.objects.count() == 1


def test_upload_is_refused_by_its_header_when_a_csv_file_is_another(cluster: Cluster) -> None:
    answer = upload(logged_in(), cluster, b"a,b\n1,2\n", "?filename=x.csv")
    assert answer.status_code == 400
    assert answer.json()["message"].startswith(
        "x.csv: line 1: expected the columns sn,cpu_milli,memory_mib,gpu,model or"
    )


@cases(
    "make, message",
    ("100 MB of nested lists", lambda: b"[" * (100 * MIB), "is larger than 67,108,864 bytes"),
    ("gzip bomb", lambda: packed_spaces(300 * MIB), "unpacks to more than 268,435,456 bytes"),
)
def test_upload_is_refused_quickly_when_it_is_huge(cluster: Cluster, make: Callable[[], bytes], message: str) -> None:
    body = make()
    before = state(cluster)
    started = time.process_time()
    answer = upload(logged_in(), cluster, body)
    assert time.process_time() - started < 5
    assert (answer.status_code, answer.json()["code"]) == (413, "upload_too_large")
    assert message in answer.json()["message"]
    assert state(cluster) == before


@cases(
    "make, message",
    ("nested lists", lambda: b"[" * (9 * MIB), "is nested more than 64 deep"),
    ("many lists", lambda: b"[" + b"[]," * (8 * MIB) + b"[]]", "has more than 15,000,000 values"),
    ("packed lists", lambda: gzip.compress(b"[" * (100 * MIB), 1), "has more than 15,000,000 values"),
    ("truncated JSON", lambda: b" " * (9 * MIB) + b'{"kind":', "is not sound JSON"),
    ("YAML bomb", lambda: b"# x\n" * (MIB // 2) + BOMB.encode(), "aliases repeat more than"),
    ("duplicate names", lambda: orjson.dumps(items(pod("a"), pod("b", annotations={"pad": "x" * (9 * MIB)}), pod("a"))),
     "item 3 (Pod default/a): metadata.name: the name stands twice"),
)  # fmt: skip
def test_import_ends_as_failed_with_the_same_message_when_the_bad_upload_is_large(
    cluster: Cluster, make: Callable[[], bytes], message: str
) -> None:
    client = logged_in()
    before = state(cluster)
    answer = upload(client, cluster, make())
    assert answer.status_code == 202, answer.content
    runner.import_execute(answer.json()["id"])
    told = client.get(answer["Location"]).json()
    assert told["status"] == "failed"
    assert message in told["error"]["message"]
    assert told["error"]["code"].startswith("upload_")
    assert state(cluster) == before
    assert not ImportPiece.objects.exists()
