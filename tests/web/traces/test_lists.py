"""Lists against rows worked out in plain Python from the same cluster, in any order, page by page."""

import base64
import csv
import io
import itertools
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from kschedweb.cluster import clock, services
from kschedweb.cluster.models import Cluster, Pod
from kschedweb.query import KEYS, LISTS, Term, parse, written
from kschedweb.query.keys import PLACES
from kschedweb.traces import selectors
from kschedweb.traces.models import Attempt
from kschedweb.traces.selectors.lists import order_of
from scheduler_core.api.times import microseconds
from tests.cases import cases
from tests.web.rest import logged_in
from tests.web.traces.clusters import NOW, REASONS, SHAPES, attempt_of, clusters_like
from tests.web.traces.expected_rows import Facts, expected

pytestmark = pytest.mark.django_db

QUERIES, LONG_QUERIES = 20, 60


@pytest.fixture(scope="module")
def sample(lasting: None) -> Cluster:
    return clusters_like("sample", 1)


@pytest.fixture(scope="module")
def openb(lasting: None) -> Cluster:
    return clusters_like("openb", 1)


@pytest.fixture(scope="module")
def of_shape(sample: Cluster, openb: Cluster) -> Mapping[str, Cluster]:
    """Beside others, of which nothing is shown."""
    for shape in SHAPES:
        clusters_like(shape, 2)
    return {"sample": sample, "openb": openb}


@pytest.fixture(autouse=True)
def _it_is_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now_of", lambda cluster_id: microseconds(NOW))


def terms_of(what: str, chance: random.Random, shape: str) -> tuple[Term, ...]:
    """A random query that finds some rows: of words that are there and a few that are not."""
    one, made = LISTS[what], []
    known = SHAPES[shape]
    for key in chance.sample(["", *one.keys], chance.randrange(4)):
        values: Sequence[Any]
        match key:
            case "ns":
                values = [*known.namespaces, "*", "data_*", "we%", "none"]
            case "node":
                values = [*known.nodes, "zone-a-*", "*-0001", "n1", "n*"]
            case "owner":
                values = ["site-0", "site-1", "site-*", "site-2-rev5", "none"]
            case "plugin":
                values = [*(plugin for plugin, _ in REASONS), "Node*", "None"]
            case "reason":
                values = ["cpu", "INSUFFICIENT", "100% of", "_", "dedicated: db_x", "\\", "sched"]
            case "profile":
                values = [*known.profiles, "*ault-*"]
            case "priority":
                values = known.priorities
            case "age":
                values = [0, 60, 61, 600, 3600, 86_400]
            case "attempts":
                values = [0, 1, 2, 4]
            case "kind":
                values = ["Pod", "Job", "*e*", "None"]
            case "actor":
                values = ["ada", "token:*", "scheduler"]
            case "":
                values = ["00", "WEB/", "-1", "data_", "%"]
            case _:
                values = one.words[key]
        operator = ":" if key else ""
        if key and KEYS[key].is_compared:
            operator = chance.choice([">", "<", ">=", "<=", *([":"] if key != "age" else [])])
        most = 1 if operator.startswith(("<", ">")) else 2
        picked = tuple(chance.sample(list(values), min(len(values), chance.randint(1, most))))
        made.append(Term(key, operator, picked, chance.random() < 0.25))
    return tuple(made)


@pytest.mark.parametrize(("what", "shape"), list(itertools.product(LISTS, SHAPES)))
def test_rows_are_those_of_plain_python(
    what: str, shape: str, of_shape: Mapping[str, Cluster], request: pytest.FixtureRequest
) -> None:
    cluster, chance, client = of_shape[shape], random.Random(f"{what}{shape}"), logged_in()
    found_any, queries = 0, LONG_QUERIES if request.config.getoption("--long") else QUERIES
    for _ in range(queries):
        terms = terms_of(what, chance, shape)
        sort = chance.choice(LISTS[what].sorts)
        if sort.endswith("message"):
            continue  # sentences are sorted as the database does: `test_every_order_is_paged`
        url = f"/api/clusters/{cluster.pk}/lists/{what}"
        answer: Any = client.get(url, {"q": written(terms), "sort": sort, "limit": 1000})
        assert answer.status_code == 200, answer.content
        want = expected(cluster, what, terms, sort)
        told = answer.json()
        assert alike(told["results"]) == alike(want), written(terms)
        if KEYS_IN_ORDER.isdisjoint(order_of(LISTS[what], sort)):
            assert told["results"] == want, (written(terms), sort)
        assert (told["total"], told["next"]) == (len(want), None)
        found_any += bool(want)
    assert found_any > queries / 4


