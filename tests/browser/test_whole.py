"""The dashboard as a whole tells the truth: its chart, its figures and lists against the answers of REST."""

import re
from datetime import UTC, datetime
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Cluster, Service, clusters, until
from tests.browser.test_dashboard import pace


def node(name: str, cpu: str = "8") -> dict[str, Any]:
    allocatable = {"cpu": cpu, "memory": "32Gi", "pods": "110"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"allocatable": allocatable}}


def pod(name: str, *, cpu: str = "100m", on: str = "", gate: str = "") -> dict[str, Any]:
    spec: dict[str, Any] = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]}
    if on:
        spec["nodeName"] = on
    if gate:
        spec["schedulingGates"] = [{"name": gate}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": spec}


def figure(page: Page, name: str) -> int:
    """The figure of exactly this name: "Nodes" is part of "Pods on nodes"."""
    region = page.get_by_role("region", name="Cluster in figures")
    term = region.get_by_role("term").filter(has_text=re.compile(rf"^{name}$"))
    return int(re.sub(r"\D", "", term.locator("xpath=following-sibling::dd[1]").inner_text()))


def chooser(page: Page) -> Locator:
    return page.get_by_role("combobox", name="Cluster", exact=True)


def put(cluster: Cluster, *objects: dict[str, Any]) -> None:
    cluster.call("POST", "import", {"apiVersion": "v1", "kind": "List", "items": list(objects)})


def settle(cluster: Cluster, pending: int) -> dict[str, Any]:
    """Until so many pods are pending and tried; the summary then."""

    def settled() -> dict[str, Any] | None:
        summary: dict[str, Any] = cluster.call("GET", "summary")
        queues = summary["pending"]["queues"]
        tried = sum(queues.get(name, 0) for name in ("unschedulable", "gated"))
        return summary if summary["pending"]["pods"] == pending == tried else None

    found = until(cluster.page, settled)
    assert found is not None
    return found


def chart(page: Page) -> Locator:
    return page.get_by_role("region", name="Throughput")


def told(page: Page, what: str) -> str:
    return chart(page).get_by_role("listitem").filter(has_text=what).locator("b").inner_text()


def hover(page: Page, share: float) -> None:
    """Put the pointer over the chart at this share of its width."""
    area = chart(page).locator(".u-over")
    area.wait_for()
    box = area.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + share * box["width"], box["y"] + box["height"] / 2)


def test_chart_draws_what_was_and_nothing_before_it(page: Page, service: Service, own: Cluster) -> None:
    put(own, node("n1"), *(pod(f"big-{index}", cpu="900") for index in range(7)))
    settle(own, 7)
    expect(chart(page)).to_contain_text(re.compile(r"Queued pods 7\b"))
    page.reload()
    expect(chart(page)).to_contain_text(re.compile(r"Queued pods 7\b"))
    hover(page, 0.05)  # nearly five minutes ago: there was no such cluster
    expect(chart(page)).to_contain_text(re.compile(r"Attempts / s –.*Bound / s –.*Queued pods –"))
    # By the minute as the service counted it.
    counted = own.call("GET", "throughput?last_seconds=3600&seconds=60")
    assert sum(point["results"].get("unschedulable", 0) for point in counted["points"]) == 7
    assert counted["points"][-1]["queued"] == {"active": 0, "backoff": 0, "unschedulable": 7, "gated": 0}
    chart(page).get_by_role("button", name="1 h", exact=True).click()
    expect(chart(page)).to_contain_text(re.compile(r"Queued pods 7\b"))


def test_lines_of_the_chart_are_told_apart_by_its_legend(page: Page) -> None:
    marks = "items => items.map(item => getComputedStyle(item, '::before').backgroundColor)"
    colours = chart(page).get_by_role("listitem").evaluate_all(marks)
    assert len(set(colours)) == len(colours) == 3


def test_pods_that_came_with_a_node_are_not_bound_here(page: Page, own: Cluster) -> None:
    put(own, node("n1"), *(pod(f"imported-{index}", on="n1") for index in range(60)))
    region = page.get_by_role("region", name="Cluster in figures")
    until(page, lambda: figure(page, "Pods on nodes") == 60)
    assert region.get_by_text("bound per second").inner_text() in ("0 bound per second", "– bound per second")
    assert sum(point["bound"] for point in own.call("GET", "throughput")["points"]) == 0


def test_empty_cluster_says_so_and_no_more(page: Page, own: Cluster) -> None:
    for text in ("No pods are pending.", "This cluster has no nodes.", "No pod waits.", "No cycles yet."):
        expect(page.get_by_text(text).first).to_be_visible()
    # The only events there can be are those of who leads it, which are about no pod.
    told = page.get_by_role("region", name="Events").get_by_role("listitem")
    until(page, lambda: own.call("GET", "events")["results"])
    page.reload()
    expect(told.filter(has_text="became leader").first).to_be_visible()
    expect(told.filter(has_not_text="LeaderElection")).to_have_count(0)
    expect(told.get_by_role("link")).to_have_count(0)
    for name in ("Pending", "Pods on nodes", "Nodes"):
        assert figure(page, name) == 0
    assert "Every pod" not in page.get_by_role("main").inner_text()


