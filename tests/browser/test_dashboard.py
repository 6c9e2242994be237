"""The dashboard on a running service: pods move by themselves, the pace is obeyed, decisions are explained."""

import re
import time

from playwright.sync_api import Browser, BrowserContext, Locator, Page, Route, expect

from tests.browser.conftest import FIRST, Cluster, Service, until


def waiting(page: Page, lane: str) -> Locator:
    """Rows of the pods that wait there, the first of them first."""
    return page.get_by_role("region", name="Scheduling queue").locator(f"li [data-lane={lane}]")


def look_for(page: Page, words: str) -> None:
    """Of the pods that wait, list those only."""
    page.get_by_role("searchbox", name="Filter by name").fill(words)


def row(page: Page, lane: str, pod: str) -> Locator:
    """The row of a pod that waits there, looked for by its name: of many only those in sight are drawn."""
    look_for(page, pod)
    return waiting(page, lane).filter(has_text=re.compile(rf"^\s*{re.escape(pod)}\b"))


def pace(page: Page, name: str) -> None:
    button = page.get_by_role("group", name="Pace of the scheduler").get_by_role("button", name=name, exact=True)
    button.click()


def figure(page: Page, name: str) -> int:
    region = page.get_by_role("region", name="Cluster in figures")
    text = region.get_by_role("term").filter(has_text=name).locator("xpath=following-sibling::dd[1]").inner_text()
    return int(re.sub(r"\D", "", text))


def test_pods_move_from_queue_to_node_when_the_cluster_runs(page: Page, lively: Cluster) -> None:
    page.evaluate("window.notReloaded = true")
    pace(page, "Pause")
    expect(page.get_by_role("button", name="Pause", exact=True)).to_have_attribute("aria-pressed", "true")
    lively.pod_create("traveller", priority=FIRST)
    expect(row(page, "active", "traveller")).to_be_visible()
    page.get_by_role("status").filter(has_text="Live").wait_for()
    before = figure(page, "Pods on nodes")
    pace(page, "Run")
    expect(row(page, "active", "traveller")).to_have_count(0)
    page.goto(f"{lively.address}/pods/default/traveller")
    panel = page.get_by_role("complementary", name="Pod default/traveller")
    expect(panel.get_by_role("status").first).to_have_text(re.compile(r"^Running on \S+"))
    expect(panel.get_by_role("region", name="Last attempt")).to_contain_text(re.compile(r"Placed on \S+"))
    until(page, lambda: figure(page, "Pods on nodes") != before)  # others come and go meanwhile
    assert page.evaluate("window.notReloaded")


def test_sample_cluster_is_scheduled_while_one_looks(page: Page, lively: Cluster) -> None:
    events = page.get_by_role("region", name="Events")
    expect(events.get_by_text("Scheduled", exact=True).first).to_be_visible()
    first = events.get_by_role("listitem").first.inner_text()
    expect(events.get_by_role("listitem").first).not_to_have_text(first)
    assert figure(page, "Pods on nodes") > 50


def test_frames_are_no_reason_to_ask_again(page: Page, lively: Cluster) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.partition("/api/clusters/")[2].partition("?")[0]))
    frames: list[str | bytes] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: frames.append(frame)))
    began = time.monotonic()
    page.reload()
    page.get_by_role("button", name="Settings").click()
    page.get_by_role("link", name="Scheduler configuration").click()
    page.get_by_role("dialog").wait_for()
    until(page, lambda: len(frames) > 30)
    seconds = time.monotonic() - began
    # The two questions come every ten seconds, the configuration once.
    for question in ("/pending", "/slowest", "/scheduler-config"):
        assert 1 <= sum(one.endswith(question) for one in asked) <= 3 + seconds / 10, (question, asked)


