"""File 004, gates, the framework's points, priority and preemption: one test per row of its coverage."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from scheduler_core.config.types import PluginEntry, PluginSet
from scheduler_core.errors import AdmissionError
from scheduler_core.framework.answers import ClusterEventWithHint, QueueingHint
from scheduler_core.model.changes import ObjectDeleted, PermitVerdict
from scheduler_core.model.events import NODE_ADD
from scheduler_core.model.status import SUCCESS, WAIT, Status
from tests.builders import PodBuilder, make, make_manifest, make_node, make_pod
from tests.cases import cases
from tests.core.admission.context import create, update
from tests.core.scheduler.harness import (
    NO_CYCLES,
    SECOND,
    BindingPlugin,
    Cluster,
    EveryPointPlugin,
    FilteringPlugin,
    ScoringPlugin,
    ToldPlugins,
    profile,
    start,
)

UID = "pod-default/pod"
Manifest = dict[str, Any]


def one_node(cluster: Cluster | None = None, cpu: str = "2") -> Cluster:
    cluster = cluster or start()
    cluster.put(make_node("n").capacity(cpu=cpu).build())
    return cluster


def running(name: str, cpu: str = "1", priority: int = 0, node: str = "n") -> PodBuilder:
    return make_pod(name).req(cpu=cpu).on(node).phase("Running").priority(priority)


def victims(cluster: Cluster, pod: PodBuilder) -> tuple[str, list[str]]:
    """The node nominated, and who is asked to leave at last."""
    attempt = cluster.attempt(pod.build())
    assert attempt.post_filter is not None and attempt.post_filter.preemption is not None
    record = attempt.post_filter.preemption
    return record.chosen, sorted(key.removeprefix("default/") for key in record.victims)


# Scheduling gates


def test_004_scheduling_gates() -> None:
    """scheduling readiness: gates, removal only, SchedulingGated"""
    admitted = create(make_pod("p", uid="").container(image="x").gate("a", "b").manifest())
    (condition,) = admitted["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("PodScheduled", "False", "SchedulingGated")
    fewer, more = copy.deepcopy(admitted), copy.deepcopy(admitted)
    fewer["spec"]["schedulingGates"] = [{"name": "b"}]
    more["spec"]["schedulingGates"].append({"name": "c"})
    update(admitted, fewer)
    with pytest.raises(AdmissionError, match="only deletion is allowed, but found new scheduling gate 'c'"):
        update(admitted, more)
    cluster = one_node()
    assert cluster.step(make_pod("p").gate("a").build()).attempts == []
    assert cluster.attempt(make_pod("p").build()).node_name == "n"


def test_004_pending_pods_gated() -> None:
    """pending_pods{queue="gated"}"""
    cluster = one_node()
    cluster.put(make_pod("p").gate("a").build())
    queue = cluster.scheduler.engine.queue
    assert queue.pending()["gated"] == 1
    cluster.put(make_pod("p").build())
    assert (queue.pending()["gated"], queue.pending()["active"]) == (0, 1)


EXISTS = {"operator": "Exists"}


@cases(
    "change, allowed",
    ("selector gains", lambda spec: spec["nodeSelector"].update(zone="a"), True),
    ("selector loses", lambda spec: spec["nodeSelector"].clear(), False),
    ("selector changes", lambda spec: spec["nodeSelector"].update(disk="tape"), False),
    ("term gains", lambda spec: _terms(spec)[0]["matchExpressions"].append({"key": "b", **EXISTS}), True),
    ("one more term widens", lambda spec: _terms(spec).append({"matchExpressions": [{"key": "b", **EXISTS}]}), False),
    ("affinity goes", lambda spec: spec["affinity"].clear(), False),
)  # fmt: skip
@pytest.mark.parametrize("gated", [True, False], ids=["gated", "ready"])
def test_004_directives_while_gated(change: Callable[[Manifest], object], allowed: bool, gated: bool) -> None:
    """mutable directives when gated (tighten only)"""
    pod = make_pod("p", uid="").container(image="x").node_selector(disk="ssd")
    pod.required_node_affinity({"matchExpressions": [{"key": "a", **EXISTS}]})
    old = create((pod.gate("g") if gated else pod).manifest())
    new = copy.deepcopy(old)
    change(new["spec"])
    if allowed and gated:
        update(old, new)
    else:
        with pytest.raises(AdmissionError):
            update(old, new)


def _terms(spec: Manifest) -> list[Manifest]:
    node_affinity = spec["affinity"]["nodeAffinity"]
    return node_affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]  # type: ignore[no-any-return]


def test_004_pre_enqueue_is_no_attempt() -> None:
    """PreEnqueue no Unschedulable status"""
    cluster = one_node()
    gated = make_pod("p").gate("a").condition("PodScheduled", "False", reason="SchedulingGated")
    effects = cluster.step(gated.build())
    assert (effects.attempts, effects.status_patches, effects.events) == ([], [], [])
    stored = cluster.scheduler.engine.store.pod("default/p")
    assert stored is not None and stored.status.conditions is not None
    assert stored.status.conditions[0].reason == "SchedulingGated"


# The framework


def test_004_framework_order() -> None:
    """scheduling framework: cycles, all points"""
    plugins = ToldPlugins().add("P", EveryPointPlugin)
    cluster = one_node(start(profile("P"), plugins=plugins))
    cluster.put(make_node("m").build())
    effects = cluster.step(make_pod().build())
    assert "post_bind P" not in plugins.log
    cluster.confirm(effects)
    seen = [line.split()[0] for line in plugins.log]
    assert seen[:4] == ["pre_enqueue", "pre_filter", "filter", "filter"]
    assert seen[4:8] == ["pre_score", "score", "score", "normalize_scores"]
    assert seen[8:] == ["reserve", "permit", "pre_bind", "bind", "post_bind"]


def test_004_queueing_hints() -> None:
    """EnqueueExtension, QueueingHint"""
    asked: list[str] = []

    class Hinting(FilteringPlugin):
        def events_to_register(self) -> list[ClusterEventWithHint]:
            return [ClusterEventWithHint(NODE_ADD, self.hint)]

        def hint(self, pod: Any, old: Any, new: Any) -> QueueingHint:
            asked.append(new.name)
            return QueueingHint.QUEUE if new.name == "good" else QueueingHint.SKIP

    plugins = ToldPlugins().add(
        "H", Hinting, filter=lambda pod, node: SUCCESS if node.name == "good" else Status.unschedulable("bad")
    )
    cluster = one_node(start(profile("H"), plugins=plugins))
    cluster.attempt(make_pod().build())
    cluster.put(running("another").build())  # not registered: nobody is asked
    assert cluster.step(make_node("bad").build(), after=2 * SECOND).attempts == []
    assert cluster.attempt(make_node("good").build(), after=2 * SECOND).node_name == "good"
    assert asked == ["bad", "good"]


def test_004_blinking_lights() -> None:
    """NormalizeScore example (BlinkingLight)"""
    lights = {"n": 10, "dim": 5, "dark": 0}

    def normalize(pod: Any, scores: Any) -> Status:
        highest = scores.max()
        scores *= 100
        scores //= highest
        return SUCCESS

    plugins = ToldPlugins().add(
        "BlinkingLight", ScoringPlugin,
        score=lambda pod, node: (lights[node.name], SUCCESS), normalize_scores=normalize,
    )  # fmt: skip
    cluster = one_node(start(profile("BlinkingLight"), plugins=plugins))
    cluster.put(make_node("dim").build(), make_node("dark").build())
    attempt = cluster.attempt(make_pod().build())
    assert attempt.score_rows is not None
    assert attempt.score_rows.raw.tolist() == [[10, 5, 0]]
    assert attempt.score_rows.normalized.tolist() == [[100, 50, 0]]
    assert attempt.node_name == "n"


def test_004_reserve_and_unreserve() -> None:
    """Reserve/Unreserve reverse order"""
    plugins = ToldPlugins().add("A", BindingPlugin).add("B", BindingPlugin)
    plugins.add("C", BindingPlugin, reserve=lambda pod, node: Status.unschedulable("taken"))
    cluster = one_node(start(profile("A", "B", "C"), plugins=plugins))
    cluster.attempt(make_pod().build())
    assert plugins.log == ["reserve A", "reserve B", "reserve C", "unreserve C", "unreserve B", "unreserve A"]


@pytest.mark.parametrize("ending", ["approve", "deny", "time-out"])
def test_004_permit(ending: str) -> None:
    """Permit approve/deny/wait time-out"""
    plugins = ToldPlugins().add("P", BindingPlugin, permit=lambda pod, node: (WAIT, 10 * SECOND))
    cluster = one_node(start(profile("P", "NodeResourcesFit"), plugins=plugins))
    assert cluster.step(make_pod().req(cpu="2").build()).bindings == []
    if ending == "approve":
        assert len(cluster.step(PermitVerdict(UID, "P", allowed=True), after=SECOND).bindings) == 1
        return
    if ending == "deny":
        effects = cluster.step(PermitVerdict(UID, "P", allowed=False, message="not today"))
        reason = "not today"
    else:
        effects = cluster.step(after=10 * SECOND)
        reason = "rejected due to timeout after waiting 10s at plugin P"
    (patch,) = effects.status_patches
    assert patch.message == f"0/1 nodes are available: 1 {reason}."
    assert plugins.log[-1] == "unreserve P"
    assert cluster.attempt(make_pod("other").req(cpu="2").build()).node_name == "n"  # its room is free


def test_004_plugins_enabled_and_disabled() -> None:
    """plugin API, configuration, profiles"""
    off = PluginSet(disabled=(PluginEntry("NodeResourcesFit"),))
    plugins = ToldPlugins().add("Mine", FilteringPlugin, filter=lambda pod, node: Status.unschedulable("mine says no"))
    cluster = start(
        profile(default=True),
        profile(default=True, name="no-fit", filter=off),
        profile("Mine", default=True, name="with-mine"),
        plugins=plugins,
    )
    one_node(cluster)
    large = make_pod("a").req(cpu="64")
    assert cluster.attempt(large.build()).unschedulable_plugins == ("NodeResourcesFit",)
    assert cluster.attempt(make_pod("b").req(cpu="64").scheduler("no-fit").build()).node_name == "n"
    assert cluster.attempt(make_pod("c").scheduler("with-mine").build()).unschedulable_plugins == ("Mine",)


# Priority


@pytest.mark.parametrize(
    ("name", "fields", "problem"),
    [
        ("fine", {"value": 1_000_000_000, "description": "for the shop"}, ""),
        ("lowest", {"value": -2_147_483_648}, ""),
        ("too-high", {"value": 1_000_000_001}, "value"),
        ("system-mine", {"value": 5}, "metadata.name"),
        ("second-default", {"value": 5, "globalDefault": True}, "globalDefault"),
        ("odd-policy", {"value": 5, "preemptionPolicy": "Sometimes"}, "preemptionPolicy"),
    ],
)
def test_004_priority_class(name: str, fields: Manifest, problem: str) -> None:
    """PriorityClass range, system- prefix, globalDefault, description"""
    default = make("PriorityClass", "usual", value=1, globalDefault=True)
    manifest = make_manifest("PriorityClass", name, **fields)
    if not problem:
        admitted = create(manifest, priority_classes={"usual": default})
        assert admitted.get("description") == fields.get("description")
        return
    with pytest.raises(AdmissionError) as error:
        create(manifest, priority_classes={"usual": default})
    assert error.value.path == problem


def test_004_preemption_policy_never() -> None:
    """preemptionPolicy Never"""
    cluster = one_node(cpu="1")
    cluster.put(running("small").build())
    effects = cluster.step(
        make_pod("usual").req(cpu="1").priority(5).build(),
        make_pod("never").req(cpu="1").priority(9).never_preempts().build(),
    )
    first = effects.attempts[0]
    assert first.pod_key == "default/never"  # ahead of the usual one …
    assert first.message.endswith("not eligible due to preemptionPolicy=Never.")
    assert [eviction.preemptor_uid for eviction in effects.evictions] == ["pod-default/usual"]


def test_004_priority_admission() -> None:
    """priority admission"""
    pod = make_pod("p", uid="").container(image="x")
    usual = make("PriorityClass", "usual", value=7, globalDefault=True, preemptionPolicy="Never")
    spec = create(pod.manifest(), priority_classes={"usual": usual})["spec"]
    assert (spec["priority"], spec["priorityClassName"], spec["preemptionPolicy"]) == (7, "usual", "Never")
    critical = create(pod.spec(priorityClassName="system-node-critical").manifest())["spec"]
    assert critical["priority"] == 2_000_001_000
    with pytest.raises(AdmissionError, match="no PriorityClass with name nobody was found"):
        create(pod.spec(priorityClassName="nobody").manifest())


def test_004_order_by_priority() -> None:
    """order by priority"""
    cluster = one_node()
    for number in (-1, 100, 7):
        cluster.now += SECOND
        cluster.put(make_pod(f"p{number}").priority(number).build())
    attempts = cluster.step().attempts
    assert [attempt.pod_key for attempt in attempts] == ["default/p100", "default/p7", "default/p-1"]


def test_004_nominated_node() -> None:
    """preemption, nominatedNodeName, higher-priority pod takes the node"""
    cluster = one_node(cpu="1")
    low = running("low").build()
    cluster.put(low)
    cluster.step(make_pod("middle").req(cpu="1").priority(5).build())
    (patch,) = cluster.effects[-1].status_patches
    assert (patch.name, patch.nominated_node_name) == ("middle", "n")
    cluster.put(make_pod("middle").req(cpu="1").priority(5).nominated("n").build())
    high = make_pod("high").req(cpu="1").priority(9).build()
    effects = cluster.step(ObjectDeleted("Pod", "default", "low", low.uid), high)
    assert [binding.name for binding in effects.bindings] == ["high"]
    assert [(one.pod_key, one.result) for one in effects.attempts][1:] == [("default/middle", "unschedulable")]


def test_004_nomination_is_cleared() -> None:
    """preemption, nominatedNodeName, higher-priority pod takes the node"""
    cluster = one_node(cpu="1")
    cluster.put(running("low").build())
    cluster.step(make_pod("middle").req(cpu="1").priority(5).build())
    cluster.put(make_pod("middle").req(cpu="1").priority(5).nominated("n").build())
    effects = cluster.step(make_pod("high").req(cpu="1").priority(9).build())
    nominated = {patch.name: patch.nominated_node_name for patch in effects.status_patches}
    assert nominated == {"middle": "", "high": "n"}


def test_004_victims_leave_gracefully() -> None:
    """victims' grace, PDB best effort, affinity to lower priority, no cross-node"""
    cluster = one_node(cpu="1")
    low = running("low").spec(terminationGracePeriodSeconds=60)
    cluster.put(low.build())
    cluster.step(make_pod("high").req(cpu="1").priority(9).build())
    (eviction,) = cluster.effects[-1].evictions
    assert eviction.message == "default-scheduler: preempting to accommodate a higher priority pod"
    # While the victim ends in its own time its room is taken, and the node kept for the one who waits.
    cluster.put(low.deleted().build())
    assert cluster.step(after=30 * SECOND).attempts == []
    assert cluster.attempt(make_pod("other").req(cpu="1").build()).result == "unschedulable"
    gone = low.build()
    cluster.step(ObjectDeleted("Pod", "default", "low", gone.uid), budget=NO_CYCLES, after=30 * SECOND)
    (early,) = cluster.scheduler.schedule_pod_now("default/other", cluster.now).attempts
    assert early.result == "unschedulable"  # the room that came free is kept
    assert [binding.name for binding in cluster.step(after=SECOND).bindings] == ["high"]


