"""What is done to a node in its panel, and what the page shows of how it is."""

import re

from playwright.sync_api import Page, expect

from tests.browser.axe import Axe
from tests.browser.conftest import Cluster
from tests.browser.test_clock import opened
from tests.browser.test_whole import pod, put


def test_node_whose_kubelet_stops_is_unreachable_and_comes_back(page: Page, timed: Cluster, axe: Axe) -> None:
    put(timed, pod("stays"))
    page.goto(f"{timed.address}/nodes/room")
    panel = page.get_by_role("complementary", name="Node room")
    panel.get_by_role("button", name="Stop kubelet").click()
    asked = panel.get_by_role("group", name="Stop kubelet room?")
    expect(asked).to_contain_text("unreachable after 50 s")
    asked.get_by_role("button", name="Cancel").click()
    expect(asked).to_have_count(0)
    panel.get_by_role("button", name="Stop kubelet").click()
    page.keyboard.press("Enter")
    expect(panel.get_by_role("status")).to_contain_text("Kubelet is stopped")
    menu = opened(page)
    menu.get_by_role("button", name="5 minutes").click()
    expect(panel.get_by_text("Unreachable", exact=True)).to_be_visible()
    expect(panel.get_by_role("region", name="Conditions")).to_contain_text(re.compile(r"Ready\s*Unknown"))
    page.keyboard.press("Escape")
    axe.check(page)
    panel.get_by_role("button", name="Bring back").click()
    expect(panel.get_by_text("Unreachable", exact=True)).to_have_count(0)
    expect(panel.get_by_role("button", name="Stop kubelet")).to_be_visible()


def test_node_is_drained_and_opened_again(page: Page, timed: Cluster) -> None:
    put(timed, pod("goes"))
    page.goto(f"{timed.address}/nodes/room")
    panel = page.get_by_role("complementary", name="Node room")
    expect(panel.get_by_role("region", name="Pods on this node")).to_contain_text("default/goes")
    panel.get_by_role("button", name="Drain", exact=True).click()
    panel.get_by_role("group", name="Drain room?").get_by_role("button", name="Drain").click()
    expect(panel.get_by_role("status")).to_contain_text("Drained")
    expect(panel.get_by_text("Cordoned", exact=True)).to_be_visible()
    panel.get_by_role("button", name="Uncordon").click()
    expect(panel.get_by_text("Cordoned", exact=True)).to_have_count(0)
