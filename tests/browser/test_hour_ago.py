"""What was it an hour ago: two steps from the overview, in clusters that nobody made for it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import IMPORT_SECONDS, Cluster, Service, clusters, imported, running, until
from tests.browser.test_clock import HOUR, ahead
from tests.browser.test_four_questions import files_of
from tests.browser.test_past import FIGURES, band, shown
from tests.browser.test_whole import figure, node, put

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=["sample", "openb", "large"])
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    data: Path = tmp_path_factory.mktemp("service")
    if request.param == "sample":
        with running(data / "data") as service:  # of its own: an hour of it is skipped
            yield service
    else:
        with imported(data / "data", request.param, *files_of(request.param, data)) as service:
            yield service


def frame(cluster: Cluster, at: str = "") -> dict[str, Any]:
    """All nodes and pods by name, and which pods are queued, of the live view or of a moment."""
    told = cluster.call("GET", f"snapshot{at and f'?at={at}'}")
    nodes = {each["name"]: each for each in told["nodes"]}
    pods = {each["key"]: each for each in told["pods"]}
    return {"nodes": nodes, "pods": pods, "queued": sorted(each["key"] for each in told["queue"])}


def figures(page: Page) -> dict[str, int]:
    return {name: figure(page, name) for name in FIGURES}


def test_what_was_an_hour_ago(page: Page, service: Service, cluster: Cluster) -> None:
    until(page, lambda: frame(cluster)["pods"])  # the sample's are made by its controllers
    clusters(page, service, "PATCH", f"/{cluster.id}", {"lifecycle_mode": "frozen"})  # what was then stays for a while

    def stands() -> bool:
        before = frame(cluster)
        page.wait_for_timeout(2_000)
        return frame(cluster) == before

    until(page, stands)
    then, seen = frame(cluster), figures(page)
    cluster.call("POST", "clock", {"skip_seconds": HOUR})
    until(page, lambda: ahead(cluster) > HOUR - 60, IMPORT_SECONDS)  # all that is due in the hour is done in it
    put(cluster, node("came-later"))
    until(page, lambda: figure(page, "Nodes") == seen["Nodes"] + 1)

    page.get_by_role("button", name="Time", exact=True).click()  # the first step
    moment = page.get_by_role("region", name="Time: the cluster as it was").get_by_role("textbox", name="Moment")
    moment.fill("1h ago")  # the second
    moment.press("Enter")
    expect(band(page)).to_contain_text("As it was")
    expect(page).to_have_url(re.compile(r"[?&]at=\d+\.\d+"))
    until(page, lambda: figures(page) == seen)
    assert frame(cluster, shown(page)) == then
