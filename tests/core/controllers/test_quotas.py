"""Quotas are counted when they come, and again when what they limit changes or goes."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.api.manifests import decode
from scheduler_core.apiserver.answers import Outcome, Refused
from scheduler_core.apiserver.memory import MemoryStore
from scheduler_core.apiserver.requests import CountQuota, Create, Delete, ObjectKey, Patch, PatchType, Request
from scheduler_core.apiserver.server import ApiServer
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.quotas import DELAY_US, QuotaController
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut
from tests.builders import written
from tests.core.apiserver.asking import empty_server
from tests.core.apiserver.custom_samples import DENS, RIVERS, den, river

NOW = 1_893_456_000_000_000
QUOTA = ObjectKey("ResourceQuota", "a", "q")
COUNT = CountQuota(QUOTA, "quota-q")


def pod(name: str, cpu: str = "1", **spec: Any) -> dict[str, Any]:
    resources = {"requests": {"cpu": cpu}}
    whole = {"containers": [{"name": "c", "image": "i", "resources": resources}], **spec}
    return written("Pod", name, namespace="a", spec=whole)


def quota(hard: dict[str, str], **spec: Any) -> dict[str, Any]:
    return written("ResourceQuota", "q", namespace="a", spec={"hard": hard, **spec})


def den_in(name: str) -> dict[str, Any]:
    return {**den(), "metadata": {"name": name, "namespace": "a"}}


def put(manifest: dict[str, Any], **metadata: Any) -> Change:
    uid = f"{manifest['kind'].removeprefix('Resource').lower()}-{manifest['metadata']['name']}"
    return ObjectPut(decode({**manifest, "metadata": {"uid": uid, **manifest["metadata"], **metadata}}))


@pytest.fixture
def server() -> ApiServer[MemoryStore]:
    return empty_server()


def done(server: ApiServer[MemoryStore], *requests: Request) -> list[Any]:
    answers = server.carry_out(requests, NOW)
    assert all(isinstance(answer, Outcome) for answer in answers), answers
    return answers


def status(server: ApiServer[MemoryStore]) -> Any:
    done(server, CountQuota(QUOTA))
    stored = server.store.get(QUOTA)
    assert stored is not None
    return stored["status"]


def test_a_new_quota_is_counted_at_once_and_again_when_it_limits_something_else() -> None:
    controller = QuotaController(ClusterOptions())
    assert controller.step(NOW, [put(quota({"pods": "2"}))]) == [COUNT]
    charged = put({**quota({"pods": "2"}), "status": {"hard": {"pods": "2"}, "used": {"pods": "1"}}})
    assert controller.step(NOW, [charged]) == [] and controller.next_due() is None
    assert controller.step(NOW, [put(quota({"pods": "3"}))]) == [COUNT]


def test_what_changes_in_a_namespace_with_quotas_is_counted_together_a_little_later() -> None:
    controller = QuotaController(ClusterOptions())
    controller.step(NOW, [put(quota({"pods": "2"}))])
    assert controller.step(NOW + 1, [put(pod("p")), put(pod("o"))]) == []
    assert controller.next_due() == NOW + 1 + DELAY_US
    assert controller.step(NOW + 2, [ObjectDeleted("Pod", "a", "p")]) == []
    assert controller.step(NOW + 1 + DELAY_US, []) == [COUNT]
    assert controller.next_due() is None


def test_status_of_a_pod_counts_only_when_the_pod_ends() -> None:
    controller = QuotaController(ClusterOptions())
    controller.step(NOW, [put(quota({"pods": "2"})), put(pod("p"))])
    controller.step(NOW + DELAY_US, [])
    controller.step(NOW + DELAY_US, [put({**pod("p"), "status": {"phase": "Running"}})])
    assert controller.next_due() is None
    controller.step(NOW + DELAY_US, [put({**pod("p"), "status": {"phase": "Succeeded"}})])
    assert controller.next_due() == NOW + 2 * DELAY_US


def test_namespaces_without_quotas_are_not_looked_at() -> None:
    controller = QuotaController(ClusterOptions())
    controller.step(NOW, [put(quota({"pods": "2"})), ObjectDeleted("ResourceQuota", "a", "q")])
    assert controller.step(NOW, [put(pod("p")), ObjectDeleted("Pod", "a", "p")]) == []
    assert controller.next_due() is None


def test_a_count_has_what_is_there_and_limits_from_then_on(server: ApiServer[MemoryStore]) -> None:
    done(server, Create(pod("p")), Create(quota({"pods": "2", "requests.cpu": "2", "count/secrets": "1"})))
    hard = {"pods": "2", "requests.cpu": "2", "count/secrets": "1"}
    assert status(server) == {"hard": hard, "used": {"count/secrets": "0", "pods": "1", "requests.cpu": "1"}}
    (refused,) = server.carry_out([Create(pod("o", cpu="1500m"))], NOW)
    assert isinstance(refused, Refused) and "exceeded quota: q, requested: requests.cpu=1500m" in refused.status.message
    done(server, Create(pod("o")))
    assert status(server)["used"]["pods"] == "2"
    done(server, Delete(ObjectKey("Pod", "a", "p"), grace_seconds=0))
    assert status(server)["used"] == {"count/secrets": "0", "pods": "1", "requests.cpu": "1"}


def test_a_count_sees_what_the_requests_before_it_did(server: ApiServer[MemoryStore]) -> None:
    done(server, Create(pod("p")), Create(quota({"pods": "2"})))
    done(server, Create(pod("o")), Delete(ObjectKey("Pod", "a", "p"), grace_seconds=0), CountQuota(QUOTA))
    stored = server.store.get(QUOTA)
    assert stored is not None and stored["status"]["used"] == {"pods": "1"}


def test_a_count_that_changes_nothing_writes_nothing(server: ApiServer[MemoryStore]) -> None:
    done(server, Create(quota({"pods": "2"})), CountQuota(QUOTA))
    assert done(server, CountQuota(QUOTA))[0].changes == ()
    (gone,) = server.carry_out([CountQuota(QUOTA, "another")], NOW)
    assert isinstance(gone, Refused) and gone.status.code == 404


def test_pods_that_ended_and_other_scopes_are_not_counted(server: ApiServer[MemoryStore]) -> None:
    done(server, Create(pod("p")), Create(pod("bounded", activeDeadlineSeconds=5)))
    done(server, Create(quota({"pods": "9"}, scopes=["Terminating"])))
    assert status(server)["used"] == {"pods": "1"}
    ended = {"status": {"phase": "Succeeded"}}
    done(server, Patch(ObjectKey("Pod", "a", "bounded"), ended, PatchType.MERGE, "status"))
    assert status(server)["used"] == {"pods": "0"}


def test_what_nothing_counts_keeps_what_was_written(server: ApiServer[MemoryStore]) -> None:
    done(server, Create(quota({"pods": "9", "example.com/things": "3"})))
    assert status(server)["used"] == {"pods": "0"}
    used = {"status": {"used": {"example.com/things": "2", "pods": "5"}}}
    done(server, Patch(QUOTA, used, PatchType.MERGE, "status"))
    assert status(server)["used"] == {"example.com/things": "2", "pods": "0"}


def test_objects_of_a_kind_that_the_cluster_defines_are_counted(server: ApiServer[MemoryStore]) -> None:
    name = "count/dens.otters.example"
    done(server, Create(DENS))
    done(server, Create(den_in("a")), Create(quota({name: "2", "count/otters.other": "1"})))
    (early,) = server.carry_out([Create(den_in("b"))], NOW)
    assert isinstance(early, Outcome), "what nobody has counted limits nothing"
    done(server, Delete(ObjectKey("Den.otters.example", "a", "b")))
    assert status(server)["used"] == {name: "1"}
    done(server, Create(den_in("b")))
    stored = server.store.get(QUOTA)
    assert stored is not None and stored["status"]["used"] == {name: "2"}
    (refused,) = server.carry_out([Create(den_in("c"))], NOW)
    assert isinstance(refused, Refused) and refused.status.code == 403
    assert refused.status.message == (
        'dens.otters.example "c" is forbidden: exceeded quota: q,'
        f" requested: {name}=1, used: {name}=2, limited: {name}=2"
    )
    done(server, Patch(ObjectKey("Den.otters.example", "a", "b"), {"spec": {"depth": 3}}, PatchType.MERGE))
    done(server, Delete(ObjectKey("Den.otters.example", "a", "b")))
    assert status(server)["used"] == {name: "1"}
    done(server, Delete(ObjectKey("CustomResourceDefinition", "", "dens.otters.example")))
    assert status(server)["used"] == {name: "0"}, "they go with their definition"


def test_objects_without_a_namespace_are_counted_by_no_quota(server: ApiServer[MemoryStore]) -> None:
    done(server, Create(RIVERS))
    done(server, Create(river()))
    done(server, Create(quota({"pods": "1", "count/rivers.otters.example": "1"})))
    assert status(server)["used"] == {"pods": "0"}


def test_quotas_are_counted_when_a_kind_is_defined() -> None:
    controller = QuotaController(ClusterOptions())
    assert controller.step(NOW, [put(quota({"count/dens.otters.example": "1"}))]) == [COUNT]
    defined = ObjectPut(decode({**DENS, "metadata": {**DENS["metadata"], "uid": "dens"}}))
    assert controller.step(NOW, [defined]) == [] and controller.next_due() == NOW + DELAY_US
    assert controller.step(NOW + DELAY_US, []) == [COUNT]
