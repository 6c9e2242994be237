"""Soft constraints: what a node scores, and who is left out."""

from __future__ import annotations

import math

import numpy as np

from scheduler_core.api.derived import HOSTNAME, ZONE
from scheduler_core.api.meta import KubeObject
from scheduler_core.config.types import PodTopologySpreadArgs
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import SKIP, Status
from scheduler_core.plugins.pod_topology_spread.constraints import SOFT, SYSTEM_DEFAULTS
from tests.builders import PodBuilder, make, make_node, make_pod
from tests.cases import cases
from tests.core.plugins.support import make_info, make_plugin, make_table, run_score

WEB = {"app": "web"}
SERVICE: KubeObject = make("Service", "s", spec={"selector": WEB})


def web(name: str = "pending") -> PodBuilder:
    return make_pod(name).label(WEB)


def nodes(**pods: int) -> list[NodeInfo]:
    """Nodes by name with so many web pods; the first letter of the name is the zone, x for none."""
    infos = []
    for name, many in pods.items():
        node = make_node(name) if name.startswith("x") else make_node(name).zone(name[0])
        infos.append(make_info(node, *(web(f"{name}-{i}") for i in range(many))))
    return infos


def soft(key: str = ZONE, labels: dict[str, str] | None = WEB, **fields: int) -> PodBuilder:
    return web().spread(key, labels, when=SOFT, **fields)


@cases(
    "pod, infos, raw, normalized",
    ("fewer pods in the zone are better", soft(), nodes(a1=2, b1=1, c1=0), [3, 2, 0], [0, 33, 100]),
    ("maxSkew makes differences smaller", soft(max_skew=2), nodes(a1=2, b1=1, c1=0), [4, 3, 1], [25, 50, 100]),
    ("all nodes of a zone score alike", soft(), nodes(a1=2, a2=0, b1=1), [3, 3, 1], [33, 33, 100]),
    ("under the hostname each node for itself", soft(HOSTNAME), nodes(a1=2, a2=0, b1=1), [3, 0, 2], [0, 100, 33]),
    ("constraints add up before they are rounded", soft().spread(HOSTNAME, WEB, when=SOFT), nodes(a1=2, a2=0, b1=1),
     [6, 3, 3], [50, 100, 100]),
    ("no pods anywhere: all are best", soft(), nodes(a1=0, b1=0), [0, 0], [100, 100]),
    ("an empty selector counts nobody", soft(labels={}), nodes(a1=3, b1=0), [0, 0], [100, 100]),
    ("a node without the key is ignored and gets none", soft(), nodes(a1=2, x1=0, b1=0), [3, 0, 0], [0, 0, 100]),
    ("nobody has the key: nobody gets any", soft("rack"), nodes(a1=2, b1=0), [0, 0], [0, 0]),
)  # fmt: skip
def test_score_grows_with_matching_pods_and_is_turned_round(
    pod: PodBuilder, infos: list[NodeInfo], raw: list[int], normalized: list[int]
) -> None:
    plugin = make_plugin("PodTopologySpread", infos=infos)
    assert run_score(plugin, pod.build(), *infos) == raw
    assert run_score(plugin, pod.build(), *infos, normalize=True) == normalized


def _score_some(plugin: object, pod: PodBuilder, infos: list[NodeInfo], feasible: int) -> list[int]:
    """Scores of the first nodes, the same in both forms; the others exist, but are not feasible."""
    state, built, table = CycleState(), pod.build(), make_table(infos)
    assert plugin.pre_score(state, built, infos[:feasible]).is_success  # type: ignore[attr-defined]
    by_nodes = [plugin.score(state, built, info)[0] for info in infos[:feasible]]  # type: ignore[attr-defined]
    rows = np.arange(feasible, dtype=np.int32)
    assert plugin.pre_score_table(state, built, table, rows).is_success  # type: ignore[attr-defined]
    assert plugin.score_nodes(state, built, table, rows).tolist() == by_nodes  # type: ignore[attr-defined]
    return by_nodes


