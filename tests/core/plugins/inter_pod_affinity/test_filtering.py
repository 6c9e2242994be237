"""Required terms: who is refused and for what, and what a pod more or less on a node changes."""

from __future__ import annotations

from typing import Any

from scheduler_core.api.derived import HOSTNAME, ZONE
from scheduler_core.api.meta import KubeObject
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import SKIP, SUCCESS, Status
from scheduler_core.model.types import PodInfo
from scheduler_core.plugins.inter_pod_affinity.filtering import (
    REASON_AFFINITY,
    REASON_ANTI_AFFINITY,
    REASON_EXISTING_ANTI_AFFINITY,
    PreFilterState,
)
from tests.builders import PodBuilder, make, make_node, make_pod
from tests.cases import cases
from tests.core.plugins.support import make_info, make_plugin, make_table, run_filter, states_of

OK = SUCCESS
NOT_NEAR = Status.unresolvable(REASON_AFFINITY)
NOT_APART = Status.unschedulable(REASON_ANTI_AFFINITY)
NOT_WANTED = Status.unschedulable(REASON_EXISTING_ANTI_AFFINITY)
WEB, DB = {"app": "web"}, {"app": "db"}


def web(name: str = "pending", namespace: str = "default") -> PodBuilder:
    return make_pod(name, namespace=namespace).label(WEB)


def cluster(**pods: PodBuilder | None) -> list[NodeInfo]:
    """Nodes by name with a pod each, or none; the first letter is the zone, x for none."""
    infos = []
    for name, pod in pods.items():
        node = make_node(name) if name.startswith("x") else make_node(name).zone(name[0])
        infos.append(make_info(node, *([pod] if pod is not None else [])))
    return infos


def term(key: str, labels: dict[str, str] | None, **fields: Any) -> dict[str, Any]:
    selector = {} if labels is None else {"labelSelector": {"matchLabels": labels}}
    return {"topologyKey": key, **selector, **fields}


def requiring(pod: PodBuilder, *terms: dict[str, Any], anti: bool = False) -> PodBuilder:
    rules = {"requiredDuringSchedulingIgnoredDuringExecution": [*terms]}
    return pod.spec(affinity={"podAntiAffinity" if anti else "podAffinity": rules})


NAMESPACES: list[KubeObject] = [
    make("Namespace", "default", metadata={"labels": {"team": "a"}}),
    make("Namespace", "other", metadata={"labels": {"team": "b"}}),
    make("Namespace", "bare"),
]


def picks(operator: str, *values: str) -> dict[str, Any]:
    expression = {"key": "team", "operator": operator} | ({"values": [*values]} if values else {})
    return {"matchExpressions": [expression]}


NEAR_WEB, APART_FROM_WEB = make_pod().pod_affinity(ZONE, WEB), make_pod().pod_affinity(ZONE, WEB, anti=True)


def stranger(name: str) -> PodBuilder:
    return make_pod(name, namespace="other")


