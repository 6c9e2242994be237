"""A recorded result against ours: every field of every cycle, and where the first difference of each lies.

Cycles are paired by pod, attempt and how often that was told. A cycle agrees when no compared field differs; what only
one side has, differs. What stands beside the cycles (node order, queue order, profiles) is the scenario's head and is
compared as one item.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

ABSENT: Final = "(absent)"
DECISION: Final = frozenset(
    {"outcome", "filter", "feasible", "startIndex", "endIndex", "score.plugins", "score.nodes", "node", "tied"}
)


@dataclass(frozen=True, slots=True)
class Divergence:
    """`field` is a path such as `filter[3][1]`; `cycle` names pod and attempt, empty for the scenario's head."""

    scenario: str
    cycle: str
    field: str
    expected: Any
    got: Any


@dataclass(frozen=True, slots=True)
class Comparison:
    """Counts of one scenario, in cycles or in steps of the queue. `surplus`: those of ours that were not recorded."""

    cycles: int
    agreed: int
    surplus: int
    head_agrees: bool
    divergences: tuple[Divergence, ...]


def compare(expected: Mapping[str, Any], got: Mapping[str, Any], *, decision_only: bool) -> Comparison:
    """Compare two results; with `decision_only` just what the decision itself is, and no head."""
    scenario = str(expected["name"])
    divergences: list[Divergence] = []

    def note(cycle: str, left: Any, right: Any) -> bool:
        """Compare both sides, note one divergence per field, and return whether they agree."""
        found = [Divergence(scenario, cycle, *each) for each in _fields_apart(left, right)]
        divergences.extend(found)
        return not found

    head_agrees = decision_only or note("", _without(expected, "cycles"), _without(got, "cycles"))
    ours = dict(_keyed(got["cycles"]))
    agreed = 0
    for key, cycle in _keyed(expected["cycles"]):
        mine = ours.pop(key, {})
        if decision_only:
            agreed += note(_name(cycle), _decision(cycle), _decision(mine))
        else:
            agreed += note(_name(cycle), cycle, mine)
    for cycle in ours.values():
        divergences.append(Divergence(scenario, _name(cycle), "cycle", ABSENT, cycle.get("outcome")))
    return Comparison(len(expected["cycles"]), agreed, len(ours), head_agrees, tuple(divergences))


def _keyed(cycles: Iterable[Mapping[str, Any]]) -> Iterator[tuple[tuple[Any, Any, int], Mapping[str, Any]]]:
    """Each with its key: a late binding, whether it succeeds or fails, is told beside the attempt that it ends."""
    told: Counter[tuple[Any, Any]] = Counter()
    for cycle in cycles:
        attempt = cycle["pod"], cycle["attempt"]
        told[attempt] += 1
        yield (*attempt, told[attempt]), cycle


def _name(cycle: Mapping[str, Any]) -> str:
    return f"{cycle['pod']} attempt {cycle['attempt']}"


def _without(mapping: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in mapping.items() if name != key}


def _decision(cycle: Mapping[str, Any]) -> dict[str, Any]:
    """The compared part of a cycle, with `score` spread out."""
    flat = dict(cycle) | {f"score.{name}": value for name, value in cycle.get("score", {}).items()}
    return {name: value for name, value in flat.items() if name in DECISION}


def _fields_apart(left: Mapping[str, Any], right: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """(path, left, right) of the first difference inside each differing field."""
    for name in [*left, *(name for name in right if name not in left)]:
        found = _first_apart(name, left.get(name, ABSENT), right.get(name, ABSENT))
        if found is not None:
            yield found


def _first_apart(path: str, left: Any, right: Any) -> tuple[str, Any, Any] | None:
    if isinstance(left, dict) and isinstance(right, dict):
        inside = ((f"{path}.{name}", left.get(name, ABSENT), right.get(name, ABSENT)) for name in {**left, **right})
        return next((found for each in inside if (found := _first_apart(*each)) is not None), None)
    if isinstance(left, list) and isinstance(right, list):
        for place, (one, other) in enumerate(zip(left, right, strict=False)):
            found = _first_apart(f"{path}[{place}]", one, other)
            if found is not None:
                return found
        if len(left) == len(right):
            return None
        place = min(len(left), len(right))
        one, other = (side[place] if place < len(side) else ABSENT for side in (left, right))
        return f"{path}[{place}]", one, other
    # True == 1 in Python, not in JSON.
    if type(left) is type(right) and left == right:
        return None
    return path, left, right
