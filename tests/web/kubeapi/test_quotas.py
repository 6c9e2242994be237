"""A ResourceQuota on a running service: what would exceed it is refused, and what goes gives back."""

import json
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from kschedweb.cluster import services as cluster_services
from tests.waiting import eventually
from tests.web.kubeapi.conftest import Served, acting_controllers

pytestmark = pytest.mark.django_db
SPACE = "/api/v1/namespaces/default"
HARD = {"pods": "2", "requests.cpu": "1", "count/secrets": "1"}


class Rationed:
    """A simulated cluster with a quota, over HTTP."""

    def __init__(self, served: Served, name: str) -> None:
        self._served, self._name = served, name

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {self._served.admin}", "Content_Type": "application/json"}
        sent = b"" if body is None else orjson.dumps(body)
        answer = self._served.web.ask(method, f"/k8s/{self._name}{path}", sent, **headers)
        return answer.status, json.loads(answer.body)

    def make_pod(self, name: str, cpu: str) -> tuple[int, Any]:
        container = {"name": "c", "image": "i:1", "resources": {"requests": {"cpu": cpu}}}
        spec = {"containers": [container], "schedulerName": "nobody", "terminationGracePeriodSeconds": 0}
        return self.ask("POST", f"{SPACE}/pods", {"metadata": {"name": name}, "spec": spec})

    def status(self) -> Any:
        code, quota = self.ask("GET", f"{SPACE}/resourcequotas/limits")
        assert code == 200
        return quota.get("status", {})

    def wait_for(self, **used: str) -> None:
        """Until the status says so; `_` in a name stands for a dot."""
        want = {name.replace("_", "."): value for name, value in used.items()}
        eventually(lambda: want.items() <= self.status().get("used", {}).items(), self.status)


@pytest.fixture(scope="module")
def rationed(served: Served) -> Iterator[Rationed]:
    cluster = cluster_services.cluster_create(name="rationed", lifecycle_mode="simulate")
    with acting_controllers(cluster.pk):
        found = Rationed(served, cluster.name)
        quota = {"metadata": {"name": "limits"}, "spec": {"hard": HARD}}
        assert found.ask("POST", f"{SPACE}/resourcequotas", quota)[0] == 201
        found.wait_for(pods="0", requests_cpu="0")
        yield found


def test_quota_limits_what_is_there_and_gives_back_what_goes(rationed: Rationed) -> None:
    assert rationed.status()["hard"] == HARD
    assert rationed.make_pod("first", "600m")[0] == 201
    used = rationed.status()["used"]
    assert (used["pods"], used["requests.cpu"]) == ("1", "600m")
    code, refused = rationed.make_pod("second", "500m")
    assert (code, refused["reason"], refused["message"]) == (
        403,
        "Forbidden",
        'pods "second" is forbidden: exceeded quota: limits, requested: requests.cpu=500m, used: requests.cpu=600m,'
        " limited: requests.cpu=1",
    )
    assert rationed.ask("GET", f"{SPACE}/pods/second")[0] == 404
    assert rationed.make_pod("second", "400m")[0] == 201
    code, refused = rationed.make_pod("third", "0")
    assert code == 403 and "requested: pods=1, used: pods=2, limited: pods=2" in refused["message"]
    rationed.wait_for(pods="2", requests_cpu="1")
    assert rationed.ask("DELETE", f"{SPACE}/pods/first")[0] == 200
    rationed.wait_for(pods="1", requests_cpu="400m")
    assert rationed.make_pod("third", "600m")[0] == 201
    rationed.wait_for(pods="2", requests_cpu="1")


def test_quota_counts_objects_of_other_kinds(rationed: Rationed) -> None:
    def make(name: str) -> int:
        return rationed.ask("POST", f"{SPACE}/secrets", {"metadata": {"name": name}})[0]

    assert [make("one"), make("two")] == [201, 403]
    assert rationed.ask("DELETE", f"{SPACE}/secrets/one")[0] == 200
    rationed.wait_for(**{"count/secrets": "0"})
    assert make("two") == 201
