"""Why one node and not another, on random clusters: against the matrix, and against every weight there is."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from scheduler_core.config.types import PluginEntry, PluginSet
from scheduler_core.explain import again
from scheduler_core.explain.again import Wanted
from scheduler_core.explain.why import MOST_WEIGHT, Standing, turn_to, why_of, with_observed, without_which
from scheduler_core.model.changes import ObjectPut
from scheduler_core.model.effects import Attempt, ScoreRows
from scheduler_core.ports import SeededDraws
from scheduler_core.scheduler import checkpoint
from scheduler_core.scheduler.recorded import RecordedStep
from scheduler_core.scheduler.scheduler import Scheduler
from scheduler_core.trace import digest
from scheduler_core.trace.matrix import AttemptMatrix
from tests.builders import make_node, make_pod
from tests.core.scheduler.harness import Cluster, profile, start
from tests.examples import seeds

ZONE = "topology.kubernetes.io/zone"
WEIGHTS = {"NodeResourcesFit": 2, "ImageLocality": 3, "TaintToleration": 1}


def best(scores: ScoreRows, line: int, weight: int) -> list[int]:
    """The columns with the highest total with another weight of one plugin, in plain Python."""
    totals = [
        int(total) + (weight - scores.plugins[line][1]) * int(score)
        for total, score in zip(scores.totals, scores.normalized[line], strict=True)
    ]
    return [column for column, total in enumerate(totals) if total == max(totals)]


def smallest(scores: ScoreRows, other: int, outright: bool) -> int | None:
    """How much one weight has to change, found by trying all."""
    changes = [
        abs(weight - scores.plugins[line][1])
        for line in range(len(scores.plugins))
        for weight in range(1, max(MOST_WEIGHT, scores.plugins[line][1]) + 1)
        if weight != scores.plugins[line][1]
        and other in (found := best(scores, line, weight))
        and (len(found) == 1 or not outright)
    ]
    return min(changes, default=None)


@pytest.mark.parametrize("seed", seeds(60, 600))
def test_smallest_change_is_the_one_that_trying_all_weights_finds(seed: int) -> None:
    draws = np.random.default_rng(seed)
    n_plugins, n_nodes = int(draws.integers(1, 5)), int(draws.integers(2, 7))
    spread = int(draws.choice([3, 10, 101]))
    normalized = draws.integers(0, spread, size=(n_plugins, n_nodes))
    plugins = tuple((f"P{i}", int(draws.choice([1, 2, 3, 10, 100, 120]))) for i in range(n_plugins))
    added = draws.integers(0, 2, size=n_nodes) * 10  # by extenders
    totals = np.array([weight for _, weight in plugins]) @ normalized + added
    scores = ScoreRows(plugins, normalized, normalized, totals, ())
    nodes = [10 + i for i in range(n_nodes)]
    chosen = int(totals.argmax())
    for column in range(n_nodes):
        if column == chosen:
            continue
        turn = turn_to(scores, nodes, nodes[column])
        outright = smallest(scores, column, outright=True)
        want = outright if outright is not None else smallest(scores, column, outright=False)
        shares_now = totals[column] == totals.max()
        assert (None if turn is None else abs(turn.to - turn.weight)) == want or (shares_now and turn is None)
        if turn is not None:
            line = [name for name, _ in plugins].index(turn.plugin)
            found = best(scores, line, turn.to)
            assert column in found and (found == [column]) == turn.outright == (outright is not None)
        for line, (name, _) in enumerate(plugins):
            assert (best(scores, line, 0) == [column]) == (name in without_which(scores, nodes, nodes[column]))


def engine_with(weights: dict[str, int]) -> Cluster:
    enabled = tuple(PluginEntry(name, weight) for name, weight in weights.items() if weight)
    disabled = tuple(PluginEntry(name) for name, weight in weights.items() if not weight)
    return start(profile(default=True, score=PluginSet(enabled=enabled, disabled=disabled)), draws=SeededDraws(7))


def random_nodes(draws: Random) -> list[Any]:
    nodes = []
    for i in range(draws.randint(2, 8)):
        node = make_node(f"n{i}").zone(f"z{i % 3}").capacity(cpu=draws.choice("2468"), memory="8Gi", pods="20")
        if draws.random() < 0.4:
            node.images({f"app:{draws.randrange(3)}": 300 << 20})
        if draws.random() < 0.3:
            node.taint("soft", effect="PreferNoSchedule")
        nodes.append(node)
    return nodes


def random_pod(draws: Random, i: int) -> Any:
    web = {"app": f"a{i % 2}"}
    pod = make_pod(f"p{i}").label(web).req(cpu=draws.choice(["100m", "500m", "1", "3"]), memory="256Mi")
    pod.image(f"app:{draws.randrange(3)}")
    if draws.random() < 0.3:
        pod.pod_affinity(ZONE, web, weight=draws.randint(1, 100), anti=draws.random() < 0.5)
    if draws.random() < 0.3:
        term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [f"z{draws.randrange(3)}"]}]}
        pod.preferred_node_affinity(draws.randint(1, 100), term)
    return pod


def loaded(before: bytes, weights: dict[str, int] | None = None) -> Scheduler:
    scheduler = engine_with(weights or WEIGHTS).scheduler
    checkpoint.load(scheduler, before)
    return scheduler


@pytest.mark.parametrize("seed", seeds(4, 40))
def test_answers_on_random_clusters(seed: int) -> None:
    """Numbers are those of the matrix; the change of a weight turns it in an engine so configured, and no smaller."""
    draws = Random(seed)
    cluster = engine_with(WEIGHTS)
    cluster.put(*(node.build() for node in random_nodes(draws)))
    compared = turned = 0
    for i in range(14):
        before, pod = checkpoint.dump(cluster.scheduler), random_pod(draws, i).build()
        done = cluster.step(pod)
        (attempt,) = done.attempts
        step = RecordedStep(cluster.now, [ObjectPut(pod)], 1)
        cluster.confirm(done)
        if attempt.node_name:
            for other in attempt.node_order.names:  # type: ignore[union-attr]
                if other != attempt.node_name:
                    compared += 1
                    turned += answer_holds(attempt, step, before, other)
    assert compared > 3 and turned  # small clusters, in which few pods find a node, are among them


def answer_holds(attempt: Attempt, step: RecordedStep, before: bytes, other: str) -> bool:
    """Check all that is said of the other node; whether a change of a weight turns it."""
    matrix = AttemptMatrix.of(attempt)
    effects, seen = again.attempt_again(loaded(before), step, 0, Wanted(frozenset([other])))
    assert seen is not None and digest.attempt_digest(effects.attempts[0]) == digest.attempt_digest(attempt)
    why = with_observed(why_of(matrix, attempt.node_name, other), matrix, seen)
    rows = {row.node_name: row for row in matrix.rows()}
    mine, theirs = rows[attempt.node_name], rows[other]
    assert (why.status is None) == theirs.status.is_success == (why.standing is Standing.COMPARED)
    if why.totals is None:
        return False
    assert (why.totals.node, why.totals.other, why.totals.of_all) == (mine.total, theirs.total, False)
    assert why.totals.best == mine.total == max(row.total or 0 for row in rows.values())
    parts = {part.plugin: part for part in why.totals.plugins}
    assert sum(part.difference for part in parts.values()) == mine.total - theirs.total and not why.totals.by_extenders
    for ours, others in zip(mine.scores, theirs.scores, strict=True):
        part = parts.get(ours.plugin)
        assert (part.difference if part else 0) == ours.weighted - others.weighted
        assert part is None or (part.node, part.other) == (ours.normalized, others.normalized)
    scores, nodes = matrix.score_rows, matrix.feasible
    assert scores is not None and nodes is not None
    place = matrix.node_names.index(other)
    for plugin in without_which(scores, nodes.tolist(), place):
        assert best_of_engine(loaded(before, WEIGHTS | {plugin: 0}), step) == [other]
    turn = turn_to(scores, nodes.tolist(), place)
    if turn is None:
        return False
    found = best_of_engine(loaded(before, WEIGHTS | {turn.plugin: turn.to}), step)
    assert other in found and (found == [other]) == turn.outright
    made = again.attempt_with(loaded(before), step, 0, turn.plugin, turn.to)
    assert names_of(made) == found
    way = 1 if turn.to > turn.weight else -1
    for weight in range(turn.weight, turn.to, way):
        nearer = best_of_engine(loaded(before, WEIGHTS | {turn.plugin: weight}), step)
        assert nearer != [other] and (turn.outright or other not in nearer or weight == turn.weight)
    return True


def best_of_engine(scheduler: Scheduler, step: RecordedStep) -> list[str]:
    """The nodes with the highest total of an engine that makes the step in its own way."""
    effects, _ = again.attempt_again(scheduler, step, 0, Wanted(frozenset()))
    return names_of(effects.attempts[0])


def names_of(made: Attempt) -> list[str]:
    assert made.node_order is not None and made.tied is not None
    return [made.node_order.names[node] for node in made.tied.tolist()]
