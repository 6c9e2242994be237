"""Attempts in the pod panel: what is read stays, each has an address, and login leads back to it."""

import re

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import WAIT_MS, Cluster, Service, until
from tests.browser.test_dashboard import row
from tests.browser.test_whole import node, put


@pytest.fixture
def cluster(own: Cluster) -> Cluster:
    """Of the test's own: where others act as well, pods are tried again at any time."""
    put(own, node("n1"))
    return own


def panel_of(page: Page, pod: str) -> Locator:
    return page.get_by_role("complementary", name=f"Pod default/{pod}")


def open_pod(page: Page, cluster: Cluster, pod: str, attempt: int | None = None) -> Locator:
    at = f"/attempts/{attempt}" if attempt else ""
    page.goto(f"{cluster.address}/pods/default/{pod}{at}")
    panel = panel_of(page, pod)
    panel.wait_for()
    return panel


def node_create(cluster: Cluster, name: str) -> None:
    """A node that does not take the pods of these tests, and lets them be tried again."""
    status = {
        "allocatable": {"cpu": "1000", "memory": "1Gi", "pods": "110"},
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    taint = {"key": "browser", "value": name, "effect": "NoSchedule"}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": {"taints": [taint]}}
    cluster.call("POST", "objects", {**node, "status": status})


def attempts_of(cluster: Cluster, pod: str) -> list[dict[str, int]]:
    found: list[dict[str, int]] = cluster.call("GET", f"pods/default/{pod}/attempts")["results"]
    return found


def tried_again(page: Page, cluster: Cluster, pod: str, how_often: int) -> None:
    """Waits until the pod has so many attempts that differ, with a new node for each."""
    until(page, lambda: attempts_of(cluster, pod))
    for turn in range(len(attempts_of(cluster, pod)), how_often):
        node_create(cluster, f"{pod}-{turn}")
        until(page, lambda turn=turn: len(attempts_of(cluster, pod)) > turn)  # type: ignore[misc]


def log_in(page: Page, password: str) -> None:
    page.get_by_label("User name").fill("admin")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()


def test_what_is_read_stays_when_the_pod_is_tried_again(page: Page, cluster: Cluster) -> None:
    cluster.pod_create("read-again", cpu="900")
    panel = open_pod(page, cluster, "read-again")
    attempt = panel.get_by_role("region", name="Last attempt")
    attempt.get_by_text(re.compile("Verdicts and scores of")).click()
    panel.get_by_placeholder("Node name").fill("gpu")
    before = attempts_of(cluster, "read-again")
    tried_again(page, cluster, "read-again", len(before) + 1)
    newer = panel.get_by_role("status").filter(has_text="Tried again since")
    expect(newer).to_be_visible()
    expect(panel.get_by_placeholder("Node name")).to_have_value("gpu")
    assert before[0]["seq"] in {one["seq"] for one in attempts_of(cluster, "read-again")}
    expect(panel.get_by_role("region", name=f"Attempt {before[0]['last_attempt']}", exact=True)).to_be_visible()

    def last_is_read() -> int:
        # The pod may have been tried again on the way.
        if newer.count():
            newer.get_by_role("link").click()
        return panel.get_by_role("region", name="Last attempt").count()

    until(page, last_is_read)


def test_attempt_is_shown_at_its_address(page: Page, cluster: Cluster) -> None:
    cluster.pod_create("addressed", cpu="900")
    tried_again(page, cluster, "addressed", 2)
    first = attempts_of(cluster, "addressed")[-1]
    panel = open_pod(page, cluster, "addressed", first["last_attempt"])
    expect(panel.get_by_role("region", name=f"Attempt {first['last_attempt']}", exact=True)).to_be_visible()
    page.reload()
    expect(panel.get_by_role("region", name=f"Attempt {first['last_attempt']}", exact=True)).to_be_visible()
    listed = panel.get_by_role("region", name="All attempts").get_by_role("link")
    listed.first.click()
    expect(panel.get_by_role("region", name="Last attempt")).to_be_visible()
    newest = attempts_of(cluster, "addressed")[0]
    page.wait_for_url(re.compile(rf"/pods/default/addressed/attempts/{newest['last_attempt']}$"))
    page.go_back()
    expect(panel.get_by_role("region", name=f"Attempt {first['last_attempt']}", exact=True)).to_be_visible()


def test_attempt_of_another_pod_is_not_shown_as_this_pods(page: Page, cluster: Cluster) -> None:
    cluster.pod_create("mine")
    cluster.pod_create("not-mine", cpu="900")
    panel = open_pod(page, cluster, "not-mine")
    panel.get_by_role("region", name="Last attempt").wait_for()
    (other,) = attempts_of(cluster, "mine")[:1]
    page.goto(f"{page.url}/attempts/{other['last_attempt']}?seq={other['seq']}")
    expect(panel.get_by_text("No attempt with that number is stored of this pod.")).to_be_visible()
    expect(panel.get_by_role("region", name="All attempts")).to_be_visible()


def test_slowest_cycle_opens_the_slow_attempt(page: Page, cluster: Cluster) -> None:
    for number in range(4):
        cluster.pod_create(f"slow-{number}", cpu="900")
        until(page, lambda number=number: attempts_of(cluster, f"slow-{number}"))  # type: ignore[misc]
    page.reload()
    region = page.get_by_role("region", name="Slowest cycles")
    region.get_by_role("button", name="All").click()
    slowest = cluster.call("GET", "slowest?limit=8")
    for place, attempt in enumerate(slowest[:3]):
        link = region.get_by_role("listitem").nth(place).get_by_role("link").first
        expect(link).to_have_attribute(
            "href", re.compile(rf"/attempts/{attempt['last_attempt']}\?seq={attempt['seq']}$")
        )
        link.click()
        key = f"{attempt['namespace']}/{attempt['name']}"
        shown = page.get_by_role("complementary", name=f"Pod {key}", exact=True)
        expect(shown.get_by_role("link", name=f"#{attempt['last_attempt']:,}", exact=True).first).to_be_visible()
        took = region.get_by_role("listitem").nth(place).locator("b").inner_text()
        expect(shown).to_contain_text(f"took {took}")
        page.keyboard.press("Escape")
        expect(shown).to_have_count(0)


def test_login_leads_back_to_what_was_asked_for(
    page: Page, browser: Browser, cluster: Cluster, service: Service
) -> None:
    cluster.pod_create("behind-login", cpu="900")
    open_pod(page, cluster, "behind-login").get_by_role("region", name="Last attempt").wait_for()
    number = attempts_of(cluster, "behind-login")[0]["last_attempt"]
    place = f"#/clusters/{cluster.id}/pods/default/behind-login/attempts/{number}"
    (password,) = (match[1] for line in service.lines if (match := re.search(r"user admin, password (\S+)", line)))
    with browser.new_context() as stranger:
        theirs = stranger.new_page()
        theirs.goto(f"{service.url}/{place}")
        log_in(theirs, "wrong")
        theirs.get_by_role("alert").wait_for()
        log_in(theirs, password)
        panel_of(theirs, "behind-login").get_by_role("region", name="Last attempt").wait_for(timeout=WAIT_MS)
        assert theirs.url == f"{service.url}/{place}"


def test_session_that_ends_leads_back_to_what_was_open(
    page: Page, cluster: Cluster, browser: Browser, service: Service
) -> None:
    cluster.pod_create("session-over")
    open_pod(page, cluster, "session-over")
    (password,) = (match[1] for line in service.lines if (match := re.search(r"user admin, password (\S+)", line)))
    page.context.clear_cookies()
    page.evaluate("location.reload()")
    log_in(page, password)
    panel_of(page, "session-over").wait_for()


def test_focus_returns_to_what_opened_the_panel(page: Page, cluster: Cluster) -> None:
    cluster.pod_create("focused", cpu="900")
    waiting = row(page, "unschedulable", "focused")
    waiting.focus()
    page.keyboard.press("Enter")
    panel = panel_of(page, "focused")
    expect(panel).to_be_focused()
    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)
    expect(waiting).to_be_focused()
    # By way of a second panel, and with nothing that opened it.
    for key in ("Enter", "Escape"):
        page.keyboard.press(key)
    open_pod(page, cluster, "focused")
    page.reload()
    panel.wait_for()
    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)
    assert page.evaluate("document.activeElement !== document.body")


