"""Preferred terms: whose weights count where, and how sums become scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from scheduler_core.api.derived import HOSTNAME, ZONE
from scheduler_core.config.types import InterPodAffinityArgs
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import SKIP, SUCCESS, Status
from scheduler_core.plugins.inter_pod_affinity.scoring import normalize
from tests.builders import PodBuilder, make, make_node, make_pod
from tests.cases import cases
from tests.core.plugins.support import make_info, make_plugin, make_table, run_score

WEB, DB = {"app": "web"}, {"app": "db"}
IGNORING = InterPodAffinityArgs(ignore_preferred_terms_of_existing_pods=True)


def web(name: str = "pending") -> PodBuilder:
    return make_pod(name).label(WEB)


def cluster(**pods: list[PodBuilder]) -> list[NodeInfo]:
    """Nodes by name with their pods; the first letter is the zone, x for none."""
    infos = []
    for name, each in pods.items():
        node = make_node(name) if name.startswith("x") else make_node(name).zone(name[0])
        infos.append(make_info(node, *each))
    return infos


@cases(
    "args, pod, infos, want",
    ("the weight counts once for each pod that matches", None, make_pod().pod_affinity(ZONE, WEB, weight=5),
     cluster(a1=[web("w"), web("v")], a2=[], b1=[], x1=[web("u")]), [10, 10, 0, 0]),
    ("anti-affinity takes off", None,
     make_pod().pod_affinity(ZONE, WEB, weight=5).pod_affinity(HOSTNAME, WEB, weight=2, anti=True),
     cluster(a1=[web("w")], a2=[], b1=[]), [3, 5, 0]),
    ("terms of one key add up", None, make_pod().pod_affinity(ZONE, WEB, weight=5).pod_affinity(ZONE, DB, weight=3),
     cluster(a1=[web("w"), make_pod("d").label(DB)], b1=[]), [8, 0]),
    ("preferred terms of existing pods count as well", None, web(),
     cluster(a1=[make_pod("e").pod_affinity(ZONE, WEB, weight=7)],
             b1=[make_pod("f").pod_affinity(ZONE, WEB, weight=4, anti=True)],
             c1=[make_pod("g").pod_affinity(ZONE, DB, weight=9)]), [7, -4, 0]),
    ("required ones count 1", None, web(), cluster(a1=[make_pod("e").pod_affinity(ZONE, WEB)], b1=[]), [1, 0]),
    ("or what the configuration says", InterPodAffinityArgs(hard_pod_affinity_weight=30), web(),
     cluster(a1=[make_pod("e").pod_affinity(ZONE, WEB)], b1=[]), [30, 0]),
    ("required anti-affinity of existing pods does not score", None, web(),
     cluster(a1=[make_pod("e").pod_affinity(ZONE, WEB, weight=7)],
             b1=[make_pod("f").pod_affinity(ZONE, WEB, anti=True)]), [7, 0]),
    ("existing pods have a say whenever the pod has wishes", IGNORING, web().pod_affinity(ZONE, DB, weight=1),
     cluster(a1=[make_pod("e").pod_affinity(ZONE, WEB, weight=7)], b1=[make_pod("d").label(DB)]), [7, 1]),
    ("pods being deleted count, other namespaces do not", None, make_pod().pod_affinity(ZONE, WEB, weight=5),
     cluster(a1=[web("w").deleted()], b1=[make_pod("o", namespace="other").label(WEB)]), [5, 0]),
)  # fmt: skip
def test_score_adds_up_weights_by_domain(
    args: InterPodAffinityArgs | None, pod: PodBuilder, infos: list[NodeInfo], want: list[int]
) -> None:
    assert run_score(make_plugin("InterPodAffinity", args, infos=infos), pod.build(), *infos) == want


def test_terms_of_existing_pods_ask_the_labels_of_the_namespace() -> None:
    def wishing(name: str, team: str) -> PodBuilder:
        term: dict[str, Any] = {
            "topologyKey": ZONE,
            "labelSelector": {},
            "namespaceSelector": {"matchLabels": {"team": team}},
        }
        rules = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "podAffinityTerm": term}]}
        return make_pod(name, namespace="other").spec(affinity={"podAffinity": rules})

    infos = cluster(a1=[wishing("e", "a")], b1=[wishing("f", "b")])
    namespace = make("Namespace", "default", metadata={"labels": {"team": "a"}})
    plugin = make_plugin("InterPodAffinity", infos=infos, objects=[namespace])
    assert run_score(plugin, web().build(), *infos) == [5, 0]


@cases(
    "args, pod, infos",
    ("nobody has terms", None, web(), cluster(a1=[web("w")])),
    ("its terms match nobody", None, make_pod().pod_affinity(ZONE, WEB, weight=5), cluster(a1=[make_pod("p")])),
    ("who matches is in no domain", None, make_pod().pod_affinity(ZONE, WEB, weight=5), cluster(x1=[web("w")])),
    ("required terms of existing pods weigh nothing", InterPodAffinityArgs(hard_pod_affinity_weight=0), web(),
     cluster(a1=[make_pod("e").pod_affinity(ZONE, WEB)])),
    ("existing pods are not asked", IGNORING, web(), cluster(a1=[make_pod("e").pod_affinity(ZONE, WEB, weight=7)])),
)  # fmt: skip
def test_pre_score_skips_when_nothing_adds_anything(
    args: InterPodAffinityArgs | None, pod: PodBuilder, infos: list[NodeInfo]
) -> None:
    plugin, rows = make_plugin("InterPodAffinity", args, infos=infos), np.arange(len(infos), dtype=np.int32)
    assert plugin.pre_score(CycleState(), pod.build(), infos) == SKIP
    assert plugin.pre_score_table(CycleState(), pod.build(), make_table(infos), rows) == SKIP


def test_pre_score_goes_on_when_what_was_added_comes_to_nothing() -> None:
    pod = make_pod().pod_affinity(ZONE, WEB, weight=5).pod_affinity(ZONE, WEB, weight=5, anti=True).build()
    infos = cluster(a1=[web("w")])
    plugin = make_plugin("InterPodAffinity", infos=infos)
    assert plugin.pre_score(CycleState(), pod, infos) == SUCCESS
    assert plugin.pre_score_table(CycleState(), pod, make_table(infos), np.zeros(1, dtype=np.int32)) == SUCCESS


def test_pre_score_fails_when_terms_cannot_be_read() -> None:
    term = {"topologyKey": ZONE, "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}}
    rules = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "podAffinityTerm": term}]}
    pod, infos = make_pod().spec(affinity={"podAntiAffinity": rules}).build(), cluster(a1=[])
    text = 'failed to parse pod: preferredAntiAffinityTerms: "Near" is not a valid label selector operator'
    assert make_plugin("InterPodAffinity", infos=infos).pre_score(CycleState(), pod, infos) == Status.failed(text)


@cases(
    "raw, want",
    ("lowest to highest becomes 0 to 100, truncated", [10, -5, 0], [100, 0, 33]),
    ("divided before it is multiplied: 29 of 50 is 57", [50, 29, 0], [100, 57, 0]),
    ("all alike: none", [-7, -7], [0, 0]),
)
def test_normalizing_stretches_the_scores(raw: list[int], want: list[int]) -> None:
    scores = np.array(raw, dtype=np.int64)
    normalize(scores)
    assert scores.tolist() == want