@cases(
    "pod, infos, want",
    ("near a pod", NEAR_WEB, cluster(a1=web("w"), a2=None, b1=None), [OK, OK, NOT_NEAR]),
    ("a node without the key is near nobody", NEAR_WEB, cluster(a1=web("w"), x1=web("v")), [OK, NOT_NEAR]),
    ("one pod must match all terms", make_pod().pod_affinity(ZONE, WEB).pod_affinity(HOSTNAME, {"tier": "front"}),
     cluster(a1=web("w"), a2=web("v").label(tier="front"), b1=make_pod("f").label(tier="front")),
     [NOT_NEAR, OK, NOT_NEAR]),
    ("the first of its own group", web().pod_affinity(ZONE, WEB), cluster(a1=None, x1=None), [OK, NOT_NEAR]),
    ("not the first of somebody else's", NEAR_WEB, cluster(a1=None), [NOT_NEAR]),
    ("not the first any more", web().pod_affinity(ZONE, WEB), cluster(a1=web("w"), b1=None), [OK, NOT_NEAR]),
    ("a pod in no domain is nobody", web().pod_affinity(ZONE, WEB), cluster(x1=web("w"), b1=None), [NOT_NEAR, OK]),
    ("apart from a pod", APART_FROM_WEB, cluster(a1=web("w"), a2=None, b1=None, x1=web("v")),
     [NOT_APART, NOT_APART, OK, OK]),
    ("each anti-affinity term by itself",
     make_pod().pod_affinity(ZONE, WEB, anti=True).pod_affinity(HOSTNAME, DB, anti=True),
     cluster(a1=web("w"), b1=make_pod("d").label(DB), c1=None), [NOT_APART, NOT_APART, OK]),
    ("where an existing pod wants to be apart", web(),
     cluster(a1=make_pod("e").pod_affinity(ZONE, WEB, anti=True), a2=None, b1=None), [NOT_WANTED, NOT_WANTED, OK]),
    ("affinity is asked first, existing pods last", web().pod_affinity(ZONE, DB).pod_affinity(HOSTNAME, DB, anti=True),
     cluster(a1=make_pod("d").label(DB).pod_affinity(ZONE, WEB, anti=True),
             b1=web("w").pod_affinity(ZONE, WEB, anti=True)), [NOT_APART, NOT_NEAR]),
    ("other namespaces do not count", NEAR_WEB, cluster(a1=web("w", "other")), [NOT_NEAR]),
    ("pods being deleted do", NEAR_WEB, cluster(a1=web("w").deleted()), [OK]),
    ("only listed namespaces", requiring(make_pod(), term(ZONE, WEB, namespaces=["other"])),
     cluster(a1=web("w", "other"), b1=web("v")), [OK, NOT_NEAR]),
    ("only selected namespaces", requiring(make_pod(), term(ZONE, WEB, namespaceSelector=picks("In", "b"))),
     cluster(a1=web("w", "other"), b1=web("v")), [OK, NOT_NEAR]),
    ("listed and selected ones",
     requiring(make_pod(), term(ZONE, WEB, namespaces=["default"], namespaceSelector=picks("In", "b"))),
     cluster(a1=web("w", "other"), b1=web("v"), c1=web("u", "bare")), [OK, OK, NOT_NEAR]),
    ("an empty namespace selector means all", requiring(make_pod(), term(ZONE, WEB, namespaceSelector={})),
     cluster(a1=web("w", "other"), b1=web("v", "unknown")), [OK, OK]),
    ("one that an empty set of labels satisfies means all, an upstream quirk",
     requiring(make_pod(), term(ZONE, WEB, namespaceSelector=picks("NotIn", "b"))), cluster(a1=web("w", "other")),
     [OK]),
    ("an absent selector is nobody", requiring(make_pod(), term(ZONE, None), anti=True), cluster(a1=web("w")), [OK]),
    ("an empty one everybody", requiring(make_pod(), term(ZONE, {}), anti=True), cluster(a1=web("w")), [NOT_APART]),
    ("existing pods ask the labels of the incoming pod's namespace", web(),
     cluster(a1=requiring(stranger("e"), term(ZONE, WEB, namespaceSelector=picks("In", "a")), anti=True),
             b1=requiring(stranger("f"), term(ZONE, WEB, namespaceSelector=picks("In", "b")), anti=True),
             c1=requiring(stranger("g"), term(ZONE, WEB, namespaceSelector=picks("DoesNotExist")), anti=True)),
     [NOT_WANTED, OK, OK]),
    ("terms of existing pods that cannot be read do not count", web(),
     cluster(a1=requiring(make_pod("e"),
                          {"topologyKey": ZONE,
                           "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}}, anti=True),
             b1=make_pod("f").pod_affinity(ZONE, WEB, anti=True)), [OK, NOT_WANTED]),
)  # fmt: skip
def test_filter_tells_which_rule_refuses(pod: PodBuilder, infos: list[NodeInfo], want: list[Status]) -> None:
    plugin = make_plugin("InterPodAffinity", infos=infos, objects=NAMESPACES)
    assert run_filter(plugin, pod.build(), *infos) == want


@cases(
    "infos",
    ("no nodes", []),
    ("pods without terms", cluster(a1=web("w"))),
    ("pods that want to be apart from others", cluster(a1=web("w").pod_affinity(ZONE, DB, anti=True))),
    ("a pod in no domain", cluster(x1=web("w").pod_affinity(ZONE, WEB, anti=True))),
)
def test_pre_filter_skips_when_neither_the_pod_nor_another_minds(infos: list[NodeInfo]) -> None:
    plugin, pod = make_plugin("InterPodAffinity", infos=infos), web().build()
    assert plugin.pre_filter(CycleState(), pod, infos) == (None, SKIP)
    assert plugin.pre_filter_table(CycleState(), pod, make_table(infos)) == (None, SKIP)


NEAR = {"matchExpressions": [{"key": "a", "operator": "Near"}]}


def wrong(**selector: Any) -> dict[str, Any]:
    return {"requiredDuringSchedulingIgnoredDuringExecution": [term(ZONE, None, **selector)]}


@cases(
    "affinity, text",
    ("one list", {"podAffinity": wrong(labelSelector=NEAR)},
     'parsing pod: requiredAffinityTerms: "Near" is not a valid label selector operator'),
    ("two lists", dict.fromkeys(("podAffinity", "podAntiAffinity"), wrong(namespaceSelector=NEAR)),
     'parsing pod: [requiredAffinityTerms: "Near" is not a valid label selector operator,'
     ' requiredAntiAffinityTerms: "Near" is not a valid label selector operator]'),
)  # fmt: skip
def test_pre_filter_refuses_a_pod_whose_terms_cannot_be_read(affinity: dict[str, Any], text: str) -> None:
    pod = make_pod().spec(affinity=affinity).build()
    assert make_plugin("InterPodAffinity").pre_filter(CycleState(), pod, []) == (None, Status.unresolvable(text))


@cases(
    "pod, infos, removed, added, want",
    ("the pod to be apart from is gone", APART_FROM_WEB, cluster(a1=web("w")), ["w"], [], OK),
    ("another one came", APART_FROM_WEB, cluster(a1=web("w")), [], [web("v")], NOT_APART),
    ("one for the other changes nothing", APART_FROM_WEB, cluster(a1=web("w"), b1=None), ["w"], [web("v")], NOT_APART),
    ("who minded is gone", web(), cluster(a1=make_pod("e").pod_affinity(ZONE, WEB, anti=True)), ["e"], [], OK),
    ("without the last one it is the first", web().pod_affinity(ZONE, WEB), cluster(a1=web("w")), ["w"], [], OK),
    ("without the pod to be near", make_pod().pod_affinity(ZONE, WEB), cluster(a1=web("w")), ["w"], [], NOT_NEAR),
    ("a pod to be near came", make_pod().pod_affinity(ZONE, WEB), cluster(a1=None, b1=web("w")), [], [web("v")], OK),
    ("one that minds, under a key not seen before", web().pod_affinity(ZONE, WEB), cluster(a1=None), [],
     [make_pod("e").pod_affinity("kubernetes.io/hostname", WEB, anti=True)], NOT_WANTED),
    ("what two terms of one key counted is taken off twice",
     make_pod().pod_affinity(ZONE, {}, anti=True).pod_affinity(ZONE, WEB, anti=True), cluster(a1=web("w")), ["w"], [],
     OK),
)  # fmt: skip
def test_pods_more_or_less_change_the_domains_of_their_node(
    pod: PodBuilder, infos: list[NodeInfo], removed: list[str], added: list[PodBuilder], want: Status
) -> None:
    plugin, incoming, first = make_plugin("InterPodAffinity", infos=infos), pod.build(), infos[0]
    for state in states_of(plugin, incoming, infos):
        before, what_if = plugin.filter(state, incoming, first), state.clone()
        for info in first.pods:
            if info.pod.name in removed:
                assert plugin.remove_pod(what_if, incoming, info, first) == SUCCESS
        for builder in added:
            assert plugin.add_pod(what_if, incoming, PodInfo.of(builder.build()), first) == SUCCESS
        assert plugin.filter(what_if, incoming, first) == want
        assert plugin.filter(state, incoming, first) == before, "the clone is a state of its own"


def test_pairs_count_the_same_in_both_forms() -> None:
    """The web pod matches both terms of zone a's key, so it counts twice there."""
    pod = web().pod_affinity(ZONE, WEB).pod_affinity(ZONE, {}).pod_affinity(HOSTNAME, WEB, anti=True).build()
    minding = make_pod("e").pod_affinity(HOSTNAME, WEB, anti=True)
    infos = cluster(a1=web("w"), a2=web("v"), b1=minding)
    plugin = make_plugin("InterPodAffinity", infos=infos)
    for state in states_of(plugin, pod, infos):
        counted = state.read(PreFilterState)
        assert [counted.affinity[ZONE].of(zone) for zone in "ab"] == [4, 0]
        assert [counted.anti[HOSTNAME].of(name) for name in ("a1", "a2", "b1")] == [1, 1, 0]
        assert {key: domains.of("b1") for key, domains in counted.existing_anti.items()} == {HOSTNAME: 1}
