"""What people have: several JSON documents, dumps with logs between, folders and archives, through the REST route."""

import gzip
import io
import tarfile
from typing import Any

import orjson
import pytest
import yaml

from kschedweb.cluster.models import ApiObject, Cluster, Pod
from tests.cases import cases
from tests.web.rest import items, logged_in, node, pod, upload

pytestmark = pytest.mark.django_db


def text(manifest: dict[str, Any]) -> str:
    return orjson.dumps(manifest).decode()


def pretty(manifest: dict[str, Any]) -> str:
    return orjson.dumps(manifest, option=orjson.OPT_INDENT_2).decode()


def archive(*files: tuple[str, bytes], mode: str = "w:gz") -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode) as tar:  # type: ignore[call-overload]
        for name, content in files:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def nested(*names: str) -> bytes:
    """An archive in which an archive of each name is, one in the other."""
    content = archive()
    for name in reversed(names):
        content = archive((name, content))
    return content


def kept(name: str, version: str, **spec: Any) -> dict[str, Any]:
    manifest = pod(name, uid=f"uid-{name}", creationTimestamp="2030-01-01T00:00:00Z", resourceVersion=version)
    manifest["spec"] |= spec
    return manifest


NODES, PODS = items(node()), items(pod("a"), pod("b"))
JSON, MORE = text(NODES).encode(), text(PODS).encode()
ONE, TWO = text(node()), text(pod("a"))
LOG = '==== START logs for container c of pod default/a ====\n{"level": "info"\n[}\n{"kind": "Pod"}\n'
END = "==== END logs for container c of pod default/a ====\n"


@cases(
    "content, passed_over",
    ("JSON documents", pretty(NODES) + "\n" + pretty(PODS), {}),
    ("JSON documents in one line", text(NODES) + text(PODS), {}),
    ("JSON lines", "\n".join(map(text, (node(), pod("a"), pod("b")))) + "\n", {}),
    ("a dump", f"{pretty(NODES)}\n{pretty(PODS)}\n{LOG}{END}{LOG}no end of the line{END}", {"logs": 2}),
    ("a dump whose last log is cut", f"{pretty(NODES)}\n{pretty(PODS)}\n{LOG}", {"logs": 1}),
    ("a dump that begins with a log", f"{LOG}{END}{pretty(NODES)}\n{LOG}{END}{pretty(PODS)}\n", {"logs": 2}),
    ("a dump in YAML", f"{yaml.safe_dump(NODES)}---\n{yaml.safe_dump(PODS)}{LOG}{END}", {"logs": 1}),
    ("an archive", archive(("nodes.json", JSON), ("d/pods.yaml", yaml.safe_dump(PODS).encode())), {}),
    ("an archive that is not packed", archive(("./x.JSON", JSON), ("y.json.gz", gzip.compress(MORE)), mode="w"), {}),
    ("an archive behind another", archive(("n.json", JSON), mode="w") + archive(("p.json", MORE), mode="w"), {}),
    ("archives in an archive",
     archive(("a.tgz", archive(("n.json", JSON), ("l.log", b"x"))),
             ("b.tar", archive(("p.json", MORE), ("._p.json", b"\0\5"), mode="w")), ("logs.txt", b"x")), {"files": 3}),
)  # fmt: skip
def test_objects_are_taken_and_what_is_none_is_counted(
    cluster: Cluster, content: str | bytes, passed_over: dict[str, int]
) -> None:
    answer = upload(logged_in(), cluster, content if isinstance(content, bytes) else content.encode())
    assert answer.status_code == 201, answer.content
    report = answer.json()["report"]
    assert report["kinds"] == {"Node": {"created": 1}, "Pod": {"created": 2}}
    assert report["passed_over"] == passed_over


@cases(
    "content, refused",
    ("a line that is cut", f'{ONE}\n{{"kind": "Pod", "a": "\n{TWO}\n', ["document 2: line 2: is not sound JSON"]),
    ("a document that is cut", f"{pretty(node())}\n{pretty(pod('b'))[:-9]}\n{TWO}\n", ["document 2: line "]),
    ("words between", f"{ONE}\nhello\nworld\n{TWO}\n", ["document 2: line 2: is not sound JSON"]),
    ("a bracket too many", f"{ONE}}}\n{TWO}\n", ["document 2: line 1: is not sound JSON"]),
    ("a document of something else", f"{ONE}\n{{}}\n{TWO}\n", ["document 2: kind: is required"]),
    ("an unsound document", f"{ONE}\n{{'a': 1}}\n{TWO}\n", ["document 2: line 2: is not sound JSON"]),
    ("a file of an archive",
     archive(("n.json", ONE.encode()), ("x/v.yaml", b"a: {{ b }}\n"), ("u.json", b"\xff\xfe{"),
             ("p.json", TWO.encode())),
     ["/x/v.yaml: document 1: line 1: ", "/u.json: is not sound UTF-16"]),
    ("an archive in too many",
     archive(("n.json", text(items(node(), pod("a"))).encode()), ("a.tar", nested("b.tar", "c.tar", "d.tar"))),
     ["/a.tar/b.tar/c.tar: is an archive in 3 others; no more are opened"]),
)  # fmt: skip
def test_what_stands_between_is_named_and_the_rest_is_taken(
    cluster: Cluster, content: str | bytes, refused: list[str]
) -> None:
    body = content if isinstance(content, bytes) else content.encode()
    assert upload(logged_in(), cluster, body).status_code // 100 == 4
    report = upload(logged_in(), cluster, body, "?partial=true").json()["report"]
    assert report["kinds"] == {"Node": {"created": 1}, "Pod": {"created": 1}}
    assert report["refused_total"] == len(refused)
    for one, want in zip(report["refused"], refused, strict=True):
        assert want in one["message"]


