"""On a narrow screen nothing is cut off or falls out of its line; badges are as wide as their words."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Cluster, Service, clusters, show
from tests.browser.test_accessible import connection_lost
from tests.browser.test_attempts import open_pod


@pytest.fixture
def narrow(page: Page) -> Iterator[Page]:
    page.set_viewport_size({"width": 390, "height": 844})
    yield page


def box(found: Locator) -> dict[str, float]:
    found.scroll_into_view_if_needed()
    measured = found.bounding_box()
    assert measured is not None
    return dict(measured)


def test_bar_of_a_wide_screen_is_one_line_whatever_the_cluster_is_called(page: Page, service: Service) -> None:
    made = clusters(page, service, "POST", "", {"name": "production-europe-west-payments-and-orders-cluster-0042"})
    page.set_viewport_size({"width": 1440, "height": 900})
    show(page, service, Cluster(page, service.url, made["id"]))
    clock, menu = page.locator("header .clock"), page.get_by_role("button", name="Settings")
    assert abs(box(clock)["y"] - box(menu)["y"]) < box(menu)["height"] / 2
    assert box(page.get_by_role("banner"))["height"] < 60
    clusters(page, service, "DELETE", f"/{made['id']}")


def test_bar_stays_in_its_lines_when_the_connection_is_lost(narrow: Page, cluster: Cluster) -> None:
    connection_lost(narrow, cluster)
    bar = narrow.get_by_role("banner")
    settings, brand = bar.get_by_role("button", name="Settings"), bar.get_by_role("combobox", name="Cluster")
    assert abs(box(settings)["y"] - box(brand)["y"]) < 10


def test_figures_are_not_cut(narrow: Page, cluster: Cluster) -> None:
    narrow.set_viewport_size({"width": 320, "height": 844})
    cards = narrow.get_by_role("region", name="Cluster in figures").locator(".note")
    expect(cards.first).to_contain_text("unschedulable")
    for card in cards.all():
        assert card.evaluate("one => one.scrollWidth <= one.clientWidth + 1"), card.inner_text()


def test_version_in_force_is_marked_in_sight(narrow: Page, cluster: Cluster) -> None:
    narrow.set_viewport_size({"width": 320, "height": 844})
    narrow.goto(f"{cluster.address}/config?tab=versions")
    active = box(narrow.get_by_role("dialog").get_by_text("active", exact=True))
    dialog = box(narrow.get_by_role("dialog"))
    assert active["x"] + active["width"] <= dialog["x"] + dialog["width"]


def test_files_are_chosen_without_a_word_of_the_browsers_own(page: Page, cluster: Cluster) -> None:
    page.get_by_role("button", name="Import").click()
    dialog = page.get_by_role("dialog")
    for name in ("Choose files", "Choose a folder"):
        chosen = dialog.get_by_label(name)
        assert box(chosen)["width"] <= 2, "the browser's own says that no file is chosen, whatever was dropped"


def test_badge_of_an_event_is_as_wide_as_its_word(page: Page, cluster: Cluster) -> None:
    cluster.pod_create("badges", cpu="900")
    events = open_pod(page, cluster, "badges").get_by_role("region", name="Recent events")
    badge = events.get_by_text("FailedScheduling", exact=True).first
    badge.wait_for()
    assert box(badge)["width"] < 150
    assert re.search(r"\d", events.get_by_role("listitem").first.inner_text())
