"""Lists in the browser: what is asked stands in the address, for reloads and for others; the keyboard is enough."""

import csv
import io
import json
import re
from urllib.parse import parse_qs

import pytest
from playwright.sync_api import Browser, Locator, Page, StorageState, expect

from tests.browser.axe import Axe
from tests.browser.conftest import Cluster, Service, context_of, until


def grid(page: Page, name: str = "Pods") -> Locator:
    return page.get_by_role("grid", name=name)


def box(page: Page) -> Locator:
    return page.get_by_role("combobox", name="Query")


def settings_of(page: Page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(page.url.partition("?")[2]).items()}


def open_lists(page: Page) -> None:
    page.get_by_role("button", name="Settings").click()
    page.get_by_role("link", name="Lists").click()
    expect(grid(page)).to_be_visible()


def names_in(page: Page, name: str = "Pods") -> list[str]:
    return [link.get_attribute("href") or "" for link in grid(page, name).get_by_role("link").all()]


def three_pending(cluster: Cluster, begin: str) -> list[str]:
    """Pods that fit nowhere. What was done with pods of other tests is listed as well: names begin by test."""
    names = [f"{begin}-{place}" for place in range(3)]
    for name in names:
        cluster.pod_create(name, cpu="900")
    return names


def test_query_stands_in_the_address_for_a_reload_and_for_others(
    page: Page, cluster: Cluster, browser: Browser, service: Service, session: StorageState
) -> None:
    names = three_pending(cluster, "addressed-row")
    open_lists(page)
    box(page).fill("")
    box(page).press_sequentially("addressed-row status:pend")
    page.get_by_role("option", name="pending").wait_for()
    box(page).press("ArrowDown")
    box(page).press("Enter")
    expect(box(page)).to_have_value("addressed-row status:pending ")
    until(page, lambda: settings_of(page).get("q") == "addressed-row status:pending ")
    expect(grid(page).get_by_role("link")).to_have_count(len(names))
    grid(page).get_by_role("button", name="Name", exact=True).click()
    grid(page).get_by_role("button", name="Name", exact=True).click()
    until(page, lambda: settings_of(page).get("sort") == "-name")
    until(page, lambda: [href.rpartition("/")[2].partition("?")[0] for href in names_in(page)] == names[::-1])
    shown = names_in(page)
    address = page.url
    assert settings_of(page) == {"list": "pods", "q": "addressed-row status:pending ", "sort": "-name"}
    page.reload()
    until(page, lambda: names_in(page) == shown)
    with context_of(browser, session) as other:
        theirs = other.new_page()
        theirs.goto(address)
        until(theirs, lambda: names_in(theirs) == shown)
        expect(box(theirs)).to_have_value("addressed-row status:pending ")


def test_keyboard_moves_opens_and_leaves(page: Page, cluster: Cluster) -> None:
    names = three_pending(cluster, "walked-row")
    open_lists(page)
    box(page).fill("walked-row")
    expect(grid(page).get_by_role("link")).to_have_count(len(names))
    page.keyboard.press("Escape")  # what can stand there is no longer shown
    page.keyboard.press("Escape")
    links = grid(page).get_by_role("link")
    expect(links.nth(0)).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(links.nth(2)).to_be_focused()
    page.keyboard.press("k")
    expect(links.nth(1)).to_be_focused()
    page.keyboard.press("Enter")
    panel = page.get_by_role("complementary", name=re.compile(names[1]))
    expect(panel).to_be_visible()
    assert settings_of(page)["q"] == "walked-row"  # the list stays under the panel
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(links.nth(1)).to_be_focused()
    page.keyboard.press("?")
    help_ = page.get_by_role("dialog", name="Query language and keys")
    expect(help_).to_contain_text("age> age<")
    page.keyboard.press("Escape")
    expect(help_).to_be_hidden()
    page.keyboard.press("Escape")
    expect(page.get_by_role("heading", name="Scheduling queue")).to_be_visible()
    assert settings_of(page) == {}


