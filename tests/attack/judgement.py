"""Whether a storm did any harm, from what the observer wrote down, what the stormers were told, and the log.

Everybody's rules: /readyz answers, an innocent user is refused nothing, no answer is a 5xx, no process ends, none takes
600 MB, every refusal is one line of the log and no line is an error. On a machine that does nothing else /readyz says
200 all the time, and within a second.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.attack.observer import MEMORY, READ, READY

READY_SECONDS = 1.0
MEMORY_BYTES = 600_000_000
_REFUSAL = re.compile(r"^W\d{4} ", re.MULTILINE)
_FAILURE = re.compile(r"^(?:[EF]\d{4} .*|Traceback .*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Asked:
    """One question of the observer; status 0: no answer came."""

    at: float
    status: int
    seconds: float


@dataclass
class Seen:
    """What the observer saw in a span of time; bytes at most and their kinds by process, `binding/4711`."""

    ready: list[Asked] = field(default_factory=list)
    read: list[Asked] = field(default_factory=list)
    peaks: dict[str, int] = field(default_factory=dict)
    looks: list[tuple[float, Mapping[str, Mapping[str, int]]]] = field(default_factory=list)

    def add(self, line: Mapping[str, Any]) -> None:
        if line["kind"] == MEMORY:
            self.looks.append((line["at"], line["processes"]))
            for name, sizes in line["processes"].items():
                self.peaks[name] = max(self.peaks.get(name, 0), sizes["peak"])
            return
        asked = Asked(line["at"], line["status"], line["seconds"])
        {READY: self.ready, READ: self.read}[line["kind"]].append(asked)

    @property
    def figures(self) -> str:
        ready, read = ([one.seconds for one in asked] for asked in (self.ready, self.read))
        largest = {}
        for name, peak in sorted(self.peaks.items(), key=lambda item: item[1]):
            largest[name.partition("/")[0]] = peak
        memory = ", ".join(f"{name} {peak / 1e6:.0f}" for name, peak in reversed(largest.items()))
        return (
            f"/readyz {len(ready)} times, at most {max(ready, default=0):.2f} s; a user's read {len(read)} times,"
            f" at most {max(read, default=0):.2f} s; MB at most: {memory}"
        )


def lines_between(lines: Iterable[str], since: float, until: float) -> Seen:
    """What was begun in that span; a line that is not whole yet is left."""
    seen = Seen()
    for text in lines:
        if text.endswith("\n"):
            line = json.loads(text)
            if since <= line["at"] < until:
                seen.add(line)
    return seen


def problems(
    seen: Seen,
    *,
    told: Mapping[int, int],
    refusals: int,
    logs: Mapping[str, str],
    ended: Sequence[str],
    is_timed: bool,
) -> list[str]:
    """What was not as it should be; `told` are answers by status, `refusals` the lines that web.log should have.

    `is_timed`: nothing else uses the machine, so that how soon answers come says something about the service.
    """
    found = []
    if not seen.ready or not seen.read or not seen.peaks:
        found.append("the observer saw nothing")
    for asked in seen.ready:
        if not asked.status or (is_timed and (asked.status != 200 or asked.seconds > READY_SECONDS)):
            found.append(f"/readyz: {asked.status} after {asked.seconds:.2f} s")
    found += [f"an innocent's read: {one.status} after {one.seconds:.2f} s" for one in seen.read if one.status != 200]
    found += [f"{count} answers with {status}" for status, count in told.items() if status >= 500]
    found += [f"{name} took {peak / 1e6:.0f} MB" for name, peak in seen.peaks.items() if peak >= MEMORY_BYTES]
    found += [f"{name} has ended" for name in ended]
    lines = refusal_lines(logs["web"])
    if lines != refusals:
        found.append(f"{refusals} refusals are {lines} lines of the log: {dict(Counter(_kinds(logs['web'])))}")
    for name, text in logs.items():
        found += [f"log of {name}: {line[:300]}" for line in _FAILURE.findall(text)[:5]]
    return found


def refusal_lines(log: str) -> int:
    """How many refusals a piece of the web process's log tells of."""
    return len(_REFUSAL.findall(log))


def _kinds(text: str) -> list[str]:
    return [line.partition("] ")[2][:60] for line in text.splitlines() if _REFUSAL.match(line)]
