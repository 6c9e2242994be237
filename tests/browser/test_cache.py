"""The scheduler's cache in the browser: as it is, as it was, by a part of names, and on a narrow screen."""

import re

from playwright.sync_api import Page, expect

from tests.browser.axe import Axe
from tests.browser.conftest import Cluster
from tests.browser.test_whole import node, pod, put, settle


def test_cache_is_shown_now_and_then(page: Page, own: Cluster, axe: Axe) -> None:
    put(own, node("room"), pod("placed"))
    settle(own, 0)
    rv, seq = own.call("GET", "snapshot")["cursor"]
    put(own, node("late"), pod("later"))
    settle(own, 0)

    page.goto(own.address)
    page.get_by_role("region", name="Scheduling queue").get_by_role("link", name="Cache").click()
    cache = page.get_by_role("region", name="Scheduler cache")
    pods = cache.get_by_role("grid", name="Pods").locator("[data-row]")
    expect(pods).to_have_count(2)
    expect(cache).to_contain_text(re.compile(r"Pods confirmed\s*2"))
    placed = pods.filter(has_text="default/placed")
    expect(placed).to_contain_text("Confirmed")
    expect(placed.get_by_role("link", name="1", exact=True)).to_have_attribute("href", re.compile("/attempts/"))
    expect(cache).to_contain_text(re.compile(r"It took over \d nodes? that had changed after generation \d+: "))
    axe.check(page, cache)

    # What is listed, and what is sought, stand in the address.
    cache.get_by_role("button", name=re.compile("^Nodes")).click()
    nodes = cache.get_by_role("grid", name="Nodes").locator("[data-row]")
    expect(nodes).to_have_count(2)
    cache.get_by_role("searchbox").fill("late")
    expect(nodes).to_have_count(1)
    expect(page).to_have_url(re.compile(r"/cache\?rows=nodes&find=late$"))
    page.reload()
    expect(nodes).to_have_count(1)
    cache.get_by_role("searchbox").fill("nowhere")
    expect(cache).to_contain_text("Nothing matches this query.")

    page.goto(f"{own.address}/cache?rows=nodes&at={rv}.{seq}")
    expect(page.get_by_role("region", name="The past")).to_contain_text("As it was")
    expect(cache).to_contain_text(f"After the last step at {rv}.{seq}")
    expect(nodes).to_have_count(1)
    expect(nodes).to_contain_text("room")
    page.get_by_role("button", name="Back to now").click()
    expect(nodes).to_have_count(2)
    page.keyboard.press("Escape")
    expect(page.get_by_role("region", name="Scheduling queue")).to_be_visible()


def test_stage_is_in_sight_on_a_narrow_screen(page: Page, own: Cluster) -> None:
    put(own, node("room"), pod("placed"))
    settle(own, 0)
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{own.address}/cache")
    row = page.get_by_role("grid", name="Pods").locator("[data-row]").first
    expect(row).to_be_visible()
    for name in ("default/placed", "Confirmed"):
        box = row.get_by_text(name, exact=True).bounding_box()
        assert box is not None and box["x"] + box["width"] <= 390, name
