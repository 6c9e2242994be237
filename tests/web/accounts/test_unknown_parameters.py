"""What a route does not know is refused by its name, beside the names it knows: nobody is answered another question."""

from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from kschedweb.cluster import services as cluster_services
from kschedweb.cluster.models import Cluster
from tests.cases import cases
from tests.web import rest
from tests.web.accounts.table import CLUSTER, ROWS, Row, World

pytestmark = pytest.mark.django_db

# As of kube-scheduler's health checks: probes and balancers may add what they like. The other is a page for people.
TAKES_ANYTHING = ("livez", "healthz", "readyz", "login/")
NOTHING = "is not known here; nothing is asked for"
ASKED = [row for row in ROWS if not row.route.startswith(TAKES_ANYTHING)]


@pytest.fixture(scope="module")
def client(lasting: None) -> APIClient:
    client = APIClient()
    client.force_login(User.objects.create_superuser("ada"))
    return client


@pytest.fixture(scope="module")
def world(lasting: None) -> World:
    return World(cluster_id=cluster_services.cluster_create(name="c").pk, token_id=1)


def ask(client: Any, row: Row, world: World, more: str) -> Any:
    path = world.path(row.route, **row.values) + row.query
    body = row.body(world) if row.body is not None else None
    given = {} if body is None else {"data": body}
    if row.content_type != "application/json":
        given["content_type"] = row.content_type
    return getattr(client, row.method.lower())(f"{path}{'&' if row.query else '?'}{more}", **given)


@pytest.mark.parametrize("row", ASKED, ids=lambda row: f"{row}{row.query}")
def test_every_route_refuses_a_parameter_it_does_not_know(client: APIClient, world: World, row: Row) -> None:
    answer = ask(client, row, world, "allof=2030-01-01")
    assert answer.status_code == 400, answer.content[:300]
    told = answer.json()
    assert (told["code"], list(told["extra"]["fields"])) == ("invalid", ["allof"])
    assert told["message"].startswith("allof: is not known here")
    assert Cluster.objects.get().pace == "run"


@cases(
    "path, query, told",
    ("none known", "leadership", "at=2030-01-01", {"at": NOTHING}),
    ("misspelled", "pending", "limt=5", {"limt": "is not known here; known: at, limit"}),
    ("a form of answers", f"imports/{UUID(int=0)}", "format=json", {"format": NOTHING}),
    (
        "together with all that is wrong",
        "throughput",
        "seconds=7&pod=a&until=x",
        {
            "pod": "is not known here; known: last_seconds, seconds, since, until",
            "seconds": "expected one of 1, 60",
            "until": "expected a time such as 2030-01-01T00:00:00Z ('x')",
        },
    ),
    (
        "beside those of pages",
        "events",
        "page=2&limit=1",
        {
            "page": "is not known here; known: cursor, kind, last_seconds, limit, name, namespace, reason, since,"
            " type, until"
        },
    ),
    (
        "known to another export",
        "export/events.jsonl",
        "node=n1",
        {"node": "is not known here; known: last_seconds, since, until"},
    ),
)
def test_refusal_names_what_is_known(
    client: APIClient, world: World, path: str, query: str, told: dict[str, str]
) -> None:
    answer = client.get(f"/api/clusters/{world.cluster_id}/{path}?{query}")
    assert answer.status_code == 400
    assert answer.json()["extra"]["fields"] == {name: [text] for name, text in told.items()}


@cases(
    "method, route, body, field",
    ("a token", "post", "api/tokens", {"name": "t", "max_roll": "viewer"}, "max_roll"),
    ("a cluster", "patch", CLUSTER, {"lifecycle": "simulate"}, "lifecycle"),
    ("a part of a field", "patch", f"{CLUSTER}/nodes/n1",
     {"taints": [{"key": "a", "effect": "NoSchedule", "vaule": "b"}]}, "taints[0].vaule"),
)  # fmt: skip
def test_field_of_a_body_is_refused(
    client: APIClient, world: World, method: str, route: str, body: dict[str, Any], field: str
) -> None:
    answer = getattr(client, method)(world.path(route), body)
    assert answer.status_code == 400
    assert list(answer.json()["extra"]["fields"]) == [field]


def test_field_of_an_upload_form_is_refused(client: APIClient, world: World) -> None:
    path = f"/api/clusters/{world.cluster_id}/import"
    answer = client.post(path, {"file": b"{}", "replase": "true"}, format="multipart")
    assert answer.status_code == 400
    assert "replase" in answer.json()["extra"]["fields"]


def test_list_goes_on_with_the_parameters_it_was_asked_with(client: APIClient, world: World) -> None:
    rest.upload(client, Cluster.objects.get(), rest.items(rest.pod("p1"), rest.pod("p2")))
    first = client.get("/api/clusters?limit=1").json()
    assert first["next"] is None
    cluster_services.cluster_create(name="d")
    first = client.get("/api/clusters?limit=1").json()
    assert client.get(first["next"]).status_code == 200


def test_schema_says_that_bodies_have_no_other_fields(client: APIClient) -> None:
    schemas = client.get("/api/schema?format=json").json()["components"]["schemas"]
    assert schemas["TokenCreate"]["additionalProperties"] is False
