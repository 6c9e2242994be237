"""The OpenAPI document says of the live views what the service answers."""

from typing import Any

import jsonschema
import pytest
from drf_spectacular.generators import SchemaGenerator

from kschedweb import views
from kschedweb.cluster import services
from kschedweb.traces.models import EngineLog
from tests.web.rest import items, logged_in, node, pod, upload

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return dict(SchemaGenerator().get_schema(request=None, public=True))


def check(document: dict[str, Any], path: str, answer: Any) -> None:
    told = document["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    schema = told | {"components": document["components"]}
    jsonschema.validate(answer, schema)


def test_snapshot_frames_and_details_are_what_the_document_says(document: dict[str, Any]) -> None:
    cluster, client = services.cluster_create(name="c"), logged_in()
    upload(client, cluster, items(node(), pod()))
    cluster.refresh_from_db()
    EngineLog.objects.create(
        cluster=cluster, seq=1, rv=3, step=1, kind="step", payload={"cycles": 0, "kind": "apply"}, at=cluster.created_at
    )
    cluster.seq = 1
    cluster.save()
    paths = {
        "snapshot": "snapshot", "snapshot/columns": "snapshot/columns", "frames": "frames?rv=0&seq=0",
        "timeline": "timeline",
        "summary": "summary", "pods/{namespace}/{name}": "pods/default/p1", "nodes/{name}": "nodes/n1",
        "pending": "pending", "attempts": "attempts",
    }  # fmt: skip
    for path, asked in paths.items():
        answer = client.get(f"/api/clusters/{cluster.pk}/{asked}")
        assert answer.status_code == 200, asked
        check(document, f"/api/clusters/{{cluster_id}}/{path}", answer.json())


def test_document_refuses_a_snapshot_without_its_cursor(document: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        check(document, "/api/clusters/{cluster_id}/snapshot", {"nodes": []})


def test_every_event_is_in_the_document(document: dict[str, Any]) -> None:
    union = document["components"]["schemas"]["Frame"]["properties"]["events"]["items"]
    assert set(union["discriminator"]["mapping"]) == {
        member.__struct_config__.tag for member in views.LiveEvent.__args__
    }
