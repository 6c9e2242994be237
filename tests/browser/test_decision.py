"""The page of one attempt: what decided, node by node and plugin by plugin."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import WAIT_MS, Cluster, until
from tests.browser.test_attempts import attempts_of, open_pod, tried_again
from tests.browser.test_whole import node, put

expect.set_options(timeout=WAIT_MS)


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
    said = "Of 2 nodes none has 31 cpu free; the largest is n2 with 16."
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
