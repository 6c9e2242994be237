"""Terminal pods go by number and by age, and nothing else goes."""

from __future__ import annotations

from scheduler_core.api.meta import ObjectMeta
from scheduler_core.api.pod import Pod, PodStatus
from scheduler_core.apiserver.requests import Delete, Request
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.pod_gc import PodGC
from scheduler_core.model.changes import ObjectDeleted, ObjectPut

SECOND = 1_000_000
CLUSTER = ClusterOptions()


def over(name: str, phase: str = "Succeeded", uid: str = "") -> ObjectPut:
    meta = ObjectMeta(name=name, namespace="shop", uid=uid or f"uid-{name}")
    return ObjectPut(Pod(metadata=meta, status=PodStatus(phase=phase)))


def names(requests: list[Request]) -> list[str]:
    return [each.key.name for each in requests if isinstance(each, Delete)]


def test_oldest_pods_go_when_there_are_too_many() -> None:
    gc = PodGC(CLUSTER, keep=2)
    assert names(gc.step(0, [over("a"), over("b", "Failed")])) == []
    assert names(gc.step(1, [over("c"), over("d")])) == ["a", "b"]
    assert names(gc.step(2, [])) == []


def test_pods_go_when_they_are_old_enough() -> None:
    gc = PodGC(CLUSTER, keep_us=10 * SECOND)
    gc.step(0, [over("a")])
    gc.step(3 * SECOND, [over("b"), over("a")])
    assert gc.next_due() == 10 * SECOND
    assert names(gc.step(10 * SECOND, [])) == ["a"]
    assert gc.next_due() == 13 * SECOND


def test_running_pods_stay() -> None:
    gc = PodGC(CLUSTER, keep=0)
    assert gc.step(0, [over("a", "Running"), over("b", "Pending")]) == []
    assert gc.next_due() is None


def test_pod_removed_by_somebody_else_does_not_count() -> None:
    gc = PodGC(CLUSTER, keep=1)
    gc.step(0, [over("a")])
    assert names(gc.step(1, [ObjectDeleted("Pod", "shop", "a"), over("b")])) == []


def test_namesake_counts_from_its_own_end() -> None:
    gc = PodGC(CLUSTER, keep_us=10)
    gc.step(0, [over("a", uid="1")])
    gc.step(8, [over("a", uid="2")])
    assert gc.step(10, []) == []
    assert gc.next_due() == 18


def test_pod_that_runs_again_has_not_ended() -> None:
    gc = PodGC(CLUSTER, keep_us=10)
    gc.step(0, [over("a")])
    gc.step(5, [over("a", "Running")])
    assert gc.step(10, []) == [] and gc.next_due() is None