@pytest.mark.parametrize("use_table", [True, False], ids=["table form", "node form"])
def test_004_victims_disruption_budget_is_best_effort(use_table: bool) -> None:
    """victims' grace, PDB best effort, affinity to lower priority, no cross-node"""
    guard = make("PodDisruptionBudget", "guard", spec={"selector": {"matchLabels": {"app": "db"}}},
                 status={"disruptionsAllowed": 0})  # fmt: skip
    cluster = one_node(start(use_table=use_table), cpu="2")
    # By importance alone the guarded pod would have to go.
    cluster.put(guard, running("db").label(app="db").build(), running("web", priority=1).build())
    assert victims(cluster, make_pod("half").req(cpu="1").priority(9)) == ("n", ["web"])
    alone = one_node(start(use_table=use_table), cpu="1")
    alone.put(guard, running("db").label(app="db").build())
    assert victims(alone, make_pod("whole").req(cpu="1").priority(9)) == ("n", ["db"])  # broken when nothing else helps


def test_004_victims_with_affinity() -> None:
    """victims' grace, PDB best effort, affinity to lower priority, no cross-node"""
    cluster = one_node(cpu="1")
    cluster.put(running("cache").label(app="cache").build())
    web = make_pod("web").req(cpu="1").priority(9).pod_affinity("kubernetes.io/hostname", {"app": "cache"})
    attempt = cluster.attempt(web.build())
    # With the cache gone its affinity would not hold either: nobody is evicted in vain.
    assert (attempt.nominated_node_name or "", cluster.effects[-1].evictions) == ("", [])


