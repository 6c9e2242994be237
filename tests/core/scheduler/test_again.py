"""Attempts of random histories made again: the same attempts, and node by node what both forms of the rules say."""

from __future__ import annotations

from random import Random

import pytest

from scheduler_core.explain.again import Wanted, attempt_again, contradiction
from scheduler_core.scheduler import checkpoint
from scheduler_core.scheduler.recorded import RecordedStep
from scheduler_core.scheduler.scheduler import Budget
from scheduler_core.trace import digest
from tests.core.scheduler.harness import SECOND
from tests.core.scheduler.test_recorded import happenings
from tests.core.scheduler.world import changes_of, start_world
from tests.examples import seeds


@pytest.mark.parametrize("seed", seeds(2, 8))
def test_attempts_of_random_histories(seed: int) -> None:
    """Preemptions, nodes that change and go, nominated pods, two profiles."""
    draws = Random(seed)
    lived = start_world()
    compared = observed = 0
    for op in happenings(draws):
        before = checkpoint.dump(lived.scheduler)
        changes = changes_of(lived, op)
        done = lived.step(*changes, budget=Budget(3), after=op[2] * SECOND)
        step = RecordedStep(lived.now, changes, len(done.attempts))
        for place, attempt in enumerate(done.attempts):
            engine = start_world().scheduler
            checkpoint.load(engine, before)
            effects, seen = attempt_again(engine, step, place, Wanted())
            made = effects.attempts[place]
            assert digest.attempt_digest(made) == digest.attempt_digest(attempt)
            compared += 1
            if seen is not None:
                observed += 1
                assert contradiction(seen, made) is None
                search = made.post_filter.preemption if made.post_filter is not None else None
                trials = {node.name: node.trial for node in seen.nodes}
                if search is not None and search.chosen:
                    chosen = trials[search.chosen]
                    assert chosen is not None and set(chosen.victims) == set(search.victims)
    assert compared > 50 and observed > 25
