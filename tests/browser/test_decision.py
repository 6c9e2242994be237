"""The page of one attempt: what decided, node by node and plugin by plugin."""

import json
import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Cluster, until
from tests.browser.test_attempts import attempts_of, node_create, open_pod, tried_again
from tests.browser.test_whole import node, pod, put


@pytest.fixture
def cluster(own: Cluster) -> Cluster:
    """Of the test's own: n2 has 15 cores more than n1."""
    put(own, node("n1", cpu="1"), node("n2", cpu="16"))
    return own


def page_of(page: Page, cluster: Cluster, pod: str) -> Locator:
    """The page of the pod's last attempt, by the link of its card."""
    until(page, lambda: attempts_of(cluster, pod))
    panel = open_pod(page, cluster, pod)
    panel.get_by_role("region", name="Last attempt").get_by_role("link", name="Open as a page").click()
    article = page.get_by_role("article")
    article.wait_for()
    return article


def test_page_says_what_decides_and_stays_while_the_pod_is_tried_again(page: Page, cluster: Cluster) -> None:
    cluster.pod_create("asks-much", cpu="31")
    article = page_of(page, cluster, "asks-much")
    (first,) = attempts_of(cluster, "asks-much")
    said = "Of 2 nodes none has 31 cpu free; the most is 16, on n2."
    expect(article).to_contain_text(said)
    expect(article.get_by_role("heading", level=2)).to_have_text(f"default/asks-much Attempt #{first['last_attempt']}")
    assert page.url.endswith(f"#/clusters/{cluster.id}/attempts/{first['seq']}")
    tried_again(page, cluster, "asks-much", 2)
    expect(article.get_by_role("status")).to_contain_text("The pod was tried again since")
    expect(article).to_contain_text(said)
    page.reload()
    expect(article).to_contain_text(said)
    page.keyboard.press("Escape")
    panel = page.get_by_role("complementary", name="Pod default/asks-much")
    expect(panel.get_by_role("region", name=re.compile("Attempt"))).to_contain_text(said)
    listed = panel.get_by_role("region", name="All attempts")
    listed.get_by_role("link", name=re.compile("Open attempt")).last.click()
    expect(article).to_contain_text(said)


def test_funnel_leads_from_all_nodes_to_the_feasible_ones(page: Page, cluster: Cluster) -> None:
    node_create(cluster, "kept-away")  # tainted
    cluster.pod_create("asks-some", cpu="9")
    article = page_of(page, cluster, "asks-some")
    funnel = article.get_by_role("region", name="From all nodes to the feasible ones")
    stages = funnel.get_by_role("listitem").filter(has_text=re.compile("^(Nodes of|Taint|NodeRes|Feasible)"))
    expect(stages).to_have_text([re.compile(said) for said in (
        "Nodes of the cluster 3", "TaintToleration −1 2 nodes left", "NodeResourcesFit −1 1 node left", "Feasible 1",
    )])  # fmt: skip
    funnel.get_by_text("NodeResourcesFit").first.click()
    nodes = funnel.get_by_role("list", name="Nodes of this stage")
    expect(nodes.get_by_role("link")).to_have_text(["n1"])
    expect(nodes).to_contain_text("Insufficient cpu")
    page.reload()  # what is open stands in the address
    expect(nodes.get_by_role("link")).to_have_text(["n1"])
    funnel.get_by_text("Feasible", exact=True).click()
    expect(nodes.get_by_role("link")).to_have_text(["n2"])


def test_two_nodes_are_compared_plugin_by_plugin(page: Page, cluster: Cluster) -> None:
    cluster.pod_create("compared", cpu="500m")
    article = page_of(page, cluster, "compared")
    (attempt,) = attempts_of(cluster, "compared")
    best, other = attempt["best"][:2]  # type: ignore[misc]
    more = best["total"] - other["total"]
    expect(article).to_contain_text(f"highest total score, {best['total']:,}, {more} more than {other['node']}")
    compared = article.get_by_role("region", name="Two nodes side by side")
    total = compared.get_by_role("row").last
    expect(total).to_have_text(re.compile(rf"Total\s*{best['total']:,}\s*{other['total']:,}\s*\+{more}$"))
    matrix = article.get_by_role("region", name="Verdicts and scores, node by node")
    matrix.get_by_role("button", name=f"Compare {best['node']}").click()
    matrix.get_by_role("button", name=f"Compare {other['node']}").click()
    expect(total).to_have_text(re.compile(rf"\+{more}$"))
    expect(matrix).to_contain_text("The same score for every node: ")
    shown = matrix.get_by_role("columnheader").count()
    matrix.get_by_role("button", name="Show these columns").click()
    assert matrix.get_by_role("columnheader").count() > shown