def test_wrong_query_is_marked_where_it_is_wrong(page: Page, cluster: Cluster) -> None:
    open_lists(page)
    box(page).fill("web stats:x")
    box(page).press("Enter")
    expect(page.get_by_role("mark")).to_have_text("stats")
    expect(page.get_by_text("There is no key “stats” here. Known: status, ns,")).to_be_visible()
    expect(box(page)).to_have_attribute("aria-invalid", "true")
    box(page).fill("")
    expect(page.get_by_role("mark")).to_be_hidden()
    # What is still being written, with all that can stand there, is not wrong yet.
    box(page).fill("status:")
    until(page, lambda: settings_of(page).get("q") == "status:")
    expect(page.get_by_role("option", name="pending")).to_be_visible()
    page.get_by_role("grid", name="Pods").and_(page.locator("[aria-busy=false]")).wait_for()
    expect(box(page)).to_have_attribute("aria-invalid", "false")
    box(page).press("Escape")
    expect(box(page)).to_have_attribute("aria-invalid", "true")


@pytest.mark.parametrize("width", [390, 1280])
def test_states_are_read_whole(page: Page, cluster: Cluster, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    three_pending(cluster, f"whole-state-{width}")
    open_lists(page)
    box(page).fill(f"whole-state-{width} status:unschedulable")
    states = grid(page).locator("td:has(.badge)")
    expect(states).to_have_count(3)
    assert all(states.evaluate_all("all => all.map((one) => one.scrollWidth <= one.clientWidth)"))


def test_attempts_lead_to_their_pods_and_columns_can_be_chosen(page: Page, cluster: Cluster, axe: Axe) -> None:
    three_pending(cluster, "tried-row")
    open_lists(page)
    page.get_by_role("navigation", name="Lists").get_by_role("link", name="Attempts").click()
    attempts = grid(page, "Attempts")
    box(page).fill("result:unschedulable reason:cpu tried-row-1")
    expect(attempts.get_by_role("link")).to_have_count(1)
    axe.check(page)
    page.set_viewport_size({"width": 1440, "height": 1000})
    expect(attempts.get_by_role("columnheader", name="Feasible")).to_be_hidden()
    page.locator("summary").filter(has_text="Columns").click()
    page.get_by_role("checkbox", name="Feasible").check()
    expect(attempts.get_by_role("columnheader", name="Feasible")).to_be_visible()
    page.keyboard.press("Escape")
    assert "feasible" in settings_of(page)["columns"].split(",")
    with page.expect_download() as saved:
        page.get_by_role("link", name="CSV").click()
    head, row = csv.reader(io.StringIO(saved.value.path().read_text()))
    assert head == settings_of(page)["columns"].split(",")
    assert row[head.index("name")] == "tried-row-1"
    with page.expect_download() as saved:
        page.get_by_role("link", name="JSON").click()
    assert [list(one) for one in json.loads(saved.value.path().read_text())] == [head]
    attempts.get_by_role("link").click()
    expect(page.get_by_role("article", name=re.compile("tried-row-1"))).to_be_visible()
    assert re.search(r"/clusters/\d+/attempts/\d+", page.url)


def test_nodes_and_changes_lead_to_their_objects(page: Page, cluster: Cluster) -> None:
    three_pending(cluster, "changed-row")
    open_lists(page)
    page.get_by_role("navigation", name="Lists").get_by_role("link", name="Nodes").click()
    node = grid(page, "Nodes").get_by_role("link").first
    name = node.locator(".hidden").text_content() or ""
    node.click()
    expect(page.get_by_role("complementary", name=re.compile(f"{name}$"))).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("navigation", name="Lists").get_by_role("link", name="Changes").click()
    box(page).fill("operation:created kind:Pod changed-row-2")
    expect(grid(page, "Changes").get_by_role("link")).to_have_count(1)
    grid(page, "Changes").get_by_role("link").click()
    expect(page.get_by_role("complementary", name=re.compile("changed-row-2"))).to_be_visible()


def test_list_speaks_chinese(page: Page, cluster: Cluster) -> None:
    open_lists(page)
    page.get_by_role("button", name="Settings").click()
    page.get_by_label("Language", exact=True).select_option("zh-Hans")
    expect(page.get_by_role("columnheader", name="命名空间")).to_be_visible()
    expect(page.get_by_role("combobox", name="查询")).to_be_visible()
