"""Every view and every dialog, in both themes, wide and narrow: axe-core finds nothing serious or critical in them.

A panel or a dialog is looked at by itself: what lies behind it is a view of its own. Views take turns with the looks;
the long form sees each in both themes at each width, and also those that are much like another.
"""

import json
import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Locator, Page, WebSocketRoute, expect

from tests.browser.axe import Axe
from tests.browser.conftest import FIRST, Cluster, Service, until
from tests.browser.test_attempts import node_create, open_pod
from tests.browser.test_dashboard import look_for, pace, row
from tests.browser.test_import import drop, into_new, manifest, new_name, start
from tests.browser.test_whole import node, pod, put

View = Callable[[Page, Cluster], Locator | None]  # what of the page is to be looked at; None: all of it


def pending(cluster: Cluster, name: str, reason: str) -> None:
    """A pod that no node takes, tried."""
    cluster.pod_create(name, cpu="900")
    path = f"pods/default/{name}/attempts"
    until(cluster.page, lambda: reason in json.dumps(cluster.call("GET", path)["results"]))


def dashboard(page: Page, cluster: Cluster) -> None:
    pending(cluster, "seen-pending", "Insufficient cpu")
    put(cluster, pod("seen-gated", gate="example.com/later"))
    pace(page, "Pause")
    cluster.pod_create("seen-active", priority=FIRST)
    for queue, name in (("active", "seen-active"), ("unschedulable", "seen-pending"), ("gated", "seen-gated")):
        row(page, queue, name).wait_for()
    look_for(page, "")
    page.get_by_role("region", name="What keeps pods pending").get_by_role("button").first.click()


def slow_pace(page: Page, cluster: Cluster) -> None:
    pace(page, "Slow")
    page.get_by_label("Cycles per second").wait_for()


def list_of_nodes(page: Page, cluster: Cluster) -> None:
    page.get_by_role("region", name="Nodes", exact=True).get_by_role("button", name="List").click()
    page.get_by_role("grid").get_by_role("link").first.wait_for()


def menu(page: Page, cluster: Cluster) -> None:
    page.get_by_role("button", name="Settings").click()
    page.get_by_label("Language").wait_for()


def unfold(panel: Locator) -> None:
    """All that can be opened in a panel, and a manifest in it."""
    panel.locator("summary").first.wait_for()  # its code comes when it is opened
    closed = panel.locator("details:not([open]) > summary")
    while closed.count():
        closed.first.click()
    expect(panel.get_by_text("Loading…").filter(visible=True)).to_have_count(0)


def pod_placed(page: Page, cluster: Cluster) -> Locator:
    cluster.pod_create("seen-placed")
    panel = open_pod(page, cluster, "seen-placed")
    expect(panel.get_by_role("region", name="Last attempt")).to_contain_text("Placed on")
    unfold(panel)
    panel.get_by_role("table").wait_for()
    return panel


def pod_refused(page: Page, cluster: Cluster) -> Locator:
    pending(cluster, "seen-refused", "Insufficient cpu")
    panel = open_pod(page, cluster, "seen-refused")
    expect(panel.get_by_role("region", name="Last attempt")).to_contain_text("No node fits")
    unfold(panel)
    panel.get_by_role("table").wait_for()
    return panel


def decision_refused(page: Page, cluster: Cluster) -> Locator:
    pending(cluster, "seen-page", "Insufficient cpu")
    open_pod(page, cluster, "seen-page").get_by_role("link", name="Open as a page").click()
    article = page.get_by_role("article")
    expect(article).to_contain_text("No node fits")
    return article


def decision_placed(page: Page, cluster: Cluster) -> Locator:
    cluster.pod_create("seen-page-placed")
    open_pod(page, cluster, "seen-page-placed").get_by_role("link", name="Open as a page").click()
    article = page.get_by_role("article")
    expect(article).to_contain_text("Placed on")
    return article


def pod_gated(page: Page, cluster: Cluster) -> Locator:
    put(cluster, pod("seen-held", gate="example.com/later"))
    panel = open_pod(page, cluster, "seen-held")
    expect(panel).to_contain_text("example.com/later")
    return panel


