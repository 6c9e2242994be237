"""Hard constraints: who is refused, and what a pod more or less on a node changes."""

from __future__ import annotations

from scheduler_core.api.derived import HOSTNAME, ZONE
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import SKIP, SUCCESS, Status
from scheduler_core.model.types import PodInfo
from scheduler_core.plugins.pod_topology_spread.filtering import (
    REASON_NO_LABEL,
    REASON_SKEW,
    PreFilterState,
    count_nodes,
    count_rows,
)
from tests.builders import PodBuilder, make_node, make_pod
from tests.cases import cases
from tests.core.plugins.support import make_info, make_plugin, make_table, run_filter, states_of

WEB = {"app": "web"}
OK, SKEW, NO_LABEL = SUCCESS, Status.unschedulable(REASON_SKEW), Status.unresolvable(REASON_NO_LABEL)


def web(name: str = "pending") -> PodBuilder:
    return make_pod(name).label(WEB)


def nodes(**pods: int) -> list[NodeInfo]:
    """Nodes by name with so many web pods; the first letter of the name is the zone."""
    return [
        make_info(make_node(name).zone(name[0]), *(web(f"{name}-{i}") for i in range(many)))
        for name, many in pods.items()
    ]


@cases(
    "pod, infos, want",
    ("three to one is too much", web().spread(ZONE, WEB), nodes(a1=1, a2=1, b1=1), [SKEW, SKEW, OK]),
    ("unless maxSkew is two", web().spread(ZONE, WEB, max_skew=2), nodes(a1=1, a2=1, b1=1), [OK, OK, OK]),
    ("the pod itself does not match", make_pod().spread(ZONE, WEB), nodes(a1=1, a2=1, b1=1), [OK, OK, OK]),
    ("every constraint must hold", web().spread(ZONE, WEB).spread(HOSTNAME, WEB), nodes(a1=1, a2=1, b1=1, b2=0),
     [SKEW, SKEW, SKEW, OK]),
    ("too few domains: nobody has none", web().spread(ZONE, WEB, minDomains=3), nodes(a1=1, b1=1), [SKEW, SKEW]),
    ("enough domains", web().spread(ZONE, WEB, minDomains=2), nodes(a1=1, b1=1), [OK, OK]),
    ("an empty selector counts nobody there", web().spread(ZONE, {}), nodes(a1=3, b1=0), [OK, OK]),
    ("an absent selector matches not even the pod", web().spread(ZONE, None), nodes(a1=3, b1=0), [OK, OK]),
    ("soft constraints refuse nobody", web().spread(ZONE, WEB, when="ScheduleAnyway").spread(HOSTNAME, WEB),
     nodes(a1=1, b1=0), [SKEW, OK]),
    ("a node without the key is no domain and cannot be helped", web().spread(ZONE, WEB),
     [*nodes(a1=1), make_info(make_node("x"))], [OK, NO_LABEL]),
    ("a node without one of the keys counts for none", web().spread(ZONE, WEB).spread("rack", WEB), nodes(a1=2, b1=0),
     [NO_LABEL, NO_LABEL]),
    ("nodes the pod may not use do not count, but are judged", web().spread(ZONE, WEB).node_selector({ZONE: "a"}),
     nodes(a1=2, b1=0), [OK, OK]),
    ("unless the policy ignores that", web().spread(ZONE, WEB, nodeAffinityPolicy="Ignore").node_selector({ZONE: "a"}),
     nodes(a1=2, b1=0), [SKEW, OK]),
    ("tainted nodes do not count where taints are honoured", web().spread(ZONE, WEB, nodeTaintsPolicy="Honor"),
     [*nodes(a1=2), make_info(make_node("b1").zone("b").taint("k"))], [OK, OK]),
    ("pods being deleted do not count", web().spread(ZONE, WEB),
     [make_info(make_node("a1").zone("a"), web("gone").deleted(), web("far")), *nodes(b1=0)], [SKEW, OK]),
)  # fmt: skip
def test_filter_compares_a_domain_with_the_emptiest(pod: PodBuilder, infos: list[NodeInfo], want: list[Status]) -> None:
    assert run_filter(make_plugin("PodTopologySpread"), pod.build(), *infos) == want


