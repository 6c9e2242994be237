"""What selectors may cost at most, as the API server estimates it when a class, a claim or a template is created.

`limits.json` has expressions just below and just above the limit, and whether the real server refuses them.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scheduler_core.admission.validation.devices import selector_problems
from scheduler_core.cel import FORBIDDEN, Refusal, compiled, selector_problem
from scheduler_core.cel.costs import most_of
from scheduler_core.cel.declarations import STORED
from tests.cases import cases

LIMITS = json.loads((Path(__file__).parent / "limits.json").read_text(encoding="utf-8"))


def most(expression: str) -> int:
    found = compiled(expression, STORED)
    assert not found.problem and found.node is not None and found.checked is not None
    return most_of(found.node, found.checked)


@cases(
    "expression, cost",
    ("constant", "true", 0),
    ("driver", 'device.driver == "gpu.example.com"', 4),
    ("key", '"gpu.example.com" in device.attributes', 3),
    ("attribute", 'device.attributes["gpu.example.com"].shared', 4),
    ("attribute and text", 'device.attributes["gpu.example.com"].model == "a100"', 5),
    ("binding", 'cel.bind(a, device.attributes["d"], a.x && a.y)', 17),
    ("domains", "device.attributes.all(d, d.size() < 10)", 195),
    ("names of domains", 'device.attributes.all(d, d.contains("a"))', 355),
    ("attributes of attributes", "device.attributes.all(d, device.attributes[d].all(n, n.size() < 10))", 6403),
)
def test_expression_costs_at_most(expression: str, cost: int) -> None:
    assert most(expression) == cost


@pytest.mark.parametrize(("expression", "is_refused"), LIMITS, ids=[str(number) for number in range(len(LIMITS))])
def test_limit_is_where_it_is_for_the_real_server(expression: str, is_refused: bool) -> None:
    assert selector_problem(expression) == (
        Refusal(FORBIDDEN, "too complex, exceeds cost limit") if is_refused else None
    )


def test_selector_above_the_limit_is_refused_where_it_is_created() -> None:
    dear = "device.attributes.all(a, " * 5 + "true" + ")" * 5
    (problem,) = selector_problems("spec.selectors", [{"cel": {"expression": "true"}}, {"cel": {"expression": dear}}])
    assert problem.path == "spec.selectors[1].cel.expression"
    assert problem.detail == "Forbidden: too complex, exceeds cost limit"
