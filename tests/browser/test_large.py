"""The dashboard over a cluster of many nodes and pods: what it transfers, what it draws, what can be reached.

All of it is the long form.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, StorageState, expect

from tests.browser import large
from tests.browser.conftest import Cluster, Service, context_of, imported, until
from tests.browser.test_attempts import attempts_of

pytestmark = pytest.mark.slow
MOST_ELEMENTS = 3_000


@dataclass(frozen=True)
class Size:
    nodes: int
    pods: int
    transferred: int  # bytes, at most: a fifth more than was measured

    def __str__(self) -> str:
        return f"{self.nodes} nodes, {self.pods} pods"


@pytest.fixture(scope="module", params=[Size(500, 3_000, 320_000), Size(5_000, 30_000, 1_500_000)], ids=str)
def size(request: pytest.FixtureRequest) -> Size:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def service(size: Size, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that has nothing but the large cluster, all of whose pods have been tried."""
    data: Path = tmp_path_factory.mktemp("service")
    file = data / "large.json"
    with open(file, "w") as dump:
        json.dump({"apiVersion": "v1", "kind": "List", "items": list(large.objects(size.nodes, size.pods))}, dump)
    with imported(data / "data", "large", file) as service:
        yield service


def count(page: Page, selector: str = "*") -> int:
    return int(page.evaluate("selector => document.querySelectorAll(selector).length", selector))


def listed(page: Page) -> Locator:
    nodes = page.get_by_role("region", name="Nodes", exact=True)
    nodes.get_by_role("button", name="List").click()
    return nodes.get_by_role("grid")


def test_first_view_is_small_on_the_wire(
    browser: Browser,
    session: StorageState,
    service: Service,
    size: Size,
    record_property: Callable[[str, object], None],
) -> None:
    with context_of(browser, session) as context:  # which has nothing of it yet
        page = context.new_page()
        received: dict[str, float] = {"http": 0.0, "sockets": 0.0}

        def add(kind: str, length: float) -> None:
            received[kind] += length

        wire = context.new_cdp_session(page)
        wire.on("Network.loadingFinished", lambda event: add("http", event["encodedDataLength"]))
        # Compressed frames come as base64 here: four characters for three bytes, so this is no less than was sent.
        wire.on("Network.webSocketFrameReceived", lambda event: add("sockets", len(event["response"]["payloadData"])))
        wire.send("Network.enable")
        page.goto(service.url)
        figures = page.get_by_role("region", name="Cluster in figures")
        expect(figures).to_contain_text(f"{size.nodes:,}")
        page.wait_for_load_state("networkidle")
        record_property(
            "figures", f"{size}: {received['http']:,.0f} bytes by HTTP, {received['sockets']:,.0f} in frames"
        )
        assert received["http"] > size.pods * 16, "uids alone are as much: something was not counted"
        assert sum(received.values()) < size.transferred


