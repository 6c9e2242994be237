"""Who has to go on one node, what budgets say to that, and which of several nodes is taken."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.api.pod import Pod
from scheduler_core.cache.cache import Cache
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.handle import NominatedPods
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import SUCCESS, Code, Status
from scheduler_core.model.types import PodInfo
from scheduler_core.preemption.budgets import Budget, split_by_budget
from scheduler_core.preemption.criteria import (
    CRITERIA,
    Candidate,
    Criterion,
    best_candidates,
    best_of,
    highest_priority,
    latest_start,
    number_of_victims,
    pdb_violations,
    sum_of_priorities,
    values_of,
)
from scheduler_core.preemption.trial import NO_VICTIMS, Question, dry_run, select_victims_on_node
from tests.builders import PodBuilder, make, make_node, make_pod
from tests.cases import cases

NOW = 1_900_000_000_000_000


class RoomRunner:
    """The pod fits while the node has enough CPU; every change of the node is written down."""

    name = "default-scheduler"

    def __init__(self, fail: str = "") -> None:
        self.changes: list[str] = []
        self._fail = fail

    def _change(self, sign: str, info: PodInfo) -> Status:
        self.changes.append(sign + info.pod.name)
        return Status.failed("broken") if self.changes[-1] == self._fail else SUCCESS

    def run_add_pod(self, state: CycleState, pod: Pod, pod_to_add: PodInfo, node_info: NodeInfo) -> Status:
        return self._change("+", pod_to_add)

    def run_remove_pod(self, state: CycleState, pod: Pod, pod_to_remove: PodInfo, node_info: NodeInfo) -> Status:
        return self._change("-", pod_to_remove)

    def run_filters_with_nominated_pods(
        self, state: CycleState, pod: Pod, node_info: NodeInfo, nominated: NominatedPods
    ) -> Status:
        wanted = PodInfo.of(pod).request.milli_cpu
        if node_info.requested.milli_cpu + wanted <= node_info.allocatable.milli_cpu:
            return SUCCESS
        return Status.unschedulable("Insufficient cpu", plugin="NodeResourcesFit")


class Nobody:
    def nominated_pods_for_node(self, node_name: str) -> list[PodInfo]:
        return []

    def nominated_node_names(self) -> list[str]:
        return []


def low(name: str, priority: int, cpu: str = "1", started: str = "2029-01-01T10:00:00Z") -> PodBuilder:
    return make_pod(name).priority(priority).req(cpu=cpu).started(started)


def node_with(*pods: PodBuilder, name: str = "n1", cpu: str = "4") -> NodeInfo:
    cache = Cache()
    cache.add_node(make_node(name).capacity(cpu=cpu, memory="8Gi", pods="110").build())
    for pod in pods:
        cache.add_pod(pod.on(name).build())
    return cache.items[name].info


def question(
    cpu: str = "2", *, priority: int = 100, budgets: list[Budget] | None = None, runner: RoomRunner | None = None
) -> Question:
    pod = make_pod("preemptor").priority(priority).req(cpu=cpu).build()
    return Question(runner or RoomRunner(), Nobody(), CycleState(), pod, budgets or [], NOW)


def budget(allowed: int, labels: dict[str, str] | None, *, disrupted: tuple[str, ...] = (), **spec: Any) -> Budget:
    if labels is not None:
        spec["selector"] = {"matchLabels": labels}
    status = {"disruptionsAllowed": allowed, "disruptedPods": dict.fromkeys(disrupted, "2029-01-01T00:00:00Z")}
    return Budget.of(make("PodDisruptionBudget", "b", spec=spec, status=status))


def names(candidate: Candidate | Status) -> list[str]:
    assert isinstance(candidate, Candidate), candidate
    return [pod.name for pod in candidate.victims]


def example_nodes() -> tuple[NodeInfo, NodeInfo]:
    n1 = node_with(
        low("a", 0, started="2029-01-01T10:00:00Z"), low("b", 0, started="2029-01-01T10:05:00Z"), low("c", 50, cpu="2")
    )
    return n1, node_with(low("d", 0, cpu="4", started="2029-01-01T09:00:00Z"), name="n2")


def test_pods_are_taken_off_and_put_back_most_important_first() -> None:
    runner = RoomRunner()
    select_victims_on_node(question(runner=runner), example_nodes()[0])
    assert runner.changes == ["-a", "-b", "-c", "+c", "+a", "-a", "+b", "-b"]


@cases(
    "pods, cpu, want",
    ("equal priority is no victim", [low("same", 100)], "4", Status.unresolvable(NO_VICTIMS)),
    ("nobody there", [], "4", Status.unresolvable(NO_VICTIMS)),
    ("victims would not free enough", [low("high", 200), low("a", 0)], "4",
     Status.unschedulable("Insufficient cpu", plugin="NodeResourcesFit")),
    ("it fits anyway", [low("a", 0)], "1", Status.failed('expected at least one victim pod on node "n1"')),
)  # fmt: skip
def test_no_victims_are_selected_when(pods: list[PodBuilder], cpu: str, want: Status) -> None:
    assert select_victims_on_node(question(cpu), node_with(*pods)) == want


@pytest.mark.parametrize("change", ["-a", "+a"])
def test_failing_plugin_ends_the_trial_of_the_node(change: str) -> None:
    found = select_victims_on_node(question("4", runner=RoomRunner(fail=change)), node_with(low("a", 0)))
    assert isinstance(found, Status) and found.code is Code.Error


def test_pods_being_deleted_are_victims_like_others() -> None:
    assert names(select_victims_on_node(question("4"), node_with(low("a", 0).deleted()))) == ["a"]


def test_pod_without_a_start_time_counts_as_started_now() -> None:
    younger = make_pod("younger").req(cpu="2")
    assert names(select_victims_on_node(question("2"), node_with(low("older", 0, cpu="2"), younger))) == ["younger"]


def test_trial_leaves_the_node_and_the_cycle_as_they_were() -> None:
    node_info, asked = node_with(low("a", 0), low("b", 5)), question("4")
    dry_run(asked, [node_info], want=1)
    assert [info.pod.name for info in node_info.pods] == ["a", "b"]
    assert node_info.requested.milli_cpu == 2000


# Budgets


def labelled(name: str, priority: int, **labels: str) -> PodBuilder:
    return low(name, priority).label(**labels)


def test_least_important_pods_violate_the_budget() -> None:
    """One disruption for three pods: the count goes 0, -1, -2 in order of importance."""
    pods = [PodInfo.of(labelled(name, priority, app="x").build()) for name, priority in (("a", 5), ("b", 3), ("c", 1))]
    violating, others = split_by_budget(pods, [budget(1, {"app": "x"})])
    assert [info.pod.name for info in violating] == ["b", "c"]
    assert [info.pod.name for info in others] == ["a"]


@cases(
    "given_budget, labels, violates",
    ("nothing left", budget(0, {"app": "x"}), {"app": "x"}, True),
    ("one left", budget(1, {"app": "x"}), {"app": "x"}, False),
    ("other labels", budget(0, {"app": "y"}), {"app": "x"}, False),
    ("pod without labels", budget(0, {"app": "x"}), {}, False),
    ("empty selector matches nothing", budget(0, {}), {"app": "x"}, False),
    ("no selector matches nothing", budget(0, None), {"app": "x"}, False),
    ("broken selector matches nothing",
     budget(0, None, selector={"matchExpressions": [{"key": "app", "operator": "Like", "values": ["x"]}]}),
     {"app": "x"}, False),
    ("paid for already", budget(0, {"app": "x"}, disrupted=("p",)), {"app": "x"}, False),
)  # fmt: skip
def test_pod_violates_a_budget_when(given_budget: Budget, labels: dict[str, str], violates: bool) -> None:
    pod = PodInfo.of(low("p", 0).label(labels).build())
    assert split_by_budget([pod], [given_budget]) == (([pod], []) if violates else ([], [pod]))


def test_budget_of_another_namespace_is_none_of_the_pods_business() -> None:
    pod = PodInfo.of(make_pod("p", namespace="other").label(app="x").build())
    assert split_by_budget([pod], [budget(0, {"app": "x"})]) == ([], [pod])


def test_pod_may_cost_several_budgets() -> None:
    pods = [PodInfo.of(labelled(name, 0, app="x", tier="web").build()) for name in "ab"]
    violating, others = split_by_budget(pods, [budget(2, {"app": "x"}), budget(1, {"tier": "web"})])
    assert ([info.pod.name for info in violating], [info.pod.name for info in others]) == (["b"], ["a"])


@cases(
    "cpu, want, violations",
    ("violating ones are spared first, though less important", "2", ["big"], 0),
    ("victims of both groups are sorted by importance again", "4", ["big", "kept"], 1),
)
def test_victims_beside_a_budget(cpu: str, want: list[str], violations: int) -> None:
    node_info = node_with(low("big", 10, cpu="2"), labelled("kept", 1, app="x").req(cpu="2"))
    found = select_victims_on_node(question(cpu, budgets=[budget(0, {"app": "x"})]), node_info)
    assert names(found) == want
    assert isinstance(found, Candidate) and found.num_pdb_violations == violations


# How many nodes are tried


def many(kinds: str) -> list[NodeInfo]:
    """One node per letter: v violates the budget, n does not, u has nobody to evict."""
    nodes = []
    for number, kind in enumerate(kinds):
        pods = {"v": [labelled(f"p{number}", 0, app="x")], "n": [low(f"p{number}", 0)], "u": []}[kind]
        nodes.append(node_with(*pods, name=f"n{number}", cpu="2"))
    return nodes


@cases(
    "kinds, want, found, tried",
    ("enough without violation", "nnnn", 2, "n0 n1", 2),
    ("goes on until one does not violate", "vvnn", 2, "n2 n0 n1", 3),
    ("violating ones are capped, all are tried", "vvvv", 2, "n0 n1", 4),
    ("both kinds count", "nvvv", 3, "n0 n1 n2", 3),
    ("fewer than wanted", "unu", 3, "n1", 3),
)
def test_dry_run_ends_when(kinds: str, want: int, found: str, tried: int) -> None:
    runner = RoomRunner()
    run = dry_run(question("2", budgets=[budget(0, {"app": "x"})], runner=runner), many(kinds), want)
    assert [candidate.node_name for candidate in run.candidates] == found.split()
    assert len([change for change in runner.changes if change.startswith("-")]) // 2 + len(run.statuses) == tried


# Criteria


def victims(*pods: tuple[int, str], violations: int = 0, name: str = "x") -> Candidate:
    """(priority, minute of the start) per victim, the most important first."""
    built = [
        low(f"{name}-{number}", priority, started=f"2029-01-01T10:{minute}:00Z").build()
        for number, (priority, minute) in enumerate(pods)
    ]
    return Candidate(name, tuple(built), violations)


@cases(
    "criterion, better, worse",
    ("fewest violations", pdb_violations, victims((9, "00"), violations=0), victims((1, "00"), violations=1)),
    ("lowest most important victim", highest_priority, victims((5, "00"), (5, "00")), victims((10, "00"))),
    ("smallest sum", sum_of_priorities, victims((5, "00")), victims((5, "00"), (1, "00"))),
    ("negative ones add up too", sum_of_priorities, victims((-9, "00")), victims((-9, "00"), (-9, "00"))),
    ("fewest victims", number_of_victims, victims((1, "00")), victims((1, "00"), (0, "00"))),
    ("latest start", latest_start, victims((1, "30")), victims((1, "10"))),
    ("earliest among the highest only", latest_start, victims((1, "30"), (0, "01")), victims((1, "50"), (1, "10"))),
)
def test_criterion_prefers(criterion: Criterion, better: Candidate, worse: Candidate) -> None:
    assert criterion(better, NOW) < criterion(worse, NOW)


def test_criteria_come_in_the_order_of_the_specification() -> None:
    assert (pdb_violations, highest_priority, sum_of_priorities, number_of_victims, latest_start) == CRITERIA


def test_earlier_criterion_wins_over_all_later_ones() -> None:
    many_low = victims(*[(0, "01")] * 5, name="many")
    one_high = victims((1, "59"), name="one")
    assert best_candidates([one_high, many_low], NOW) == [many_low]


def test_equal_candidates_stay_in_their_order() -> None:
    equals = [victims((1, "10"), name=name) for name in "cab"]
    assert [candidate.node_name for candidate in best_candidates(equals, NOW)] == ["c", "a", "b"]


@cases(
    "candidates, decided_by",
    ("a single one is no decision", [victims((1, "10"))], ""),
    ("equals", [victims((1, "10")), victims((1, "10"))], ""),
    ("violations", [victims((1, "10"), violations=1), victims((9, "10"))], "pdb_violations"),
    ("priority", [victims((2, "10")), victims((1, "10"), (1, "10"))], "highest_priority"),
    ("sum", [victims((1, "10"), (0, "10")), victims((1, "10"))], "sum_of_priorities"),
    ("start", [victims((1, "10")), victims((1, "20"))], "latest_start"),
    ("the last one that sorted out", [victims((2, "10")), victims((1, "10")), victims((1, "20"))], "latest_start"),
)
def test_criterion_that_leaves_one_candidate_is_told(candidates: list[Candidate], decided_by: str) -> None:
    assert best_of(values_of(candidates, NOW))[1] == decided_by


# Properties


@settings(max_examples=150, deadline=None)
@given(
    pods=st.lists(
        st.tuples(st.integers(-2, 3), st.integers(1, 8), st.integers(0, 59), st.booleans()), min_size=1, max_size=8
    ),
    cpu=st.integers(1, 12),
    allowed=st.integers(0, 3),
)
def test_no_victim_could_have_been_spared(pods: list[tuple[int, int, int, bool]], cpu: int, allowed: int) -> None:
    """With all other victims gone, the pod does not fit beside any one of them."""
    built = [
        low(f"p{number}", priority, cpu=str(size), started=f"2029-01-01T10:{minute:02}:00Z").label(
            {"app": "x"} if covered else {}
        )
        for number, (priority, size, minute, covered) in enumerate(pods)
    ]
    node_info = node_with(*built, cpu="12")
    asked = question(str(cpu), priority=3, budgets=[budget(allowed, {"app": "x"})])
    found = select_victims_on_node(asked, node_info.copy())
    if isinstance(found, Status):
        return
    for victim in found.victims:
        left = node_info.copy()
        for other in found.victims:
            if other is not victim:
                left.remove_pod(other)
        assert not asked.runner.run_filters_with_nominated_pods(
            asked.state, asked.pod, left, asked.nominated
        ).is_success
    order = [(-pod.priority, pod.status.start_time) for pod in found.victims]
    assert order == sorted(order)  # type: ignore[type-var]
