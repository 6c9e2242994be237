"""What a leader logs of its attempts and its engine, in upstream's words."""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from kschedweb.common import logs
from kschedweb.scheduling.runner import slow_cycles
from scheduler_core.model.effects import Attempt

log = structlog.get_logger(__name__)


def attempts_tell(attempts: Sequence[Attempt]) -> None:
    """Log the attempts of a step that has been committed: those that were slow, and with more logging all of them."""
    for attempt in attempts:
        record = slow_cycles.trace_of(attempt, all_steps=logs.is_shown(4))
        if record is not None:
            log.info(record, pod=attempt.pod_key, node=attempt.node_name, attempt=attempt.attempt)
    if logs.is_shown(2):
        for attempt in attempts:
            _result_tell(attempt)


def _result_tell(attempt: Attempt) -> None:
    """The result of an attempt, in upstream's words."""
    fields = {"pod": attempt.pod_key, "attempt": attempt.attempt, "v": 2}
    if attempt.result == "scheduled":
        feasible = 0 if attempt.feasible is None else len(attempt.feasible)
        log.info(
            "Attempting to bind pod to node",
            node=attempt.node_name,
            evaluatedNodes=attempt.evaluated_nodes,
            feasibleNodes=feasible,
            **fields,
        )
    elif attempt.result == "unschedulable":
        log.info("Unable to schedule pod; no fit; waiting", err=attempt.message, **fields)
    else:
        log.info("Error scheduling pod; retrying", err=attempt.message, result=attempt.result, **fields)


def engine_log(message: str, fields: dict[str, object]) -> None:
    """What the engine has to say: errors, and details for those who ask for them."""
    if "err" in fields:
        log.error(message, **fields)
    elif logs.is_shown(5):
        log.info(message, v=5, **fields)
