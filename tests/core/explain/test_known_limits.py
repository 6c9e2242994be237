"""Which known faults of kube-scheduler a pending pod tells of, and that each is a fault here too."""

from __future__ import annotations

from typing import Any

from scheduler_core.api.pod import Pod
from scheduler_core.explain.known_limits import (
    GATED_PREEMPTOR,
    NEGATIVE_SELECTOR,
    NOT_AWAITED,
    NOT_FOUND_TWICE,
    known_limits,
)
from scheduler_core.plugins.inter_pod_affinity.filtering import REASON_AFFINITY, REASON_ANTI_AFFINITY
from tests.builders import PodBuilder, make, make_node, make_pod
from tests.cases import cases
from tests.core.scheduler.harness import SECOND, Cluster, start

HOST, TEAM = "kubernetes.io/hostname", "team"
FIVE_MINUTES_AND_A_TICK = 331 * SECOND


def choosing(operator: str, *values: str, key: str = TEAM) -> dict[str, Any]:
    expression = {"key": key, "operator": operator} | ({"values": [*values]} if values else {})
    return {"matchExpressions": [expression]}


def asking(selector: dict[str, Any] | None, *, anti: bool = True, name: str = "p") -> PodBuilder:
    """A pod that wants to be apart from pods of `app: web`, or near one, in the namespaces of the selector."""
    term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "web"}}}
    if selector is not None:
        term["namespaceSelector"] = selector
    rules = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return make_pod(name).spec(affinity={"podAntiAffinity" if anti else "podAffinity": rules})


def refused(pod: PodBuilder, reason: str) -> Pod:
    message = f"0/1 nodes are available: 1 {reason}. preemption: 0/1 nodes are available: 1 No victims found."
    return pod.condition("PodScheduled", "False", reason="Unschedulable", message=message).build()


@cases(
    "pod, want",
    ("NotIn alone", refused(asking(choosing("NotIn", "a")), REASON_ANTI_AFFINITY), [NEGATIVE_SELECTOR]),
    ("DoesNotExist alone", refused(asking(choosing("DoesNotExist")), REASON_ANTI_AFFINITY), [NEGATIVE_SELECTOR]),
    ("near", refused(asking(choosing("NotIn", "a"), anti=False), REASON_AFFINITY), [NEGATIVE_SELECTOR]),
    ("In", refused(asking(choosing("In", "a")), REASON_ANTI_AFFINITY), [NOT_AWAITED]),
    ("near, by a label", refused(asking({"matchLabels": {TEAM: "a"}}, anti=False), REASON_AFFINITY), [NOT_AWAITED]),
    ("an empty selector is told of its events", refused(asking({}), REASON_ANTI_AFFINITY), []),
    ("no selector", refused(asking(None), REASON_ANTI_AFFINITY), []),
    ("refused for something else", refused(asking(choosing("NotIn", "a")), "Insufficient cpu"), []),
    ("refused by the other rule", refused(asking(choosing("In", "a")), REASON_AFFINITY), []),
    (
        "waiting for evictions",
        refused(asking(choosing("In", "a")).nominated("n1"), REASON_ANTI_AFFINITY),
        [NOT_AWAITED, GATED_PREEMPTOR],
    ),
    ("evictions that it is told of", refused(asking(None).nominated("n1"), REASON_ANTI_AFFINITY), []),
    ("not tried yet", asking(choosing("NotIn", "a")).build(), []),
    ("on a node", refused(asking(choosing("NotIn", "a")).on("n1"), REASON_ANTI_AFFINITY), []),
    ("nothing is missing a second time", refused(make_pod(), 'persistentvolumeclaim "c" not found'), []),
)
def test_fault_is_told_where_it_may_decide(pod: Pod, want: list[str]) -> None:
    assert known_limits(pod) == want


def rejection(cluster: Cluster, pod: PodBuilder) -> str:
    """What the pod's attempt says that found no node for it."""
    built = pod.build()
    (attempt,) = [each for each in cluster.step(built).attempts if each.pod_uid == built.uid]
    assert not attempt.node_name
    return attempt.message


def told(pod: PodBuilder, message: str) -> list[str]:
    return known_limits(pod.condition("PodScheduled", "False", reason="Unschedulable", message=message).build())


def two_namespaces() -> Cluster:
    cluster = start()
    cluster.put(make_node("n1").label({HOST: "n1"}).build())
    cluster.put(*(make("Namespace", name, metadata={"labels": {TEAM: name}}) for name in ("default", "other")))
    return cluster


def test_excluded_namespace_counts_all_the_same() -> None:
    cluster = two_namespaces()
    cluster.put(make_pod("w").label(app="web").on("n1").build())
    pod = asking(choosing("NotIn", "default"))
    assert told(pod, rejection(cluster, pod)) == [NEGATIVE_SELECTOR]


def test_pod_of_a_selected_namespace_wakes_nobody() -> None:
    cluster = two_namespaces()
    pod = asking(choosing("In", "other"), anti=False)
    assert told(pod, rejection(cluster, pod)) == [NOT_AWAITED]
    cluster.put(make_pod("w", namespace="other").label(app="web").on("n1").build())
    assert cluster.step().attempts == []
    (retried,) = cluster.step(after=FIVE_MINUTES_AND_A_TICK).attempts
    assert retried.node_name == "n1"


def test_message_of_a_missing_claim_says_not_found_twice() -> None:
    cluster = two_namespaces()
    pod = make_pod("p").claim_volume("c")
    message = rejection(cluster, pod)
    assert message == '0/1 nodes are available: persistentvolumeclaim "c" not found. not found'
    assert told(pod, message) == [NOT_FOUND_TWICE]
