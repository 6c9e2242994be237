"""Rules against recorded conversations with the real kube-apiserver, as far as they need no HTTP.

`NOT_YET` names scenarios in which the rules do not answer as the real server, with the reason. They have to fail, so
that a name goes when it is done.
"""

from __future__ import annotations

import pytest

from tests.core.apiserver.not_yet import NOT_YET
from tests.core.apiserver.player import RECORDED, Json, NotPlayableError, play, scenarios

FAMILIES = (
    "admission", "binding", "create", "delete", "deletecollection", "dryrun", "events", "eviction", "list", "locking",
    "names", "namespaces", "patch", "selectors", "strict", "subresource", "table", "update", "validation", "watch",
)  # fmt: skip

SCENARIOS = [
    pytest.param(scenario, id=scenario["name"])
    for family in FAMILIES
    if (RECORDED / f"{family}.jsonl.gz").is_file()
    for scenario in scenarios(RECORDED, family)
] or [pytest.param(None, id="none", marks=pytest.mark.skip(reason="the recordings are not beside the project"))]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_rules_answer_as_the_real_api_server(scenario: Json) -> None:
    try:
        problems = play(scenario)
    except NotPlayableError as error:
        pytest.skip(f"needs more than rules: {error}")
    if scenario["name"] in NOT_YET:
        assert problems, "it passes: take it off the list"
    else:
        assert problems == []


def test_no_name_on_the_list_is_unknown() -> None:
    known = {each.values[0]["name"] for each in SCENARIOS if each.values[0] is not None}
    if known:
        assert not NOT_YET.keys() - known
