"""What a node adds up for a pod is worked out once per signature, and is right whoever was seen before."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from scheduler_core.api.pod import ContainerStatus, ContainerStatusResources, Pod
from scheduler_core.api.quantity import parse
from scheduler_core.lru import LruDict
from scheduler_core.model import types
from scheduler_core.model.types import PodInfo
from tests.builders import make_pod
from tests.cases import cases

replace = msgspec.structs.replace


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(types, "_known_pods", {})


def full(name: str) -> Pod:
    pod = make_pod(name).req({"example.com/gpu": "2"}, cpu="1", memory="1Gi").host_port(80).claim_volume("c")
    return pod.pod_affinity("zone", {"a": "b"}).pod_affinity("zone", {"a": "b"}, anti=True).build()


def test_twins_share_what_is_worked_out_but_the_pod() -> None:
    first, second = PodInfo.of(full("a")), PodInfo.of(full("b").on_node("n"))
    assert (first.pod.name, second.pod.name) == ("a", "b")
    for name in ("request", "host_ports", "claim_keys", "kind", "terms"):
        assert getattr(first, name) is getattr(second, name), name
    assert replace(second, pod=first.pod) == first


def _resized(pod: Pod) -> Pod:
    running = ContainerStatusResources(requests={"cpu": parse("3")})
    status = ContainerStatus(name=pod.spec.containers[0].name, resources=running)
    return replace(pod, status=replace(pod.status, container_statuses=(status,)))


def _in_another_namespace(pod: Pod) -> Pod:
    return replace(pod, metadata=replace(pod.metadata, namespace="other"))


@cases(
    "change, fields",
    ("a resize under way counts", _resized, {"request", "non_zero_milli_cpu"}),
    ("claims, kind and terms have the namespace", _in_another_namespace, {"claim_keys", "kind", "terms"}),
)
def test_another_signature_is_worked_out_anew(change: Callable[[Pod], Pod], fields: set[str]) -> None:
    first, second = PodInfo.of(full("a")), PodInfo.of(change(full("a")))
    differing = {name for name in PodInfo.__struct_fields__ if getattr(first, name) != getattr(second, name)}
    assert differing == fields | {"pod"}


def test_what_is_known_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(types, "_known_pods", LruDict(4))
    infos = [PodInfo.of(make_pod("p").req(cpu=f"{number + 1}m").build()) for number in range(11)]
    assert [info.request.milli_cpu for info in infos] == list(range(1, 12))
    assert len(types._known_pods) <= 4
