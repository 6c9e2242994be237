"""Every field counts, pairs are made by pod and attempt, and a flipped field never passes unseen."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

from tests.cases import cases
from tests.golden.recordings import recordings
from tools.conformance.compare import DECISION, compare
from tools.conformance.harness import run_scenario

Path = tuple[Any, ...]
CYCLE = {
    "pod": "shop/cart",
    "attempt": 1,
    "outcome": "scheduled",
    "preFilter": {"code": "Success", "nodeNames": None, "skipFilter": ["NodePorts"]},
    "filter": [["n1", "ok"], ["n2", "NodeName", "Unschedulable", ["other node"]]],
    "feasible": ["n1"],
    "startIndex": 0,
    "endIndex": 0,
    "score": {"skip": [], "plugins": ["NodeResourcesFit"], "nodes": [["n1", [50], 50]]},
    "node": "n1",
}
RESULT = {"name": "s-1", "nodeOrder": ["n1", "n2"], "cycles": [CYCLE]}


def edited(path: Path, value: Any) -> dict[str, Any]:
    """The result with one value set (or removed, when it is `...`)."""
    result = copy.deepcopy(RESULT)
    place: Any = result
    for step in path[:-1]:
        place = place[step]
    if value is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return result


@cases(
    "path, value, field",
    ("other node", ("cycles", 0, "node"), "n2", "node"),
    ("field missing", ("cycles", 0, "node"), ..., "node"),
    ("field too much", ("cycles", 0, "tied"), ["n1"], "tied"),
    ("reason", ("cycles", 0, "filter", 1, 3, 0), "reason", "filter[1][3][0]"),
    ("row missing", ("cycles", 0, "filter", 1), ..., "filter[1]"),
    ("score", ("cycles", 0, "score", "nodes", 0, 1, 0), 51, "score.nodes[0][1][0]"),
    ("empty is not null", ("cycles", 0, "preFilter", "nodeNames"), [], "preFilter.nodeNames"),
    ("false is not zero", ("cycles", 0, "startIndex"), False, "startIndex"),
)
def test_compare_names_the_field_when_one_differs(path: Path, value: Any, field: str) -> None:
    found = compare(RESULT, edited(path, value), decision_only=False)
    assert [divergence.field for divergence in found.divergences] == [field]
    assert found.divergences[0].cycle == "shop/cart attempt 1"
    assert (found.cycles, found.agreed, found.head_agrees) == (1, 0, True)


def test_compare_agrees_with_itself() -> None:
    found = compare(RESULT, copy.deepcopy(RESULT), decision_only=False)
    assert (found.agreed, found.surplus, found.head_agrees, found.divergences) == (1, 0, True, ())


def test_compare_sees_the_head_unless_only_decisions_count() -> None:
    other = edited(("nodeOrder",), ["n2", "n1"])
    assert not compare(RESULT, other, decision_only=False).head_agrees
    assert compare(RESULT, other, decision_only=True).head_agrees


def test_compare_passes_over_what_is_no_decision_when_asked_to() -> None:
    other = edited(("cycles", 0, "preFilter", "skipFilter"), [])
    assert compare(RESULT, other, decision_only=False).agreed == 0
    assert compare(RESULT, other, decision_only=True).agreed == 1


def test_compare_counts_a_cycle_of_ours_that_was_not_recorded() -> None:
    other = copy.deepcopy(RESULT)
    other["cycles"].append(CYCLE | {"attempt": 2})  # type: ignore[attr-defined]
    found = compare(RESULT, other, decision_only=True)
    assert (found.agreed, found.surplus) == (1, 1)


def test_compare_counts_a_recorded_cycle_that_we_did_not_run() -> None:
    found = compare(RESULT, RESULT | {"cycles": []}, decision_only=True)
    assert (found.cycles, found.agreed) == (1, 0)


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, dict):
        for name, inside in value.items():
            yield from leaves(inside, (*path, name))
    elif isinstance(value, list) and value:
        for place, inside in enumerate(value):
            yield from leaves(inside, (*path, place))
    else:
        yield path, value


def flip(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case str():
            return value + "?"
    return ["?"]  # null, or an empty list


def test_each_of_200_flipped_fields_is_reported() -> None:
    draw = random.Random(1341)
    families = ("gates", "images", "nodeaffinity", "nodemisc", "resources", "taints")
    scenarios = [recording for family in families for recording in draw.sample(recordings(family), 4)]
    runs = []
    for recorded, got in ((r.result, run_scenario(r.scenario, use_table=True)) for r in scenarios):
        before = compare(recorded, got, decision_only=False)
        runs.append((recorded, got, before, list(leaves(recorded))))
    flipped = decisions = 0
    while flipped < 200:
        recorded, got, before, fields = draw.choice(runs)
        path, value = draw.choice(fields)
        cycle = recorded["cycles"][path[1]] if path[0] == "cycles" else None
        name = f"{cycle['pod']} attempt {cycle['attempt']}" if cycle is not None else ""
        field = str(path[2] if cycle is not None else path[0])
        if any(d.cycle == name and d.field.startswith(field) for d in before.divergences):
            continue  # differs already, and only the first difference in a field is told
        changed = copy.deepcopy(recorded)
        place: Any = changed
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = flip(value)
        after = compare(changed, got, decision_only=False)
        new = [d for d in after.divergences if d not in before.divergences]
        assert new, f"{recorded['name']}: {path} flipped from {value!r} and not reported"
        if field in ("pod", "attempt"):
            assert after.surplus == before.surplus + 1  # ours has lost its partner
        elif field != "name":
            assert [(d.cycle, d.field.split(".")[0].split("[")[0]) for d in new] == [(name, field)]
        if cycle is not None and (field in DECISION or path[2:4] in (("score", "plugins"), ("score", "nodes"))):
            decided = compare(changed, got, decision_only=True)
            assert decided.agreed == compare(recorded, got, decision_only=True).agreed - 1
            decisions += 1
        flipped += 1
    assert decisions > 50


def test_late_binding_that_fails_is_compared_beside_its_attempt() -> None:
    reserved = {**CYCLE, "stage": "reserved"}
    failed = {**CYCLE, "outcome": "error", "stage": "preBind", "error": "no"}
    both = {**RESULT, "cycles": [reserved, failed]}
    assert compare(both, both, decision_only=False).agreed == 2
    found = compare(both, {**both, "cycles": [reserved, {**failed, "error": "other"}]}, decision_only=False)
    assert (found.agreed, found.surplus) == (1, 0)
    assert [(each.field, each.expected, each.got) for each in found.divergences] == [("error", "no", "other")]
