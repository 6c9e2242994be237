"""Which attempts a step will store by themselves: of these alone the engine makes amounts."""

from __future__ import annotations

from kschedweb.scheduling.remembered import Remembered
from scheduler_core.model.effects import Attempt
from scheduler_core.trace.digest import attempt_digest


class AttemptKeeper:
    """Answers the engine by what steps before left; `remembered` is replaced when an engine is made."""

    def __init__(self) -> None:
        self.remembered = Remembered()
        self._tried: set[str] = set()  # in the step under way, by uid

    def keeps(self, attempt: Attempt) -> bool:
        """Whether the attempt repeats none that is stored.

        Of a pod tried twice in a step the attempt before is not stored yet: the second is taken for one to be kept.
        """
        uid, is_first = attempt.pod_uid, attempt.pod_uid not in self._tried
        self._tried.add(uid)
        attempt.digest = attempt_digest(attempt)
        repeats = self.remembered.would_repeat(uid, attempt.digest, attempt.started_at)
        return bool(attempt.exchanges) or not (is_first and repeats)

    def end_step(self) -> Remembered:
        """What is remembered, for the rows of the step."""
        self._tried.clear()
        return self.remembered
