"""The API at a moment of the past over a connection, and kubectl that shows it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from kschedweb.cluster.models import Cluster
from kschedweb.kubeapi.defined import may_tell_of_kinds
from tests.cases import cases
from tests.web.kubeapi.conftest import Served
from tests.web.kubeapi.kubectl import NEEDS_KUBECTL, Kubectl
from tests.web.kubeapi.test_watch import commit, told
from tests.web.kubeapi.test_watch import watch as watched

pytestmark = pytest.mark.django_db

MAPS = "/api/v1/namespaces/default/configmaps"
ROOT = "kube-root-ca.crt"


def position(served: Served) -> str:
    commit()
    found = Cluster.objects.get(pk=served.cluster_id)
    return f"{found.rv}.{found.seq}"


def make(served: Served, name: str, **labels: str) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}, "data": {"k": "v"}}
    answer = served.send("POST", MAPS, body)
    assert answer.status == 201, answer.body


def names(answer: Any) -> list[str]:
    assert answer.status == 200, answer.body
    return [each["metadata"]["name"] for each in json.loads(answer.body)["items"] if each["metadata"]["name"] != ROOT]


def test_past_has_kinds_that_scheduling_does_not_read(served: Served) -> None:
    roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    body = {"metadata": {"name": "system:otter"}, "rules": [{"verbs": ["get"], "nonResourceURLs": ["/"]}]}
    made = served.send("POST", roles, body)
    assert made.status == 201 and "grants nothing" in made.headers["warning"]
    at = position(served)
    assert served.ask("DELETE", f"{roles}/system:otter").status == 200
    assert names(served.ask("GET", roles)) == [] and names(served.ask("GET", f"/at/{at}{roles}")) == ["system:otter"]


@cases(
    "path, waits",
    ("all groups", "/apis", True),
    ("all documents", "/openapi/v3", True),
    ("a group of the cluster", "/apis/otters.example", True),
    ("a version of it", "/apis/otters.example/v1", True),
    ("its document", "/openapi/v3/apis/otters.example/v1", True),
    ("a group of Kubernetes", "/apis/apps", False),
    ("a version of one", "/apis/apps/v1", False),
    ("the core group", "/api/v1", False),
    ("a document of Kubernetes", "/openapi/v3/apis/apps/v1", False),
    ("that of the core group", "/openapi/v3/api/v1", False),
    ("a version of the service", "/version", False),
)
def test_only_what_tells_of_kinds_of_the_cluster_waits_for_its_moment(path: str, waits: bool) -> None:
    assert may_tell_of_kinds(path) is waits


def test_past_is_served_beside_the_present(served: Served) -> None:
    make(served, "a", app="x")
    make(served, "b", app="y")
    at = position(served)
    then = f"/at/{at}{MAPS}"
    make(served, "c", app="x")
    served.ask("DELETE", f"{MAPS}/a")
    listed = served.ask("GET", then)
    assert names(listed) == ["a", "b"] and names(served.ask("GET", MAPS)) == ["b", "c"]
    assert listed.headers["ksched-position"] == at
    version = json.loads(listed.body)["metadata"]["resourceVersion"]
    assert served.get(f"{then}?limit=1")["metadata"]["resourceVersion"] == version
    assert names(served.ask("GET", f"{then}?labelSelector=app%3Dx", token=served.viewer)) == ["a"]
    assert names(served.ask("GET", f"{then}?fieldSelector=metadata.name%3Db")) == ["b"]
    assert served.ask("GET", f"{then}/c").status == 404 and served.ask("GET", f"{then}/a").status == 200
    assert served.get(then, Accept="application/json;as=Table;v=v1;g=meta.k8s.io")["kind"] == "Table"
    assert served.ask("GET", f"/at/{at}/apis").status == 200
    with watched(served, f"{then}?watch=1&timeoutSeconds=1&resourceVersion={version}") as response:
        assert response.read() == b""
    with watched(served, f"{then}?watch=1&timeoutSeconds=1&fieldSelector=metadata.name!={ROOT}") as response:
        assert told(response, 2) == [("ADDED", "a"), ("ADDED", "b")] and response.read() == b""
    refused = served.ask("DELETE", f"{then}/a")
    assert (refused.status, json.loads(refused.body)["kind"]) == (405, "Status")
    assert served.ask("GET", f"/at/{at}{MAPS}", token="nobody's").status == 401
    assert served.ask("GET", f"/at/{MAPS}").status == 400  # no position at all


def test_who_may_write_is_asked_of_the_past(served: Served) -> None:
    for verb, allowed in (("list", True), ("create", False)):
        body = {"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1",
                "spec": {"resourceAttributes": {"verb": verb, "resource": "pods"}}}  # fmt: skip
        path = f"/at/{position(served)}/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        answer = served.send("POST", path, body)
        assert json.loads(answer.body)["status"]["allowed"] is allowed


@NEEDS_KUBECTL
def test_kubectl_shows_the_past(served: Served, tmp_path: Path) -> None:
    make(served, "then")
    at = position(served)
    make(served, "later")
    kubectl = Kubectl.made(tmp_path, f"{served.url}/at/{at}", str(served.web.certificate), served.viewer)
    shown = kubectl("get", "configmaps").stdout
    assert "then" in shown and "later" not in shown and "DATA" in shown
    assert yaml.safe_load(kubectl("get", "configmap", "then", "-o", "yaml").stdout)["data"] == {"k": "v"}
    assert "later" not in kubectl("get", "cm", "-A", "--chunk-size=1", "-o", "name").stdout
    assert "k:" in kubectl("describe", "configmap", "then").stdout
    refused = kubectl("delete", "configmap", "then", code=1).stderr
    assert "is only read" in refused or "forbidden" in refused
    ahead = Kubectl.made(tmp_path, f"{served.url}/at/999999.1", str(served.web.certificate), served.viewer)
    assert "has not come yet" in ahead("get", "configmaps", code=1).stderr
