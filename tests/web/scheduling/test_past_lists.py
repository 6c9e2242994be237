"""Lists as they were: pages and downloads of one moment, and which of them need the engine."""

from __future__ import annotations

from typing import Any

import pytest

from kschedweb.cluster.models import Cluster
from kschedweb.query import LISTS
from tests.web import rest
from tests.web.scheduling import lived as living
from tests.web.scheduling.conftest import put

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("nothing_kept", "patient_fence")]


def workload(name: str, replicas: int) -> dict[str, Any]:
    spec = {"replicas": replicas, "selector": {"matchLabels": {"a": name}},
            "template": {"metadata": {"labels": {"a": name}}, "spec": {"containers": [{"name": "c"}]}}}  # fmt: skip
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def test_pages_and_downloads_of_a_list_are_of_one_moment(cluster: Cluster) -> None:
    put(cluster, *(rest.node(f"n{number}") for number in range(5)))
    client = rest.logged_in()
    url = f"/api/clusters/{cluster.pk}/lists/nodes"
    page = client.get(url, {"at": "0s ago", "limit": 2})
    cluster.refresh_from_db()
    at = f"{cluster.rv}.{cluster.seq}"
    assert page.headers["Ksched-Position"] == at
    put(cluster, rest.node("n1a"))
    told, names = page.json(), []
    while True:
        names += [row["name"] for row in told["results"]]
        if told["next"] is None:
            break
        assert f"at={at}" in told["next"]
        told = client.get(told["next"]).json()
    assert names == [f"n{number}" for number in range(5)]
    download = client.get(f"{url}/export.csv", {"at": at, "columns": "name", "q": "node:n1*"})
    assert b"".join(download.streaming_content).decode().split() == ["name", "n1"]
    assert download.headers["Ksched-Position"] == at
    assert client.get(url, {"at": "yesterday"}).status_code == 400


def test_lists_that_need_no_engine_can_be_had_of_a_mirror(cluster: Cluster) -> None:
    living.live(cluster, rounds=1, config=False)
    put(cluster, workload("web", 3), workload("db", 1))
    Cluster.objects.filter(pk=cluster.pk).update(is_mirror=True)
    client = rest.logged_in()
    for what in LISTS:
        answer = client.get(f"/api/clusters/{cluster.pk}/lists/{what}", {"at": "0s ago"})
        assert answer.status_code == (409 if what == "pods" else 200), (what, answer.content)
        if what == "workloads":
            assert [row["name"] for row in answer.json()["results"]] == ["db", "web"]
