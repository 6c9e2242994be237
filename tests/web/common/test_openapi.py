"""Every operation of the OpenAPI schema, asked with good and with bad values: no 5xx, and answers as the schema says.

The values are chosen here for each type of parameter, always the same; test_schemathesis.py makes up others.
"""

import itertools
import random
from typing import Any
from urllib.parse import quote, urlencode

import jsonschema
import orjson
import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from kschedweb.accounts import services
from kschedweb.cluster import services as cluster_services
from kschedweb.cluster.models import Cluster
from kschedweb.rest.openapi import METHODS
from tests.web import rest

Json = dict[str, Any]

INTEGERS = (0, 1, -1, 2**31, 2**63 - 1, 2**63, 10**30)
STRINGS = (
    "",
    "x",
    "n1",
    "default",
    "é\u4e2d\U0001f40b",
    "a b/../c?d#e",
    "x" * 300,
    "\x00",
    "%00",
    "'; --",
    "-1",
    "\ud7ff",
)
OTHERS = (None, True, 1.5, [], {}, "text", [None], {"": None}, 10**30)
ROUNDS = 12
# Made up values of these are not sent: they would end what the other requests are about.
ENDS = {("/api/clusters/{cluster_id}", "delete"), ("/api/tokens/{token_id}", "delete")}


@pytest.fixture(scope="module")
def secret(committed: None) -> str:
    root = User.objects.create_superuser("openapi")
    return services.token_create(user=root, name="openapi", max_role="admin", days=1, actor="test")[1]


@pytest.fixture(scope="module")
def client(secret: str) -> APIClient:
    client = APIClient(raise_request_exception=False)
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    return client


@pytest.fixture(scope="module")
def cluster(client: APIClient) -> Cluster:
    cluster = cluster_services.cluster_create(name="openapi")
    answer = rest.upload(client, cluster, rest.items(rest.node(), rest.pod(namespace="default")))
    assert answer.status_code == 201
    return cluster


@pytest.fixture(scope="module")
def schema(client: APIClient) -> Json:
    answer = client.get("/api/schema?format=json")
    return dict(orjson.loads(answer.content))


def operations(schema: Json) -> list[tuple[str, str, Json]]:
    return [
        (path, method, item[method])
        for path, item in sorted(schema["paths"].items())
        for method in METHODS
        if method in item
    ]


def test_every_operation_answers_as_the_schema_says(client: APIClient, cluster: Cluster, schema: Json) -> None:
    chance = random.Random(9)
    wrong: list[str] = []
    for path, method, operation in operations(schema):
        for round_ in range(ROUNDS if (path, method) not in ENDS else 2):
            url, body, kind = request(chance, schema, path, operation, cluster if round_ < 2 else None, method)
            if kind:
                answer = client.generic(method.upper(), url, body, content_type=kind)
            else:
                answer = client.generic(method.upper(), url)
            problem = violation(schema, operation, answer)
            if problem:
                wrong.append(f"{method.upper()} {url} {body[:80]!r}: {problem}")
    assert not wrong, "\n".join(wrong[:60])


def request(
    chance: random.Random, schema: Json, path: str, operation: Json, cluster: Cluster | None, method: str
) -> tuple[str, bytes, str]:
    """An address, a body and its type; without a cluster also the parameters that lead to it are made up."""
    query: list[tuple[str, str]] = []
    for parameter in operation.get("parameters", ()):
        kind = resolved(schema, parameter["schema"])
        if parameter["in"] == "path":
            given = value(chance, kind)
            if parameter["name"] == "cluster_id" and (cluster is not None or chance.random() < 0.7):
                given = Cluster.objects.get(name="openapi").pk
                if (path, method) in ENDS:
                    given = 2**40
            if parameter["name"] == "import_id":
                given = "00000000-0000-0000-0000-000000000000"
            if isinstance(given, int):
                given = abs(given)  # the routes know no sign
            path = path.replace(f"{{{parameter['name']}}}", quote(str(given), safe="") or "x")
        elif parameter.get("required") or chance.random() < 0.6:
            query.append((parameter["name"], str(value(chance, kind))))
    url = path + (f"?{urlencode(query)}" if query else "")
    contents = operation.get("requestBody", {}).get("content", {})
    if not contents:
        return url, b"", ""
    kind_of_body = chance.choice(sorted(contents))
    made = body_of(chance, schema, contents[kind_of_body]["schema"])
    return url, made, kind_of_body if kind_of_body != "multipart/form-data" else "application/json"


