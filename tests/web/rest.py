"""Helpers for tests that speak HTTP with the service."""

from collections.abc import Mapping
from typing import Any

import orjson
from django.contrib.auth.models import Permission, User
from rest_framework.test import APIClient

from kschedweb.cluster.models import Change, Cluster


def logged_in(username: str = "ada") -> APIClient:
    """A client of a logged-in superuser, who may do everything."""
    user, _ = User.objects.get_or_create(username=username, defaults={"is_superuser": True})
    client = APIClient()
    client.force_login(user)
    return client


def get(cluster: Cluster, path: str, status: int = 200, /, **query: Any) -> Any:
    """What a route of a cluster answers one who may do everything."""
    return _told(logged_in().get(f"/api/clusters/{cluster.pk}/{path}", query), status)


def post(cluster: Cluster, path: str, body: Any, status: int = 200) -> Any:
    return _told(logged_in().post(f"/api/clusters/{cluster.pk}/{path}", body, format="json"), status)


def _told(answer: Any, status: int) -> Any:
    assert answer.status_code == status, answer.content
    return answer.json()


def permission(codename: str) -> Permission:
    return Permission.objects.get(codename=codename)


def upload(client: APIClient, cluster: Cluster, content: bytes | Mapping[str, Any], query: str = "") -> Any:
    """Send a raw body to the import; a mapping goes as JSON."""
    body = content if isinstance(content, bytes) else orjson.dumps(content)
    url = f"/api/clusters/{cluster.pk}/import{query}"
    return client.generic("POST", url, body, content_type="application/octet-stream")


def log(cluster: Cluster) -> list[tuple[int, str, str, str]]:
    """The change log without the cluster's own settings: (rv, operation, kind, name)."""
    rows = Change.objects.filter(cluster=cluster).exclude(operation="setting").order_by("rv")
    return list(rows.values_list("rv", "operation", "kind", "name"))


def node(name: str = "n1", **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, **metadata},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
    }


def pod(name: str = "p1", *, cpu: str = "100m", **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, **metadata},
        "spec": {"containers": [{"name": "c", "image": "img", "resources": {"requests": {"cpu": cpu}}}]},
    }


def items(*objects: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "List", "items": list(objects)}
