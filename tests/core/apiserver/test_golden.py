"""Rules against recorded conversations with the real kube-apiserver, as far as they need no HTTP.

`NOT_YET` names what the rules do not do as the real server: defaults of fields that scheduling does not read, clusters'
addresses, protection of volumes and budgets of evictions come with the whole API. Its scenarios have to fail, so that a
name goes when it is done.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.core.apiserver.not_yet import NOT_YET
from tests.core.apiserver.player import Json, NotPlayableError, Player, scenarios

RECORDED = Path(__file__).resolve().parents[4] / "shared" / "golden" / "kubeapi"
FAMILIES = ("create", "update", "patch", "delete", "binding", "eviction", "locking", "names")

SCENARIOS = [
    pytest.param(scenario, id=scenario["name"])
    for family in FAMILIES
    if (RECORDED / f"{family}.jsonl.gz").is_file()
    for scenario in scenarios(RECORDED, family)
] or [pytest.param(None, id="none", marks=pytest.mark.skip(reason="the recordings are not beside the project"))]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_rules_answer_as_the_real_api_server(scenario: Json) -> None:
    try:
        problems = Player().play(scenario)
    except NotPlayableError as error:
        pytest.skip(f"needs more than rules: {error}")
    if scenario["name"] in NOT_YET:
        assert problems, "it passes: take it off the list"
    else:
        assert problems == []


def test_no_name_on_the_list_is_unknown() -> None:
    known = {each.values[0]["name"] for each in SCENARIOS if each.values[0] is not None}
    if known:
        assert not NOT_YET - known
