"""How many objects an owner may create at a time, and when it tries again after a refusal.

Batches are of 1, 2, 4, … objects as long as all are accepted, so that what is refused is not asked for a thousand
times. After a refusal the owner tries again after 5 ms, 10 ms, 20 ms, … up to 1,000 s, or sooner when something
changes. Times are microseconds.
Source: kubernetes v1.34.1, pkg/controller/replicaset (slow start), client-go util/workqueue (delays).
"""

from __future__ import annotations

from typing import Final

from scheduler_core.controllers.deadlines import Deadlines

FIRST_BATCH: Final = 1
FIRST_DELAY_US: Final = 5_000
LONGEST_DELAY_US: Final = 1_000_000_000


class Creations:
    """Batches and delays of owners by their uids; owners that were never refused and create nothing take no room."""

    def __init__(self) -> None:
        self._batches: dict[str, int] = {}
        self._refusals: dict[str, int] = {}
        self._problems: dict[str, str] = {}
        self._until: dict[str, int] = {}
        self.retries = Deadlines()  # by uid

    def waits(self, uid: str, now: int) -> bool:
        """Return whether the owner was refused something and has to wait."""
        return self._until.get(uid, now) > now

    def batch(self, uid: str, wanted: int, now: int) -> int:
        """Return how many of the wanted objects the owner may ask for now; 0 wanted ends its series of batches."""
        if wanted <= 0:
            self._batches.pop(uid, None)
            return 0
        if self.waits(uid, now):
            return 0
        return min(wanted, self._batches.setdefault(uid, FIRST_BATCH))

    def accepted(self, uid: str) -> None:
        """All that an owner asked for was accepted: its next batch is twice as large."""
        if uid in self._batches:
            self._batches[uid] *= 2
        self._refusals.pop(uid, None)
        self._problems.pop(uid, None)
        self.release(uid)

    def release(self, uid: str) -> None:
        """Something changed that may help: the owner need not wait any longer."""
        self._until.pop(uid, None)
        self.retries.drop(uid)

    def refused(self, uid: str, message: str, now: int) -> None:
        """Something was refused: the owner begins anew with the first batch, after a delay."""
        self._batches.pop(uid, None)
        count = self._refusals.get(uid, 0)
        self._refusals[uid] = count + 1
        self._problems[uid] = message
        self._until[uid] = until = now + min(FIRST_DELAY_US * 2 ** min(count, 30), LONGEST_DELAY_US)
        self.retries.set(uid, until)

    def problem(self, uid: str) -> str:
        """Return why something was refused last; empty when nothing was, or it succeeded since."""
        return self._problems.get(uid, "")

    def settled(self, uid: str) -> None:
        """Nothing is left to ask for, or the owner is gone: refusals before do not count any more."""
        self._batches.pop(uid, None)
        self._refusals.pop(uid, None)
        self._problems.pop(uid, None)
        self.release(uid)
