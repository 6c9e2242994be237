"""Objects with wrong, missing and absurd values: every one is answered, none breaks the rules.

The values are the same in every run.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from scheduler_core.apiserver.bootstrap import bootstrap_requests
from scheduler_core.apiserver.kinds import KINDS
from scheduler_core.apiserver.requests import PatchType
from scheduler_core.apiserver.server import ApiServer
from scheduler_core.apiserver.store import History
from tests.core.apiserver.asking import NOW, empty_server, send
from tests.core.apiserver.samples import OBJECTS, path_of

MUTANTS = 60  # of each kind
VALUES: tuple[Any, ...] = (
    None, {}, [], "", 0, -1, "x", True, 1.5, [{}], [None], {"a": None}, "1Gi", "-1", 2**40, "a/b", [""], {"": ""},
)  # fmt: skip


@pytest.fixture(scope="module")
def server() -> ApiServer[History]:
    made: ApiServer[History] = empty_server(keeps_history=True, is_simulated=False)
    made.carry_out(bootstrap_requests(NOW), NOW)
    return made


def spots(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every (map or list, key or place) in a value, but for what says its kind."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        if key not in ("apiVersion", "kind"):
            yield value, key
            yield from spots(value[key])


def mutated(manifest: dict[str, Any], draw: random.Random) -> dict[str, Any]:
    """The manifest with up to three values replaced or taken away."""
    changed = copy.deepcopy(manifest)
    for _ in range(draw.randint(1, 3)):
        found = list(spots(changed))
        if found:
            holder, key = draw.choice(found)
            if draw.random() < 0.4:
                del holder[key]
            else:
                holder[key] = copy.deepcopy(draw.choice(VALUES))
    return changed


@pytest.mark.parametrize("kind", OBJECTS)
def test_every_mutant_is_answered(server: ApiServer[History], kind: str) -> None:
    draw = random.Random(kind)
    sample = {"apiVersion": KINDS[kind].cls.api_version, "kind": kind, "metadata": {"name": "x"}, **OBJECTS[kind]}
    ask = partial(send, server)
    assert ask("POST", path_of(kind), sample).code == 201
    for number in range(MUTANTS):
        manifest = mutated(sample, draw)
        if isinstance(manifest.get("metadata"), dict):
            manifest["metadata"]["name"] = f"x{number}"
        ask("POST", path_of(kind), manifest)
        path = path_of(kind, "x")
        change = mutated(sample, draw)
        ask("PUT", path, change)
        part = {key: value for key, value in change.items() if key not in ("apiVersion", "kind", "metadata")}
        for target in (path, f"{path}/status"):
            for patch_type in (PatchType.MERGE, PatchType.STRATEGIC):
                ask("PATCH", target, part, patch_type)