def test_why_that_node_and_not_another_and_what_turns_it(page: Page, cluster: Cluster) -> None:
    node_create(cluster, "kept-away")  # tainted
    cluster.pod_create("asked-why", cpu="500m")
    until(page, lambda: attempts_of(cluster, "asked-why"))
    (attempt,) = attempts_of(cluster, "asked-why")
    best, other = attempt["best"][:2]  # type: ignore[misc]
    panel = open_pod(page, cluster, "asked-why")
    panel.get_by_role("link", name="Why not another node?").click()
    why = page.get_by_role("region", name=f"Why {best['node']}, and not another node?")
    more = best["total"] - other["total"]
    expect(why).to_contain_text(f"{best['node']} has {best['total']}, {other['node']} {other['total']}: {more} more.")
    expect(why).to_contain_text(re.compile("made again, it is chosen|No other weight"))
    why.get_by_role("listitem").first.get_by_role("link").click()
    matrix = page.get_by_role("region", name="Verdicts and scores, node by node")
    expect(matrix.get_by_label("Node name")).to_have_value(other["node"])
    why.get_by_label("And not").fill("kept-away")
    why.get_by_label("And not").press("Enter")
    expect(why).to_contain_text("kept-away was refused by TaintToleration")
    expect(why).to_contain_text("is not tolerated.")
    page.reload()
    expect(why).to_contain_text("kept-away was refused by TaintToleration")


def test_attempts_are_compared_and_kept_as_a_file(page: Page, cluster: Cluster) -> None:
    cluster.pod_create("tried-twice", cpu="31")
    tried_again(page, cluster, "tried-twice", 2)
    article = page_of(page, cluster, "tried-twice")
    last, first = attempts_of(cluster, "tried-twice")[:2]
    others = article.get_by_role("region", name="Attempts at this pod")
    others.get_by_label("Compare with").select_option(str(first["seq"]))
    row = others.get_by_role("row", name=re.compile("TaintToleration"))
    expect(row).to_have_text(re.compile(r"0\s*1\s*\+1$"))
    expect(others.get_by_role("row", name=re.compile("Evaluated"))).to_have_text(re.compile(r"2\s*3\s*\+1$"))
    with page.expect_download() as saved:
        article.get_by_role("link", name="JSON").click()
    stored = json.loads(saved.value.path().read_text())
    assert stored["seq"] == last["seq"] and len(stored["matrix"]["nodes"]) == 3


def test_candidates_for_preemption_are_compared(page: Page, cluster: Cluster) -> None:
    for name, victims in (("n1", 1), ("n2", 2)):
        for number in range(victims):
            put(cluster, pod(f"{name}-{number}", cpu="500m", on=name))
    cluster.pod_create("needs-room", cpu="16", priority=1000)
    article = page_of(page, cluster, "needs-room")
    table = article.get_by_role("region", name="Candidates and what is compared")
    expect(table.get_by_role("columnheader")).to_have_count(7)
    expect(table.get_by_role("row").last).to_contain_text(re.compile(r"n2.*chosen.*default/n2-"))


def test_page_is_reached_from_wherever_an_attempt_is_mentioned(page: Page, cluster: Cluster) -> None:
    cluster.pod_create("mentioned", cpu="900")
    until(page, lambda: attempts_of(cluster, "mentioned"))
    (attempt,) = attempts_of(cluster, "mentioned")
    own = f"#/clusters/{cluster.id}/attempts/{attempt['seq']}"
    name = f"Open attempt #{attempt['last_attempt']} at default/mentioned as a page"
    page.reload()
    slowest = page.get_by_role("region", name="Slowest cycles").get_by_role("link", name=name)
    expect(slowest).to_have_attribute("href", own)
    page.goto(f"{cluster.url}/#/clusters/{cluster.id}/nodes/n1")
    panel = page.get_by_role("complementary", name="Node n1")
    panel.get_by_text("Rejections on this node").click()
    panel.get_by_role("link", name=name).click()
    expect(page.get_by_role("article")).to_contain_text("Of 2 nodes none has 900 cpu free")
