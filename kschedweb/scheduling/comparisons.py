"""Rows of comparisons: what the scheduler of a mirrored cluster decided, beside our own decision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scheduler_core.api.times import moment_of
from scheduler_core.model.effects import Comparison

MICROSECOND = 1_000_000
_TOLD = (
    *("profile", "outcome", "node_name", "own_node_name", "plugin", "reason"),
    *("own_score", "score", "own_total", "total", "cause"),
)


def comparison_row(told: Comparison, attempt_seqs: Mapping[tuple[str, int], int]) -> tuple[Any, ...]:
    """In the order of `services.COMPARISON_COLUMNS`; first None where the attempt is of a step before."""
    return (
        attempt_seqs.get((told.pod_uid, told.attempt)) if told.attempt else 0,
        told.pod_uid,
        *split_key(told.pod_key),
        *(getattr(told, name) for name in _TOLD),
        [{"kind": each.kind, "changes": each.changes, "seconds": each.age_us / MICROSECOND} for each in told.behind],
        told.tries,
        moment_of(told.at),
    )


def split_key(key: str) -> tuple[str, str]:
    """`namespace/name` -> (namespace, name); a cluster-scoped name has no namespace."""
    namespace, slash, name = key.partition("/")
    return (namespace, name) if slash else ("", namespace)
