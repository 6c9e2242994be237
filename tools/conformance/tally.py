"""Counts per family, and how they are printed: as text or as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tools.conformance.compare import Comparison, Divergence

CYCLES, STEPS = "cycles", "steps"  # what a family counts
FIRST_IN_JSON = 10  # divergences listed per family when --show does not say otherwise


@dataclass(slots=True)
class Tally:
    """One family. A scenario that stopped with an exception counts all it recorded as not agreed."""

    unit: str = CYCLES
    scenarios: int = 0
    count: int = 0  # cycles or steps recorded
    agreed: int = 0
    surplus: int = 0
    heads_apart: int = 0
    divergences: list[Divergence] = field(default_factory=list)

    def add(self, comparison: Comparison) -> None:
        self.scenarios += 1
        self.count += comparison.cycles
        self.agreed += comparison.agreed
        self.surplus += comparison.surplus
        self.heads_apart += not comparison.head_agrees
        self.divergences += comparison.divergences

    @property
    def failed(self) -> int:
        return self.count - self.agreed + self.surplus + self.heads_apart


def as_text(tallies: Mapping[str, Tally], show: int) -> str:
    """A line per family, its first divergences under it, and the sum as the last line."""
    lines: list[str] = []
    width = max((len(family) for family in tallies), default=0)
    for family, tally in tallies.items():
        line = f"{family:<{width}}  {tally.agreed} / {tally.count} {tally.unit}"
        if tally.heads_apart:
            line += f", {tally.heads_apart} of {tally.scenarios} scenarios differ beside their {tally.unit}"
        if tally.surplus:
            line += f", {tally.surplus} {tally.unit} that were not recorded"
        lines.append(line)
        for found in tally.divergences[:show]:
            lines.append(f"  {found.scenario}, {found.cycle or 'as a whole'}: {found.field}")
            lines.append(f"    expected {json.dumps(found.expected, ensure_ascii=False)}")
            lines.append(f"    got      {json.dumps(found.got, ensure_ascii=False)}")
    passed, failed = _sums(tallies)
    return "\n".join([*lines, f"{passed} passed, {failed} failed"])


def as_json(tallies: Mapping[str, Tally], show: int | None) -> str:
    """Return the tallies as JSON."""
    passed, failed = _sums(tallies)
    limit = FIRST_IN_JSON if show is None else show
    families = {family: _family(tally, limit) for family, tally in tallies.items()}
    return json.dumps({"families": families, "passed": passed, "failed": failed}, ensure_ascii=False)


def _family(tally: Tally, limit: int) -> dict[str, Any]:
    return {
        "scenarios": tally.scenarios,
        tally.unit: tally.count,
        "agreed": tally.agreed,
        "surplus": tally.surplus,
        "headsApart": tally.heads_apart,
        "divergences": [
            {
                "scenario": found.scenario,
                "cycle": found.cycle,
                "field": found.field,
                "expected": found.expected,
                "got": found.got,
            }
            for found in tally.divergences[:limit]
        ],
    }


def _sums(tallies: Mapping[str, Tally]) -> tuple[int, int]:
    return sum(tally.agreed for tally in tallies.values()), sum(tally.failed for tally in tallies.values())
