"""Workloads in the browser: the list, one with its pods and why it does not go on, ways to and from its pods."""

import re
from typing import Any

from playwright.sync_api import Page, expect

from tests.browser.axe import Axe
from tests.browser.conftest import Cluster
from tests.browser.test_whole import put


def deployment(name: str, *, cpu: str = "100m", replicas: int = 3) -> dict[str, Any]:
    labels = {"app": name}
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
    }


def test_workload_is_found_and_leads_to_its_pods_and_back(page: Page, timed: Cluster, axe: Axe) -> None:
    put(timed, deployment("storefront"), deployment("warehouse", replicas=1))
    card = page.get_by_role("region", name="Workloads", exact=True)
    card.get_by_role("link", name="All 2").click()
    shown = page.get_by_role("complementary", name="Workloads", exact=True)
    expect(shown.get_by_role("status")).to_have_text("2 of 2")
    shown.get_by_role("searchbox").fill("store")
    expect(shown.get_by_role("status")).to_have_text("1 of 2")
    axe.check(page)
    page.set_viewport_size({"width": 1440, "height": 1000})
    shown.get_by_role("link", name=re.compile("storefront")).click()
    panel = page.get_by_role("complementary", name="Deployment default/storefront")
    expect(panel.get_by_role("status")).to_contain_text("Available")
    for name, value in (("Desired", 3), ("Updated", 3), ("Ready", 3), ("Available", 3)):
        expect(panel.get_by_role("term").filter(has_text=re.compile(f"^{name}$")).locator("+ dd")).to_have_text(
            str(value)
        )
    expect(panel.get_by_role("region", name="Recent events")).to_contain_text("Scaled up replica set storefront-")
    axe.check(page)
    page.set_viewport_size({"width": 1440, "height": 1000})
    panel.get_by_role("region", name="Pods").get_by_role("link").first.click()
    pod = page.get_by_role("complementary", name=re.compile("^Pod default.storefront-"))
    expect(pod.get_by_text("Belongs to")).to_be_visible()
    pod.get_by_role("link", name="storefront", exact=True).click()
    expect(panel).to_be_visible()
    panel.get_by_role("region", name="ReplicaSets by revision").get_by_role("link").click()
    part = page.get_by_role("complementary", name=re.compile("^ReplicaSet default.storefront-"))
    part.get_by_role("link", name="storefront", exact=True).click()
    expect(panel).to_be_visible()


def test_workload_that_does_not_go_on_says_why(page: Page, timed: Cluster) -> None:
    put(timed, deployment("huge", cpu="900", replicas=2))
    card = page.get_by_role("region", name="Workloads", exact=True)
    expect(card).to_contain_text("Progressing")
    card.get_by_role("link", name="default/huge").click()
    panel = page.get_by_role("complementary", name="Deployment default/huge")
    waits = panel.get_by_role("region", name="Not ready, and why")
    expect(waits.get_by_role("listitem")).to_have_count(1)
    expect(waits).to_contain_text(re.compile(r"2\s*Pending"))
    expect(waits).to_contain_text("Insufficient cpu")
    found = timed.call("GET", "workloads/Deployment/default/huge")
    assert (found["workload"]["wanted"], found["workload"]["available"]) == (2, 0)
    timed.call("DELETE", "objects/Deployment/default/huge")
    expect(panel).to_contain_text("This workload is not in the cluster, or no longer.")


def test_what_makes_all_its_pods_fit_is_written_by_two_clicks(page: Page, timed: Cluster) -> None:
    timed.call("PATCH", "nodes/room", {"unschedulable": True})
    put(timed, deployment("stuck", replicas=2))
    page.goto(f"{timed.address}/workloads/Deployment/default/stuck")
    panel = page.get_by_role("complementary", name="Deployment default/stuck")
    panel.get_by_role("button", name="What would make all its pods fit?").click()
    suggested = panel.get_by_role("listitem").filter(has_text="Uncordon room").filter(has_text="Then on room (2)")
    suggested.get_by_role("button", name="Carry out…").click()
    asked = suggested.get_by_role("group", name="This is written to the cluster:")
    expect(asked).to_contain_text("change Node room")
    asked.get_by_role("button", name="Write it").click()
    expect(panel.get_by_role("status").first).to_contain_text("Available")
    assert {pod["node"] for pod in timed.call("GET", "snapshot")["pods"]} == {"room"}


def test_events_of_controllers_are_shown_and_lead_to_their_objects(page: Page, timed: Cluster) -> None:
    put(timed, deployment("storefront"))
    events = page.get_by_role("region", name="Events", exact=True)
    events.get_by_role("combobox").select_option("workloads")
    row = events.get_by_role("listitem").filter(has_text="ScalingReplicaSet")
    row.get_by_role("link", name="storefront", exact=True).click()
    panel = page.get_by_role("complementary", name="Deployment default/storefront")
    expect(panel).to_be_visible()
    assert "events=workloads" in page.url
    panel.get_by_role("button", name="Close").click()
    events.get_by_role("combobox").select_option("nodes")
    timed.call("PATCH", "nodes/room", {"kubelet": "stopped"})
    timed.call("POST", "clock", {"skip_seconds": 120})
    row = events.get_by_role("listitem").filter(has_text="NodeNotReady")
    expect(row).to_have_count(1)
    row.get_by_role("link", name="room").click()
    expect(
        page.get_by_role("complementary", name="Node room").get_by_role("region", name="Recent events")
    ).to_contain_text("NodeNotReady")