def test_gated_pods_are_pending_without_a_reason(page: Page, own: Cluster) -> None:
    put(own, node("n1"), pod("gated", gate="example.com/later"))
    settle(own, 1)
    reasons = page.get_by_role("region", name="What keeps pods pending")
    expect(reasons).to_contain_text("1 pod")
    expect(reasons).to_contain_text("No plugin has rejected a pending pod yet.")


def test_figures_and_reasons_are_what_rest_answers(page: Page, own: Cluster) -> None:
    put(own, *(node(f"n{index}") for index in range(3)), *(pod(f"big-{index}", cpu="900") for index in range(5)))
    put(own, *(pod(f"small-{index}") for index in range(4)))
    summary = settle(own, 5)
    (reason,) = summary["pending"]["reasons"]
    assert (reason["pods"], reason["nodes"]) == (5, 15)
    card = page.get_by_role("region", name="What keeps pods pending")
    expect(card).to_contain_text("such as default/big-0 · Asks 900; the most free is")
    card.get_by_role("button", name="Insufficient cpu").click()
    expect(card).to_contain_text("15 rejections")
    expect(card).not_to_contain_text("15 nodes")
    assert figure(page, "Pending") == 5
    assert figure(page, "Pods on nodes") == 4
    assert figure(page, "Nodes") == 3

    def queued() -> int:
        # Of a point that has just begun no number is known.
        known = [point["queued"] for point in own.call("GET", "throughput")["points"] if point["queued"]]
        return int(known[-1]["unschedulable"]) if known else 0

    until(page, lambda: queued() == 5)


def test_slowest_cycles_have_a_date(page: Page, own: Cluster) -> None:
    put(own, node("n1"), pod("big", cpu="900"))
    settle(own, 1)
    page.reload()
    (slowest,) = own.call("GET", "slowest")
    day = "at => new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric' }).format(new Date(at))"
    time = page.get_by_role("region", name="Slowest cycles").locator("time")
    expect(time).to_contain_text(page.evaluate(day, slowest["started_at"]))


def test_cluster_that_goes_is_said_to_be_gone_and_others_are_offered(
    page: Page, service: Service, own: Cluster
) -> None:
    (name,) = [one["name"] for one in clusters(page, service)["results"] if one["id"] == own.id]
    expect(chooser(page).get_by_role("option", name=name)).to_have_count(1)
    clusters(page, service, "DELETE", f"/{own.id}")
    expect(page.get_by_role("heading", name=f"The cluster {name} no longer exists")).to_be_visible()
    expect(page.get_by_role("status").filter(has_text="Live")).to_have_count(0)
    expect(chooser(page).get_by_role("option", name=name)).to_have_count(0)
    (sample,) = [one["name"] for one in clusters(page, service)["results"] if one["is_sample"]]
    page.get_by_role("main").get_by_role("link", name=sample, exact=True).click()
    page.get_by_role("heading", name="Scheduling queue").wait_for()
    page.get_by_role("status").filter(has_text="Live").wait_for()


def test_cluster_that_others_make_is_in_the_list_without_a_reload(page: Page, service: Service) -> None:
    made = clusters(page, service, "POST", "", {"name": f"new-{datetime.now(UTC):%H%M%S%f}"})
    try:
        expect(chooser(page).get_by_role("option", name=made["name"])).to_have_count(1)
        clusters(page, service, "PATCH", f"/{made['id']}", {"name": f"{made['name']}-renamed"})
        expect(chooser(page).get_by_role("option", name=f"{made['name']}-renamed")).to_have_count(1)
    finally:
        clusters(page, service, "DELETE", f"/{made['id']}")


def test_sample_figures_are_those_of_a_snapshot(page: Page, cluster: Cluster) -> None:
    pace(page, "Pause")
    told: list[object] = []

    def agree() -> bool:
        """Once the pods that were on their way are bound."""
        snapshot = cluster.call("GET", "snapshot")
        waiting = [view for view in snapshot["queue"] if view["queue"] not in ("assumed", "waiting")]
        shown = {"Pending": figure(page, "Pending"), "Nodes": figure(page, "Nodes")}
        live = [one for one in snapshot["pods"] if one["phase"] not in ("Succeeded", "Failed")]
        wanted = {"Pending": sum(not one["node"] for one in live), "Nodes": len(snapshot["nodes"])}
        points = snapshot["throughput"]["points"] or [snapshot["throughput"]["carried"]]
        queued = next(point["queued"] for point in reversed(points) if point["queued"])
        told[:] = shown, wanted, queued, len(waiting)
        return shown == wanted and sum(queued.values()) == len(waiting)

    try:
        until(page, agree)
    except AssertionError as never:
        raise AssertionError(told) from never
