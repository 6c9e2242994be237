"""Every namespace gets its default ServiceAccount and ConfigMap, and gets them back."""

from __future__ import annotations

from scheduler_core.api.workload import Namespace
from scheduler_core.apiserver.answers import Outcome
from scheduler_core.apiserver.requests import Create, ObjectKey, Patch, Request
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.service_accounts import DATA, ServiceAccounts
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut
from tests.builders import make
from tests.core.apiserver.asking import empty_server

NOW = 1_893_456_000_000_000
WANTED = [("ServiceAccount", "a", "default"), ("ConfigMap", "a", "kube-root-ca.crt")]


def put(kind: str, name: str, namespace: str = "", **fields: object) -> Change:
    return ObjectPut(make(kind, name, namespace=namespace, metadata={"uid": f"{kind}-{name}"}, **fields))


def told(requests: list[Request]) -> list[tuple[str, str, str]]:
    found = []
    for request in requests:
        assert isinstance(request, Create)
        metadata = request.manifest["metadata"]
        found.append((request.manifest["kind"], metadata["namespace"], metadata["name"]))
    return found


def test_a_new_namespace_gets_both_and_the_api_server_takes_them() -> None:
    controller = ServiceAccounts(ClusterOptions())
    requests = controller.step(NOW, [put("Namespace", "a")])
    assert told(requests) == WANTED
    assert all(isinstance(answer, Outcome) for answer in empty_server().carry_out(requests, NOW))
    assert controller.next_due() is None


def test_a_certificate_that_was_emptied_is_written_again() -> None:
    controller = ServiceAccounts(ClusterOptions())
    own = put("ConfigMap", "kube-root-ca.crt", "a", data={"ca.crt": "imported"})
    assert controller.step(NOW, [put("Namespace", "a"), put("ServiceAccount", "default", "a"), own]) == []
    emptied = put("ConfigMap", "kube-root-ca.crt", "a", data={"ca.crt": ""})
    key = ObjectKey("ConfigMap", "a", "kube-root-ca.crt")
    assert controller.step(NOW, [emptied]) == [Patch(key, {"data": DATA}, uid="ConfigMap-kube-root-ca.crt")]
    gone = ObjectDeleted("ConfigMap", "a", "kube-root-ca.crt", "u")
    assert told(controller.step(NOW, [emptied, gone])) == WANTED[1:]


def test_what_is_there_is_left_alone_and_comes_back_when_deleted() -> None:
    controller = ServiceAccounts(ClusterOptions())
    certificate = put("ConfigMap", "kube-root-ca.crt", "a", data=DATA)
    there = [put("ServiceAccount", "default", "a"), certificate, put("Namespace", "a")]
    assert controller.step(NOW, there) == []
    assert controller.step(NOW, [put("ServiceAccount", "other", "a")]) == []
    gone = ObjectDeleted("ServiceAccount", "a", "default", "u")
    assert told(controller.step(NOW, [gone])) == WANTED[:1]


def test_a_namespace_that_goes_gets_nothing() -> None:
    controller = ServiceAccounts(ClusterOptions())
    assert controller.step(NOW, [put("Namespace", "a", status={"phase": "Terminating"})]) == []
    assert controller.step(NOW, [ObjectDeleted("ConfigMap", "a", "kube-root-ca.crt", "u")]) == []
    controller.step(NOW, [put("Namespace", "b")])
    deleted = ObjectDeleted(Namespace.kind, "", "b", "u")
    assert controller.step(NOW, [deleted, ObjectDeleted("ServiceAccount", "b", "default", "u")]) == []