# Of these PostgreSQL's order is that of its locale, Python's that of code points.
KEYS_IN_ORDER = {"namespace", "name", "status", "node", "owner", "profile", "result", "nominated", "uid"}
KEYS_IN_ORDER |= {"zone", "region", "type", "reason", "kind", "operation", "actor"}


def alike(rows: Sequence[Facts]) -> list[str]:
    return sorted(str(sorted(row.items())) for row in rows)


@pytest.mark.parametrize(("what", "sort"), [(what, sort) for what in LISTS for sort in LISTS[what].sorts])
def test_every_order_is_paged(what: str, sort: str, sample: Cluster) -> None:
    """Pages joined are the one long page, whatever ties there are."""
    client, url = logged_in(), f"/api/clusters/{sample.pk}/lists/{what}"
    whole = client.get(url, {"sort": sort, "limit": 1000}).json()["results"]
    assert len(whole) > (2 if what == "nodes" else 50 if what != "preemptions" else 20)
    assert list(pages(client, url, {"sort": sort, "limit": 23 if len(whole) > 23 else 2})) == whole


def pages(client: Any, url: str, asked: Mapping[str, Any]) -> Iterator[Facts]:
    answer = client.get(url, asked).json()
    total = answer["total"]
    count = 0
    while True:
        yield from answer["results"]
        count += len(answer["results"])
        if answer["next"] is None:
            assert count == total
            return
        answer = client.get(answer["next"]).json()
        assert answer["total"] is None


@pytest.mark.parametrize("sort", ["-seq", "seq", "-seen", "name", "-duration"])
def test_each_row_comes_once_while_rows_are_added(sort: str, openb: Cluster) -> None:
    client, chance = logged_in(), random.Random(sort)
    there = set(Attempt.objects.filter(cluster=openb).values_list("seq", flat=True))
    some = list(Pod.objects.filter(cluster=openb))
    seen: list[int] = []
    seq, url = max(there), f"/api/clusters/{openb.pk}/lists/attempts?sort={sort}&limit=9"
    while url:
        answer = client.get(url).json()
        seen += [row["seq"] for row in answer["results"]]
        url = answer["next"]
        made = []
        for _ in range(5):
            seq += 1
            made.append(attempt_of(chance.choice(some), seq, 1, chance))
        if len(seen) < 3 * len(there):
            Attempt.objects.bulk_create(made)
    assert len(seen) == len(set(seen))
    assert there <= set(seen)


def test_rows_that_go_take_no_others_along(openb: Cluster) -> None:
    client = logged_in()
    first = client.get(f"/api/clusters/{openb.pk}/lists/pods?limit=10").json()
    Pod.objects.filter(cluster=openb, uid__in=[row["uid"] for row in first["results"]]).delete()
    rest = {row["uid"] for row in pages_from(client, first["next"])}
    assert rest == set(Pod.objects.filter(cluster=openb).values_list("uid", flat=True))


def pages_from(client: Any, url: str | None) -> Iterator[Facts]:
    while url:
        answer = client.get(url).json()
        yield from answer["results"]
        url = answer["next"]


@cases(
    "query, fields",
    ("an unknown column", {"sort": "colour"}, ["sort"]),
    ("no cursor", {"cursor": "x"}, ["cursor"]),
    ("letters of no cursor", {"cursor": "!!"}, ["cursor"]),
    ("letters of no alphabet", {"cursor": "é"}, ["cursor"]),
    ("no rows", {"limit": "0"}, ["limit"]),
    ("an unknown parameter", {"query": "x"}, ["query"]),
)
def test_what_is_wrong_is_named(query: dict[str, str], fields: list[str]) -> None:
    cluster = services.cluster_create(name="c")
    answer = logged_in().get(f"/api/clusters/{cluster.pk}/lists/pods", query)
    assert answer.status_code == 400
    assert list(answer.json()["extra"]["fields"]) == fields


def cursor(sort: str, place: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps([sort, *place]).encode()).decode()


@pytest.mark.parametrize("place", [["a", "b"], [1, 2], ["a"], ["a\0", "b"], [None, "b"], "ab"], ids=str)
def test_cursor_of_no_place_is_refused(place: Any) -> None:
    cluster, client = services.cluster_create(name="c"), logged_in()
    url = f"/api/clusters/{cluster.pk}/lists/pods"
    answer = client.get(url, {"cursor": cursor("namespace", place)})
    assert answer.status_code == (200 if place in (["a", "b"], "ab") else 400)
    for sort in ("-namespace", "name"):
        other = client.get(url, {"cursor": cursor("namespace", ["a", "b"]), "sort": sort})
        assert other.status_code == 400  # it is of another order
    for odd in ([2**70, 1], ["yesterday", 1], [[], 1]):
        answer = client.get(url.replace("pods", "attempts"), {"cursor": cursor("-seen", odd), "sort": "-seen"})
        assert answer.status_code == 400


