"""The node with the highest total; among equals each with the same probability.

Source: kubernetes v1.34.1, pkg/scheduler/schedule_one.go (selectHost), with a keyed draw for its dice.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from scheduler_core.framework.answers import Int64Array
from scheduler_core.ports import Draws


def select_host(totals: Int64Array, draws: Draws, *, pod_key: str, attempt: int) -> tuple[int, npt.NDArray[np.int64]]:
    """The chosen position in `totals`, and all positions with the highest total."""
    tied = (totals == totals.item(totals.argmax())).nonzero()[0]
    if len(tied) == 1:
        return int(tied[0]), tied
    choice = draws.below(len(tied), pod_key=pod_key, attempt=attempt, purpose="tie")
    return int(tied[choice]), tied