def test_one_pod_changes_its_lane_when_one_cycle_is_stepped(page: Page, cluster: Cluster) -> None:
    pace(page, "Pause")
    expect(page.get_by_role("button", name="Step one cycle")).to_be_enabled()
    cluster.pod_create("first-in-line", priority=FIRST)
    cluster.pod_create("second-in-line", priority=FIRST - 1)
    expect(waiting(page, "active").first).to_contain_text("first-in-line")
    expect(row(page, "active", "second-in-line")).to_be_visible()
    look_for(page, "")
    page.get_by_role("button", name="Step one cycle").click()
    expect(row(page, "active", "first-in-line")).to_have_count(0)
    look_for(page, "")
    expect(waiting(page, "active").first).to_contain_text("second-in-line")
    page.get_by_role("button", name="Step one cycle").click()
    expect(row(page, "active", "second-in-line")).to_have_count(0)


def test_panel_says_why_not_when_no_node_fits(page: Page, cluster: Cluster) -> None:
    cluster.pod_create("too-large", cpu="900")
    row(page, "unschedulable", "too-large").click()
    panel = page.get_by_role("complementary", name="Pod default/too-large")
    expect(panel.get_by_role("status").first).to_contain_text("Unschedulable")
    attempt = panel.get_by_role("region", name="Last attempt")
    expect(attempt).to_contain_text("No node fits")
    expect(attempt).to_contain_text(re.compile(r"None of \d+ nodes could take it"))
    # The event that followed has the same words in another order.
    rejection = attempt.get_by_role("listitem").filter(has_text=re.compile(r"Insufficient cpu\s*\d+ nodes"))
    expect(rejection).to_contain_text("NodeResourcesFit")
    panel.get_by_text("Manifest").click()
    expect(panel.get_by_text("name: too-large")).to_be_visible()
    panel.get_by_role("button", name="Close").click()
    expect(panel).to_have_count(0)


def test_panel_shows_the_best_nodes_when_a_pod_was_placed(page: Page, cluster: Cluster) -> None:
    cluster.pod_create("well-placed")
    page.goto(f"{cluster.address}/pods/default/well-placed")
    panel = page.get_by_role("complementary", name="Pod default/well-placed")
    attempt = panel.get_by_role("region", name="Last attempt")
    expect(attempt).to_contain_text("highest total score")
    best = attempt.get_by_role("listitem").filter(has_text="chosen")
    expect(best).to_have_count(1)
    expect(best).to_contain_text("NodeResourcesFit")
    best.get_by_role("link").click()
    expect(page.get_by_role("complementary", name=re.compile("^Node "))).to_contain_text("default/well-placed")


def test_history_and_all_nodes_of_an_attempt_are_shown(page: Page, cluster: Cluster) -> None:
    cluster.pod_create("well-known", cpu="900")
    page.goto(f"{cluster.address}/pods/default/well-known")
    panel = page.get_by_role("complementary", name="Pod default/well-known")
    history = panel.get_by_role("region", name="Queue history")
    expect(history).to_contain_text("To the unschedulable pods")
    expect(history).to_contain_text("rejected by NodeResourcesFit")
    panel.get_by_text(re.compile(r"Verdicts and scores of \d+ nodes?")).click()
    rows = panel.get_by_role("table").get_by_role("row")
    expect(rows.filter(has_text="Insufficient cpu").first).to_be_visible()
    rows.filter(has_text="Insufficient cpu").first.get_by_role("link").click()
    node = page.get_by_role("complementary", name=re.compile("^Node "))
    node.get_by_text("Rejections on this node").click()
    expect(node.get_by_role("link", name="default/well-known", exact=True)).to_be_visible()
    reasons = page.get_by_role("region", name="What keeps pods pending")
    expect(reasons.get_by_role("button", name=re.compile("Insufficient cpu"))).to_be_visible()


def test_nodes_are_a_table_when_the_list_is_chosen(page: Page) -> None:
    nodes = page.get_by_role("region", name="Nodes", exact=True)
    nodes.get_by_role("button", name="List").click()
    rows = nodes.get_by_role("row")
    expect(rows.nth(3)).to_be_visible()
    nodes.get_by_role("link").first.click()
    expect(page.get_by_role("complementary", name=re.compile("^Node "))).to_contain_text("memory")
    nodes.get_by_role("button", name="Grid").click()


