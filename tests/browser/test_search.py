"""The search: opened by a key anywhere, used without the mouse, and everything it finds opens by one key."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.axe import Axe
from tests.browser.conftest import Cluster, Service, clusters, show
from tests.browser.test_whole import node, pod, put

PRIORITY = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "urgent"}, "value": 7}


def box(page: Page) -> Locator:
    return page.get_by_role("dialog", name="Search").get_by_role("combobox", name="Search")


def chosen(page: Page) -> Locator:
    """The row that Enter opens, as the field names it."""
    return page.get_by_role("dialog", name="Search").get_by_role("option", selected=True)


def opened(page: Page, key: str = "/") -> Locator:
    page.keyboard.press(key)
    expect(box(page)).to_be_focused()
    return box(page)


def find(page: Page, word: str, row: str | re.Pattern[str]) -> None:
    """Type a word, wait for the best hit, and open it."""
    field = opened(page)
    field.fill(word)
    expect(chosen(page)).to_contain_text(row)
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog", name="Search")).to_have_count(0)


@pytest.fixture
def filled(page: Page, own: Cluster) -> Cluster:
    """A bound pod, one that is pending, one that has ended, one that is gone."""
    ended = pod("find-ended", cpu="10m")
    ended["metadata"] |= {"uid": "find-ended", "creationTimestamp": "2026-01-01T00:00:00Z"}
    ended["spec"]["nodeName"] = "find-node"
    ended["status"] = {"phase": "Succeeded"}
    gone = pod("find-gone", cpu="64")  # one that is bound stays until its kubelet has ended it
    put(own, node("find-node", cpu="1"), pod("find-bound", cpu="10m"), pod("find-big", cpu="64"), gone, PRIORITY)
    body = {"apiVersion": "v1", "kind": "List", "items": [ended]}
    own.call("POST", "import", body)
    page.get_by_text("Insufficient cpu").first.wait_for()
    own.remove("pods/default/find-gone")
    return own


def test_pods_bound_ended_and_gone_are_found_and_opened_by_one_key_and_their_name(page: Page, filled: Cluster) -> None:
    for name, state in (("find-bound", "Bound"), ("find-ended", "Completed"), ("find-gone", "Deleted")):
        find(page, name, re.compile(rf"{name}.*{state}"))
        panel = page.get_by_role("complementary", name=f"Pod default/{name}")
        expect(panel).to_be_focused()
        page.keyboard.press("Escape")
        expect(panel).to_have_count(0)
    # They are what an empty box offers, the latest first.
    opened(page)
    group = page.get_by_role("group", name="Opened last")
    expect(group.get_by_role("option").nth(0)).to_contain_text("find-gone")
    expect(group.get_by_role("option").nth(2)).to_contain_text("find-bound")


def test_all_kinds_open_where_they_are(page: Page, filled: Cluster) -> None:
    find(page, "find-node", "find-node")
    expect(page.get_by_role("complementary", name="Node find-node")).to_be_focused()
    find(page, "urgent", "urgent")
    expect(page.get_by_role("complementary", name="PriorityClass urgent")).to_contain_text("value: 7")
    find(page, "insuff", "Insufficient cpu")
    expect(page.get_by_role("button", name=re.compile("Insufficient cpu"))).to_have_attribute("aria-expanded", "true")
    find(page, "default-sch", "default-scheduler")
    expect(page.get_by_role("dialog", name="Scheduler configuration")).to_be_visible()
    page.keyboard.press("Escape")
    find(page, "workl", "Workloads")
    expect(page.get_by_role("complementary", name="Workloads")).to_be_focused()


def test_keys_move_the_choice_and_marks_show_what_matches(page: Page, filled: Cluster) -> None:
    field = opened(page, "Control+k")
    field.fill("fbi")
    expect(chosen(page)).to_contain_text("find-big")
    expect(chosen(page).locator("mark")).to_have_text(["f", "bi"])
    field.fill("find-")
    rows = page.get_by_role("group", name="Pods", exact=True).get_by_role("option")
    expect(rows).to_have_count(3)
    expect(page.get_by_role("group", name="Deleted pods").get_by_role("option")).to_contain_text("find-gone")
    first = chosen(page).inner_text()
    page.keyboard.press("ArrowDown")
    expect(rows.nth(1)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowUp")
    assert chosen(page).inner_text() == first
    page.keyboard.press("ArrowUp")
    assert chosen(page).inner_text() != first
    active = field.get_attribute("aria-activedescendant")
    expect(chosen(page)).to_have_id(str(active))
    page.keyboard.press("Escape")
    expect(field).to_have_count(0)


def test_slash_is_typed_where_one_types_and_focus_returns(page: Page, filled: Cluster) -> None:
    button = page.get_by_role("banner").get_by_role("button", name="Search")
    button.focus()
    opened(page)
    page.keyboard.type("default/find-b")
    expect(box(page)).to_have_value("default/find-b")
    expect(page.get_by_role("group", name="Pods", exact=True).get_by_role("option")).to_have_count(2)
    page.keyboard.press("Escape")
    expect(button).to_be_focused()
    page.goto(f"{filled.url}/#/clusters/{filled.id}/workloads")
    field = page.get_by_role("searchbox", name="Find by name, namespace or kind")
    field.fill("a")
    field.press("/")
    expect(field).to_have_value("a/")
    expect(page.get_by_role("dialog")).to_have_count(0)
    button.click()
    expect(box(page)).to_be_focused()


def test_actions_are_done_and_dialogs_open(page: Page, filled: Cluster) -> None:
    find(page, "theme dark", "Theme: Dark")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    find(page, "import", "Import")
    expect(page.get_by_role("dialog", name=re.compile("Import"))).to_be_visible()
    page.keyboard.press("Escape")
    find(page, "简体", "简体中文")
    expect(page.get_by_role("banner").get_by_role("button", name="搜索")).to_be_visible()
    page.keyboard.press("/")
    expect(page.get_by_role("dialog", name="搜索").get_by_role("combobox", name="搜索")).to_be_focused()


def test_other_clusters_are_searched_when_that_is_wanted(page: Page, filled: Cluster, service: Service) -> None:
    other = clusters(page, service, "POST", "", {"name": f"other-{filled.id}"})
    try:
        put(Cluster(page, service.url, other["id"]), node("elsewhere-node"))
        opened(page).fill("elsewhere-node")
        page.get_by_role("button", name="Search all clusters").click()
        expect(chosen(page)).to_contain_text(f"other-{filled.id}")
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile(rf"#/clusters/{other['id']}/nodes/elsewhere-node"))
        expect(page.get_by_role("complementary", name="Node elsewhere-node")).to_be_visible()
    finally:
        show(page, service, filled)
        clusters(page, service, "DELETE", f"/{other['id']}")


def test_search_can_be_used_by_everybody(page: Page, filled: Cluster, axe: Axe) -> None:
    dialog = page.get_by_role("dialog", name="Search")
    opened(page)
    expect(page.get_by_role("group", name="Pods", exact=True).get_by_role("option").first).to_be_visible()
    expect(page.get_by_role("group", name="Deleted pods").get_by_role("option")).to_have_count(1)
    axe.check(page, dialog)
    box(page).fill("find")
    expect(chosen(page)).to_contain_text("find")
    axe.check(page, dialog)
    page.set_viewport_size({"width": 320, "height": 640})
    expect(dialog).to_be_visible()
    assert dialog.evaluate("one => one.scrollWidth <= one.clientWidth + 1")
    for row in dialog.get_by_role("option").all():
        assert row.evaluate("one => one.scrollWidth <= one.clientWidth + 1"), row.inner_text()