def test_escape_in_the_filter_clears_it_and_leaves_the_panel_open(page: Page, cluster: Cluster) -> None:
    cluster.pod_create("filtered", cpu="900")
    panel = open_pod(page, cluster, "filtered")
    panel.get_by_text(re.compile("Verdicts and scores of")).click()
    field = panel.get_by_placeholder("Node name")
    field.fill("gpu")
    field.press("Escape")
    expect(field).to_have_value("")
    expect(panel).to_be_visible()
    field.press("Escape")
    expect(panel).to_have_count(0)


def test_draft_of_the_configuration_outlives_escape(page: Page) -> None:
    settings = page.get_by_role("button", name="Settings")
    settings.click()
    page.get_by_role("link", name="Scheduler configuration").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Edit").click()
    dialog.get_by_role("textbox").fill("kind: HalfWritten\n")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(settings).to_be_focused()
    settings.click()
    page.get_by_role("link", name="Scheduler configuration").click()
    expect(dialog.get_by_role("textbox")).to_have_value("kind: HalfWritten\n")
    dialog.get_by_role("button", name="Cancel").click()
    page.keyboard.press("Escape")
    settings.click()
    page.get_by_role("link", name="Scheduler configuration").click()
    dialog.get_by_role("button", name="Edit").wait_for()
    expect(dialog.get_by_role("textbox")).to_have_count(0)


