"""Steps made again from a record: the same time, the same changes, as many cycles, and the answers extenders gave.

A step cut short by a deadline is repeated by its number of cycles. Nothing else of the shell reaches a decision.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from scheduler_core.config.types import Extender
from scheduler_core.errors import ExtenderError, UnansweredError
from scheduler_core.framework.extenders import DIGEST_SIZE
from scheduler_core.model.changes import Change
from scheduler_core.model.effects import Effects, ExtenderExchange
from scheduler_core.ports import Draws, ExtenderTransport
from scheduler_core.scheduler.scheduler import Budget, Scheduler


@dataclass(frozen=True, slots=True)
class RecordedStep:
    """What a step was given, and what it was told by others while it ran. `now` is in microseconds."""

    now: int
    changes: Sequence[Change]
    cycles: int
    exchanges: Sequence[ExtenderExchange] = ()


Draw = tuple[str, int, str, int]  # (pod key, number of the attempt, purpose, what was drawn)


class RecordedDraws:
    """Draws of a run, but for those that a record has: where names were replaced, chance is what it was before."""

    def __init__(self, draws: Draws) -> None:
        self._draws = draws
        self._recorded: dict[tuple[str, int, str], int] = {}

    def put(self, draws: Iterable[Draw]) -> None:
        """Begin a step, of which these are recorded."""
        self._recorded = {(pod_key, attempt, purpose): number for pod_key, attempt, purpose, number in draws}

    def below(self, bound: int, *, pod_key: str, attempt: int, purpose: str) -> int:
        number = self._recorded.get((pod_key, attempt, purpose))
        if number is not None and 0 <= number < bound:
            return number
        return self._draws.below(bound, pod_key=pod_key, attempt=attempt, purpose=purpose)


@dataclass(frozen=True, slots=True)
class Beginning:
    """What an engine without a past is made of besides objects: bindings asked for before (pod uid, node), attempts."""

    in_flight: Sequence[tuple[str, str]] = ()
    attempts: Mapping[str, int] | None = None


class RecordedAnswers:
    """Extenders that say again what they said: an equal question gets the answers it got, in their order."""

    def __init__(self) -> None:
        self._left: dict[tuple[str, bytes], deque[ExtenderExchange]] = {}

    def put(self, exchanges: Iterable[ExtenderExchange]) -> None:
        """Begin a step: answers that an earlier one left over are dropped."""
        self._left.clear()
        for exchange in exchanges:
            self._left.setdefault((exchange.extender, exchange.request_digest), deque()).append(exchange)

    def connect(self, extender: Extender) -> ExtenderTransport:
        """The way to an extender of the configuration, as `build` asks for it."""
        return _Recorded(self, extender.url_prefix)

    def take(self, extender: str, payload: bytes) -> bytes:
        key = extender, blake2b(payload, digest_size=DIGEST_SIZE).digest()
        left = self._left.get(key)
        if not left:
            raise UnansweredError(extender)
        exchange = left.popleft()
        if exchange.answer is None:
            raise ExtenderError(exchange.error)
        return exchange.answer


@dataclass(frozen=True, slots=True)
class _Recorded:
    answers: RecordedAnswers
    extender: str

    def call(self, verb: str, payload: bytes) -> bytes:
        return self.answers.take(self.extender, payload)


def begin(scheduler: Scheduler, beginning: Beginning, step: RecordedStep) -> Effects:
    """The first step of an engine that was made of all objects there were."""
    scheduler.restore_bindings(beginning.in_flight)
    scheduler.restore_attempts(beginning.attempts or {})
    return scheduler.step(step.now, step.changes, Budget(max_cycles=0))


def repeat(scheduler: Scheduler, step: RecordedStep) -> Effects:
    """Make a step again; UnansweredError when it goes another way than it went."""
    return scheduler.step(step.now, step.changes, Budget(max_cycles=step.cycles))
