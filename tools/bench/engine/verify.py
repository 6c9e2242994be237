"""Runs a workload on two engines side by side: the measured one, and one with node forms only and no caches.

Every attempt of one is compared with the attempt of the other, in full: verdicts, raw and normalised scores, messages.
The comparison ends at the first difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from scheduler_core.config.types import KubeSchedulerConfiguration
from scheduler_core.model.effects import Attempt
from scheduler_core.trace.diff import Divergence, first_divergence
from scheduler_core.trace.digest import attempt_digest
from tools.bench.engine.keeping import Keeper, Trace
from tools.bench.engine.levels import LEVELS
from tools.bench.engine.meter import idle_meter
from tools.bench.engine.prepare import prepare
from tools.bench.engine.workload import Workload


@dataclass(frozen=True, slots=True)
class Verdict:
    """`agreed` attempts were the same; `pod_key` and `divergence` (measured, node forms only) say where they parted."""

    agreed: int
    pod_key: str = ""
    divergence: Divergence | None = None


def verify(level: str, workload: Workload, *, reuse: bool, config: KubeSchedulerConfiguration | None = None) -> Verdict:
    """Run the workload on both engines; `reuse` is of the measured one."""
    run = LEVELS[level]
    measured = run(prepare(workload, reuse=reuse, config=config), idle_meter(), Keeper(Trace.ON))
    by_row = run(prepare(workload, reuse=False, use_table=False, config=config), idle_meter(), Keeper(Trace.ON))
    agreed = 0
    for ours, theirs in zip_longest(measured, by_row):
        if ours is None or theirs is None:
            missing = Divergence("attempt was made", ours is not None, theirs is not None)
            return Verdict(agreed, (ours or theirs).pod_key, missing)
        if not _are_alike(ours, theirs):
            found = first_divergence(ours, theirs)
            digests = Divergence("digest", attempt_digest(ours).hex(), attempt_digest(theirs).hex())
            return Verdict(agreed, ours.pod_key, found or digests)
        agreed += 1
    return Verdict(agreed)


def _are_alike(ours: Attempt, theirs: Attempt) -> bool:
    """A digest covers all but raw scores and where the walk over the nodes began and ended."""
    if (ours.start_index, ours.end_index) != (theirs.start_index, theirs.end_index):
        return False
    if attempt_digest(ours) != attempt_digest(theirs):
        return False
    one, other = ours.score_rows, theirs.score_rows
    return one is None or other is None or np.array_equal(one.raw, other.raw)
