"""Why is it pending, what kept it off that node, why that node and not this one, what would preemption have done:

each asked by keyboard alone, two steps from the search box, in clusters that nobody made for it.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser import large
from tests.browser.conftest import Cluster, Service, imported, until
from tests.browser.test_attempts import attempts_of, log_in
from tests.browser.test_import import OPENB
from tests.browser.test_search import find
from tests.browser.test_whole import node, pod, put

pytestmark = pytest.mark.slow
MOST_TABS = 80


@pytest.fixture(scope="module", params=["sample", "openb", "large"])
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    if request.param == "sample":
        yield request.getfixturevalue("shared_service")
        return
    data: Path = tmp_path_factory.mktemp("service")
    with imported(data / "data", request.param, *files_of(request.param, data)) as service:
        yield service


def files_of(name: str, folder: Path) -> list[Path]:
    """What a cluster is imported from: `openb`, or `large` with 5,000 nodes, which is written into the folder."""
    if name == "openb":
        if not OPENB.exists():
            pytest.skip("the openb trace is not here")
        return [OPENB / "openb_node_list_all_node.csv", OPENB / "openb_pod_list_default.csv"]
    items = list(large.objects(nodes=5_000, pods=30_000))
    written = folder / "large.json"
    written.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return [written]


def walk_to(page: Page, link: Locator) -> None:
    """Press Tab until the focus is there."""
    link.wait_for()
    for _ in range(MOST_TABS):
        if link.evaluate("one => one === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"never reached by Tab: {link}")


def last_attempt(page: Page, cluster: Cluster, name: str) -> dict[str, Any]:
    (found, *_) = until(page, lambda: attempts_of(cluster, name))
    return dict(found)


def decision(page: Page, cluster: Cluster, name: str, link: str = "Open as a page") -> Locator:
    """From the search box to the page of an attempt, the pod's last or as the link says, in two steps."""
    last_attempt(page, cluster, name)
    find(page, name, name)  # the first step
    panel = page.get_by_role("complementary", name=f"Pod default/{name}")
    expect(panel).to_be_focused()
    walk_to(page, panel.get_by_role("link", name=link).first)
    page.keyboard.press("Enter")  # the second
    article = page.get_by_role("article")
    article.wait_for()
    return article


def some_node(cluster: Cluster) -> str:
    """A ready node that takes pods."""
    nodes = cluster.call("GET", "snapshot")["nodes"]
    free = (one["name"] for one in nodes if one["ready"] and not one["taints"] and not one["unschedulable"])
    return str(max(free))


def test_why_it_is_pending_and_what_kept_it_off_a_node(page: Page, cluster: Cluster) -> None:
    cluster.pod_create("question-why", cpu="4000")
    name = some_node(cluster)
    article = decision(page, cluster, "question-why")
    some = r"cannot give 4,000 cpu; the most that is free on one of them is [\d.]+m?, on \S+"  # others have taints
    none = r"none has 4,000 cpu free; the most is [\d.]+m?, on \S+"
    expect(article).to_contain_text(re.compile(f"{some}|{none}"))
    matrix = article.get_by_role("region", name="Verdicts and scores, node by node")
    field = matrix.get_by_placeholder("Node name")
    walk_to(page, field)
    page.keyboard.type(name)
    row = matrix.get_by_role("row").filter(has_text=name)
    expect(row).to_contain_text("Insufficient cpu")
    expect(row).to_contain_text(re.compile(r"asks 4,000 cpu; [\d.]+m? of [\d.]+ are free"))


def test_why_that_node_and_not_another(page: Page, cluster: Cluster) -> None:
    cluster.pod_create("question-where")
    attempt = last_attempt(page, cluster, "question-where")
    chosen, other = attempt["best"][:2]  # type: ignore[misc]
    article = decision(page, cluster, "question-where")
    compared = article.get_by_role("region", name="Two nodes side by side")
    total = compared.get_by_role("row").last
    more = chosen["total"] - other["total"]
    expect(total).to_have_text(re.compile(rf"Total\s*{chosen['total']:,}\s*{other['total']:,}\s*\+?{more}$"))


def test_what_preemption_considered(page: Page, cluster: Cluster) -> None:
    put(cluster, node("question-node", cpu="4000"), pod("question-victim", cpu="3000", on="question-node"))
    cluster.pod_create("question-evict", cpu="3500", priority=1_000_000)
    last_attempt(page, cluster, "question-evict")
    attempt = attempts_of(cluster, "question-evict")[-1]  # once its victim is gone it is tried again
    assert attempt["preemption"], attempt
    article = decision(page, cluster, "question-evict", f"Open attempt #{attempt['last_attempt']} as a page")
    table = article.get_by_role("region", name="Candidates and what is compared")
    expect(table.get_by_role("row").filter(has_text="question-node").first).to_contain_text("chosen")


def test_pod_that_is_gone_is_found_and_every_address_opens_for_somebody_else(
    page: Page, cluster: Cluster, browser: Browser, service: Service
) -> None:
    put(cluster, pod("question-gone", cpu="4000"))
    last_attempt(page, cluster, "question-gone")
    cluster.remove("pods/default/question-gone")
    find(page, "question-gone", re.compile("question-gone.*Deleted"))
    panel = page.get_by_role("complementary", name="Pod default/question-gone")
    expect(panel).to_be_focused()
    addresses = [page.url]
    walk_to(page, panel.get_by_role("link", name=re.compile("Open (as a page|attempt)")).first)
    page.keyboard.press("Enter")
    page.get_by_role("article").wait_for()
    addresses.append(page.url)
    (password,) = (match[1] for line in service.lines if (match := re.search(r"user admin, password (\S+)", line)))
    with browser.new_context() as stranger:
        for address, role in zip(addresses, ("complementary", "article"), strict=True):
            theirs = stranger.new_page()
            theirs.goto(address)
            if role == "complementary":
                log_in(theirs, password)
            expect(theirs.get_by_role(role).first).to_contain_text("question-gone")  # type: ignore[arg-type]
