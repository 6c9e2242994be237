"""The service against recorded conversations with the real kube-apiserver, over TLS, family by family.

`NOT_YET` names scenarios in which something differs, with the reason. They have to differ, so that a name goes when it
is done. Steps that log to an address of the machine are not compared.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.core.apiserver.player import RECORDED, replay, scenarios
from tests.web.kubeapi.conftest import Served
from tests.web.kubeapi.not_yet import NOT_YET

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

FAMILIES = sorted(path.name.partition(".")[0] for path in RECORDED.glob("*.jsonl.gz"))
AT_ONCE = 3


@pytest.mark.parametrize("family", FAMILIES or [pytest.param("none", marks=pytest.mark.skip("no recordings"))])
def test_the_service_answers_as_the_real_api_server(served: Served, family: str) -> None:
    program = replay()
    tokens = {"admin": served.admin, "readonly": served.viewer, "bad": "not-a-known-token", "none": None}
    client = program.Client(served.url, tokens, timeout=60, cafile=None)
    played = [one for one in scenarios(RECORDED, family) if not one.get("presupposes")]

    def differences(scenario: dict[str, Any]) -> tuple[str, list[str]]:
        steps = program.replay_one(client, scenario)
        return scenario["name"], [f"{step}: {diffs[:2]}" for step, agreed, _, diffs in steps if not agreed]

    free = [one for one in played if not one.get("alone")]
    with ThreadPoolExecutor(AT_ONCE) as threads:
        found = [*threads.map(differences, free), *map(differences, (one for one in played if one.get("alone")))]
    differing = {name: problems for name, problems in found if problems}
    unexpected = {name: problems for name, problems in differing.items() if name not in NOT_YET}
    assert unexpected == {}
    finished = {name for name, _ in found if name in NOT_YET} - differing.keys()
    assert not finished, "they pass: take them off the list"
