"""Kubelets of nodes at the Kubernetes API: their tokens, what they are called, and what they may write."""

from typing import Any

import orjson
import pytest

from kschedweb.ops.granting import grant, revoke
from tests.web.kubeapi.conftest import Served

pytestmark = pytest.mark.django_db
NODES = "/api/v1/nodes"


@pytest.fixture(scope="module")
def kubelet(served: Served) -> str:
    """The token of the kubelet of n1; n1 and n2 are there."""
    for name in ("n1", "n2"):
        body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
        assert served.send("POST", NODES, body).status in (201, 409)
    return grant(served.cluster, "admin", "n1")["token"]


def patch(served: Served, token: str, path: str, body: dict[str, Any]) -> tuple[int, str]:
    answer = served.send("PATCH", path, body, token, form="application/merge-patch+json")
    return answer.status, orjson.loads(answer.body).get("message", "")


def test_kubelet_may_write_what_is_its_own(served: Served, kubelet: str) -> None:
    assert patch(served, kubelet, f"{NODES}/n1", {"metadata": {"labels": {"mine": "1"}}}) == (200, "")
    assert patch(served, kubelet, f"{NODES}/n1/status", {"status": {"phase": ""}})[0] == 200
    assert served.ask("GET", f"{NODES}/n2", kubelet).status == 200
    restricted = {"metadata": {"labels": {"node-restriction.kubernetes.io/a": "1"}}}
    assert patch(served, kubelet, f"{NODES}/n1", restricted) == (
        403,
        'nodes "n1" is forbidden: is not allowed to modify labels: node-restriction.kubernetes.io/a',
    )
    assert patch(served, "", f"{NODES}/n1", restricted)[0] == 200  # by the administrator
    assert patch(served, kubelet, f"{NODES}/n2", {"metadata": {"labels": {"a": "1"}}}) == (
        403,
        'nodes "n2" is forbidden: node "n1" is not allowed to modify node "n2"',
    )


def test_kubelet_may_do_nothing_else(served: Served, kubelet: str) -> None:
    answer = served.ask("DELETE", f"{NODES}/n1", kubelet)
    assert (answer.status, orjson.loads(answer.body)["message"]) == (
        403,
        'nodes "n1" is forbidden: User "system:node:n1" cannot delete resource "nodes" in API group "" at the cluster'
        " scope",
    )
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    assert served.send("POST", "/api/v1/namespaces/default/configmaps", body, kubelet).status == 403
    assert served.ask("GET", "/api/v1/secrets", kubelet).status == 403


@pytest.fixture(scope="module")
def granted(served: Served) -> dict[str, str]:
    """A token of the kubelet of n7 that has ended."""
    made = grant(served.cluster, "admin", "n7")
    assert revoke(served.cluster, made["name"]) == {"name": made["name"]}
    return made


def test_token_of_a_kubelet_ends(served: Served, granted: dict[str, str]) -> None:
    assert granted["user"] == f"system:node:n7@{served.cluster}"
    assert served.ask("GET", NODES, granted["token"]).status == 401
    with pytest.raises(SystemExit, match="too long together"):
        grant(served.cluster, "admin", "n" * 200)
