"""Scratch space of one scheduling attempt, keyed by the type of what is stored.

A plugin writes its own dataclass in PreFilter or PreScore and reads it back by type. `clone()` gives
the what-if copy of preemption and nominated pods: values that change define `clone()`, others are shared.
Source: kubernetes v1.34.1, pkg/scheduler/framework/cycle_state.go.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar, cast

T = TypeVar("T")


class CycleState:
    """Values by type, plus the plugins whose later points are skipped in this cycle."""

    __slots__ = (
        "_values",
        "memo",
        "pods_to_activate",
        "skip_filter_plugins",
        "skip_pre_bind_plugins",
        "skip_score_plugins",
    )

    def __init__(self, memo: dict[Hashable, tuple[Hashable, Any]] | None = None) -> None:
        """`memo`: what was worked out for equivalent pods before."""
        self._values: dict[type[Any], Any] = {}
        self.memo: dict[Hashable, tuple[Hashable, Any]] = {} if memo is None else memo
        self.skip_filter_plugins: frozenset[str] = frozenset()
        self.skip_score_plugins: frozenset[str] = frozenset()
        self.skip_pre_bind_plugins: frozenset[str] = frozenset()
        # Pod keys plugins want activated once this cycle has succeeded; shared by clones.
        self.pods_to_activate: dict[str, None] = {}

    def write(self, value: object) -> None:
        self._values[type(value)] = value

    def read(self, kind: type[T]) -> T:
        """The stored value; KeyError when the plugin's earlier point did not run."""
        value: T = self._values[kind]
        return value

    def find(self, kind: type[T]) -> T | None:
        """The stored value, or None when the earlier point did not run."""
        value: T | None = self._values.get(kind)
        return value

    def delete(self, kind: type[Any]) -> None:
        self._values.pop(kind, None)

    def cached(self, key: Hashable, work_out: Callable[[], T], *, version: Hashable = None) -> T:
        """The result of `work_out`, computed once for all pods with one signature.

        `version` stands for everything else the result depends on, versions of the lister's kinds for example: with
        another one it is computed again.
        """
        known = self.memo.get(key)
        if known is None or known[0] != version:
            known = self.memo[key] = (version, work_out())
        return cast(T, known[1])

    def recorded(self, question: Callable[[], T]) -> tuple[T, dict[type[Any], Any]]:
        """The answer to the question, and the values that were written in answering it."""
        before = dict(self._values)
        answer = question()
        return answer, {kind: value for kind, value in self._values.items() if before.get(kind) is not value}

    def take_over(self, values: dict[type[Any], Any]) -> None:
        """Write values recorded before."""
        self._values.update(values)

    def clone(self) -> CycleState:
        copy = CycleState(self.memo)
        copy._values = {
            kind: value.clone() if hasattr(value, "clone") else value for kind, value in self._values.items()
        }
        copy.skip_filter_plugins = self.skip_filter_plugins
        copy.skip_score_plugins = self.skip_score_plugins
        copy.skip_pre_bind_plugins = self.skip_pre_bind_plugins
        copy.pods_to_activate = self.pods_to_activate
        return copy
