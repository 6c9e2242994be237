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

CASES = [
    pytest.param(b"", 400, "upload_unreadable", "upload: has no file", id="nothing at all"),
    pytest.param(b"[]", 400, "upload_unreadable", "upload: has no object", id="an empty list"),
    pytest.param(
        orjson.dumps(items(node(), pod()))[:-20],
        400,
        "upload_unreadable",
        "upload: document 1: is not sound JSON: ",
        id="truncated JSON",
    ),
    pytest.param(b"kind: [Pod\n", 400, "upload_unreadable", "is not sound YAML: ", id="truncated YAML"),
    pytest.param(
        b"kind: Pod\n---\nkind: {\n", 400, "upload_unreadable", "upload: document 2", id="broken second document"
    ),
    pytest.param(b"\x1f\x8b\x08garbage", 400, "upload_unreadable", "is not a sound gzip file", id="broken gzip"),
    pytest.param(
        gzip.compress(orjson.dumps(items(pod())))[:-12],
        400,
        "upload_unreadable",
        "it ends too early",
        id="truncated gzip",
    ),
    pytest.param(
        "kind: Pod # Grüße".encode("latin-1"),
        400,
        "upload_unreadable",
        "upload: is not UTF-8: byte 0xfc at offset 14",
        id="not UTF-8",
    ),
    pytest.param(
        orjson.dumps(items(pod())).decode().encode("utf-16"),
        400,
        "upload_unreadable",
        "is not UTF-8: byte 0xff at offset 0",
        id="UTF-16",
    ),
    pytest.param(
        b'"just text"',
        422,
        "upload_invalid",
        "expected an object with apiVersion and kind, got the text 'just text'",
        id="a bare text",
    ),
    pytest.param(
        orjson.dumps({"kind": "List", "apiVersion": "v1", "items": {}}),
        422,
        "upload_invalid",
        "items: expected a list, got an object",
        id="items is no list",
    ),
    pytest.param(
        orjson.dumps(items(pod(), 7)),
        422,
        "upload_invalid",
        "upload: document 1, item 2: expected an object, got the number 7",
        id="an item is a number",
    ),  # type: ignore[arg-type]
    pytest.param(orjson.dumps(without(pod(), "kind")), 422, "upload_invalid", "kind: is required", id="no kind"),
    pytest.param(
        orjson.dumps(without(pod(), "apiVersion")),
        422,
        "upload_invalid",
        "(Pod p1): apiVersion: is required",
        id="no apiVersion",
    ),
    pytest.param(
        orjson.dumps({**pod(), "kind": 7}),
        422,
        "upload_invalid",
        "kind: expected text, got the number 7",
        id="kind is a number",
    ),
    pytest.param(
        orjson.dumps({**pod(), "metadata": None}), 422, "upload_invalid", "metadata: is required", id="no metadata"
    ),
    pytest.param(
        orjson.dumps(without(pod(), "metadata", "name")),
        422,
        "upload_invalid",
        "metadata.name: is required",
        id="no name",
    ),
    pytest.param(
        orjson.dumps(pod("Not A Name")),
        422,
        "upload_invalid",
        "metadata.name: expected at most 253 lower-case letters, digits, '-' and '.', got 'Not A Name'",
        id="a bad name",
    ),
    pytest.param(
        orjson.dumps(pod("x" * 254)), 422, "upload_invalid", "metadata.name: expected", id="a name that is too long"
    ),
    pytest.param(
        orjson.dumps(items(node(), with_(pod(), "many", "spec", "priority"))),
        422,
        "upload_invalid",
        "upload: document 1, item 2 (Pod default/p1): spec.priority: expected an integer, got text ('many')",
        id="a text for a number",
    ),
    pytest.param(
        orjson.dumps(with_(pod(), {"x": 1}, "spec", "containers")),
        422,
        "upload_invalid",
        "spec.containers: expected a list, got an object",
        id="an object for a list",
    ),
    pytest.param(
        yaml.safe_dump_all([pod("a"), with_(pod("b"), True, "spec", "nodeName")]).encode(),
        422,
        "upload_invalid",
        "upload: document 2 (Pod default/b): spec.nodeName: expected text, got true or false (True)",
        id="a truth value for a text",
    ),
    pytest.param(
        orjson.dumps(pod(cpu="lots")),
        422,
        "upload_invalid",
        "quantities must match the regular expression",
        id="no quantity",
    ),
    pytest.param(
        orjson.dumps(pod(cpu="-100m")),
        422,
        "upload_invalid",
        "spec.containers[0].resources.requests[cpu]: Invalid value",
        id="a negative quantity",
    ),
    pytest.param(
        orjson.dumps(
            with_(node(uid="u", creationTimestamp="2030-01-01T00:00:00Z"), "-4", "status", "allocatable", "cpu")
        ),
        422,
        "upload_invalid",
        "status.allocatable[cpu]: Invalid value",
        id="a negative quantity of a kept object",
    ),
    pytest.param(
        orjson.dumps(items(pod("a"), pod("b"), pod("a"))),
        422,
        "upload_invalid",
        "item 3 (Pod default/a): metadata.name: the name stands twice, first at upload: document 1, item 1",
        id="duplicate names",
    ),
    pytest.param(
        orjson.dumps(items(pod("a", uid="u"), pod("b", uid="u"))),
        422,
        "upload_invalid",
        "metadata.uid: the uid stands twice",
        id="duplicate uids",
    ),
    pytest.param(
        orjson.dumps(with_(pod(uid="u", creationTimestamp="2030-01-01T00:00:00Z"), {"phase": "Sleeping"}, "status")),
        422,
        "upload_invalid",
        "status.phase: expected one of Pending",
        id="an unknown phase",
    ),
    pytest.param(
        orjson.dumps(with_(pod(), "gold", "spec", "priorityClassName")),
        422,
        "upload_invalid",
        "no PriorityClass with name gold was found",
        id="a missing class",
    ),
    pytest.param(
        orjson.dumps(items({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "m"}})),
        422,
        "upload_invalid",
        "holds no object of a kind that is understood, only Secret (1)",
        id="unknown kinds only",
    ),
    pytest.param(
        orjson.dumps(pod(annotations={"a": "x\0y"})),
        422,
        "upload_invalid",
        "has a character of code 0",
        id="a character of code 0",
    ),
    pytest.param(b"[" * 100_000, 413, "upload_too_large", "is nested more than 64 deep", id="deep JSON"),
    pytest.param(
        b"[" * 100_000 + b"]" * 100_000, 413, "upload_too_large", "is nested more than 64 deep", id="deep sound JSON"
    ),
    pytest.param(b"- " * 500, 413, "upload_too_large", "is nested more than 64 deep", id="deep YAML"),
    pytest.param(BOMB.encode(), 413, "upload_too_large", "aliases repeat more than 10,000 values", id="YAML bomb"),
    pytest.param(
        b"a: &a [*a]\n", 400, "upload_unreadable", "the alias *a names no finished anchor", id="an alias into itself"
    ),
    pytest.param(
        b"kind: Pod\nkind: Node\n",
        400,
        "upload_unreadable",
        "line 2: the key 'kind' stands twice",
        id="duplicate YAML keys",
    ),
    pytest.param(b"? [a]\n: b\n", 400, "upload_unreadable", "a key must be text", id="a YAML list as key"),
    pytest.param(b"a: !!python/object:os.system x\n", 400, "upload_unreadable", "has no meaning here", id="a YAML tag"),
    pytest.param(b"a: .inf\n", 400, "upload_unreadable", ".inf is no number that JSON knows", id="infinity"),
    pytest.param(
        NODE_HEADER + b"n1,1000,abc,0,\n",
        400,
        "upload_unreadable",
        "upload: line 2: memory_mib: expected a whole number from 0 on, got 'abc'",
        id="CSV: no number",
    ),
    pytest.param(
        NODE_HEADER + b"n1,-1,1,0,\n",
        400,
        "upload_unreadable",
        "line 2: cpu_milli: expected a whole number",
        id="CSV: negative",
    ),
    pytest.param(
        NODE_HEADER + b"n1,1000,1\n",
        400,
        "upload_unreadable",
        "line 2: expected 5 columns, got 3",
        id="CSV: too few columns",
    ),
    pytest.param(
        NODE_HEADER + b"n1,1,1,0,\nn1,1,1,0,\n",
        422,
        "upload_invalid",
        "upload: line 3 (Node n1): metadata.name: the name stands twice, first at upload: line 2",
        id="CSV: duplicate names",
    ),
    pytest.param(
        POD_HEADER + b"p,1,1,0,0,,XX,Running,0,0,0\n",
        400,
        "upload_unreadable",
        "line 2: qos: expected one of LS, Burstable, Guaranteed, BE, got 'XX'",
        id="CSV: unknown qos",
    ),
]


