"""Two nodes of an attempt beside each other: a cluster with a known cause for each kind of answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from scheduler_core.api.pod import Pod
from scheduler_core.config.types import PluginEntry, PluginSet
from scheduler_core.explain import again
from scheduler_core.explain.again import Wanted
from scheduler_core.explain.why import By, Standing, Turn, Why, turn_to, why_of, with_observed, without_which
from scheduler_core.model.changes import ObjectPut
from scheduler_core.model.effects import Attempt
from scheduler_core.ports import SeededDraws
from scheduler_core.scheduler import checkpoint
from scheduler_core.scheduler.recorded import RecordedStep
from scheduler_core.scheduler.scheduler import Scheduler
from scheduler_core.trace.matrix import AttemptMatrix
from tests.builders import make_node, make_pod
from tests.cases import cases
from tests.core.scheduler.harness import SUCCESS as PASSED
from tests.core.scheduler.harness import Cluster, FilteringPlugin, ScoringPlugin, Status, ToldPlugins, profile, start

Scores = Mapping[str, tuple[int, Mapping[str, int]]]
"""By plugin its weight and what it gives each node."""


@dataclass
class Tried:
    """A pod tried once, and the engine as it was before."""

    made: Attempt
    now: int
    pod: Pod
    before: bytes
    new: Any

    @property
    def matrix(self) -> AttemptMatrix:
        return AttemptMatrix.of(self.made)

    @property
    def step(self) -> RecordedStep:
        return RecordedStep(self.now, [ObjectPut(self.pod)], 1)

    def engine(self) -> Scheduler:
        scheduler: Scheduler = self.new().scheduler
        checkpoint.load(scheduler, self.before)
        return scheduler

    def why(self, other: str = "", *, observed: bool = True) -> Why:
        said = why_of(self.matrix, self.made.node_name, other)
        if not observed:
            return said
        _, seen = again.attempt_again(self.engine(), self.step, 0, Wanted(frozenset([said.other])))
        assert seen is not None
        return with_observed(said, self.matrix, seen)

    def turn(self, other: str) -> Turn | None:
        scores, nodes = self._scored()
        return turn_to(scores, nodes, self.matrix.node_names.index(other))

    def without(self, other: str) -> tuple[str, ...]:
        scores, nodes = self._scored()
        return without_which(scores, nodes, self.matrix.node_names.index(other))

    def _scored(self) -> Any:
        matrix = self.matrix
        assert matrix.score_rows is not None and matrix.feasible is not None
        return matrix.score_rows, matrix.feasible.tolist()

    def best_with(self, plugin: str, weight: int) -> tuple[str, list[str]]:
        """The node chosen with another weight, and all that have the highest total then."""
        made = again.attempt_with(self.engine(), self.step, 0, plugin, weight)
        assert made.node_order is not None and made.tied is not None
        return made.node_name, [made.node_order.names[node] for node in made.tied.tolist()]


def tried(new: Any, nodes: Sequence[Any], pod: Any) -> Tried:
    cluster: Cluster = new()
    cluster.put(*(node.build() for node in nodes))
    before = checkpoint.dump(cluster.scheduler)
    built = pod.build()
    return Tried(cluster.attempt(built), cluster.now, built, before, new)


def scoring(scores: Scores, refused: Mapping[str, str] | None = None) -> Tried:
    """Nodes n1, n2, … that get these scores; `refused`: nodes with the reason for which a filter refuses them."""
    told = ToldPlugins()
    for name, (_, given) in scores.items():
        told.add(name, ScoringPlugin, score=lambda pod, info, given=given: (given.get(info.name, 0), PASSED))
    reasons = refused or {}

    def refuse(pod: Pod, info: Any) -> Status:
        return Status.unschedulable(reasons[info.name]) if info.name in reasons else PASSED

    told.add("Refuse", FilteringPlugin, filter=refuse)
    weights = PluginSet(enabled=tuple(PluginEntry(name, weight) for name, (weight, _) in scores.items()))

    def new() -> Cluster:
        return start(profile(*scores, "Refuse", score=weights), plugins=told, draws=SeededDraws(7))

    names = dict.fromkeys(["n1", "n2", *(node for _, given in scores.values() for node in given), *reasons])
    return tried(new, [make_node(name) for name in names], make_pod("p"))


def test_plugins_that_decide_come_with_their_parts_largest_first() -> None:
    one = scoring({"A": (2, {"n1": 50, "n2": 60}), "B": (3, {"n1": 90, "n2": 40}), "C": (1, {"n1": 5, "n2": 5})})
    said = one.why()
    assert (said.node, said.other, said.by, said.standing) == ("n1", "n2", By.TOTAL, Standing.COMPARED)
    assert (said.tied, said.drawn, said.feasible, said.looked_at, said.nodes_total) == (1, 0, 2, 2, 2)
    assert said.totals is not None
    assert [(part.plugin, part.difference, part.node, part.other) for part in said.totals.plugins] == [
        ("B", 150, 90, 40), ("A", -20, 50, 60),
    ]  # fmt: skip
    assert (said.totals.node, said.totals.other, said.totals.by_extenders) == (375, 245, 0)
    assert (said.totals.best, said.totals.num_best, said.totals.of_all) == (375, 1, False)


def test_tie_is_told_with_the_place_on_which_the_draw_fell() -> None:
    one = scoring({"A": (1, {"n1": 50, "n2": 50, "n3": 50, "n4": 10})})
    tied = [one.matrix.node_names[node] for node in one.made.tied.tolist()]  # type: ignore[union-attr]
    other = next(name for name in tied if name != one.made.node_name)
    said = one.why(other)
    assert (said.by, said.tied, said.drawn) == (By.DRAW, 3, tied.index(said.node) + 1)
    assert said.totals is not None and said.totals.plugins == () and said.totals.node == said.totals.other == 50
    assert one.turn(other) is None and one.turn("n4") is None


def test_refusal_is_told_with_what_was_asked_and_what_there_was() -> None:
    nodes = [make_node("n1").capacity(cpu="4"), make_node("n2").capacity(cpu="1")]
    one = tried(start, nodes, make_pod("p").req(cpu="3"))
    said = one.why("n2")
    assert (said.node, said.by, said.standing, said.totals) == ("n1", By.ONLY, Standing.REFUSED, None)
    assert said.status is not None and (said.status.plugin, said.status.reasons) == (
        "NodeResourcesFit", ("Insufficient cpu",),
    )  # fmt: skip
    assert said.amounts is not None and (said.amounts[0].asked, said.amounts[0].there) == (3_000, 1_000)
    stored = one.why("n2", observed=False)
    assert stored.status == said.status and stored.amounts is None and not stored.is_observed


def test_node_that_was_never_looked_at() -> None:
    nodes = [make_node(f"n{i:03}").capacity(cpu="1" if i == 149 else "4", pods="10") for i in range(150)]
    one = tried(start, nodes, make_pod("p").req(cpu="2"))
    assert one.made.feasible is not None and len(one.made.feasible) == 100
    names = {Standing.SPARE: "n100", Standing.UNSEEN: "n120"}
    for standing, name in names.items():
        said = one.why(name)
        assert (said.standing, said.status, said.looked_at, said.nodes_total) == (standing, None, 101, 150)
        assert said.totals is not None and said.totals.of_all and said.totals.num_best == 149
        assert said.totals.node == said.totals.other == said.totals.best
        assert one.why(name, observed=False).totals is None
    refused = one.why("n149")
    assert refused.standing is Standing.UNSEEN and refused.totals is None
    assert refused.status is not None and refused.status.reasons == ("Insufficient cpu",)
    assert refused.amounts is not None and refused.amounts[0].there == 1_000
    assert one.why("n149", observed=False).status is None


def test_node_that_prefilter_left_out() -> None:
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
    nodes = [make_node(name).capacity(cpu="4") for name in ("n1", "n2")]
    one = tried(start, nodes, make_pod("p").required_node_affinity(term))
    assert one.why("n2", observed=False).standing is Standing.LEFT_OUT
    said = one.why("n2")
    assert said.by is By.ONLY and said.status is not None and "NodeAffinity" in said.status.message


def test_node_the_pod_was_nominated_to() -> None:
    nodes = [make_node(name).capacity(cpu="4") for name in ("n1", "n2", "n3")]
    one = tried(start, nodes, make_pod("p").nominated("n2"))
    said = one.why()
    assert (said.node, said.by, said.other, said.standing) == ("n2", By.NOMINATED, "n1", Standing.UNSEEN)
    assert (said.tied, said.looked_at) == (0, 1)
    assert said.totals is not None and said.totals.of_all


def test_first_feasible_node_is_taken_where_nobody_scores() -> None:
    names = ("n1", "n2", "n3")

    def new() -> Cluster:
        return start(profile("Refuse"), plugins=ToldPlugins().add("Refuse", FilteringPlugin), draws=SeededDraws(7))

    one = tried(new, [make_node(name) for name in names], make_pod("p"))
    said = one.why()
    assert (said.node, said.by, said.other, said.standing) == ("n1", By.FIRST, "n2", Standing.SPARE)
    assert said.tied == said.drawn == 0


def test_tie_of_an_attempt_that_does_not_keep_who_tied() -> None:
    one = scoring({"A": (1, {"n1": 50, "n2": 50, "n3": 10})})
    said = why_of(msgspec.structs.replace(one.matrix, tied=None), one.made.node_name)
    assert (said.by, said.tied, said.drawn) == (By.DRAW, 2, one.why().drawn)


def test_nodes_that_were_not_there() -> None:
    one = scoring({"A": (1, {"n1": 50})})
    assert one.why("gone", observed=False).standing is Standing.ABSENT
    alone = tried(start, [make_node("n1").capacity(cpu="4")], make_pod("p")).why(observed=False)
    assert (alone.other, alone.standing, alone.by) == ("", Standing.NONE, By.ONLY)


def test_best_of_the_others_is_told_where_none_is_named() -> None:
    one = scoring({"A": (1, {"n1": 50, "n2": 20, "n3": 40, "n4": 60})}, {"n4": "no"})
    assert one.why().other == "n3"
    assert one.why("n4").standing is Standing.REFUSED


@cases(
    "scores, want",
    ("more of a plugin, as a tie is not enough",
     {"A": (2, {"n1": 50, "n2": 60}), "B": (3, {"n1": 60, "n2": 50})}, Turn("A", 2, 4, outright=True)),
    ("much more of a plugin is less than any less of the other",
     {"A": (1, {"n1": 10, "n2": 11}), "B": (9, {"n1": 60, "n2": 50})}, Turn("A", 1, 91, outright=True)),
    ("the smaller of two changes",
     {"A": (1, {"n1": 10, "n2": 35}), "B": (9, {"n1": 60, "n2": 50})}, Turn("A", 1, 4, outright=True)),
    ("more than 100 would be needed, and no less of the other does",
     {"A": (1, {"n1": 0, "n2": 1}), "B": (99, {"n1": 60, "n2": 50})}, None),
    ("one that does it outright, where less lets it share",
     {"A": (1, {"n1": 50, "n2": 60}), "B": (7, {"n1": 60, "n2": 50})}, Turn("A", 1, 8, outright=True)),
    ("no weight of the only plugin turns it", {"A": (2, {"n1": 80, "n2": 60})}, None),
    ("nothing speaks for it", {"A": (3, {"n1": 60, "n2": 60}), "B": (3, {"n1": 60, "n2": 50})}, None),
    ("with any weight that puts it before the one a third node wins",
     {"A": (1, {"n1": 50, "n2": 60, "n3": 70}), "B": (1, {"n1": 90, "n2": 70, "n3": 55})}, None),
    ("all three are equal at one weight only",
     {"A": (1, {"n1": 50, "n2": 60, "n3": 70}), "B": (2, {"n1": 90, "n2": 80, "n3": 70})},
     Turn("A", 1, 2, outright=False)),
    ("a weight above 100 is only lowered",
     {"A": (150, {"n1": 51, "n2": 50}), "B": (100, {"n1": 59, "n2": 60})}, Turn("A", 150, 99, outright=True)),
)  # fmt: skip
def test_smallest_change_of_a_weight(scores: Scores, want: Turn | None) -> None:
    one = scoring(scores)
    assert one.made.node_name == "n1"
    assert one.turn("n2") == want
    if want is not None:
        chosen, best = one.best_with(want.plugin, want.to)
        assert "n2" in best and (best == ["n2"]) == want.outright
        assert chosen == "n2" or not want.outright


def test_plugin_without_whose_scores_it_had_turned() -> None:
    one = scoring({"A": (1, {"n1": 50, "n2": 60}), "B": (1, {"n1": 90, "n2": 70}), "C": (1, {"n1": 1, "n2": 0})})
    assert one.without("n2") == ("B",)
    assert one.best_with("B", 0) == ("n2", ["n2"])
    assert one.best_with("C", 0)[0] == "n1"


def test_other_weight_counts_for_this_attempt_alone() -> None:
    """Attempts before it in its step are as they were, and the profile stays as it is."""
    one = scoring({"A": (2, {"n1": 50, "n2": 60}), "B": (3, {"n1": 60, "n2": 50})})
    engine = one.engine()
    second = make_pod("q").build()
    step = RecordedStep(one.now, [ObjectPut(one.pod), ObjectPut(second)], 2)
    made = again.attempt_with(engine, step, 1, "A", 9)
    assert [each.node_name for each in engine.engine.effects.attempts] == ["n1", "n2"] and made.pod_key == second.key
    assert engine.engine.frameworks["default-scheduler"].weights == {"A": 2, "B": 3}
