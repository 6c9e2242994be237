"""Conditions DisruptionTarget are taken back when nothing came of them."""

from __future__ import annotations

from typing import Any

from scheduler_core.api.times import time_text
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.stale_disruptions import STALE_US, StaleDisruptions
from scheduler_core.model.changes import ObjectDeleted, ObjectPut
from tests.builders import make_pod
from tests.cases import cases
from tests.core.controllers.simulation import START, Simulation, pod

REASON = "EvictionByEvictionAPI"


def announced(
    at: int, *, status: str = "True", reason: str = REASON, is_deleted: bool = False, **of_status: Any
) -> ObjectPut:
    condition = {"type": "DisruptionTarget", "status": status, "reason": reason, "lastTransitionTime": time_text(at)}
    pod = make_pod("p").on("n").status(conditions=[condition], **of_status)
    return ObjectPut((pod.deleted() if is_deleted else pod).build())


def test_condition_goes_after_two_minutes() -> None:
    cluster = Simulation(1)
    cluster.begin(pod("p", app="a"), 5)
    condition = {"type": "DisruptionTarget", "status": "True", "reason": REASON, "message": "Eviction API: evicting"}
    condition["lastTransitionTime"] = time_text(cluster.world.now)
    cluster.patch("Pod", "p", {"status": {"conditions": [condition]}}, subresource="status")
    cluster.run(119)

    def found() -> dict[str, Any]:
        conditions = cluster.get("Pod", "p")["status"]["conditions"]
        return next(one for one in conditions if one["type"] == "DisruptionTarget")

    assert found()["status"] == "True"
    cluster.run(2)
    assert found() == {
        "type": "DisruptionTarget", "status": "False",
        "lastTransitionTime": "2030-01-01T00:02:05Z", "lastProbeTime": None,
    }  # fmt: skip
    assert len(cluster.get("Pod", "p")["status"]["conditions"]) == 6
    before = cluster.version
    cluster.restart()
    cluster.run(3600)
    assert cluster.version == before


@cases(
    "change",
    ("taken back", announced(START, status="False")),
    ("of the kubelet", announced(START, reason="TerminationByKubelet")),
    ("ended", announced(START, phase="Failed")),
    ("being deleted", announced(START, is_deleted=True)),
    ("gone", ObjectDeleted("Pod", "default", "p", "default-p")),
)
def test_nothing_is_taken_back(change: ObjectPut | ObjectDeleted) -> None:
    for before in ([], [announced(START)]):
        controller = StaleDisruptions(ClusterOptions())
        assert controller.step(START, [*before, change]) == [] and controller.next_due() is None


def test_one_that_is_stale_already_goes_at_once() -> None:
    assert len(StaleDisruptions(ClusterOptions()).step(START + 2 * STALE_US, [announced(START)])) == 1