def preemption(page: Page, cluster: Cluster, name: str, rank: int) -> None:
    """A node with room for one pod: `{name}-humble` has it and loses it to `{name}-proud`."""
    room = node(f"{name}-room", cpu="500")
    room["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    put(cluster, room)
    for pod_name, priority, said in (("humble", rank, "Placed on"), ("proud", rank + 650_000, "Preemption")):
        cluster.pod_create(f"{name}-{pod_name}", cpu="400", priority=priority)
        panel = open_pod(page, cluster, f"{name}-{pod_name}")
        panel.get_by_role("region", name="All attempts").get_by_role("listitem").last.get_by_role("link").first.click()
        expect(panel).to_contain_text(said)


def pod_preempting(page: Page, cluster: Cluster) -> Locator:
    preemption(page, cluster, "first", 5)
    panel = page.get_by_role("complementary", name="Pod default/first-proud")
    unfold(panel)
    panel.get_by_role("group", name="Nodes by outcome").wait_for()
    return panel


def pod_preempted(page: Page, cluster: Cluster) -> Locator:
    preemption(page, cluster, "second", 6)
    panel = open_pod(page, cluster, "second-humble")
    expect(panel.get_by_role("region", name="Queue history")).to_contain_text("Preempted by pod default/second-proud")
    return panel


def pod_unknown(page: Page, cluster: Cluster) -> None:
    page.goto(f"{cluster.address}/pods/default/never-was")
    page.get_by_text("No pod default/never-was exists").wait_for()


def node_panel(page: Page, cluster: Cluster) -> Locator:
    node_create(cluster, "seen-tainted")
    pending(cluster, "seen-elsewhere", "Insufficient cpu")
    page.goto(f"{cluster.address}/nodes/seen-tainted")
    panel = page.get_by_role("complementary", name="Node seen-tainted")
    unfold(panel)
    panel.get_by_role("link", name="default/seen-elsewhere", exact=True).wait_for()
    return panel


def workloads(page: Page, cluster: Cluster) -> Locator:
    page.goto(f"{cluster.address}/workloads")
    panel = page.get_by_role("complementary", name="Workloads")
    panel.get_by_role("listitem").first.wait_for()
    return panel


def workload(page: Page, cluster: Cluster) -> Locator:
    page.goto(f"{cluster.address}/workloads/Deployment/web/storefront")
    panel = page.get_by_role("complementary", name="Deployment web/storefront")
    panel.get_by_role("region", name="Recent events").wait_for()
    unfold(panel)
    return panel


def import_choice(page: Page, cluster: Cluster) -> Locator:
    dialog = drop(page, ("cluster.json", manifest(node("n1"))))
    into_new(dialog, "Not a name")
    dialog.get_by_text("Lower-case letters").wait_for()
    return dialog


def import_refused(page: Page, cluster: Cluster) -> Locator:
    dialog = drop(page, ("broken.json", '{"kind": "List", "items": ['))
    start(dialog)
    expect(dialog.get_by_role("alert")).to_contain_text("refused")
    return dialog


def import_done(page: Page, cluster: Cluster) -> Locator:
    dialog = drop(page, ("cluster.json", manifest(node("n1"), pod("huge", cpu="900"))))
    into_new(dialog, new_name())
    start(dialog)
    expect(dialog.get_by_role("status")).to_contain_text("Imported into")
    return dialog


def configuration(page: Page) -> Locator:
    page.get_by_role("button", name="Settings").click()
    page.get_by_role("link", name="Scheduler configuration").click()
    return page.get_by_role("dialog")


def configuration_text(page: Page, cluster: Cluster) -> Locator:
    """A text longer than the dialog is high, which scrolls."""
    head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    text = head + "".join(f"# line {line}\n" for line in range(100)) + "podInitialBackoffSeconds: 1\n"
    dialog = configuration(page)
    dialog.get_by_role("button", name="Edit").click()
    dialog.get_by_role("textbox").fill(text)
    dialog.get_by_role("button", name="Apply").click()
    dialog.get_by_text("# line 99").wait_for()
    return dialog


def configuration_refused(page: Page, cluster: Cluster) -> Locator:
    dialog = configuration(page)
    dialog.get_by_role("button", name="Edit").click()
    dialog.get_by_role("textbox").fill("kind: HalfWritten\n")
    dialog.get_by_role("button", name="Apply").click()
    dialog.get_by_role("alert").wait_for()
    return dialog


def configuration_effective(page: Page, cluster: Cluster) -> Locator:
    dialog = configuration(page)
    dialog.get_by_role("button", name="Effective configuration").click()
    dialog.get_by_text("NodeResourcesFit").first.wait_for()
    return dialog


def configuration_versions(page: Page, cluster: Cluster) -> Locator:
    dialog = configuration(page)
    dialog.get_by_role("button", name="Versions").click()
    dialog.get_by_text("active", exact=True).wait_for()
    return dialog


def no_such_cluster(page: Page, cluster: Cluster) -> None:
    page.goto(f"{cluster.url}/#/clusters/987654")
    page.get_by_role("heading", name="There is no cluster 987654").wait_for()


def connection_lost(page: Page, cluster: Cluster) -> None:
    served: list[WebSocketRoute] = []

    def serve(socket: WebSocketRoute) -> None:
        """The first is served, those after the cut are not."""
        if not served:
            socket.connect_to_server()
        served.append(socket)
        if len(served) > 1:
            socket.close()

    page.route_web_socket(re.compile("/ws/"), serve)
    page.reload()
    page.get_by_role("status").filter(has_text="Live").wait_for()
    served[0].close()
    page.get_by_role("button", name="Try now").wait_for()


VIEWS: tuple[View, ...] = (
    dashboard,
    slow_pace,
    list_of_nodes,
    menu,
    pod_placed,
    pod_refused,
    decision_refused,
    decision_placed,
    pod_gated,
    pod_preempting,
    pod_preempted,
    pod_unknown,
    node_panel,
    workloads,
    workload,
    import_choice,
    import_refused,
    import_done,
    configuration_text,
    configuration_refused,
    configuration_effective,
    configuration_versions,
    no_such_cluster,
    connection_lost,
)
# Of what they show, another shows nearly all.
ALIKE = {
    slow_pace, pod_placed, decision_refused, pod_gated, pod_preempted, pod_unknown, workloads, import_choice,
    import_done, configuration_refused, configuration_effective, configuration_versions, no_such_cluster,
}  # fmt: skip


@pytest.mark.parametrize(
    "view",
    [pytest.param(view, id=view.__name__, marks=[pytest.mark.slow] if view in ALIKE else []) for view in VIEWS],
)
def test_view_has_no_serious_finding(page: Page, cluster: Cluster, axe: Axe, view: View) -> None:
    part = view(page, cluster)
    axe.in_turn(VIEWS.index(view)).check(page, part)


def login(page: Page, service: Service) -> None:
    page.goto(f"{service.url}/login")
    page.get_by_label("Password").wait_for()


def login_refused(page: Page, service: Service) -> None:
    login(page, service)
    page.get_by_label("User name").fill("admin")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("alert").wait_for()


def login_link_over(page: Page, service: Service) -> None:
    page.goto(service.login_link)
    page.get_by_role("alert").wait_for()


STRANGERS_VIEWS = (login, login_refused, login_link_over)


@pytest.mark.usefixtures("session")
@pytest.mark.parametrize("view", [pytest.param(view, id=view.__name__) for view in STRANGERS_VIEWS])
def test_page_before_the_login_has_no_serious_finding(
    browser: Browser, service: Service, axe: Axe, view: Callable[[Page, Service], None]
) -> None:
    with browser.new_context() as stranger:
        page = stranger.new_page()
        view(page, service)
        axe.check(page)


def test_finding_is_found(page: Page, axe: Axe) -> None:
    page.evaluate("document.querySelector('main').insertAdjacentHTML('beforeend', '<button></button><p>faint</p>')")
    page.evaluate("Object.assign(document.querySelector('main > p').style, { color: '#777', background: '#888' })")
    found = [*axe.findings(page)]
    for expected in ("light, 1280 px: button-name", "light, 1280 px: color-contrast", "dark, 390 px: color-contrast"):
        assert any(finding.startswith(expected) for finding in found), expected