def test_node_takes_no_pods_when_it_is_cordoned(page: Page) -> None:
    nodes = page.get_by_role("region", name="Nodes", exact=True)
    nodes.get_by_role("button", name="List").click()
    nodes.get_by_role("link").last.click()
    panel = page.get_by_role("complementary", name=re.compile("^Node "))
    panel.get_by_role("button", name="Cordon", exact=True).click()
    expect(panel.get_by_text("Cordoned")).to_be_visible()
    panel.get_by_role("button", name="Uncordon").click()
    expect(panel.get_by_text("Cordoned")).to_have_count(0)


def test_import_says_what_is_wrong_when_the_file_is_bad(page: Page) -> None:
    page.get_by_role("button", name="Import").click()
    dialog = page.get_by_role("dialog")
    bad = {"name": "broken.json", "mimeType": "application/json", "buffer": b'{"kind": "List", "items": ['}
    dialog.get_by_label("Choose files").set_input_files(bad)
    dialog.get_by_role("button", name="Import", exact=True).click()
    expect(dialog.get_by_role("alert")).to_contain_text("refused")
    expect(dialog.get_by_role("alert")).to_contain_text("JSON")


def test_theme_is_dark_and_stays_so_when_chosen(page: Page) -> None:
    def background() -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    light = background()
    page.get_by_role("button", name="Settings").click()
    page.get_by_role("button", name="Dark").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert background() != light
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_texts_are_chinese_when_that_is_chosen(page: Page) -> None:
    page.get_by_role("button", name="Settings").click()
    page.get_by_label("Language").select_option("zh-Hans")
    expect(page.get_by_role("heading", name="调度队列")).to_be_visible()


def test_names_of_waiting_pods_can_be_read_whatever_stands_behind_them(page: Page, cluster: Cluster) -> None:
    pace(page, "Pause")
    cluster.pod_create("name-with-many-marks", priority=FIRST)
    expect(row(page, "active", "name-with-many-marks")).to_be_visible()

    def marked(route: Route) -> None:
        """All that a row can say at once: a node that is made free, a priority, tries, and how long it waits."""
        snapshot = route.fetch().json()
        pods, queue = snapshot["pods"], snapshot["queue"]
        pods["nominated"] = {"values": ["river-a-general-07"], "rows": [0] * len(pods["uid"]["values"])}
        queue["queue"] = {"values": ["unschedulable"], "rows": [0] * len(queue["uid"]["values"])}
        queue["attempts"] = {"values": [123], "rows": [0] * len(queue["uid"]["values"])}
        queue["since_ms"] = {"values": [1_700_000_000_000], "rows": [0] * len(queue["uid"]["values"])}
        route.fulfill(json=snapshot)

    page.route("**/snapshot/columns", marked)
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.reload()
        shown = row(page, "unschedulable", "name-with-many-marks").locator(".name")
        expect(shown).to_be_attached()
        assert shown.evaluate("name => name.getBoundingClientRect().width") >= 70, width


def test_page_is_no_wider_than_the_screen_when_that_is_narrow(page: Page) -> None:
    page.set_viewport_size({"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_login_link_is_over_when_it_was_used(browser: Browser, context: BrowserContext, service: Service) -> None:
    with browser.new_context() as stranger:
        answer = stranger.new_page().goto(service.login_link)
        assert answer is not None and answer.status == 410


def test_stranger_is_sent_to_the_login_page(browser: Browser, service: Service) -> None:
    with browser.new_context() as stranger:
        page = stranger.new_page()
        page.goto(service.url)
        expect(page.get_by_label("Password")).to_be_visible()
        assert page.request.get(f"{service.url}/api/clusters").status in (401, 403)
