"""Why a pod was evicted: who had it deleted, and the search for victims of its record and made again."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from kschedweb.cluster.choices import LifecycleMode
from kschedweb.cluster.models import Change, Cluster, Event
from kschedweb.cluster.services import pod_delete, pod_evict, scheduler_config_set
from kschedweb.cluster.services.requests import object_delete
from kschedweb.lifecycle.runner import ControllerHost
from kschedweb.scheduling.models import Eviction
from kschedweb.scheduling.past import attempts, evicted
from kschedweb.scheduling.past.errors import HistoryCutError
from kschedweb.scheduling.runner import bindings
from kschedweb.traces.models import Attempt, EngineLog
from scheduler_core.preemption.criteria import PRIORITY_OFFSET
from tests.builders import make_manifest, make_node, make_pod, scheduler_config
from tests.web.rest import get, logged_in
from tests.web.scheduling.conftest import put, scheduled, settle
from tests.web.scheduling.extenders import ExtenderServer

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("patient_fence", "nothing_kept")]

SECOND = 1_000_000
START = 2_000_000_000 * SECOND
EARLY = "2030-01-01T00:00:00Z"


def asked(cluster: Cluster, name: str, query: str = "", status: int = 200) -> Any:
    return get(cluster, f"pods/default/{name}/evicted{query}", status)


def low(name: str, node: str, cpu: str, priority: int = 0) -> Any:
    """A pod as a dump has it: it keeps when it started. Without a grace period it is gone at once."""
    built = make_pod(name).req(cpu=cpu).on(node).created(EARLY).phase("Running").started(EARLY).priority(priority)
    return built.spec(terminationGracePeriodSeconds=0)


def from_cluster() -> Any:
    """A pod as a dump has it, which keeps its status."""
    return make_pod("it").req(cpu="1").on("n1").created(EARLY)


@pytest.fixture
def preempted(cluster: Cluster) -> Cluster:
    """`high` asks 3 of 4 cpu: n1 costs a violation, n2 a pod of priority 0, n3 one of priority 5, n4 nobody may leave.

    On n2 are four pods of 1 cpu, of which the most important is spared.
    """
    Cluster.objects.filter(pk=cluster.pk).update(lifecycle_mode=LifecycleMode.SIMULATE)
    scheduler = scheduled(
        cluster,
        make_manifest("PriorityClass", "high", value=100),
        *(make_node(f"n{number}").capacity(cpu="4", memory="8Gi", pods="20") for number in range(1, 5)),
        {"apiVersion": "policy/v1"} | make_manifest(
            "PodDisruptionBudget", "web", spec={"selector": {"matchLabels": {"app": "web"}}, "maxUnavailable": 0},
        ),
        low("guarded", "n1", "4").label(app="web"),
        low("kept", "n2", "1", 1),
        *(low(name, "n2", "1") for name in ("a", "b", "c")),
        low("dear", "n3", "4", 5),
        make_pod("equal").req(cpu="4").on("n4").spec(priorityClassName="high"),
    )  # fmt: skip
    put(cluster, make_pod("high").req(cpu="3").spec(priorityClassName="high"))
    settle(scheduler)
    for _ in range(10):
        if not bindings.evictions_run(cluster.pk):
            break
        settle(scheduler)
    bindings.bindings_run(cluster.pk)
    settle(scheduler)
    return cluster


def test_preempted_pod(preempted: Cluster) -> None:
    said = asked(preempted, "a")
    row = Attempt.objects.get(cluster=preempted, name="high", preemption__node="n2")
    entry = Change.objects.get(cluster_id=preempted.pk, kind="Pod", name="a", operation="deleted")
    assert (said["by"], said["node"], said["priority"], said["preemptor"]) == ("preempted", "n2", 0, "default/high")
    assert said["message"] == "default-scheduler: preempting to accommodate a higher priority pod"
    assert (said["entry"]["rv"], said["entry"]["actor"]) == (entry.rv, "scheduler")
    assert (datetime.fromisoformat(said["gone_at"]), said["is_cut"]) == (entry.at, False)
    assert said["difference"] is None
    found = said["preemption"]
    assert found["number"] == row.attempt
    assert (found["attempt"], found["node"], found["made_again"], found["priority"]) == (row.seq, "n2", True, 100)
    assert (found["potential"], found["candidates"], found["untried"], found["tied"]) == (4, 3, 0, 0)
    assert found["refusals"] == [{"reason": "No preemption victims found for incoming pod", "nodes": 1}]
    assert found["criterion"] == row.preemption["decided_by"] == "highest_priority"
    taken, *others = found["costs"]
    assert (taken["node"], taken["victims"], taken["falls_by"]) == ("n2", row.preemption["victims"], "")
    assert [(each["node"], each["falls_by"]) for each in others] == [
        ("n3", "highest_priority"),
        ("n1", "pdb_violations"),
    ]
    dear, guarded = others
    assert (dear["highest_priority"], taken["highest_priority"]) == (5, 0)
    assert (guarded["pdb_violations"], taken["pdb_violations"]) == (1, 0)
    assert taken["sum_of_priorities"] == 3 * PRIORITY_OFFSET
    assert taken["number_of_victims"] == len(taken["victims"]) == 3
    assert taken["latest_start"] == EARLY
    kept, *gone = found["pods"]
    assert (kept["pod"], kept["spared"], kept["status"], kept["priority"]) == ("default/kept", True, None, 1)
    assert [each["pod"] for each in gone] == ["default/a", "default/b", "default/c"]
    for each in gone:
        assert (each["spared"], each["alone"], each["needless"], each["violates"]) == (False, True, False, False)
        (about,) = each["amounts"]
        assert (about["subject"], about["asked"], about["there"]) == ("cpu", 3_000, 2_000)


def test_its_record_alone(preempted: Cluster) -> None:
    said = asked(preempted, "a", "?again=false")
    found = said["preemption"]
    assert (found["made_again"], found["pods"], found["priority"]) == (False, [], None)
    assert [each["node"] for each in found["costs"]][0] == "n2"
    assert {each["node"]: each["pdb_violations"] for each in found["costs"]} == {"n1": 1, "n2": 0, "n3": 0}
    assert {each["number_of_victims"] for each in found["costs"]} == {1, 3}
    whole = asked(preempted, "a")
    assert {key: value for key, value in said.items() if key != "preemption"} == {
        key: value for key, value in whole.items() if key != "preemption"
    }
    assert len(asked(preempted, "a", "?limit=1")["preemption"]["costs"]) == 1


def test_pod_is_the_newest_of_its_name_that_left_or_the_one_with_the_uid(preempted: Cluster) -> None:
    first = asked(preempted, "a", "?again=false")["uid"]
    put(preempted, make_pod("a", uid="second").req(cpu="1"))
    assert asked(preempted, "a", "?again=false")["uid"] == first
    pod_delete(cluster_id=preempted.pk, namespace="default", name="a", actor="ann", grace_seconds=0)
    said = asked(preempted, "a")
    assert (said["uid"], said["by"], said["entry"]["actor"], said["preemption"]) == ("second", "deleted", "ann", None)
    assert asked(preempted, "a", f"?uid={first}")["by"] == "preempted"
    assert asked(preempted, "a", "?uid=other", 404)["code"] == "not_found"


def test_pod_that_was_not_evicted(preempted: Cluster) -> None:
    assert asked(preempted, "kept", "", 404)["code"] == "not_found"
    assert asked(preempted, "nobody", "", 404)["code"] == "not_found"


def test_pod_that_is_still_leaving(cluster: Cluster) -> None:
    put(cluster, make_node("n1"), make_pod("slow").req(cpu="1").on("n1").phase("Running"))
    pod_evict(cluster_id=cluster.pk, namespace="default", name="slow", actor="ann")
    said = asked(cluster, "slow")
    assert (said["by"], said["entry"]["actor"], said["gone_at"]) == ("api", "ann", None)
    assert said["message"] == "Eviction API: evicting"


def test_pod_of_a_node_whose_taint_it_does_not_tolerate(cluster: Cluster) -> None:
    Cluster.objects.filter(pk=cluster.pk).update(lifecycle_mode=LifecycleMode.SIMULATE)
    put(cluster, make_node("n1").taint("k", "v", "NoExecute"), make_pod("it").req(cpu="1").on("n1").phase("Running"))
    controllers = ControllerHost.build(cluster.pk)
    for turn in range(4):
        controllers.step(START + turn * 60 * SECOND)
    said = asked(cluster, "it")
    assert (said["by"], said["preemptor"]) == ("taint", "")
    assert said["entry"]["actor"] == Change.objects.get(cluster_id=cluster.pk, rv=said["entry"]["rv"]).actor != "test"


def control(cluster: Cluster, turns: int = 8) -> None:
    """Let the controllers act for a minute each turn."""
    Cluster.objects.filter(pk=cluster.pk).update(lifecycle_mode=LifecycleMode.SIMULATE)
    controllers = ControllerHost.build(cluster.pk)
    for turn in range(turns):
        controllers.step(START + turn * 60 * SECOND)


def running(name: str) -> Any:
    return make_pod(name).req(cpu="1").on("n1").phase("Running").label(app="web")


def change(cluster: Cluster, name: str, **fields: Any) -> int:
    """Change a node as ann; the entry of the change."""
    answer = logged_in("ann").patch(f"/api/clusters/{cluster.pk}/nodes/{name}", fields, format="json")
    assert answer.status_code == 200, answer.content
    return Cluster.objects.get(pk=cluster.pk).rv


def test_taint_is_named_with_who_put_it_on_the_node(cluster: Cluster) -> None:
    waits = {"key": "k", "operator": "Equal", "value": "v", "effect": "NoExecute", "tolerationSeconds": 90}
    put(cluster, make_node("n1"), running("it"), running("patient").spec(tolerations=[waits]))
    put(cluster, make_node("n1").label(other="label"))
    planted = change(cluster, "n1", taints=[{"key": "k", "value": "v", "effect": "NoExecute"}])
    put(cluster, make_node("n2"))
    control(cluster)
    for name, seconds in (("it", None), ("patient", 90)):
        said = asked(cluster, name)
        cause = said["cause"]
        assert (said["by"], said["node"], said["entry"]["actor"]) == ("taint", "n1", "taint-eviction-controller")
        assert (cause["taint"], cause["seconds"], cause["actor"]) == ("k=v:NoExecute", seconds, "ann")
        assert (cause["rv"], cause["operation"], cause["is_cut"]) == (planted, "updated", False)


def test_taint_of_a_node_that_is_unreachable_is_that_of_the_node_controller(cluster: Cluster) -> None:
    Cluster.objects.filter(pk=cluster.pk).update(lifecycle_mode=LifecycleMode.SIMULATE)
    put(cluster, *(make_node(f"n{number}") for number in range(1, 5)), running("it"))  # of a zone that is well
    change(cluster, "n1", kubelet="partitioned")
    control(cluster, turns=20)
    said = asked(cluster, "it")
    assert (said["by"], said["cause"]["actor"], said["cause"]["seconds"]) == ("taint", "node-controller", 300)
    assert said["cause"]["taint"] == "node.kubernetes.io/unreachable:NoExecute"
    entry = Change.objects.get(cluster_id=cluster.pk, rv=said["cause"]["rv"])
    assert (entry.kind, entry.name, entry.actor) == ("Node", "n1", "node-controller")


def test_node_that_is_gone_is_named_with_who_deleted_it(cluster: Cluster) -> None:
    put(cluster, make_node("n1"), running("it"))
    object_delete(cluster_id=cluster.pk, kind="Node", namespace="", name="n1", actor="ann", grace_seconds=0)
    gone = Cluster.objects.get(pk=cluster.pk).rv
    control(cluster)
    said = asked(cluster, "it")
    assert (said["by"], said["cause"]["rv"], said["cause"]["actor"]) == ("podGC", gone, "ann")
    assert said["cause"]["operation"] == "deleted"


def test_drain_is_named_with_who_asked_for_it(cluster: Cluster) -> None:
    Cluster.objects.filter(pk=cluster.pk).update(lifecycle_mode=LifecycleMode.SIMULATE)
    put(cluster, make_node("n1"), running("it"))
    planted = change(cluster, "n1", drain=True)
    control(cluster)
    said = asked(cluster, "it")
    assert (said["by"], said["entry"]["actor"]) == ("api", "drain")
    assert (said["cause"]["rv"], said["cause"]["actor"], said["cause"]["taint"]) == (planted, "ann", "")


def test_eviction_is_told_with_the_budget_it_was_counted_against(cluster: Cluster) -> None:
    budget = {"apiVersion": "policy/v1"} | make_manifest(
        "PodDisruptionBudget", "web", spec={"selector": {"matchLabels": {"app": "web"}}, "maxUnavailable": 2},
        status={"disruptionsAllowed": 2, "currentHealthy": 3, "desiredHealthy": 1, "expectedPods": 3},
    )  # fmt: skip
    budget["metadata"] |= {"creationTimestamp": EARLY}
    pods = (running(name).condition("Ready", "True").created(EARLY) for name in ("it", "b", "c"))
    put(cluster, make_node("n1"), budget, *pods)
    pod_evict(cluster_id=cluster.pk, namespace="default", name="it", actor="ann")
    pod_evict(cluster_id=cluster.pk, namespace="default", name="b", actor="bob")
    for name, actor, left in (("it", "ann", 1), ("b", "bob", 0)):
        said = asked(cluster, name)
        assert (said["by"], said["entry"]["actor"], said["cause"]) == ("api", actor, None)
        assert said["budgets"] == [{"namespace": "default", "name": "web", "left": left}]


def searching(cluster: Cluster) -> None:
    """`high` asks 3 of 4 cpu: n1 costs a pod of priority 0, n2 one of 1, n3 one of 2."""
    nodes = [make_node(f"n{number}").capacity(cpu="4", memory="8Gi", pods="20") for number in range(1, 4)]
    pods = [low(f"low-{number}", f"n{number}", "4", number - 1) for number in range(1, 4)]
    scheduler = scheduled(cluster, make_manifest("PriorityClass", "high", value=100), *nodes, *pods)
    put(cluster, make_pod("high").req(cpu="3").spec(priorityClassName="high"))
    settle(scheduler)
    while bindings.evictions_run(cluster.pk):
        settle(scheduler)


def test_choice_among_what_extenders_left_is_compared(cluster: Cluster, extender: ExtenderServer) -> None:
    def leave(question: dict[str, Any]) -> Any:
        found = question["NodeNameToVictims"]
        uids = {name: [{"UID": pod["metadata"]["uid"]} for pod in each["Pods"]] for name, each in found.items()}
        return {"NodeNameToMetaVictims": {name: {"Pods": uids[name], "NumPDBViolations": 0} for name in ("n3", "n2")}}

    extender.answers["/preempt"] = leave
    content = scheduler_config(extenders=[{"urlPrefix": extender.url, "preemptVerb": "preempt"}]).encode()
    scheduler_config_set(cluster_id=cluster.pk, content=content, actor="test")
    searching(cluster)
    said = asked(cluster, "low-2")
    found = said["preemption"]
    assert (said["by"], said["difference"], found["asks_extenders"], found["made_again"]) == (
        "preempted", None, True, True,
    )  # fmt: skip
    assert (found["node"], found["criterion"]) == ("n2", "highest_priority")
    assert [(each["node"], each["falls_by"], each["left_out"]) for each in found["costs"]] == [
        ("n2", "", False), ("n3", "highest_priority", False), ("n1", "", True),
    ]  # fmt: skip
    assert [each["pod"] for each in found["pods"]] == ["default/low-2"]


def test_pod_that_came_as_one_that_leaves(cluster: Cluster) -> None:
    put(cluster, make_node("n1"), from_cluster().deleted())
    said = asked(cluster, "it")
    assert (said["by"], said["entry"]["operation"], said["entry"]["actor"], said["is_cut"]) == (
        "deleted", "created", "test", False,
    )  # fmt: skip
    Change.objects.filter(cluster_id=cluster.pk, name="it").update(operation="updated")
    assert asked(cluster, "it")["is_cut"] is True


def test_condition_that_was_taken_back_says_nothing(cluster: Cluster) -> None:
    put(cluster, make_node("n1"), from_cluster().condition("DisruptionTarget", "True", reason="X"))
    assert asked(cluster, "it")["by"] == "deleted"
    put(cluster, from_cluster().condition("DisruptionTarget", "False", reason="X"))
    asked(cluster, "it", "", 404)
    pod_delete(cluster_id=cluster.pk, namespace="default", name="it", actor="ann", grace_seconds=0)
    assert asked(cluster, "it")["entry"]["actor"] == "ann"


def test_preemptor_is_known_before_the_engine_tells_of_it(preempted: Cluster) -> None:
    EngineLog.objects.filter(cluster=preempted, kind="event").delete()
    assert asked(preempted, "a")["preemptor"] == "default/high"
    with_event = asked(preempted, "b")
    Event.objects.filter(cluster=preempted).delete()
    assert asked(preempted, "b") == with_event
    Eviction.objects.filter(cluster=preempted).delete()
    said = asked(preempted, "b")
    assert (said["by"], said["preemptor"], said["preemption"]) == ("preempted", "", None)


def test_what_comes_out_otherwise_is_told(preempted: Cluster) -> None:
    Attempt.objects.filter(cluster=preempted, name="high").update(message="other")
    said = asked(preempted, "a")
    assert (said["difference"]["field"], said["preemption"]["made_again"]) == ("message", False)


def test_second_run_that_says_otherwise_is_told(preempted: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    found = evicted.pod_evicted(cluster_id=preempted.pk, namespace="default", name="a").preempting
    assert found is not None and found.found is not None
    other = replace(found.found, decided_by="latest_start")
    monkeypatch.setattr(evicted, "attempt_evicting", lambda **_: (other, None))
    said = asked(preempted, "a")
    assert said["difference"]["field"] == "node and criterion"
    assert "latest_start" in said["difference"]["replayed"]


def test_moment_that_is_gone(preempted: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(*_: Any, **__: Any) -> Any:
        raise HistoryCutError(5, 9)

    monkeypatch.setattr(attempts, "_before", cut)
    assert asked(preempted, "a", "", 410)["code"] == "gone"
    assert asked(preempted, "a", "?again=false")["by"] == "preempted"