def test_pre_filter_skips_without_hard_constraints() -> None:
    plugin, pod = make_plugin("PodTopologySpread"), web().spread(ZONE, WEB, when="ScheduleAnyway").build()
    assert plugin.pre_filter(CycleState(), pod, []) == (None, SKIP)
    assert plugin.pre_filter_table(CycleState(), pod, make_table([])) == (None, SKIP)


def test_pre_filter_fails_when_a_selector_cannot_be_read() -> None:
    wrong = {"matchExpressions": [{"key": "a", "operator": "Near"}]}
    pod = web().spread(ZONE, None, labelSelector=wrong).build()
    text = 'obtaining pod\'s hard topology spread constraints: "Near" is not a valid label selector operator'
    assert make_plugin("PodTopologySpread").pre_filter(CycleState(), pod, []) == (None, Status.failed(text))


@cases(
    "pod, changed, amount, want",
    ("without one of two the node is fine", web().spread(ZONE, WEB, max_skew=2), web("x"), -1, OK),
    ("a pod that does not match makes no difference", web().spread(ZONE, WEB, max_skew=2), make_pod("x"), -1, SKEW),
    ("nor one of another namespace", web().spread(ZONE, WEB), make_pod("x", namespace="o").label(WEB), -1, SKEW),
    ("a pod being deleted is taken off as well", web().spread(ZONE, WEB, max_skew=2), web("x").deleted(), -1, OK),
    ("one more is too many", web().spread(ZONE, WEB, max_skew=3), web("x"), 1, SKEW),
    ("for changes an empty selector counts everybody", web().spread(ZONE, {}), make_pod("x"), 1, SKEW),
    ("changes on nodes that do not count change nothing", web().spread(ZONE, WEB, nodeTaintsPolicy="Honor", max_skew=3),
     web("x"), 1, OK),
)  # fmt: skip
def test_a_pod_more_or_less_changes_the_domain_of_its_node(
    pod: PodBuilder, changed: PodBuilder, amount: int, want: Status
) -> None:
    """Two pods in zone a, on a tainted node, none in zone b."""
    tainted = make_info(make_node("a1").zone("a").taint("k"), web("1"), web("2"))
    infos, plugin, incoming = [tainted, *nodes(b1=0)], make_plugin("PodTopologySpread"), pod.build()
    for state in states_of(plugin, incoming, infos):
        before, what_if = plugin.filter(state, incoming, tainted), state.clone()
        change = plugin.add_pod if amount > 0 else plugin.remove_pod
        assert change(what_if, incoming, PodInfo.of(changed.build()), tainted) == SUCCESS
        assert plugin.filter(what_if, incoming, tainted) == want
        assert plugin.filter(state, incoming, tainted) == before, "the clone is a state of its own"


def test_smallest_domain_follows_the_changes() -> None:
    """Zone b loses its only pod and is the emptiest from then on."""
    infos, pod = nodes(a1=2, b1=1), web().spread(ZONE, WEB, max_skew=2).build()
    plugin = make_plugin("PodTopologySpread")
    for state in states_of(plugin, pod, infos):
        assert plugin.filter(state, pod, infos[0]) == OK
        plugin.remove_pod(state, pod, infos[1].pods[0], infos[1])
        assert plugin.filter(state, pod, infos[0]) == SKEW


def test_domains_count_the_same_in_both_forms() -> None:
    pod = web().spread(ZONE, WEB).spread(HOSTNAME, WEB).build()
    plugin, infos = make_plugin("PodTopologySpread"), nodes(a1=2, a2=1, b1=0)
    state = CycleState()
    plugin.pre_filter(state, pod, infos)
    rules = state.read(PreFilterState).rules
    by_nodes, by_rows = count_nodes(pod, rules, infos), count_rows(rules, make_table(infos))
    for counted in (by_nodes, by_rows):
        assert [len(domains) for domains in counted.domains] == [2, 3]
        assert [counted.domains[0].of(zone) for zone in "abc"] == [3, 0, 0]
        assert counted.allowed() == [0, 0]


@cases(
    "min_domains, want",
    ("none are fewer than one", 1, SKEW),
    ("zero are", 0, OK),
)
def test_without_any_domain_min_domains_decides_what_the_emptiest_has(min_domains: int, want: Status) -> None:
    """No node counts; the pod itself does."""
    pod = web().spread(ZONE, WEB, max_skew=0, minDomains=min_domains).node_selector(nowhere="x")
    assert run_filter(make_plugin("PodTopologySpread"), pod.build(), *nodes(a1=5)) == [want]
