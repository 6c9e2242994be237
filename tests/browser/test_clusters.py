"""What the dashboard shows of a mirror, and what it offers for the Kubernetes API of a cluster."""

from __future__ import annotations

import base64
import json
import re
import urllib.error
import urllib.request
from datetime import UTC, datetime
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.browser.axe import Axe
from tests.browser.conftest import Cluster, Service, until
from tests.browser.test_accessible import unfold
from tests.waiting import HANG_SECONDS


def rest(page: Page, service: Service, method: str, path: str, body: Any = None) -> Any:
    """A request of the logged-in user."""
    cookies = {cookie["name"]: cookie["value"] for cookie in page.context.cookies()}
    headers = {"X-CSRFToken": cookies["ksched_csrf"], "Content-Type": "application/json"}
    response = page.request.fetch(f"{service.url}/api/{path}", method=method, headers=headers, data=body)
    assert response.ok, response.text()
    return response.json() if response.text() else None


def new_name(what: str) -> str:
    return f"{what}-{datetime.now(UTC):%H%M%S%f}"


def status(url: str, token: str) -> int:
    """What the Kubernetes API answers."""
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
    try:
        with urllib.request.urlopen(request, timeout=HANG_SECONDS) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def open_menu(page: Page, item: str) -> Locator:
    page.get_by_role("button", name="Settings").click()
    page.get_by_role("button", name=item).click()
    return page.get_by_role("dialog")


def test_mirror_shows_what_is_true_of_it_and_a_copy_can_be_made(
    page: Page,
    cluster: Cluster,
    service: Service,
    axe: Axe,
) -> None:
    source = rest(page, service, "GET", f"clusters/{cluster.id}")["name"]
    token = rest(page, service, "POST", "tokens", {"name": new_name("mirror"), "max_role": "viewer"})["secret"]
    kubeconfig = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {"server": f"{service.url}/k8s/{source}"}}],
        "users": [{"name": "u", "user": {"token": token}}],
    }
    name = new_name("mirror")
    made = rest(page, service, "POST", "mirrors", {"name": name, "kubeconfig": json.dumps(kubeconfig)})
    page.goto(f"{service.url}/#/clusters/{made['id']}")
    card = page.get_by_role("region", name="Mirrored cluster")
    expect(card.get_by_role("status")).to_have_text("following")
    expect(page.get_by_text("Mirror: read-only")).to_be_visible()
    expect(page.get_by_text("Decisions compared")).to_be_visible()
    expect(page.get_by_role("heading", name="Scheduling queue")).to_be_visible()
    for absent in ("Throughput", "Waiting / Binding"):
        expect(page.get_by_text(absent, exact=True)).to_have_count(0)
    expect(page.get_by_role("group", name="Pace of the scheduler")).to_have_count(0)
    expect(page.get_by_role("button", name="Import")).to_have_count(0)
    axe.check(page)
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.set_viewport_size({"width": 1280, "height": 900})
    # A pod that is decided while it is followed.
    cluster.pod_create("seen-from-afar")
    page.goto(f"{service.url}/#/clusters/{made['id']}/pods/default/seen-from-afar")
    panel = page.get_by_role("complementary", name="Pod default/seen-from-afar")
    decision = panel.get_by_role("region", name="Decision of the mirrored cluster's scheduler")
    expect(decision).to_contain_text(re.compile("chose|Both"))
    unfold(panel)
    axe.check(page)
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.set_viewport_size({"width": 1280, "height": 900})
    page.keyboard.press("Escape")
    card.get_by_role("button", name="Make a copy").click()
    card.get_by_label("Name of the copy").fill(f"{name}-copy")
    card.get_by_role("button", name="Copy", exact=True).click()
    expect(page.get_by_role("group", name="Pace of the scheduler")).to_be_visible()
    expect(page.get_by_role("button", name="Import")).to_be_visible()
    assert not page.url.endswith(f"/{made['id']}")
    for each in (made["id"], page.url.rpartition("/")[2]):
        rest(page, service, "DELETE", f"clusters/{each}")


def test_kubeconfig_reaches_the_cluster_until_its_token_is_ended(
    page: Page,
    cluster: Cluster,
    service: Service,
    axe: Axe,
) -> None:
    dialog = open_menu(page, "Kubernetes API, kubectl")
    dialog.get_by_role("button", name="Operator").click()
    dialog.get_by_role("button", name="Make a kubeconfig").click()
    command = dialog.get_by_label("Command that writes the file").input_value()
    encoded = re.search(r"<<< (\S+)\)", command)
    assert encoded is not None
    text = base64.b64decode(encoded[1]).decode()
    server, token = (re.search(rf'{field}: "(.*)"', text) for field in ("server", "token"))
    assert server is not None and token is not None and server[1].startswith(f"{service.url}/k8s/")
    assert status(f"{server[1]}/api/v1/nodes", token[1]) == 200
    with page.expect_download() as download:
        dialog.get_by_role("button", name="Download the file").click()
    assert download.value.path().read_text() == text
    axe.check(page)
    dialog.get_by_role("button", name="End this token").click()
    expect(dialog.get_by_text("The token is no longer good.")).to_be_visible()
    assert status(f"{server[1]}/api/v1/nodes", token[1]) == 401


def test_new_cluster_has_the_nodes_and_controllers_that_were_chosen(
    page: Page,
    cluster: Cluster,
    service: Service,
    axe: Axe,
) -> None:
    name = new_name("made")
    dialog = open_menu(page, "New cluster")
    dialog.get_by_label("Name", exact=True).fill(name)
    dialog.get_by_label("Nodes", exact=True).fill("2")
    dialog.get_by_label("CPU of each").fill("four")
    expect(dialog.get_by_role("button", name="Create")).to_be_disabled()
    dialog.get_by_label("CPU of each").fill("4")
    dialog.get_by_text("Controllers", exact=True).click()
    dialog.get_by_role("group", name="Kubelets").get_by_role("button", name="External").click()
    axe.check(page)
    page.set_viewport_size({"width": 1280, "height": 900})
    dialog.get_by_role("button", name="Create").click()
    page.wait_for_url(lambda url: not url.endswith(f"/{cluster.id}"))
    made = int(page.url.rpartition("/")[2])
    found = rest(page, service, "GET", f"clusters/{made}")
    assert (found["name"], found["lifecycle_mode"], found["external_controllers"]) == (name, "simulate", ["kubelet"])
    nodes = rest(page, service, "GET", f"clusters/{made}/snapshot")["nodes"]
    assert sorted((node["name"], node["cpu_milli"]) for node in nodes) == [("node-1", 4000), ("node-2", 4000)]
    expect(page.get_by_role("heading", name="Scheduling queue")).to_be_visible()
    dialog = open_menu(page, "Kubernetes API, kubectl")
    kubelets = dialog.get_by_role("group", name="Kubelets")
    expect(kubelets.get_by_role("button", name="External")).to_have_attribute("aria-pressed", "true")
    page.route(re.compile(rf"/api/clusters/{made}$"), lambda route: route.fulfill(status=503, body="{}"))
    kubelets.get_by_role("button", name="Own").click()
    expect(dialog.get_by_role("alert")).to_be_visible()
    expect(kubelets.get_by_role("button", name="External")).to_have_attribute("aria-pressed", "true")
    page.unroute_all()
    kubelets.get_by_role("button", name="Own").click()
    expect(kubelets.get_by_role("button", name="Own")).to_have_attribute("aria-pressed", "true")
    until(page, lambda: rest(page, service, "GET", f"clusters/{made}")["external_controllers"] == [])
    rest(page, service, "DELETE", f"clusters/{made}")