def test_gated_pod_names_its_gates(page: Page, cluster: Cluster) -> None:
    spec = {"containers": [{"name": "a", "image": "a:1"}], "schedulingGates": [{"name": "example.com/quota"}]}
    metadata = {"name": "held-back", "namespace": "default"}
    cluster.call("POST", "objects", {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    panel = open_pod(page, cluster, "held-back")
    expect(panel.get_by_role("region", name="State")).to_contain_text("example.com/quota")
    expect(panel).not_to_contain_text("undefined")


def test_preempted_pod_names_the_pod_that_took_its_place(page: Page, cluster: Cluster) -> None:
    # The only node with room for either: too small for what other tests leave behind.
    status = {
        "allocatable": {"cpu": "700", "memory": "8Gi", "pods": "110"},
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "only-here"}}
    cluster.call("POST", "objects", {**node, "status": status})
    for name, priority in (("humble", 5), ("proud", 700_000)):
        cluster.pod_create(name, cpu="600", priority=priority)
        panel = open_pod(page, cluster, name)
        # The attempt that was the last when the panel opened: others may follow.
        shown = panel.get_by_role("region", name=re.compile("^(Last attempt|Attempt 1)$"))
        expect(shown).to_contain_text(re.compile("Placed on|No node fits"))
        if name == "humble":
            expect(panel.get_by_role("region", name="Last attempt")).to_contain_text("Placed on only-here")
    panel = open_pod(page, cluster, "humble")
    history = panel.get_by_role("region", name="Queue history")
    expect(history).to_contain_text("Preempted by pod default/proud on node only-here")


def test_times_in_the_panel_have_dates(page: Page, cluster: Cluster) -> None:
    cluster.pod_create("dated", cpu="900")
    panel = open_pod(page, cluster, "dated")
    panel.get_by_role("region", name="Last attempt").wait_for()
    today = page.evaluate("new Intl.DateTimeFormat('en', {month: 'short', day: 'numeric'}).format(new Date())")
    expect(panel.get_by_role("region", name="Last attempt").locator(".head")).to_contain_text(today)
    for name in ("All attempts", "Queue history"):
        expect(panel.get_by_role("region", name=name).get_by_role("listitem").first).to_contain_text(today)
