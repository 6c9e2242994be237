"""An engine brought to a moment by the record is the engine that was there."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from scheduler_core.config.types import Extender as ExtenderConfig
from scheduler_core.errors import ExtenderError, UnansweredError
from scheduler_core.framework.extenders import Extender
from scheduler_core.model.effects import ExtenderExchange
from scheduler_core.ports import SeededDraws
from scheduler_core.scheduler import checkpoint, recorded
from scheduler_core.scheduler.recorded import RecordedAnswers, RecordedDraws, RecordedStep
from scheduler_core.scheduler.scheduler import Budget
from scheduler_core.trace import digest
from tests.builders import make_pod
from tests.core.scheduler.harness import SECOND
from tests.core.scheduler.world import Op, changes_of, start_world
from tests.examples import seeds

WHAT = (
    *("node", "node", "cordon", "drop node", "pod", "pod", "pod", "pod", "grow", "gate", "drop pod", "bound"),
    *("refused", "rejected", "elsewhere", "allow", "prepared", "finish", "wait"),
)
STEPS = 200
POSITIONS = 50
EVERY = 23  # steps from checkpoint to checkpoint


def happenings(draws: Random) -> list[Op]:
    return [(draws.choice(WHAT), draws.randint(0, 9), draws.randint(0, 3)) for _ in range(STEPS)]


@pytest.mark.parametrize("seed", seeds(2, 8))
def test_engine_at_any_moment_is_the_one_fed_the_log_up_to_there(seed: int) -> None:
    """Preemptions, nodes that change and go, permits and bindings refused, in two profiles."""
    draws = Random(seed)
    lived = start_world()
    record: list[RecordedStep] = []
    digests: list[list[bytes]] = []
    kept: dict[int, bytes] = {}
    states: dict[int, bytes] = {}
    positions = set(draws.sample(range(STEPS), POSITIONS))
    for number, op in enumerate(happenings(draws)):
        if number % EVERY == 0:
            kept[number] = checkpoint.dump(lived.scheduler)
        changes = changes_of(lived, op)
        calls = iter([False, *[True] * 9] if draws.random() < 0.3 else [False] * 99)  # some are cut short
        budget = Budget(draws.randint(0, 3), lambda calls=calls: next(calls))  # type: ignore[misc]
        done = lived.step(*changes, budget=budget, after=op[2] * SECOND)
        record.append(RecordedStep(lived.now, changes, len(done.attempts)))
        digests.append([digest.attempt_digest(each) for each in done.attempts])
        if number in positions:
            states[number] = checkpoint.dump(lived.scheduler)
    assert sum(map(len, digests)) > STEPS // 4
    for position in positions:
        start = max(number for number in kept if number <= position)
        again = start_world().scheduler
        checkpoint.load(again, kept[start])
        for number in range(start, position + 1):
            done = recorded.repeat(again, record[number])
            assert [digest.attempt_digest(each) for each in done.attempts] == digests[number]
        assert checkpoint.dump(again) == states[position]


def test_extenders_say_again_what_they_said() -> None:
    answers = RecordedAnswers()
    config = ExtenderConfig(url_prefix="http://x", filter_verb="filter", node_cache_capable=True)
    pod, told = make_pod("p").build(), list[ExtenderExchange]()

    class Live:
        def call(self, verb: str, payload: bytes) -> bytes:
            if told:
                raise ExtenderError("it is away")
            return b'{"NodeNames":[]}'

    live = Extender(config, Live())
    live.filter(pod, [], told)
    with pytest.raises(ExtenderError):
        live.filter(pod, [], told)
    again, heard = Extender(config, answers.connect(config)), list[ExtenderExchange]()
    answers.put(told)
    again.filter(pod, [], heard)
    with pytest.raises(ExtenderError, match="it is away"):
        again.filter(pod, [], heard)
    assert heard == told
    with pytest.raises(UnansweredError, match="http://x"):
        again.filter(pod, [], heard)
    answers.put([])
    with pytest.raises(UnansweredError):
        again.filter(make_pod("other").build(), [], heard)


def test_draw_is_what_is_recorded_of_the_step_and_else_as_without_a_record() -> None:
    draws, seeded = RecordedDraws(SeededDraws(1)), SeededDraws(1)

    def drawn(attempt: int) -> tuple[int, int]:
        key: Any = {"pod_key": "default/a", "attempt": attempt, "purpose": "tie"}
        return draws.below(1_000, **key), seeded.below(1_000, **key)

    draws.put([("default/a", 1, "tie", 999), ("default/a", 2, "tie", 1_000)])
    assert drawn(1)[0] == 999
    made, expected = drawn(2)
    assert made == expected, "more than there is to draw from"
    draws.put([])
    made, expected = drawn(1)
    assert made == expected
