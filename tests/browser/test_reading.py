"""What is written on the page is read whole: names by their ends, figures, zones; headings lead through it in order."""

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.axe import HEIGHT, WIDTHS
from tests.browser.conftest import Cluster, until
from tests.browser.test_attempts import open_pod
from tests.browser.test_dashboard import row


def levels(page: Page) -> list[int]:
    found: list[int] = page.locator("h1, h2, h3, h4, h5, h6").evaluate_all(
        "all => all.filter((one) => one.checkVisibility()).map((one) => Number(one.tagName[1]))"
    )
    return found


def cut(part: Locator, what: str) -> list[str]:
    """Texts that do not fit into their place."""
    found: list[str] = part.locator(what).evaluate_all(
        "all => all.filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.innerText)"
    )
    return found


@pytest.mark.parametrize("width", WIDTHS)
def test_headings_lead_through_the_page(page: Page, cluster: Cluster, width: int) -> None:
    page.set_viewport_size({"width": width, "height": HEIGHT})
    name = page.get_by_role("combobox", name="Cluster").locator("option:checked").inner_text()
    expect(page.get_by_role("heading", level=1, name=name, exact=True)).to_be_attached()
    cluster.pod_create(pod := f"headed-{width}")
    page.get_by_role("button", name="Time passes:").click()
    page.get_by_role("heading", name="How time passes").wait_for()
    open_pod(page, cluster, pod).get_by_role("region", name="Last attempt").wait_for()
    found = levels(page)
    assert found[0] == 1 and found.count(1) == 1
    assert all(after <= before + 1 for before, after in zip(found, found[1:], strict=False)), found


@pytest.mark.parametrize("width", WIDTHS)
def test_texts_of_figures_and_queues_are_whole(page: Page, cluster: Cluster, width: int) -> None:
    page.set_viewport_size({"width": width, "height": HEIGHT})
    figures = page.get_by_role("region", name="Cluster in figures")
    expect(figures).to_contain_text("unschedulable")
    assert not cut(figures, "dt, dd:not(.track)")
    assert not cut(page.get_by_role("region", name="Scheduling queue"), "button, .card-head")


def test_names_of_waiting_pods_keep_their_ends(page: Page, cluster: Cluster) -> None:
    page.set_viewport_size({"width": 1280, "height": HEIGHT})
    name = "a-name-that-has-no-room-in-any-row-of-any-list-or-any-lane-1639"
    cluster.pod_create(name, cpu="900")
    found = row(page, "unschedulable", name)
    found.wait_for()
    end = found.locator("[data-text='-lane-1639']")
    whole, shown = found.bounding_box(), end.bounding_box()
    assert whole and shown and shown["x"] + shown["width"] <= whole["x"] + whole["width"]
    assert end.evaluate("one => one.scrollWidth <= one.clientWidth + 1 || getComputedStyle(one).display === 'inline'")
    assert name in (found.locator("[title]").first.get_attribute("title") or "")


@pytest.mark.parametrize("width", [1001, 1280])
def test_no_row_of_cards_is_half_empty(page: Page, cluster: Cluster, width: int) -> None:
    page.set_viewport_size({"width": width, "height": HEIGHT})
    names = ("What keeps pods pending", "Scheduling queue")
    cards = [page.get_by_role("region", name=name, exact=True) for name in names]
    for card in cards:
        card.wait_for()
    tops = until(page, lambda: [box["y"] for card in cards if (box := card.bounding_box())])
    assert len(tops) == len(names) and len(set(tops)) == 1, tops


def test_a_word_of_the_engine_is_explained_to_the_keyboard(page: Page, cluster: Cluster) -> None:
    cluster.pod_create("explained", cpu="900")
    panel = open_pod(page, cluster, "explained")
    word = panel.get_by_role("button", name="because of ScheduleAttemptFailure").first
    word.focus()
    expect(panel.get_by_role("tooltip")).to_contain_text("An attempt at the pod failed")
    page.keyboard.press("Escape")
    expect(panel.get_by_role("tooltip")).to_have_count(0)
    expect(panel).to_be_visible()
