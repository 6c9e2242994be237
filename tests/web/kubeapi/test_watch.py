"""Watches over a connection: what is told, to how many, and when it ends."""

import http.client
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from django.db import connection

from kschedweb.accounts import services as account_services
from kschedweb.accounts.models import Token
from kschedweb.cluster.models import Change
from kschedweb.cluster.versions import rv_of
from kschedweb.ops import up
from tests.web.kubeapi.conftest import Served

pytestmark = pytest.mark.django_db

LIMITS = "/api/v1/namespaces/default/limitranges"


@contextmanager
def watch(served: Served, path: str, token: str = "") -> Iterator[http.client.HTTPResponse]:
    with closing(up.connection_to("127.0.0.1", served.web.port, served.web.certificate, 30)) as asking:
        headers = {"Authorization": f"Bearer {token or served.admin}"}
        asking.request("GET", f"/k8s/{served.cluster}{path}", headers=headers)
        yield asking.getresponse()


def told(response: http.client.HTTPResponse, count: int) -> list[tuple[str, str]]:
    found = []
    for _ in range(count):
        event = json.loads(response.readline())
        found.append((event["type"], event["object"]["metadata"].get("name", "")))
    return found


def make(served: Served, name: str) -> int:
    """A new object; its resourceVersion."""
    body = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": name}, "spec": {"limits": []}}
    answer = served.send("POST", LIMITS, body)
    assert answer.status == 201, answer.body
    made: dict[str, Any] = json.loads(answer.body)
    return int(made["metadata"]["resourceVersion"])


def test_two_watchers_are_told_of_the_same_changes_at_once(served: Served) -> None:
    position = make(served, "before")
    path = f"{LIMITS}?watch=1&resourceVersion={position}"
    with watch(served, path) as first, watch(served, path, served.viewer) as second:
        make(served, "seen")
        served.ask("DELETE", f"{LIMITS}/seen")
        expected = [("ADDED", "seen"), ("DELETED", "seen")]
        assert told(first, 2) == expected and told(second, 2) == expected


def test_a_watch_begins_where_it_is_asked_to(served: Served) -> None:
    position = make(served, "one")
    make(served, "two")
    with watch(served, f"{LIMITS}?watch=1&resourceVersion={position}&timeoutSeconds=1") as response:
        assert told(response, 1) == [("ADDED", "two")]
        assert response.read() == b""


def test_a_watch_ends_with_its_token(served: Served) -> None:
    user = Token.objects.get(user__username="vera", name="t").user
    token, secret = account_services.token_create(user=user, name="short", max_role="viewer", days=1, actor="vera")
    commit()
    with watch(served, f"{LIMITS}?watch=1&resourceVersion={make(served, 'three')}", secret) as response:
        account_services.token_revoke(user=user, token_id=token.pk, actor="vera")
        commit()
        assert response.read() == b""
    assert served.ask("GET", LIMITS, token=secret).status == 401


def test_a_position_that_was_cut_away_is_gone(served: Served) -> None:
    position = make(served, "four")
    make(served, "five")
    Change.objects.filter(cluster_id=served.cluster_id, rv__lte=rv_of(position)).delete()
    commit()
    with watch(served, f"{LIMITS}?watch=1&resourceVersion={position - 1}") as response:
        event = json.loads(response.readline())
        assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")
        assert response.read() == b""
    with watch(served, f"{LIMITS}?watch=1&resourceVersion={position}&timeoutSeconds=1") as response:
        assert told(response, 1) == [("ADDED", "five")]


def test_a_list_whose_moment_was_cut_away_can_go_on_with_what_there_is(served: Served) -> None:
    names = ["page-a", "page-b", "page-c"]
    position = [make(served, name) for name in names][-1]
    selected = f"{LIMITS}?limit=2&labelSelector=app!=x"
    first = served.get(f"{LIMITS}?limit=1&resourceVersion={position}")
    token = first["metadata"]["continue"]
    served.ask("DELETE", f"{LIMITS}/page-b")
    position = make(served, "page-d")
    Change.objects.filter(cluster_id=served.cluster_id, rv__lte=rv_of(position)).delete()
    commit()
    refused = served.ask("GET", f"{selected}&continue={token}")
    status = json.loads(refused.body)
    assert (refused.status, status["reason"]) == (410, "Expired")
    going_on, found = status["metadata"]["continue"], [first["items"][0]["metadata"]["name"]]
    while going_on:
        page = served.get(f"{selected}&continue={going_on}")
        found += [each["metadata"]["name"] for each in page["items"]]
        going_on = page["metadata"].get("continue", "")
    assert [name for name in found if name.startswith("page")] == ["page-a", "page-c", "page-d"]


def test_data_of_a_revision_comes_back_as_its_controller_wrote_it(served: Served) -> None:
    data = b'{"spec":{"template":{"$patch":"replace","metadata":{"annotations":{"a":"\\u003cb\\u003e"},"name":"n"}}}}'
    revisions = "/apis/apps/v1/namespaces/default/controllerrevisions"
    body = b'{"metadata":{"name":"r","labels":{"of":"bytes"}},"revision":1,"data":' + data + b"}"
    made = served.ask("POST", revisions, body=body, Content_Type="application/json")
    assert made.status == 201 and data in made.body
    for path in (f"{revisions}/r", f"{revisions}?labelSelector=of=bytes"):
        assert data in served.ask("GET", path).body
    position = int(json.loads(made.body)["metadata"]["resourceVersion"]) - 1
    with watch(served, f"{revisions}?watch=1&resourceVersion={position}") as response:
        assert data in response.readline()


def commit() -> None:
    """Let the service see what this test wrote: it has a connection of its own."""
    connection.connection.commit()
