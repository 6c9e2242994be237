"""Writes of the scheduling app: steps, and the work that steps order."""

from kschedweb.scheduling.services.steps import (
    ATTEMPT_COLUMNS,
    DECIDED_COLUMNS,
    SCHEDULER_ACTOR,
    StepPosition,
    step_commit,
)
from kschedweb.scheduling.services.work import BATCH, bindings_carry_out, evictions_carry_out

__all__ = [
    "ATTEMPT_COLUMNS",
    "BATCH",
    "DECIDED_COLUMNS",
    "SCHEDULER_ACTOR",
    "StepPosition",
    "bindings_carry_out",
    "evictions_carry_out",
    "step_commit",
]
