"""Keeps the attempts of a run: not at all, as the service keeps them, or encoded as well.

off      dropped after each cycle, and the engine takes no times of its phases
on       kept with all their arrays until their step of at most STEP_CYCLES cycles ends, phases timed
stored   and then digested, summed up and encoded, as the service does before it writes a step, with their amounts;
         repeats only digested
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from scheduler_core.model.amounts import packed
from scheduler_core.model.effects import Attempt
from scheduler_core.trace.codec import encode
from scheduler_core.trace.digest import attempt_digest
from scheduler_core.trace.summary import summarize

STEP_CYCLES = 200


class Trace(StrEnum):
    """See above."""

    OFF = "off"
    ON = "on"
    STORED = "stored"


class Keeper:
    """Takes the attempts of each step; `bytes_stored` counts what blobs and amounts would take."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.bytes_stored = 0
        self._last_digests: dict[str, bytes] = {}

    def keeps(self, attempt: Attempt) -> bool:
        """As the service says: an attempt like the pod's last is only counted."""
        attempt.digest = attempt_digest(attempt)
        return self._last_digests.get(attempt.pod_uid) != attempt.digest

    def end_step(self, attempts: list[Attempt]) -> None:
        """Digest, summarise and encode a step's attempts if they are to be stored."""
        if self.trace is not Trace.STORED:
            return
        for attempt in attempts:
            digest = attempt.digest or attempt_digest(attempt)
            if self._last_digests.get(attempt.pod_uid) != digest:
                self._last_digests[attempt.pod_uid] = digest
                rejections = summarize(attempt).rejections
                self.bytes_stored += len(encode(attempt))
                if attempt.amounts:
                    self.bytes_stored += len(msgspec.json.encode([packed(each.amounts) for each in rejections]))