def test_004_victims_on_one_node_only() -> None:
    """victims' grace, PDB best effort, affinity to lower priority, no cross-node"""
    cluster = start()
    cluster.put(*(make_node(name).zone("z").capacity(cpu="2").build() for name in ("n", "m")))
    shy = running("shy", node="m").label(app="shy").build()
    cluster.put(shy, running("bystander").build())
    apart = make_pod("p").req(cpu="1").priority(5).node_selector({"kubernetes.io/hostname": "n"})
    apart.pod_affinity("topology.kubernetes.io/zone", {"app": "shy"}, anti=True)
    attempt = cluster.attempt(apart.build())
    # Evicting `shy` from m would let p run on n; it is not considered, and who is on n would go in vain.
    assert (attempt.nominated_node_name or "", cluster.effects[-1].evictions) == ("", [])


def test_004_quality_of_service_does_not_matter() -> None:
    """troubleshooting cases, QoS independence"""
    chosen = []
    for guaranteed_first in (True, False):
        cluster = one_node(cpu="2")
        pods = [running("first", priority=1), running("second", priority=2)]
        pods[0 if guaranteed_first else 1].limit(cpu="1", memory="1Gi").req(memory="1Gi")
        cluster.put(*(pod.build() for pod in pods))
        chosen.append(victims(cluster, make_pod("p").req(cpu="1").priority(9)))
    assert chosen == [("n", ["first"])] * 2  # the lower priority, whatever its class
