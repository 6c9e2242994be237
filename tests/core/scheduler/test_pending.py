"""Why a pod is pending: clusters with known causes, for each kind of reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scheduler_core.explain import pending
from scheduler_core.explain.pending import Judged
from scheduler_core.model.changes import ObjectPut
from scheduler_core.model.events import ActionType, action_texts
from scheduler_core.scheduler import checkpoint
from scheduler_core.scheduler.recorded import RecordedStep
from tests.builders import make_node, make_pod
from tests.cases import cases
from tests.core.scheduler.harness import profile, start

Told = tuple[str, str, int, int]
CPU, MEMORY = "Insufficient cpu", "Insufficient memory"
CORDONED, AFFINITY = "node(s) were unschedulable", "node(s) didn't match Pod's node affinity/selector"


def told(judged: Judged) -> list[Told]:
    return [(each.plugin, each.reason, each.nodes, each.alone) for each in judged.reasons]


def of(nodes: Sequence[Any], pod: Any, limit: int = 20) -> Judged:
    """A pod tried on these nodes; the attempt made again says the same as trying it now, and changes nothing."""
    cluster = start(profile(default=True))
    cluster.put(*(node.build() for node in nodes))
    before, built = checkpoint.dump(cluster.scheduler), pod.build()
    cluster.put(built)
    cycle = pending.cycle_now(cluster.scheduler.engine, built)
    assert cycle is not None
    judged = pending.judged(cycle, limit)
    assert not judged.doubt
    fresh = start(profile(default=True))
    checkpoint.load(fresh.scheduler, before)
    step = RecordedStep(cluster.now, [ObjectPut(built)], 1)
    assert pending.attempt_judged(fresh.scheduler, step, 0, limit)[1] == judged
    return judged


def node(name: str) -> Any:
    return make_node(name).capacity(cpu="4", memory="8Gi", pods="10")


def big() -> Any:
    return make_pod("big").req(cpu="8", memory="1Gi")


def test_each_reason_counts_all_nodes_and_those_it_alone_keeps_away() -> None:
    small, cordoned = node("n1"), node("n2").unschedulable()
    elsewhere = make_node("n3").capacity(cpu="16", memory="8Gi", pods="10").unschedulable()
    judged = of([small, cordoned, elsewhere], big())
    assert told(judged) == [
        ("NodeResourcesFit", CPU, 2, 1),
        ("NodeUnschedulable", CORDONED, 2, 1),
    ]
    assert (judged.nodes, judged.fitting, judged.num_near) == (3, 0, 2)
    assert [(each.node, each.reason) for each in judged.near] == [("n1", CPU), ("n3", CORDONED)]


def test_cordon_and_its_taint_are_one_reason_and_other_taints_are_another() -> None:
    cordoned = [node(name).unschedulable().taint("node.kubernetes.io/unschedulable") for name in ("n1", "n2")]
    cordoned[1].taint("only")
    judged = of(cordoned, make_pod("it"))
    assert told(judged) == [
        ("NodeUnschedulable", CORDONED, 2, 1),
        ("TaintToleration", "node(s) had untolerated taint {only: }", 1, 0),
    ]
    assert [each.node for each in judged.near] == ["n1"]
    tainted = of([node("n1").taint("node.kubernetes.io/unschedulable")], make_pod("it"))
    assert [each.plugin for each in tainted.reasons] == ["TaintToleration"]


def test_two_reasons_of_one_plugin_are_two() -> None:
    large = make_node("n2").capacity(cpu="16", memory="8Gi", pods="10")
    judged = of([node("n1"), large], big().req(cpu="8", memory="9Gi"))
    assert told(judged) == [("NodeResourcesFit", MEMORY, 2, 1), ("NodeResourcesFit", CPU, 1, 0)]
    assert [each.node for each in judged.near] == ["n2"]


def test_nearest_first_by_the_share_that_is_lacking() -> None:
    nodes = [make_node(f"n{cpu}").capacity(cpu=f"{cpu}", memory="8Gi", pods="10") for cpu in (2, 7, 5, 6)]
    tainted = make_node("t").capacity(cpu="16", memory="8Gi", pods="10").taint("only", effect="NoSchedule")
    judged = of([tainted, *nodes], big())
    assert [each.node for each in judged.near] == ["n7", "n6", "n5", "n2", "t"]
    (cpu,) = judged.near[0].amounts
    assert (cpu.asked, cpu.there) == (8_000, 7_000)
    few = of([tainted, *nodes], big(), limit=2)
    assert ([each.node for each in few.near], few.num_near) == (["n7", "n6"], 5)


def test_equal_nodes_come_by_reason_and_then_in_their_order() -> None:
    judged = of([node(name) for name in ("b", "a", "c")], big())
    assert [each.node for each in judged.near] == ["b", "a", "c"]


def test_nodes_that_the_pod_fits_on_are_counted() -> None:
    judged = of([node("n1"), make_node("n2").capacity(cpu="16", memory="8Gi", pods="10")], big())
    assert (judged.nodes, judged.fitting) == (2, 1)


def test_without_nodes_there_is_nothing_to_judge() -> None:
    cluster = start(profile(default=True))
    cycle = pending.cycle_now(cluster.scheduler.engine, big().build())
    assert cycle is not None and pending.judged(cycle, 20) == Judged(0, 0, (), (), 0)


@cases("pod", ("of no profile", big().scheduler("nobody")), ("that is being deleted", big().deleted()))
def test_pod_that_would_not_be_tried_has_no_cycle(pod: Any) -> None:
    cluster = start(profile(default=True))
    assert pending.cycle_now(cluster.scheduler.engine, pod.build()) is None


def test_node_that_pre_filter_leaves_out_is_kept_away_by_who_left_it_out() -> None:
    """The pod of a DaemonSet names its node: others do not match its affinity, which PreFilter says at once."""
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]
    judged = of([node("n1").unschedulable(), node("n2")], make_pod("d").required_node_affinity(*terms))
    assert told(judged) == [("NodeAffinity", AFFINITY, 1, 1), ("NodeUnschedulable", CORDONED, 1, 1)]


def test_plugins_behind_one_that_refuses_all_nodes_are_asked() -> None:
    """PreFilter ends at a claim that is not there; all the same each node has its own reasons."""
    pod = big().claim_volume("missing")
    judged = of([node("n1"), make_node("n2").capacity(cpu="16", memory="8Gi", pods="10")], pod)
    reason = 'persistentvolumeclaim "missing" not found'
    by_plugin = {(plugin, text): (nodes, alone) for plugin, text, nodes, alone in told(judged)}
    assert by_plugin["NodeResourcesFit", CPU] == (1, 0)
    assert [counts for (_, text), counts in by_plugin.items() if text == reason][0][0] == 2


def test_what_would_wake_it_is_what_the_plugins_registered() -> None:
    cluster = start(profile(default=True))
    engine = cluster.scheduler.engine
    found = pending.wakers(engine, "default-scheduler", frozenset({"NodeResourcesFit", "NodeUnschedulable"}))
    texts = {(each.plugin, each.event.resource.value, action_texts(each.event.action)) for each in found}
    assert ("NodeUnschedulable", "Node", ("Add", "UpdateNodeTaint")) in texts
    pods = [does for plugin, resource, does in texts if (plugin, resource) == ("NodeResourcesFit", "Pod")]
    assert any("Delete" in does for does in pods)
    assert all(each.has_hint for each in found if each.plugin == "NodeResourcesFit" and each.event.resource == "Pod")
    assert pending.wakers(engine, "default-scheduler", frozenset()) == ()
    assert pending.wakers(engine, "nobody", frozenset({"NodeResourcesFit"})) == ()


@cases(
    "action, want",
    ("one", ActionType.DELETE, ("Delete",)),
    ("all", ActionType.ALL, ("All",)),
    ("every update", ActionType.UPDATE, ("Update",)),
    ("several", ActionType.ADD | ActionType.UPDATE_NODE_LABEL, ("Add", "UpdateNodeLabel")),
    ("every update among others", ActionType.ADD | ActionType.UPDATE, ("Add", "Update")),
)
def test_words_of_actions(action: ActionType, want: tuple[str, ...]) -> None:
    assert action_texts(action) == want
