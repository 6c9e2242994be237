"""Sizes at which the engine takes another way to the same answer, and how much it caches between cycles.

No decision depends on them, only time and memory. Tests pass small ones, so that both sides of every branch run on
small clusters.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """`max_rows`: total cached rows over all equivalence classes of a profile (about 40 bytes each); `min_classes` and
    `max_classes` limit the number of classes whatever their size; `max_seen`: signatures of single pods remembered;
    `max_unused`: once so many classes wait for their second pod, only a second pod gets one; `longest_signature`, in
    bytes: larger pods share nothing.

    `few_changed`: up to so many changed rows are refreshed at once, whether they are wanted or not. `few_rows`: rows up
    to which the node form of a rule is quicker than arrays. `many_statuses`: different refusals cached by a class; of
    more than that most are of rows as they once were, and all are dropped.
    """

    max_rows: int = 1_500_000
    min_classes: int = 16
    max_classes: int = 1024
    max_seen: int = 4096
    max_unused: int = 32
    longest_signature: int = 32_768
    few_changed: int = 2
    few_rows: int = 16
    many_statuses: int = 4096


LIMITS = Limits()
