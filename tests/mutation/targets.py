"""Where faults are made: what decides, stores and admits. Chosen by a seed, each operator as often as the others."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from tests.mutation.operators import Mutant, mutants

TARGETS = {
    "core": "scheduler_core",
    "web": "kschedweb",
}
FOLDERS = {
    "core": (
        "admission apiserver cache config controllers cycle framework plugins preemption "
        "queue scheduler sim table trace"
    ),
    "web": "cluster scheduling traces live accounts lifecycle rest",
}
# What a file is for, by the longest path it begins with.
PURPOSES = {
    "scheduler_core/": "decides",
    "scheduler_core/admission/": "admits",
    "scheduler_core/config/": "admits",
    "scheduler_core/trace/": "stores",
    "kschedweb/scheduling/": "decides",
    "kschedweb/lifecycle/": "decides",
    "kschedweb/": "stores",
    "kschedweb/accounts/": "admits",
    "kschedweb/rest/": "admits",
    "kschedweb/cluster/intake/": "admits",
}
# Declarations, pages for people, and what other checks hold: migrations are compared with the models.
LEFT_OUT = frozenset({"models.py", "admin.py", "apps.py", "schema.py", "choices.py", "pages.py", "site.py"})


def sources(root: Path, part: str) -> Iterator[tuple[str, str]]:
    """(path below the root, text) of the files of a part, in order."""
    for folder in FOLDERS[part].split():
        for path in sorted((root / TARGETS[part] / folder).rglob("*.py")):
            if path.name not in LEFT_OUT and "migrations" not in path.parts:
                yield str(path.relative_to(root)), path.read_text()


def purpose(path: str) -> str:
    """What the file does: decides, stores or admits."""
    return PURPOSES[max((each for each in PURPOSES if path.startswith(each)), key=len)]


def chosen(root: Path, part: str, *, seed: int, count: int, under: str = "") -> list[Mutant]:
    """So many mutants of a part, those whose path begins with `under`; the same for the same seed and sources."""
    draws = random.Random(f"{seed}/{part}")
    texts = dict(sources(root, part))
    by_operator: dict[str, list[Mutant]] = {}
    for path, text in texts.items():
        for mutant in mutants(path, text) if path.startswith(under) else ():
            by_operator.setdefault(mutant.operator, []).append(mutant)
    for found in by_operator.values():
        draws.shuffle(found)
    taken: list[Mutant] = []
    while len(taken) < count and any(by_operator.values()):
        for operator in sorted(by_operator):
            found = by_operator[operator]
            while found and len(taken) < count:
                mutant = found.pop()
                if mutant.compiles(texts[mutant.path]):
                    taken.append(mutant)
                    break
    return taken
