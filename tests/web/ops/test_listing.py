"""`./ksched pods` and its like: what the service answers, as a table or as it is; a wrong query is pointed at."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kschedweb.cluster import services
from kschedweb.cluster.models import Cluster
from kschedweb.ops import client as ops_client
from kschedweb.ops import clusters, listing
from kschedweb.query import LISTS
from tests.cases import cases
from tests.web.rest import logged_in
from tests.web.traces.clusters import clusters_like
from tools import cli

pytestmark = pytest.mark.django_db
Run = Callable[..., int]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run a command in this process; it asks the service of the test."""
    rest = logged_in()

    def asked(self: Any, method: str, path: str, body: bytes | None, content_type: str) -> tuple[int, str]:
        answer: Any = rest.generic(method, path, body or b"", content_type=content_type)
        content = b"".join(answer.streaming_content) if answer.streaming else answer.content
        if answer.status_code >= 400:
            raise ops_client._refused(answer.status_code, json.loads(content))
        return answer.status_code, content.decode()

    monkeypatch.setattr(ops_client.Client, "_asked", asked)
    for module in (listing, clusters):
        monkeypatch.setattr(module, "connect", lambda _: ops_client.Client("h", 1, "t"))

    def command(*words: str) -> int:
        options = cli.parser().parse_args([*words, "--data-dir", str(tmp_path)])
        show = clusters.clusters if options.command == "clusters" else listing.show
        return show(data_dir=tmp_path, options=options)

    return command


@pytest.fixture(scope="module")
def cluster(lasting: None) -> Cluster:
    return clusters_like("sample", 1)


def rows_of(cluster: Cluster, what: str, query: str, sort: str = "") -> list[dict[str, Any]]:
    asked = {"q": query, "limit": 1000} | ({"sort": sort} if sort else {})
    found: list[dict[str, Any]] = logged_in().get(f"/api/clusters/{cluster.pk}/lists/{what}", asked).json()["results"]
    return found


def test_table_has_the_rows_of_the_query(run: Run, cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("pods", "status:pending ns:web", "--sort=-attempts", "--columns", "name,attempts,owner") == 0
    said = capsys.readouterr()
    rows = rows_of(cluster, "pods", "status:pending ns:web", "-attempts")
    assert rows
    head, *lines = said.out.splitlines()
    assert head.split() == ["NAME", "ATTEMPTS", "OWNER"]
    assert [line.split() for line in lines] == [
        [row["name"], str(row["attempts"]), row["owner"] or "-"] for row in rows
    ]
    assert said.err == f"{len(rows)} pods\n"


def test_words_of_a_query_may_come_apart(run: Run, cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("attempts", "result:unschedulable", "reason:cpu", "--limit", "2") == 0
    said = capsys.readouterr()
    total = len(rows_of(cluster, "attempts", "result:unschedulable reason:cpu"))
    assert total > 2
    assert len(said.out.splitlines()) == 3
    assert said.err == f"2 of {total} attempts\n"


def test_all_rows_come_when_all_are_wanted(
    run: Run, cluster: Cluster, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "PAGE", 7)
    assert run("pods", "--limit", "0", "--columns", "name") == 0
    names = [row["name"] for row in rows_of(cluster, "pods", "")]
    assert capsys.readouterr().out.split() == ["NAME", *names]
    assert run("pods", "--limit", "20", "--columns", "name") == 0
    assert capsys.readouterr().out.split() == ["NAME", *names[:20]]


def test_programs_get_documents(run: Run, cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    rows = rows_of(cluster, "pods", "status:bound")
    assert run("pods", "status:bound", "--json", "--columns", "name,priority") == 0
    assert json.loads(capsys.readouterr().out) == [{"name": row["name"], "priority": row["priority"]} for row in rows]
    assert run("pods", "status:bound", "--csv", "--columns", "name") == 0
    assert list(csv.reader(io.StringIO(capsys.readouterr().out))) == [["name"], *([row["name"]] for row in rows)]


@cases(
    "words, told",
    ("a wrong query", ["pods", "web stats:x"],
     ["ksched: pods have no key 'stats'; known: status, ns,", "  web stats:x", "      ^^^^^"]),
    ("column", ["pods", "--columns", "odd"], ["ksched: pods have no column 'odd'; known: namespace,"]),
    ("sort", ["pods", "--sort=odd"], ["ksched: sort: is no column of pods: namespace,"]),
    ("cluster", ["pods", "--cluster", "odd"], ["ksched: there is no cluster named odd; there are: sample-1"]),
)  # fmt: skip
def test_what_is_wrong_is_told(
    run: Run, cluster: Cluster, capsys: pytest.CaptureFixture[str], words: list[str], told: list[str]
) -> None:
    assert run(*words) == 1
    said = capsys.readouterr()
    assert said.out == ""
    for line, wanted in zip(said.err.splitlines(), told, strict=True):
        assert line.startswith(wanted)


def test_cluster_is_to_be_chosen_among_several(run: Run, cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("pods", "--limit", "1") == 0
    services.cluster_create(name="b")
    assert run("pods") == 1
    told = "ksched: name one with --cluster: b, sample-1"
    assert capsys.readouterr().err == f"1 of 90 pods\n{told}\n"
    assert run("pods", "--cluster", "b") == 0


@pytest.mark.parametrize("name", LISTS)
def test_help_has_every_key(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.parser().parse_args([name, "--help"])
    said = capsys.readouterr().out
    for key in LISTS[name].keys:
        assert f"\n{key}" in said
    for column in LISTS[name].columns:
        assert column.name in said


def test_clusters_are_listed_with_what_they_are(run: Run, cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    Cluster.objects.create(name="a-copy", description="of Monday")
    mirror = Cluster.objects.create(name="followed", is_mirror=True)
    record = Cluster.objects.create(name="gone", is_record=True)
    assert run("clusters") == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["NAME", "ID", "KIND", "SCHEDULER", "DESCRIPTION"]
    told = {row.partition("  ")[0]: row.split("  ")[1:] for row in rows}
    assert set(told) == {"a-copy", "followed", "gone", cluster.name}
    assert "frozen" in " ".join(told["a-copy"]) and rows[0].endswith("of Monday")
    assert f"{mirror.pk}" in " ".join(told["followed"]) and "mirror" in " ".join(told["followed"])
    assert f"{record.pk}" in " ".join(told["gone"]) and "record" in " ".join(told["gone"])
    assert "frozen" in " ".join(told[cluster.name])
    assert run("clusters", "--json") == 0
    assert {each["name"] for each in json.loads(capsys.readouterr().out)} == set(told)