def test_list_has_few_elements_whatever_the_number_of_nodes(page: Page, size: Size) -> None:
    nodes = page.get_by_role("region", name="Nodes", exact=True)
    assert count(page) < MOST_ELEMENTS
    nodes.get_by_role("button", name="List").click()
    for width, height in ((1440, 1000), (2560, 1400), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        expect(nodes.get_by_role("link").first).to_be_visible()
        assert nodes.get_by_role("row").count() > 10
        assert count(page) < MOST_ELEMENTS
    expect(nodes.get_by_role("grid")).to_have_attribute("aria-rowcount", str(size.nodes + 1))


def test_every_node_of_the_list_is_reached_by_keyboard(page: Page, size: Size) -> None:
    grid = listed(page)
    first = grid.get_by_role("link").first
    first.focus()
    focused = page.locator(":focus")
    row = page.locator("tr:focus-within")
    expect(row).to_have_attribute("aria-rowindex", "2")
    for _ in range(30):  # further than the window is high
        page.keyboard.press("ArrowDown")
    expect(row).to_have_attribute("aria-rowindex", "32")
    expect(focused).to_be_in_viewport()
    page.keyboard.press("End")
    expect(row).to_have_attribute("aria-rowindex", str(size.nodes + 1))
    expect(focused).to_be_in_viewport()
    last = focused.inner_text()
    page.keyboard.press("PageUp")
    page.keyboard.press("ArrowUp")
    expect(focused).not_to_have_text(last)
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    expect(page.get_by_role("complementary", name=f"Node {last}")).to_be_visible()


def test_focus_stays_with_its_node_when_the_list_is_scrolled_away(page: Page) -> None:
    grid = listed(page)
    grid.get_by_role("link").first.focus()
    name = page.locator(":focus").inner_text()
    grid.locator("xpath=..").evaluate("scroller => scroller.scrollTo(0, scroller.scrollHeight)")
    expect(grid.get_by_role("link", name=name, exact=True)).to_be_attached()
    expect(page.locator(":focus")).to_have_text(name)
    page.keyboard.press("ArrowDown")
    expect(page.locator("tr:focus-within")).to_have_attribute("aria-rowindex", "3")
    expect(page.locator(":focus")).to_be_in_viewport()
    page.keyboard.press("Tab")
    assert page.locator("tr:focus-within").count() == 0, "one stop for Tab, not one for each node"


def test_every_node_of_the_grid_is_on_the_page(page: Page) -> None:
    """No row is hidden in a box that scrolls: on a narrow screen the page is longer instead."""
    nodes = page.get_by_role("region", name="Nodes", exact=True)
    nodes.get_by_role("button", name="Grid").click()
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 844})
        canvas = nodes.locator("canvas")
        canvas.scroll_into_view_if_needed()
        page.wait_for_function(
            "canvas => Math.abs(canvas.clientWidth - canvas.parentElement.clientWidth) < 2", arg=canvas.element_handle()
        )
        hidden = canvas.evaluate("({ parentElement: box }) => box.scrollHeight - box.clientHeight")
        assert hidden <= 0, width


def page_of(page: Page, service: Service, pod: str) -> Locator:
    """The page of the last attempt at a new pod that is placed or, if it asks for 200 cores, is not."""
    page.wait_for_url(re.compile(r"#/clusters/\d+"))
    cluster = Cluster(page, service.url, int(page.url.rpartition("/")[2]))
    cluster.pod_create(pod, cpu="200" if pod == "too-large" else "10m")
    (attempt,) = until(page, lambda: attempts_of(cluster, pod))[:1]
    page.goto(f"{service.url}/#/clusters/{cluster.id}/attempts/{attempt['seq']}")
    article = page.get_by_role("article", name=re.compile(pod))
    article.wait_for()
    return article


def test_page_of_an_attempt_tells_of_all_nodes_with_few_elements(page: Page, service: Service, size: Size) -> None:
    article = page_of(page, service, "too-large")
    funnel = article.get_by_role("region", name="From all nodes to the feasible ones")
    expect(funnel).to_contain_text(f"Nodes of the cluster {size.nodes:,}")
    stage = funnel.get_by_role("listitem").filter(has_text=re.compile("^NodeResourcesFit"))
    stage.get_by_text("NodeResourcesFit").first.click()
    expect(stage.get_by_role("list", name="Nodes of this stage").get_by_role("listitem")).to_have_count(50)
    stage.get_by_role("button", name="Next").click()
    expect(stage).to_contain_text(re.compile(r"51–100 of [\d,]+"))
    expect(article.get_by_role("region", name="Verdicts and scores, node by node").get_by_role("row")).to_have_count(51)
    assert count(page) < MOST_ELEMENTS


def test_any_two_of_all_nodes_are_compared(page: Page, service: Service, size: Size) -> None:
    article = page_of(page, service, "placed")
    matrix = article.get_by_role("region", name="Verdicts and scores, node by node")
    matrix.get_by_label("Verdict").select_option("feasible")
    expect(matrix.locator("td.refused")).to_have_count(0)
    expect(matrix.get_by_role("rowheader").nth(1)).to_be_visible()
    names = [link.inner_text() for link in matrix.get_by_role("rowheader").get_by_role("link").all()[-2:]]
    compared = article.get_by_role("region", name="Two nodes side by side")
    for label, name in zip(("First node", "Second node"), names, strict=True):
        compared.get_by_label(label).fill(name)
        compared.get_by_label(label).press("Enter")
    for name in names:
        expect(compared.get_by_role("columnheader", name=name)).to_be_visible()
    expect(compared.get_by_role("row").last).to_contain_text("Total")
    assert count(page) < MOST_ELEMENTS