@pytest.fixture
def cluster() -> Cluster:
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


@pytest.mark.parametrize(("body", "status", "code", "message"), CASES)
def test_upload_is_refused_with_words_that_help_when_it_is_bad(
    cluster: Cluster, body: bytes, status: int, code: str, message: str
) -> None:
    before = state(cluster)
    answer = upload(logged_in(), cluster, body, "?replace=true")
    told = answer.json()
    assert (answer.status_code, told["code"]) == (status, code), told
    assert message in told["message"]
    assert state(cluster) == before
    assert Import.objects.count() == 1


def test_upload_is_refused_by_its_header_when_a_csv_file_is_another(cluster: Cluster) -> None:
    answer = upload(logged_in(), cluster, b"a,b\n1,2\n", "?filename=x.csv")
    assert answer.status_code == 400
    assert answer.json()["message"].startswith(
        "x.csv: line 1: expected the columns sn,cpu_milli,memory_mib,gpu,model or"
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        pytest.param(lambda: b"[" * (100 * MIB), "is larger than 67,108,864 bytes", id="100 MB of nested lists"),
        pytest.param(lambda: packed_spaces(300 * MIB), "unpacks to more than 268,435,456 bytes", id="gzip bomb"),
    ],
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


@pytest.mark.parametrize(
    ("make", "message"),
    [
        pytest.param(lambda: b"[" * (9 * MIB), "is nested more than 64 deep", id="nested lists"),
        pytest.param(lambda: b"[" + b"[]," * (8 * MIB) + b"[]]", "has more than 15,000,000 values", id="many lists"),
        pytest.param(lambda: gzip.compress(b"[" * (100 * MIB), 1), "is nested more than 64 deep", id="packed lists"),
        pytest.param(lambda: b" " * (9 * MIB) + b'{"kind":', "is not sound JSON", id="truncated JSON"),
        pytest.param(lambda: b"# x\n" * (MIB // 2) + BOMB.encode(), "aliases repeat more than", id="YAML bomb"),
        pytest.param(
            lambda: orjson.dumps(items(pod("a"), pod("b", annotations={"pad": "x" * (9 * MIB)}), pod("a"))),
            "item 3 (Pod default/a): metadata.name: the name stands twice",
            id="duplicate names",
        ),
    ],
)
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