def test_nodes_that_are_not_feasible_count_in_the_domains_of_those_that_are() -> None:
    """Zone a has 1 + 3 pods; zone c is no domain, so two domains weigh ln 4."""
    infos = nodes(a1=1, b1=0, a2=3, c1=7)
    plugin = make_plugin("PodTopologySpread", infos=infos)
    assert _score_some(plugin, soft(), infos, 2) == [round(4 * math.log(4)), 0]


def test_nodes_the_policies_leave_out_do_not_count() -> None:
    infos = [*nodes(a1=1, b1=0), make_info(make_node("a2").zone("a").taint("k"), web("t1"), web("t2"))]
    plugin = make_plugin("PodTopologySpread", infos=infos)
    honoring = web().spread(ZONE, WEB, when=SOFT, nodeTaintsPolicy="Honor")
    assert _score_some(plugin, honoring, infos, 2) == [round(1 * math.log(4)), 0]
    assert _score_some(plugin, soft(), infos, 2) == [round(3 * math.log(4)), 0]


def test_hostname_weighs_by_the_number_of_feasible_nodes() -> None:
    infos = nodes(a1=5, a2=0, b1=0, b2=0)
    plugin = make_plugin("PodTopologySpread", infos=infos)
    assert _score_some(plugin, soft(HOSTNAME), infos, 2) == [round(5 * math.log(4)), 0]
    assert _score_some(plugin, soft(HOSTNAME), infos, 4)[0] == round(5 * math.log(6))


def test_built_in_defaults_let_nodes_without_a_zone_take_part() -> None:
    """Hostname maxSkew 3 over three nodes, zone maxSkew 5 over two values, one of them the missing one."""
    infos = nodes(a1=2, a2=0, x1=2)
    plugin = make_plugin("PodTopologySpread", infos=infos, objects=[SERVICE])
    host, zone = math.log(5), math.log(4)
    want = [2 * host + 2 + 2 * zone + 4, 0 * host + 2 + 2 * zone + 4, 2 * host + 2]
    assert run_score(plugin, web().build(), *infos) == [round(each) for each in want]


def test_configured_defaults_ignore_nodes_without_the_key() -> None:
    args = PodTopologySpreadArgs(SYSTEM_DEFAULTS, "List")
    infos = nodes(a1=2, b1=0, x1=0)
    plugin = make_plugin("PodTopologySpread", args, infos=infos, objects=[SERVICE])
    assert run_score(plugin, web().build(), *infos, normalize=True)[2] == 0


@cases(
    "pod, objects",
    ("nothing to deduce a selector from", web(), []),
    ("hard constraints of its own leave no defaults", make_pod().spread(ZONE, WEB), [SERVICE]),
)
def test_pre_score_skips_without_soft_constraints(pod: PodBuilder, objects: list[KubeObject]) -> None:
    infos = nodes(a1=1, b1=0)
    plugin = make_plugin("PodTopologySpread", infos=infos, objects=objects)
    assert plugin.pre_score(CycleState(), pod.build(), infos) == SKIP
    rows = np.arange(2, dtype=np.int32)
    assert plugin.pre_score_table(CycleState(), pod.build(), make_table(infos), rows) == SKIP


def test_an_empty_list_of_defaults_switches_them_off() -> None:
    infos = nodes(a1=1)
    plugin = make_plugin("PodTopologySpread", PodTopologySpreadArgs((), "List"), infos=infos, objects=[SERVICE])
    assert plugin.pre_score(CycleState(), web().build(), infos) == SKIP


def test_pre_score_fails_when_a_selector_cannot_be_read() -> None:
    wrong = {"matchExpressions": [{"key": "a", "operator": "Near"}]}
    pod = web().spread(ZONE, None, when=SOFT, labelSelector=wrong).build()
    infos = nodes(a1=1)
    text = (
        "calculating preScoreState: obtaining pod's soft topology spread constraints:"
        ' "Near" is not a valid label selector operator'
    )
    assert make_plugin("PodTopologySpread", infos=infos).pre_score(CycleState(), pod, infos) == Status.failed(text)
