"""A mirror of whole days on which everything changes: no rule differs where rules are equal, and planted ones do."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest

from tests.examples import seeds
from tests.property.mirrored_days import EQUAL, PLANTED, played

ENOUGH = 16  # judged decisions that the planted difference gives another node
QUICK = {("a weight", 4), ("no spreading", 4), ("other default constraints", 1), ("taints do not count", 2)}
DAYS = 40


@pytest.mark.parametrize("seed", seeds(4, 100))
def test_where_rules_are_equal_all_that_is_judged_agrees(seed: int) -> None:
    day = played(seed, EQUAL)
    assert not day.affected
    outcomes = Counter(each.outcome for each in day.comparisons)
    assert outcomes.total() and not outcomes["differed"]


def test_decision_that_agrees_only_where_bindings_came_in_another_order_is_uncertain() -> None:
    outcomes = {each.pod_key: each.outcome for each in played(55, EQUAL).comparisons}
    assert outcomes["default/p3-7"] == "uncertain"


@pytest.mark.parametrize(
    "planted, seed",
    [pytest.param(*each, marks=[] if each in QUICK else [pytest.mark.slow]) for each in product(PLANTED, range(DAYS))],
)
def test_planted_difference_is_named(planted: str, seed: int) -> None:
    day = played(seed, PLANTED[planted])
    differing = [each for each in day.comparisons if each.outcome == "differed"]
    judged = {each.pod_key for each in day.comparisons if each.outcome != "uncertain"}
    if len(judged.intersection(day.affected)) >= ENOUGH:
        assert differing
    assert all(each.cause == "configuration" for each in differing)
