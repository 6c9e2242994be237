"""The panels of pods of which hardly one is usual: every sentence and number on screen is what REST answers."""

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser import odd
from tests.browser.conftest import Cluster, until
from tests.browser.test_panels import Reader

UNITS = {
    "": 1,
    "m": Decimal("0.001"),
    "B": 1,
    **{f"{letter}i": 1024**power for power, letter in enumerate("KMGTPE", 1)},
}
ENDED = {"Succeeded": "Completed", "Failed": "Failed"}
QUEUES = {
    "unschedulable": "Unschedulable: waiting for a cluster event that could make it fit",
    "gated": "Gated: not tried until its scheduling gates are removed",
}


def state(pod: dict[str, Any], queue: dict[str, Any] | None, profiles: list[str]) -> str:
    """What has to be said of where it stands, in a frozen cluster that has come to rest."""
    if pod["phase"] in ENDED:
        return ENDED[pod["phase"]]
    if pod["deleting"]:
        return "Being deleted"
    if pod["node"]:
        return f"{'Running on' if pod['phase'] == 'Running' else 'Bound to'} {pod['node']}"
    if pod["scheduler"] not in profiles:
        return f"No profile is called {pod['scheduler']}; the configuration has {', '.join(profiles)}"
    assert queue is not None, pod
    if queue["queue"] == "gated" and not pod["gated"]:
        held = ", ".join(queue["plugins"])
        return f"Held back by {held}: not tried until the plugin lets it pass"
    return QUEUES[queue["queue"]]


def amount(text: str) -> Decimal:
    """A quantity as it is shown: `8`, `250m`, `1.5 Gi`."""
    found = re.fullmatch(r"([\d,.]+) ?(\w*)", text)
    assert found is not None, text
    return Decimal(found[1].replace(",", "")) * UNITS[found[2]]


def facts(panel: Locator) -> dict[str, str]:
    region = panel.get_by_role("region", name="State", exact=True)
    terms = [term.inner_text() for term in region.locator("dt").all()]
    return dict(zip(terms, (told.inner_text() for told in region.locator("dd").all()), strict=True))


def requests(panel: Locator) -> Iterator[tuple[str, Decimal]]:
    """Resources with what is asked of them."""
    for one in panel.get_by_role("region", name="State", exact=True).locator(".ask").all():
        shown = one.locator("b").inner_text()
        yield one.inner_text().removeprefix(shown).strip(), amount(shown)


def check_facts(panel: Locator, pod: dict[str, Any], detail: dict[str, Any]) -> None:
    told = facts(panel)
    spec = detail["manifest"]["spec"]
    assert told["Priority"] == f"{pod['priority']:,}"
    assert told["Quality of service"] == detail["qos"]
    asked = dict(requests(panel))
    assert asked.keys() == pod["requests"].keys()
    for resource, shown in asked.items():
        kept = Decimal(pod["requests"][resource]) / (1000 if resource == "cpu" else 1)
        assert abs(shown - kept) <= abs(kept) / 200, (pod["key"], resource, shown, kept)
    assert told.get("On node", "") == pod["node"]
    if pod["node"]:
        assert told["kubectl shows"].startswith(detail["status"])
        assert f"{detail['ready']} of {detail['containers']} ready" in told["kubectl shows"]
    gates = [gate["name"] for gate in spec.get("schedulingGates", ())]
    assert told.get("Scheduling gates", "") == ", ".join(gates)
    nominated = "" if pod["node"] else pod["nominated"]
    assert told.get("Nominated to", "") == nominated
    owners = [f"{owner['kind']} {owner['name']}" for owner in detail["owners"]]
    assert told.get("Belongs to", "") == " ← ".join(owners)
    assert told.get("Scheduler", "default-scheduler") == pod["scheduler"]


@pytest.fixture
def strange(own: Cluster) -> Iterator[Cluster]:
    """The odd cluster, every pod of it tried or left alone."""
    # As a dump: nothing in it is new.
    own.call("POST", "import?admission=never", {"apiVersion": "v1", "kind": "List", "items": list(odd.objects())})

    def at_rest() -> bool:
        pending = own.call("GET", "pending")
        queues = pending["queues"]
        return (
            not any(queues.get(name) for name in ("active", "backoff", "errorBackoff"))
            and not pending["unqueued"]["unseen"]
        )

    until(own.page, at_rest)
    until(own.page, lambda: not [one for one in own.call("GET", "snapshot")["queue"] if one["queue"] == "assumed"])
    yield own


def test_panels_of_odd_pods_say_what_rest_answers(page: Page, strange: Cluster, request: pytest.FixtureRequest) -> None:
    """A sixth of them, all in the long form."""
    snapshot = strange.call("GET", "snapshot")
    profiles = snapshot["cluster"]["profiles"]
    queues = {one["uid"]: one for one in snapshot["queue"]}
    reader = Reader(page, strange)
    assert len(snapshot["pods"]) > 60
    for pod in snapshot["pods"][:: 1 if request.config.getoption("--long") else 6]:
        panel = reader.check(pod["key"])
        expect(panel.get_by_role("status").first).to_have_text(state(pod, queues.get(pod["uid"]), profiles))
        check_facts(panel, pod, strange.call("GET", f"pods/{pod['key']}"))


def test_figures_of_an_odd_cluster_add_up(page: Page, strange: Cluster) -> None:
    summary = strange.call("GET", "summary")
    pods = strange.call("GET", "snapshot")["pods"]
    pending = [pod for pod in pods if not pod["node"] and pod["phase"] not in ENDED]
    told = page.get_by_role("region", name="Cluster in figures").inner_text()
    assert summary["pending"]["pods"] == len(pending)
    parts = re.findall(r"(\d+) (unschedulable|gated|without a profile)", told)
    assert {what for _, what in parts} == {"unschedulable", "gated", "without a profile"}
    assert sum(int(count) for count, _ in parts) == len(pending), told
