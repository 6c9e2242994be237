"""Why a pod was evicted: clusters in which each criterion decides, and nodes on which pods are spared or not."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from scheduler_core.api.derived import start_time_us
from scheduler_core.api.pod import Pod
from scheduler_core.explain import evicted
from scheduler_core.explain.evicted import Cost, Counted, Evicting, LowerPod, Searched
from scheduler_core.model.changes import ObjectPut
from scheduler_core.model.effects import PreemptionRecord
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import SUCCESS, Status
from scheduler_core.preemption.criteria import NAMES, PRIORITY_OFFSET
from scheduler_core.scheduler import checkpoint
from scheduler_core.scheduler.recorded import RecordedStep
from tests.builders import PodBuilder, make
from tests.cases import cases
from tests.core.scheduler.harness import FilteringPlugin, ToldPlugins, profile, start
from tests.core.scheduler.preempting import high, low, node
from tests.examples import seeds

EARLY, LATE = "2030-01-01T00:00:00Z", "2030-01-02T00:00:00Z"


def budget(allowed: int, name: str = "web") -> Any:
    labels = {"matchLabels": {"app": "web"}}
    return make("PodDisruptionBudget", name, spec={"selector": labels}, status={"disruptionsAllowed": allowed})


def of(
    *objects: Any, pod: PodBuilder | None = None, plugins: ToldPlugins | None = None
) -> tuple[Evicting, PreemptionRecord]:
    """The search of a pod, made again, beside what was recorded of it."""
    names = tuple(plugins.factories) if plugins is not None else ()
    cluster = start(profile(*names, default=True), plugins=plugins)
    cluster.put(*(each.build() if hasattr(each, "build") else each for each in objects))
    before, built = checkpoint.dump(cluster.scheduler), (pod or high()).build()
    (attempt,) = cluster.step(built).attempts
    assert attempt.post_filter is not None and attempt.post_filter.preemption is not None
    record = attempt.post_filter.preemption
    fresh = start(profile(*names, default=True), plugins=plugins)
    checkpoint.load(fresh.scheduler, before)
    step = RecordedStep(cluster.now, [ObjectPut(built)], 1)
    nodes = [each.node_name for each in record.candidates]
    _, found = evicted.evicting_again(fresh.scheduler, step, 0, Searched(nodes, record.chosen))
    assert found is not None and found.doubt == ""
    assert (found.best, found.decided_by) == (record.chosen, record.decided_by)
    return found, record


def cost(found: Evicting, name: str) -> Cost:
    return next(each for each in found.costs if each.node == name)


def pod_of(found: Evicting, name: str) -> LowerPod:
    return next(each for each in found.pods if each.key == f"default/{name}")


def web(name: str, node_name: str, **fields: Any) -> PodBuilder:
    return low(name, cpu="4", node_name=node_name, **fields).label(app="web")


@cases(
    "pods, criterion, values",
    ("fewest violations", [web("a", "n1"), low("b", cpu="4", node_name="n2", priority=9)], "pdb_violations", (1, 0)),
    ("lowest highest priority", [low("a", cpu="4", node_name="n1", priority=9), low("b", cpu="4", node_name="n2")],
     "highest_priority", (9, 0)),
    ("smallest sum", [low("a", node_name="n1", priority=5), low("c", node_name="n1", priority=4),
                      low("b", node_name="n2", priority=5), low("d", node_name="n2", priority=3)],
     "sum_of_priorities", (9 + 2 * PRIORITY_OFFSET, 8 + 2 * PRIORITY_OFFSET)),
    ("fewer victims make a smaller sum", [low("a", node_name="n1"), low("c", node_name="n1"),
                                          low("b", cpu="4", node_name="n2")],
     "sum_of_priorities", (2 * PRIORITY_OFFSET, PRIORITY_OFFSET)),
    ("latest start", [low("a", cpu="4", node_name="n1").started(EARLY),
                      low("b", cpu="4", node_name="n2").started(LATE)],
     "latest_start", (-1893456000_000_000, -1893542400_000_000)),
)  # fmt: skip
def test_criterion_that_decides(pods: list[PodBuilder], criterion: str, values: tuple[int, int]) -> None:
    """The other node is always n1: it costs more at this criterion, and the same at those before it."""
    found, _ = of(node("n1"), node("n2"), budget(0), *pods)
    assert (found.best, found.decided_by, found.tied) == ("n2", criterion, 1)
    place = NAMES.index(criterion)
    dearer, taken = cost(found, "n1"), cost(found, "n2")
    assert (dearer.values[place], taken.values[place]) == values
    assert dearer.values[:place] == taken.values[:place]
    assert (dearer.falls_by, taken.falls_by) == (criterion, "")


def test_number_of_victims_decides_where_their_sums_are_equal() -> None:
    """Two of the least priority there is weigh as much as one of the highest offset below them."""
    least = low("a", node_name="n1", priority=-PRIORITY_OFFSET)
    found, _ = of(
        node("n1"),
        node("n2"),
        low("c", node_name="n1", priority=3),
        least,
        low("b", cpu="4", node_name="n2", priority=3),
    )
    assert (found.best, found.decided_by) == ("n2", "number_of_victims")
    assert (cost(found, "n1").values[2], cost(found, "n1").values[3]) == (3 + PRIORITY_OFFSET, 2)


def test_first_of_equals() -> None:
    same = [low(name, cpu="4", node_name=f"n{name}").started(EARLY) for name in "ab"]
    found, record = of(node("na"), node("nb"), *same)
    assert (found.decided_by, found.tied, len(record.tied)) == ("", 2, 2)
    assert [each.falls_by for each in found.costs] == ["", ""]


def test_only_candidate() -> None:
    found, _ = of(node("n1"), low("a", cpu="4"))
    assert (found.decided_by, found.tied, [each.node for each in found.costs]) == ("", 1, ["n1"])
    assert found.priority == 100


def test_pods_are_put_back_by_importance() -> None:
    """4 cpu, 2 asked: of 1 + 1 + 1 + 1 the two most important are spared."""
    pods = [low(name, cpu="1", priority=priority) for name, priority in (("a", 1), ("b", 4), ("c", 3), ("d", 2))]
    found, record = of(node("n1"), *pods, pod=high(cpu="2"))
    assert [(each.key, each.spared) for each in found.pods] == [
        ("default/b", True), ("default/c", True), ("default/d", False), ("default/a", False),
    ]  # fmt: skip
    assert record.victims == ("default/d", "default/a")
    last = pod_of(found, "a")
    assert (last.status.reasons, last.alone, last.needless) == (("Insufficient cpu",), True, False)
    assert [(each.subject, each.asked, each.there) for each in last.amounts] == [("cpu", 2_000, 1_000)]


def test_pod_beside_which_nothing_helps() -> None:
    found, _ = of(node("n1"), low("a", cpu="1"), low("b", cpu="3"), pod=high(cpu="2"))
    assert (pod_of(found, "b").alone, pod_of(found, "b").spared) == (False, False)
    assert (pod_of(found, "a").alone, pod_of(found, "a").spared) == (True, True)


def test_pod_that_violates_a_budget_is_tried_first() -> None:
    """The third of three pods is beyond the two disruptions allowed: it is spared though it is the least important."""
    pods = [low(name, cpu="1", priority=priority).label(app="web") for name, priority in (("a", 1), ("b", 3), ("c", 2))]
    found, _ = of(node("n1", cpu="3"), budget(2), *pods, pod=high(cpu="2"))
    assert [(each.key, each.spared, each.violates) for each in found.pods] == [
        ("default/a", True, True), ("default/b", False, False), ("default/c", False, False),
    ]  # fmt: skip
    assert pod_of(found, "a").budgets == (Counted("default", "web", 2, 3),)
    assert pod_of(found, "c").budgets == (Counted("default", "web", 2, 2),)


def test_violation_that_could_not_be_avoided() -> None:
    found, _ = of(node("n1"), budget(0), web("a", "n1"))
    assert cost(found, "n1").values[0] == 1
    assert (pod_of(found, "a").violates, pod_of(found, "a").budgets) == (True, (Counted("default", "web", 0, 1),))


def test_pod_that_need_not_have_gone() -> None:
    """A filter that refuses it alone, and not beside the one that is spared after it."""
    refused = ({"a"}, {"b"}, {"a", "b", "c"})

    def answer(_: Pod, info: NodeInfo) -> Status:
        there = {each.pod.name for each in info.pods}
        return Status.unschedulable("not these") if there in refused else SUCCESS

    plugins = ToldPlugins().add("Odd", FilteringPlugin, filter=answer)
    pods = [low(name, cpu="0", priority=priority) for name, priority in (("a", 3), ("b", 2), ("c", 1))]
    found, record = of(node("n1"), *pods, plugins=plugins)
    assert record.victims == ("default/a", "default/b")
    assert [(each.spared, each.alone, each.needless) for each in found.pods] == [
        (False, False, True), (False, False, True), (True, True, False),
    ]  # fmt: skip


def test_pods_that_have_not_started_count_as_started_now() -> None:
    found, _ = of(node("n1"), node("n2"), low("a", cpu="4").started(EARLY), low("b", cpu="4", node_name="n2"))
    assert (found.best, found.decided_by) == ("n2", "latest_start")
    assert pod_of(found, "b").started is None


@pytest.mark.parametrize("seed", seeds(40, 400))
def test_figures_are_those_of_the_pods(seed: int) -> None:
    """Values are counted from the pods themselves, and the choice compared one criterion after the other."""
    draws = Random(seed)
    pods: list[PodBuilder] = []
    cpu = {f"default/s{number}": 3_000 for number in range(4)}
    for number in range(draws.randint(3, 14)):
        asked = draws.randint(1, 3)
        cpu[f"default/p{number}"] = asked * 1_000
        pod = low(f"p{number}", cpu=str(asked), node_name=f"n{draws.randrange(4)}", priority=draws.randrange(4))
        pod = pod.label(app=draws.choice(["web", "db"])) if draws.random() < 0.6 else pod
        pods.append(pod.started(draws.choice([EARLY, LATE])))
    nodes = [node(f"n{number}", cpu="6") for number in range(4)]
    small = [low(f"s{number}", cpu="3", node_name=f"n{number}", priority=3).started(LATE) for number in range(4)]
    found, record = of(*nodes, budget(draws.randrange(3)), *pods, *small, pod=high(cpu="4"))
    by_key: dict[str, Pod] = {each.build().key: each.build() for each in (*pods, *small)}
    for each, recorded in zip(found.costs, record.candidates, strict=True):
        victims = [by_key[key] for key in each.victims]
        most = max(pod.priority for pod in victims)
        assert (each.node, each.victims) == (recorded.node_name, recorded.victims)
        assert each.values == (
            recorded.num_pdb_violations,
            most,
            sum(pod.priority + PRIORITY_OFFSET for pod in victims),
            len(victims),
            -min(start_time_us(pod, 0) for pod in victims if pod.priority == most),
        )
    best = cost(found, found.best).values
    assert best == min(each.values for each in found.costs)
    for each in found.costs:
        falls = next((name for name, a, b in zip(NAMES, each.values, best, strict=True) if a != b), "")
        assert each.falls_by == falls
    assert {each.key for each in found.pods} == {key for key, pod in by_key.items() if pod.spec.node_name == found.best}
    free = 2_000  # of 6 cpu, of which 4 are asked
    for tried in found.pods:
        takes = cpu[tried.key]
        assert tried.spared == (takes <= free)
        assert [(each.asked, each.there) for each in tried.amounts] == (
            [] if tried.spared else [(4_000, 4_000 + free - takes)]
        )
        assert (tried.alone, tried.needless) == (takes <= 2_000, False)
        free -= takes if tried.spared else 0
