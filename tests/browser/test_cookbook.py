"""The clicks of docs/cookbook.md, taken from the page, lead to what it says; and what the cards say is so.

The cluster is the page's, made once through REST, by `admin` instead of ann.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import reduce
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests import cookbook
from tests.browser.conftest import Cluster, Service, clusters, show, until
from tests.browser.test_search import find
from tests.browser.test_whole import settle
from tests.cookbook import Recipe, Step

KEYS = ("Home", "End")
# In the default run: what the cards of a decision say. The others take a page each.
FEW = ("Why is my pod pending?", "Who threw my pod out?", "What changed between two attempts?")
RECIPES = [
    pytest.param(each, id=each.question, marks=[] if each.question in FEW else [pytest.mark.slow])
    for each in cookbook.recipes()
    if each.clicks
]


@pytest.fixture(scope="module")
def story(kept_context: BrowserContext, service: Service) -> Iterator[int]:
    """The cluster of the page; its id."""
    page = kept_context.new_page()
    page.goto(service.url)
    made = clusters(page, service, "POST", "", {"name": cookbook.CLUSTER, "seed": 1})
    cluster = Cluster(page, service.url, made["id"])
    for deed in cookbook.STORY:
        cluster.call(deed.method, deed.path, deed.body)
        until(page, lambda pending=deed.pending: is_tried(cluster, pending))
    page.close()
    yield made["id"]
    page = kept_context.new_page()
    page.goto(service.url)
    clusters(page, service, "DELETE", f"/{made['id']}")
    page.close()


def is_tried(cluster: Cluster, pending: int) -> bool:
    settle(cluster, pending)
    names = {pod["key"] for pod in cluster.call("GET", "snapshot")["pods"]}
    return "shop/pay-0" not in names or "batch/report" not in names


@pytest.fixture
def shop(page: Page, service: Service, story: int) -> Cluster:
    """The cluster, shown on the page."""
    cluster = Cluster(page, service.url, story)
    show(page, service, cluster)
    return cluster


def follow(page: Page, step: Step) -> None:
    """Search, press a key, click what has the name, or look for what is shown."""
    if step.search in KEYS:  # once the line knows where history begins
        until(page, lambda: page.keyboard.press(step.search) or "at=" in page.url)
    elif step.search:
        find(page, step.search, step.search)
        page.get_by_role("complementary").wait_for()
    elif step.click:
        named(page, step.click).click()
    else:
        expect(page.locator("body")).to_contain_text(pattern(step.shown))


def pattern(told: str) -> re.Pattern[str]:
    """What the page tells of the text on screen, where ann has another name."""
    text = re.escape(told).replace("ann", r"\w+").replace(cookbook.ANY, ".*")
    return re.compile(text.replace(r"\ ", r"\s+"))


def named(page: Page, name: str) -> Locator:
    """What can be clicked and has that name, or one with it."""
    roles: tuple[Any, ...] = ("button", "link", "radio", "slider")
    found = [page.get_by_role(role, name=name, exact=exact) for exact in (True, False) for role in roles]
    reduce(Locator.or_, found).first.wait_for()
    return next(each for each in found if each.count()).first


def compare(page: Page) -> None:
    """With the first attempt, the last of the choices."""
    choice = page.get_by_label("Compare with")
    choice.wait_for()
    choice.select_option(index=choice.locator("option").count() - 1)


@pytest.mark.parametrize("recipe", RECIPES)
def test_clicks_lead_to_the_answer(page: Page, shop: Cluster, recipe: Recipe) -> None:
    for step, after in zip(recipe.clicks, (*recipe.clicks[1:], Step()), strict=True):
        if step.click == "Compare with":
            compare(page)
        elif after.shown.endswith(".history"):
            with page.expect_download() as download:
                named(page, step.click).click()
            assert pattern(after.shown).fullmatch(download.value.suggested_filename)
        elif not step.shown.endswith(".history"):
            follow(page, step)


def milli(text: str) -> int:
    """An amount of cpu, as it is written, in thousandths."""
    return int(text.removesuffix("m")) if text.endswith("m") else round(float(text) * 1000)


def cores(value: int) -> str:
    """The same as it is shown."""
    return f"{value}m" if 0 < value < 1000 else f"{value / 1000:g}"


def capacities(shop: Cluster) -> dict[str, int]:
    """Cpu of each node, of the objects."""
    nodes = shop.call("GET", "objects?kind=Node")["objects"]
    return {
        each["manifest"]["metadata"]["name"]: milli(each["manifest"]["status"]["allocatable"]["cpu"]) for each in nodes
    }


def free(shop: Cluster, at: str = "") -> dict[str, int]:
    """Cpu that the pods of the objects leave on each node, as it is or was."""
    left = capacities(shop)
    for each in shop.call("GET", f"objects?kind=Pod{at}")["objects"]:
        spec = each["manifest"]["spec"]
        if spec.get("nodeName"):
            left[spec["nodeName"]] -= milli(spec["containers"][0]["resources"]["requests"]["cpu"])
    return left


def attempts(shop: Cluster, key: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = shop.call("GET", f"pods/{key}/attempts")["results"]
    return found


def matrix(shop: Cluster, seq: int) -> dict[str, dict[str, Any]]:
    """What the matrix of an attempt says, by node."""
    return {row["node"]: row for row in shop.call("GET", f"attempts/{seq}")["matrix"]["nodes"]}


def entry_of(shop: Cluster, kind: str, name: str, operation: str) -> int:
    """The last entry of the change log of an operation."""
    rows = shop.call("GET", f"lists/changes?q=kind:{kind}+operation:{operation}+{name}")["results"]
    return int(rows[0]["rv"])


def opened(page: Page, name: str, region: str) -> Locator:
    """The card of that name in the panel of a pod."""
    find(page, name, name)
    card = page.get_by_role("complementary").get_by_role("region", name=region)
    card.wait_for()
    return card


def has_entry(page: Page, card: Locator, rv: int) -> None:
    """The link of an entry leads to its row in the list of changes."""
    card.get_by_role("link", name=str(rv), exact=True).first.click()
    number = page.get_by_role("grid", name="Changes").locator("td").filter(has_text=re.compile(rf"^\s*{rv}\s*$"))
    expect(number).to_have_count(1)
    page.go_back()


def test_numbers_of_why_it_is_pending_are_those_of_the_objects_and_lead_to_rows(page: Page, shop: Cluster) -> None:
    asks, left, has = 2000, free(shop), capacities(shop)
    short = sorted((name for name in left if left[name] < asks), key=lambda name: -left[name])
    cordoned = [
        each["manifest"]["metadata"]["name"]
        for each in shop.call("GET", "objects?kind=Node")["objects"]
        if each["manifest"]["spec"].get("unschedulable")
    ]
    assert (len(short), cordoned) == (3, ["node-3"])
    in_a_row = attempts(shop, "shop/api-7")[0]["last_attempt"]
    card = opened(page, "api-7", "Why it is pending")
    expect(card).to_contain_text(pattern(f": {in_a_row} attempts in a row."))
    card.get_by_role("button").click()
    expect(card).to_contain_text(pattern(f"Of {len(left)} nodes it fits on 0."))
    expect(card).to_contain_text(pattern(f"NodeResourcesFit: Insufficient cpu: {len(short)}, alone {len(short)}"))
    expect(card).to_contain_text(pattern(f"node(s) were unschedulable: {len(cordoned)}, alone {len(cordoned)}"))
    near = card.get_by_role("list").nth(1).get_by_role("listitem")
    told = [f"{name}: asks {cores(asks)} cpu; {cores(left[name])} of {cores(has[name])} are free." for name in short]
    expect(near).to_have_text([*map(pattern, told), re.compile("node-3")])
    rv = entry_of(shop, "Node", "node-3", "updated")
    expect(card).to_contain_text(pattern(f"Made unschedulable by entry {rv}: Node node-3 was changed"))
    expect(card).to_contain_text("Just before it a pod like this one fits on 1 node (node-3)")
    has_entry(page, card, rv)
    card.get_by_role("link", name=str(len(short)), exact=True).click()
    rows = page.get_by_role("complementary").get_by_role("row")
    expect(rows.filter(has_text="Insufficient cpu")).to_have_count(len(short))
    expect(rows.filter(has_text="node-3")).to_have_count(0)


def test_numbers_of_why_it_was_evicted_are_those_of_the_objects_and_lead_to_rows(page: Page, shop: Cluster) -> None:
    classes = {each["manifest"]["metadata"]["name"]: each["manifest"]["value"]
               for each in shop.call("GET", "objects?kind=PriorityClass")["objects"]}  # fmt: skip
    first = attempts(shop, "shop/pay-0")[-1]
    position = f"&at={first['rv']}.{first['seq'] - 1}"
    before, has = free(shop, position), capacities(shop)
    card = opened(page, "report", "Why it was evicted")
    rv = entry_of(shop, "Pod", "report", "deleted")
    expect(card).to_contain_text(pattern(f"(entry {rv})."))
    expect(card).to_contain_text("It makes room for shop/pay-0")
    card.get_by_role("button").click()
    expect(card).to_contain_text(f"of priority {classes['pay']}; its own priority is 0.")
    refused = [
        name for name, row in matrix(shop, first["seq"]).items() if row["status"]["plugin"] == "NodeResourcesFit"
    ]
    expect(card).to_contain_text(
        f"2 candidates among {len(refused)} nodes where evictions could help, in its attempt 1."
    )
    expect(card).to_contain_text("node-2 costs the least by “Highest priority”: highest priority 0.")
    expect(card).to_contain_text(f"node-1: highest priority {classes['data']} instead of highest priority 0")
    lacking = f"asks 3 cpu; {cores(before['node-2'])} of {cores(has['node-2'])} are free."
    expect(card).to_contain_text(
        pattern(f"batch/report, priority 0: not spared: NodeResourcesFit: Insufficient cpu: {lacking}")
    )
    has_entry(page, card, rv)
    card.get_by_role("link", name="1", exact=True).click()
    expect(page).to_have_url(re.compile(rf"/attempts/{first['seq']}\b"))


def test_numbers_of_what_changed_are_those_of_both_matrices_and_lead_to_rows(page: Page, shop: Cluster) -> None:
    last, *_, first = attempts(shop, "shop/big-0")
    before, after = matrix(shop, first["seq"]), matrix(shop, last["seq"])
    plugins = {name: tuple((rows[name]["status"]["plugin"] if name in rows else "") for rows in (before, after))
               for name in {**before, **after}}  # fmt: skip
    turned = sorted(name for name, (then, now) in plugins.items() if then != now)
    assert turned == ["node-3", "node-4"]
    find(page, "big-0", "big-0")
    named(page, "Open as a page").click()
    compare(page)
    named(page, "Which nodes changed verdict, and by which change?").click()
    card = page.get_by_role("article")
    expect(card).to_contain_text(
        f"{len(turned)} of {len(after)} nodes changed verdict between attempts {first['attempt']} and"
        f" {last['attempt']}, by the changes after entry {first['rv']}, up to {last['rv']}."
    )
    for name, operation in (("node-3", "updated"), ("node-4", "created")):
        rv = entry_of(shop, "Node", name, operation)
        word = "changed" if operation == "updated" else operation
        expect(card).to_contain_text(
            pattern(f"Entry {rv}: Node {name} was {word} by … it turned 1 node, proven by two")
        )
        has_entry(page, card, rv)
    expect(card).to_contain_text(
        "node-3: NodeResourcesFit: Insufficient cpu → NodeUnschedulable: node(s) were unschedulable"
    )


def test_numbers_of_why_this_node_are_those_of_the_matrix_and_lead_to_rows(page: Page, shop: Cluster) -> None:
    (attempt,) = attempts(shop, "shop/web-1")
    rows = matrix(shop, attempt["seq"])
    mine, other = rows["node-1"]["scores"], rows["node-3"]["scores"]
    totals = [sum(score["weighted"] for score in scores.values()) for scores in (mine, other)]
    apart = {name: mine[name]["weighted"] - other[name]["weighted"] for name in mine}
    find(page, "web-1", "web-1")
    named(page, "Open as a page").click()
    card = page.get_by_role("region", name="Why node-1, and not another node?")
    expect(card).to_contain_text(f"node-1 has {totals[0]}, node-3 {totals[1]}: {totals[0] - totals[1]} more.")
    told = [
        f"{name}: …{abs(value)} ({mine[name]['normalized']} against {other[name]['normalized']}, weight "
        for name, value in sorted(apart.items(), key=lambda each: -abs(each[1]))
        if value
    ]
    parts = card.get_by_role("listitem")
    expect(parts).to_have_text([*map(pattern, told)])
    parts.first.get_by_role("link").click()
    shown = page.get_by_role("region", name=re.compile("node by node"))
    expect(shown.get_by_label("Node name")).to_have_value("node-3")
    expect(shown.get_by_role("row").filter(has_text="node-3")).to_contain_text(str(totals[1]))
