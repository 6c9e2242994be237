"""Which of several pods of a DaemonSet on one node go."""

from __future__ import annotations

from scheduler_core.api.pod import Pod
from scheduler_core.api.workload import DaemonSet
from scheduler_core.controllers.workloads.daemon_rollout import surplus
from scheduler_core.controllers.workloads.revisions import REVISION_HASH
from tests.builders import make, make_pod

NOW = 1_893_456_000_000_000


def owner(surge: int) -> DaemonSet:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": 1 - surge}}
    made: DaemonSet = make("DaemonSet", "d", spec={"updateStrategy": strategy})
    return made


def pod(name: str, revision: str, *, ready: bool, node: str = "n") -> Pod:
    condition = {"type": "Ready", "status": str(ready), "lastTransitionTime": "2029-12-31T00:00:00Z"}
    made = make_pod(name).label({REVISION_HASH: revision}).status(conditions=[condition])
    return (made.on(node) if node else made).build()


def gone(*pods: Pod, surge: int = 1) -> list[str]:
    return [one.name for one in surplus(owner(surge), pods, "new", NOW)]


def test_old_pod_goes_when_the_new_one_is_there_or_it_is_of_no_use() -> None:
    assert gone(pod("a", "old", ready=True), pod("b", "new", ready=False)) == []
    assert gone(pod("a", "old", ready=True), pod("b", "new", ready=True)) == ["a"]
    assert gone(pod("a", "old", ready=False), pod("b", "new", ready=False)) == ["a"]


def test_pod_that_has_its_node_stays() -> None:
    waiting, there = pod("a", "old", ready=False, node=""), pod("b", "old", ready=True)
    assert gone(waiting, there, surge=0) == ["a"]
