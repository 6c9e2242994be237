"""The address holds what is on the screen: it survives a reload and the login, and shows the same to somebody else."""

import re

from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Cluster, Service
from tests.browser.test_attempts import log_in, open_pod, panel_of
from tests.browser.test_dashboard import row

POD = "addressed-screen"


def change_the_screen(page: Page, cluster: Cluster) -> None:
    """Leaves nothing as it is at first, on the dashboard and in the panel of a pod that fits nowhere."""
    cluster.pod_create(POD, cpu="900")
    page.get_by_role("group", name="Show nodes as").get_by_role("button", name="List").click()
    chart = page.get_by_role("region", name="Throughput")
    chart.get_by_role("button", name="24 h").click()
    slowest = page.get_by_role("region", name="Slowest cycles")
    slowest.get_by_role("button", name="All", exact=True).click()
    open_reason = page.get_by_role("region", name="What keeps pods pending").get_by_role("button").first
    open_reason.click()
    page.get_by_role("group", name="Where pods wait").get_by_role("button", name="Unschedulable").click()
    row(page, "unschedulable", POD).click()
    panel = panel_of(page, POD)
    panel.get_by_text(re.compile("Verdicts and scores of")).click()
    panel.get_by_label("Verdict").select_option("refused")
    panel.get_by_label("Order").select_option("node")
    panel.get_by_placeholder("Node name").fill("a")
    panel.get_by_text("Manifest", exact=True).click()


def see_it_changed(page: Page) -> None:
    panel = panel_of(page, POD)
    expect(panel.get_by_label("Verdict")).to_have_value("refused")
    expect(panel.get_by_label("Order")).to_have_value("node")
    expect(panel.get_by_placeholder("Node name")).to_have_value("a")
    expect(panel.get_by_text("kind: Pod")).to_be_visible()
    expect(page.get_by_role("searchbox", name="Filter by name")).to_have_value(POD)
    pressed = [
        page.get_by_role("group", name="Where pods wait").get_by_role("button", name=re.compile("^Unschedulable")),
        page.get_by_role("group", name="Show nodes as").get_by_role("button", name="List"),
        page.get_by_role("region", name="Throughput").get_by_role("button", name="24 h"),
        page.get_by_role("region", name="Slowest cycles").get_by_role("button", name="All", exact=True),
    ]
    for button in pressed:
        expect(button).to_have_attribute("aria-pressed", "true")
    reasons = page.get_by_role("region", name="What keeps pods pending")
    expect(reasons.get_by_role("button", expanded=True)).to_have_count(1)


def test_screen_is_the_same_after_a_reload_and_after_a_login(
    page: Page, cluster: Cluster, browser: Browser, service: Service
) -> None:
    change_the_screen(page, cluster)
    see_it_changed(page)
    address = page.url
    page.reload()
    see_it_changed(page)
    assert page.url == address
    (password,) = (match[1] for line in service.lines if (match := re.search(r"user admin, password (\S+)", line)))
    with browser.new_context(viewport={"width": 1440, "height": 1000}) as stranger:
        theirs = stranger.new_page()
        theirs.goto(address)
        log_in(theirs, password)
        see_it_changed(theirs)
        assert theirs.url == address


def test_dashboard_stays_as_it_is_under_panels(page: Page, cluster: Cluster) -> None:
    page.get_by_role("region", name="Throughput").get_by_role("button", name="1 h").click()
    assert page.url.endswith("?span=hour")
    cluster.pod_create("under", cpu="900")
    row(page, "unschedulable", "under").click()
    panel_of(page, "under").get_by_role("region", name="Last attempt").wait_for()
    assert page.url.endswith("/pods/default/under?span=hour&find=under")
    panel_of(page, "under").get_by_role("button", name="Close").click()
    assert page.url.endswith(f"#/clusters/{cluster.id}?span=hour&find=under")
    page.go_back()
    panel_of(page, "under").wait_for()


def test_configuration_has_an_address(page: Page, cluster: Cluster) -> None:
    page.goto(f"{cluster.address}/config?tab=effective")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Effective configuration")).to_have_attribute("aria-pressed", "true")
    dialog.get_by_role("button", name="Versions").click()
    dialog.get_by_role("button", name=re.compile("^Version 1")).wait_for()
    page.reload()
    expect(page.get_by_role("dialog").get_by_role("button", name="Versions")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert page.url.endswith(f"#/clusters/{cluster.id}")


def test_address_of_an_attempt_keeps_what_is_open(page: Page, cluster: Cluster) -> None:
    cluster.pod_create("kept-open", cpu="900")
    panel = open_pod(page, cluster, "kept-open")
    panel.get_by_text(re.compile("Verdicts and scores of")).click()
    panel.get_by_role("region", name="Last attempt").get_by_role("link", name=re.compile(r"^#\d")).click()
    expect(panel.get_by_placeholder("Node name")).to_be_visible()
    assert re.search(r"/attempts/\d+\?matrix=yes$", page.url)