def body_of(chance: random.Random, schema: Json, kind: Json) -> bytes:
    kind = resolved(schema, kind)
    if chance.random() < 0.2:
        return chance.choice((b"", b"{", b"\xff\xfe", b"[]", b"null", b'"x"', b"0", b"{}"))
    fields = kind.get("properties")
    if not fields:
        return orjson.dumps(chance.choice((rest.pod("fuzz", namespace="default"), {"kind": "Pod"}, {"a": None}, [1])))
    made = {}
    for name, field in fields.items():
        draw = chance.random()
        if draw < 0.6:
            made[name] = value(chance, resolved(schema, field))
        elif draw < 0.8:
            made[name] = chance.choice(OTHERS)
    return orjson.dumps({name: clipped(one) for name, one in made.items()})


def clipped(given: Any) -> Any:
    """orjson writes no integer beyond 64 bits."""
    return given if not isinstance(given, int) or abs(given) < 2**63 else 2**63


def value(chance: random.Random, kind: Json) -> Any:
    if "enum" in kind and chance.random() < 0.7:
        return chance.choice(kind["enum"])
    match kind.get("type"):
        case "integer":
            return chance.choice(INTEGERS)
        case "number":
            return chance.choice((0.5, -1.0, 1e308, *INTEGERS[:4]))
        case "boolean":
            return chance.choice((True, False))
        case "array":
            return [value(chance, kind["items"]) for _ in range(chance.randrange(3))]
        case _:
            return chance.choice(STRINGS)


def violation(schema: Json, operation: Json, answer: Any) -> str:
    """What is wrong with an answer; nothing when it is as the schema says."""
    if answer.status_code >= 500:
        return f"{answer.status_code} {getattr(answer, 'exc_info', None) or ''}"
    said = operation["responses"].get(str(answer.status_code)) or operation["responses"].get(
        f"{answer.status_code // 100}XX"
    )
    if said is None:
        return f"{answer.status_code} is not in the schema"
    content = b"".join(answer.streaming_content) if answer.streaming else answer.content
    if "content" not in said:
        return f"a body where there is none: {content[:50]!r}" if content else ""
    kind = answer.headers["Content-Type"].partition(";")[0]
    if kind not in said["content"]:
        return f"{kind} is not in the schema"
    if kind != "application/json":
        return ""
    errors = validator(schema, said["content"][kind]["schema"]).iter_errors(orjson.loads(content))
    return "; ".join(f"{list(error.path)}: {error.message[:200]}" for error in itertools.islice(errors, 3))


_validators: dict[bytes, Any] = {}  # by what they validate: each reads the whole document when it is made


def validator(schema: Json, part: Json) -> Any:
    key = orjson.dumps(part)
    if key not in _validators:
        _validators[key] = jsonschema.Draft202012Validator({**part, "components": schema["components"]})
    return _validators[key]


def resolved(schema: Json, kind: Json) -> Json:
    while True:
        if "$ref" in kind:
            kind = schema["components"]["schemas"][kind["$ref"].rpartition("/")[2]]
        elif len(kind.get("allOf", ())) == 1:
            kind = kind["allOf"][0]
        elif "oneOf" in kind:
            kind = kind["oneOf"][0]
        else:
            return kind


@pytest.mark.django_db
def test_schema_says_how_to_log_in_and_how_refusals_look() -> None:
    schema = rest.logged_in().get("/api/schema?format=json").json()
    assert schema["components"]["securitySchemes"]["token"] == {"type": "http", "scheme": "bearer"}
    for path, method, operation in operations(schema):
        assert operation["responses"]["4XX"]["content"], (path, method)
        if path != "/api/csrf":
            assert {"token": []} in operation["security"] and {} not in operation["security"], (path, method)


@pytest.mark.django_db
def test_schema_says_what_acts_in_a_frozen_cluster() -> None:
    schemas = rest.logged_in().get("/api/schema?format=json").json()["components"]["schemas"]
    modes = {
        (name, field): part.get("description", "")
        for name, schema in schemas.items()
        for field, part in schema.get("properties", {}).items()
        if field in ("lifecycle", "lifecycle_mode")
    }
    assert len(modes) == 6
    assert [where for where, told in modes.items() if "decides, binds and preempts" not in told] == []