@cases(
    "cut, message",
    ("in a file", lambda tar: tar[:700], "is not a sound tar file"),
    ("in a header", lambda tar: tar[:1100], "is not a sound tar file"),
    ("overwritten", lambda tar: tar[:1024] + b"x" * 512 + tar[1536:], "is not a sound tar file: at byte 1,024 stands"),
    ("without its end", lambda tar: tar[:2048], "is not a sound tar file: at byte 2,048 stands"),
    ("with something behind it", lambda tar: tar + b"x" * 600, "is not a sound tar file: at byte 10,240 stands"),
)
def test_unsound_archive_is_named(cluster: Cluster, cut: Any, message: str) -> None:
    whole = archive(("n.json", text(node()).encode()), ("p.json", text(pod("a")).encode()), mode="w")
    answer = upload(logged_in(), cluster, cut(whole), "?filename=d.tar")
    assert (answer.status_code, message in answer.json()["message"]) == (400, True), answer.content


def test_archive_has_a_limit_of_files(cluster: Cluster, settings: Any) -> None:
    settings.IMPORT_LIMITS = {"archive_files": 2}
    body = archive(*((f"{number}.txt", b"") for number in range(3)))
    answer = upload(logged_in(), cluster, body)
    assert (answer.status_code, answer.json()["extra"]["limit"]) == (413, 2)


def test_object_that_a_dump_has_twice_is_taken_in_its_newer_version(cluster: Cluster) -> None:
    body = items(kept("a", "7"), kept("a", "12", nodeName="n1"), kept("a", "9"), kept("b", "3"), kept("b", "3"))
    report = upload(logged_in(), cluster, body).json()["report"]
    assert report["kinds"] == {"Pod": {"created": 2, "repeated": 3}}
    assert dict(Pod.objects.values_list("name", "node_name")) == {"a": "n1", "b": ""}


def test_objects_of_one_name_that_say_no_version_are_told_apart(cluster: Cluster) -> None:
    same, other = kept("a", ""), kept("a", "", nodeName="n1")
    assert upload(logged_in(), cluster, items(same, same)).json()["report"]["kinds"]["Pod"]["repeated"] == 1
    assert "stands twice" in upload(logged_in(), cluster, items(same, other)).json()["message"]


def test_folders_of_must_gather_are_taken(cluster: Cluster) -> None:
    root = "must-gather.local.1/quay-io-x-sha256-1"
    files = [
        (f"{root}/cluster-scoped-resources/core/nodes/n1.yaml", b"---\n" + yaml.safe_dump(node()).encode()),
        (f"{root}/namespaces/default/core/pods.yaml", yaml.safe_dump(items(kept("a", "7"), kept("b", "8"))).encode()),
        (f"{root}/namespaces/default/pods/a/a.yaml", yaml.safe_dump(kept("a", "9", nodeName="n1")).encode()),
        (f"{root}/namespaces/default/pods/a/c/c/logs/current.log", b"{not an object"),
        (f"{root}/event-filter.html", b"<html>"),
    ]
    report = upload(logged_in(), cluster, archive(*files), "?filename=must-gather").json()["report"]
    assert report["kinds"] == {"Node": {"created": 1}, "Pod": {"created": 2, "repeated": 1}}
    assert report["passed_over"] == {"files": 2}
    assert [file["name"] for file in report["files"]] == [f"must-gather/{name}" for name, _ in files[:3]]
    assert dict(Pod.objects.values_list("name", "node_name")) == {"a": "n1", "b": ""}


def test_import_takes_services_of_clusters_with_other_ranges(cluster: Cluster) -> None:
    """As charts and tidied exports have them: without a uid. Two of one address are of no cluster."""

    def service(name: str, **spec: Any) -> dict[str, Any]:
        ports = [{"port": 80, "nodePort": 80}]
        return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"ports": ports} | spec}

    addresses = ["172.20.4.1", "fd12::4"]
    eks = service("eks", clusterIP="172.20.0.9", type="NodePort")
    both = service("both", clusterIP=addresses[0], clusterIPs=addresses, ipFamilyPolicy="RequireDualStack")
    none = service("none", ipFamilyPolicy="RequireDualStack")
    del both["spec"]["ports"][0]["nodePort"], none["spec"]["ports"][0]["nodePort"]
    client = logged_in()
    assert upload(client, cluster, items(eks, both, none)).status_code == 201
    specs = {row.name: row.manifest["spec"] for row in ApiObject.objects.filter(cluster=cluster, kind="Service")}
    assert (specs["eks"]["clusterIP"], specs["eks"]["ports"][0]["nodePort"]) == ("172.20.0.9", 80)
    assert specs["both"]["clusterIPs"] == addresses
    assert specs["none"]["clusterIP"].startswith("10.96.")
    refused = upload(client, cluster, items(service("again", clusterIP="172.20.0.9", ports=[{"port": 80}])))
    assert "provided IP is already allocated" in str(refused.json())