def test_wrong_query_is_pointed_at() -> None:
    cluster = services.cluster_create(name="c")
    answer = logged_in().get(f"/api/clusters/{cluster.pk}/lists/attempts", {"q": "web status:x"}).json()
    assert (answer["code"], answer["extra"]) == (
        "invalid_query",
        {
            "at": 4,
            "end": 10,
            "problem": "noKey",
            "values": {"list": "attempts", "key": "status", "known": ", ".join(LISTS["attempts"].keys)},
        },
    )
    assert answer["message"].startswith("attempts have no key 'status'; known: ns, node,")


def test_unknown_list_and_form_are_not_found() -> None:
    cluster, client = services.cluster_create(name="c"), logged_in()
    for path in ("odd", "odd/completion", "odd/export.csv", "pods/export.xml"):
        assert client.get(f"/api/clusters/{cluster.pk}/lists/{path}").status_code == 404


def test_downloads_have_what_is_shown(sample: Cluster) -> None:
    client, url = logged_in(), f"/api/clusters/{sample.pk}/lists/pods"
    asked = {"q": "status:pending", "sort": "-attempts"}
    rows = client.get(url, asked | {"limit": 1000}).json()["results"]
    chosen = asked | {"columns": "name,attempts,name,message"}
    names = ("name", "attempts", "message")
    told = json.loads(downloaded(client.get(f"{url}/export.json", chosen)))
    assert told == [{name: row[name] for name in names} for row in rows]
    lines = list(csv.reader(io.StringIO(downloaded(client.get(f"{url}/export.csv", chosen)))))
    assert lines == [[*names], *([str(row[name]) for name in names] for row in rows)]


def downloaded(answer: Any) -> str:
    assert answer.status_code == 200, answer.content
    return b"".join(answer.streaming_content).decode()


def test_downloads_of_nothing_have_their_columns() -> None:
    cluster, client = services.cluster_create(name="c"), logged_in()
    url = f"/api/clusters/{cluster.pk}/lists/pods"
    assert downloaded(client.get(f"{url}/export.csv", {"columns": "name,node"})) == "name,node\r\n"
    assert json.loads(downloaded(client.get(f"{url}/export.json"))) == []
    refused = client.get(f"{url}/export.csv", {"columns": "name,odd"})
    assert (refused.status_code, list(refused.json()["extra"]["fields"])) == (400, ["columns"])


def test_cells_that_spreadsheets_would_run_are_quoted(openb: Cluster) -> None:
    Attempt.objects.filter(cluster=openb).update(message="=HYPERLINK(1)")
    url = f"/api/clusters/{openb.pk}/lists/attempts/export.csv?columns=message"
    head, *lines = downloaded(logged_in().get(url)).splitlines()
    assert head == "message"
    assert {*lines} == {"'=HYPERLINK(1)"}


def test_list_shows_nobody_else_s_cluster(sample: Cluster) -> None:
    client = APIClient()
    client.force_login(User.objects.create_user("eve"))
    for path in ("pods", "attempts", "pods/completion", "pods/export.csv"):
        assert client.get(f"/api/clusters/{sample.pk}/lists/{path}").status_code == 404


def test_number_of_queries_is_the_same_for_many_rows(sample: Cluster, django_assert_num_queries: Any) -> None:
    terms = parse("status:pending reason:cpu owner:site-*", LISTS["pods"])
    with django_assert_num_queries(2):
        selectors.list_page(sample.pk, LISTS["pods"], terms, sort="-attempts", limit=100, now=NOW)
        selectors.list_total(sample.pk, LISTS["pods"], terms, now=NOW)


def test_completion_knows_what_the_cluster_has(sample: Cluster) -> None:
    client, url = logged_in(), f"/api/clusters/{sample.pk}/lists/pods/completion"

    def options(text: str) -> list[str]:
        found: list[str] = client.get(url, {"q": text, "at": len(text)}).json()["options"]
        return [option.strip() for option in found]

    assert options("ns:") == ["data_1", "kube-system", "shop", "web"]
    assert options("x node:zone-b") == ["zone-b-1"]
    assert options("owner:site-1-rev4") == ["site-1-rev4"]
    assert options("profile:b") == ["batch"]
    assert options("plugin:taint") == ["TaintToleration"]
    assert options("status:unsc") == ["unschedulable"]
    assert '"Insufficient cpu"' in options("reason:insuff")
    assert options("age>") == []
    assert PLACES[0] in options("status:")


def test_table_is_told() -> None:
    told = logged_in().get("/api/lists").json()
    assert [one["name"] for one in told["lists"]] == list(LISTS)
    keys = {key["name"]: key for key in told["lists"][0]["keys"]}
    assert keys["age"]["begins"] == "age> age<"
    assert keys["status"]["words"][0] == "pending"
