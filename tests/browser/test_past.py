"""The past in the browser: all of the page shows the moment in its address, and nothing there changes anything."""

import re

import pytest
from playwright.sync_api import Download, Locator, Page, expect

from tests.browser.axe import Axe
from tests.browser.conftest import Cluster, Service, clusters, until
from tests.browser.test_clock import ahead
from tests.browser.test_import import into_new, new_name, start
from tests.browser.test_whole import figure, node, pod, put, settle

HOUR = 3600
FIGURES = ("Pending", "Pods on nodes", "Nodes", "CPU requested", "Memory requested")
AT = re.compile(r"[?&]at=(\d+\.\d+)")


def band(page: Page) -> Locator:
    return page.get_by_role("region", name="The past")


def shown_position(page: Page) -> Locator:
    """Of the moment that is shown; the one on its way is told beside it."""
    return band(page).locator(".position")


def strip(page: Page) -> Locator:
    page.get_by_role("button", name="Time", exact=True).click()
    found = page.get_by_role("region", name="Time: the cluster as it was")
    found.get_by_role("textbox", name="Moment").wait_for()
    return found


def waiting(page: Page) -> Locator:
    """The pods in the queue."""
    return page.get_by_role("region", name="Scheduling queue").locator("a[data-lane]")


def overview(page: Page) -> tuple[dict[str, int], list[str]]:
    """What does not go by the clock: figures, and the names of pods that wait."""
    names = waiting(page).locator(".name").all_inner_texts()
    return {name: figure(page, name) for name in FIGURES}, sorted(names)


def position(cluster: Cluster) -> str:
    """Where it is once the scheduler has taken in that what it bound is bound, which it may do a little later."""
    until(cluster.page, lambda: cluster.call("GET", "cache")["assumed"] == 0)
    rv, seq = cluster.call("GET", "snapshot")["cursor"]
    return f"{rv}.{seq}"


def shown(page: Page) -> str:
    found = AT.search(page.url)
    assert found is not None, page.url
    return found[1]


@pytest.fixture
def grown(page: Page, own: Cluster) -> tuple[str, tuple[dict[str, int], list[str]]]:
    """An hour ago there was one node, with a pod, and another waited: where that was, and what was shown then."""
    put(own, node("room"), pod("placed"), pod("waits", cpu="900"))
    settle(own, 1)
    expect(waiting(page)).to_have_count(1)
    expect(page.get_by_role("region", name="Cluster in figures")).to_contain_text(re.compile(r"Pods on nodes\s*1"))
    found = position(own), overview(page)
    own.call("POST", "clock", {"skip_seconds": HOUR})
    until(page, lambda: ahead(own) > HOUR - 60)
    put(own, node("late"), pod("later"), pod("waits-too", cpu="800"))
    settle(own, 2)
    expect(waiting(page)).to_have_count(2)
    expect(page.get_by_role("region", name="Cluster in figures")).to_contain_text(re.compile(r"Pods on nodes\s*2"))
    assert overview(page) != found[1]
    return found


def test_what_was_shown_an_hour_ago_is_shown_again(
    page: Page, own: Cluster, grown: tuple[str, tuple[dict[str, int], list[str]]]
) -> None:
    then, seen = grown
    now = overview(page)
    time = strip(page)
    time.get_by_role("textbox", name="Moment").fill("30m ago")
    time.get_by_role("button", name="Go").click()
    expect(band(page)).to_contain_text("As it was")
    expect(page).to_have_url(AT)
    until(page, lambda: overview(page) == seen)
    page.goto(f"{own.address}?at={then}")
    expect(shown_position(page)).to_have_text(then)
    until(page, lambda: overview(page) == seen)
    page.reload()
    expect(shown_position(page)).to_have_text(then)
    until(page, lambda: overview(page) == seen)
    assert shown(page) == then

    # Nothing that changes something is offered, anywhere.
    for name in ("Import", "Pause", "Step one cycle", "Add a description"):
        expect(page.get_by_role("button", name=name)).to_have_count(0)
    page.goto(f"{own.address}/nodes/room?at={then}")
    panel = page.get_by_role("complementary", name=re.compile("room"))
    expect(panel).to_contain_text("default/placed")
    expect(panel.get_by_role("button", name="Cordon")).to_have_count(0)
    page.goto(f"{own.address}/nodes/late?at={then}")
    expect(page.get_by_role("complementary")).to_contain_text("No node of this name")
    page.goto(f"{own.address}/pods/default/waits?at={then}")
    panel = page.get_by_role("complementary", name="Pod default/waits")
    expect(panel).to_contain_text("Insufficient cpu")

    # Lists have the rows of then.
    page.goto(f"{own.address}?list=pods&at={then}")
    expect(page.get_by_role("grid", name="Pods").locator("[data-row]")).to_have_count(2)
    page.goto(f"{own.address}?list=nodes&at={then}")
    expect(page.get_by_role("grid", name="Nodes").locator("[data-row]")).to_contain_text("room")
    downloaded = page.request.get(page.get_by_role("link", name="JSON", exact=True).evaluate("link => link.href"))
    assert [row["name"] for row in downloaded.json()] == ["room"]

    # What is known only of the present says so.
    page.goto(f"{own.address}/config?at={then}")
    expect(page.get_by_role("dialog")).to_contain_text("known only as it is now")

    # A link within the page stays at the moment; the way back is one click.
    page.goto(f"{own.address}?at={then}")
    waiting(page).first.click()
    expect(page).to_have_url(re.compile(r"/pods/default/waits\?"))
    assert shown(page) == then
    band(page).get_by_role("button", name="Back to now").click()
    expect(band(page)).to_have_count(0)
    page.get_by_role("status").filter(has_text="Live").wait_for()
    assert not AT.search(page.url)
    expect(page.get_by_role("region", name="Cluster in figures")).to_contain_text(re.compile(r"Pods on nodes\s*2"))
    until(page, lambda: overview(page) == now)


def test_line_is_gone_along_by_keys(page: Page, own: Cluster) -> None:
    put(own, node("room"))
    put(own, pod("first"))
    settle(own, 0)
    expect(page.get_by_role("region", name="Cluster in figures")).to_contain_text(re.compile(r"Pods on nodes\s*1"))
    now = position(own)
    time = strip(page)
    expect(time.get_by_role("list", name="What happened in the span")).to_contain_text(re.compile(r"Attempts\s*1"))
    handle = time.get_by_role("slider", name="Moment")
    handle.focus()
    page.keyboard.press("ArrowLeft")
    expect(page).to_have_url(re.compile(rf"at={re.escape(now)}"))
    expect(shown_position(page)).to_have_text(now)
    page.keyboard.press("ArrowLeft")
    expect(page).not_to_have_url(re.compile(rf"at={re.escape(now)}"))
    expect(page).to_have_url(AT)
    before, end = ([int(part) for part in where.split(".")] for where in (shown(page), now))
    assert before != end and before[0] <= end[0] and before[1] <= end[1]
    page.keyboard.press("Home")
    expect(shown_position(page)).to_have_text("0.0")
    assert figure(page, "Nodes") == 0
    page.keyboard.press("ArrowRight")
    expect(page).not_to_have_url(re.compile(r"at=0\.0"))
    page.keyboard.press("End")
    expect(band(page)).to_have_count(0)
    page.get_by_role("status").filter(has_text="Live").wait_for()
    handle.focus()
    page.keyboard.press("Escape")
    expect(time).to_have_count(0)


def test_band_and_line_can_be_read_by_all(page: Page, own: Cluster, axe: Axe) -> None:
    put(own, node("room"), pod("first"), pod("waits", cpu="900"))
    settle(own, 1)
    page.goto(f"{own.address}?at={position(own)}")
    expect(band(page)).to_be_visible()
    expect(strip(page).get_by_role("list", name="What happened in the span")).to_be_visible()
    axe.check(page, page.get_by_role("banner"))


def test_past_is_played_up_to_now(page: Page, own: Cluster) -> None:
    put(own, node("room"), pod("first"), pod("waits", cpu="900"))
    settle(own, 1)
    page.goto(f"{own.address}?at=0.0")
    expect(shown_position(page)).to_have_text("0.0")
    assert figure(page, "Nodes") == 0
    strip(page).get_by_role("button", name=re.compile("100×")).click()
    expect(page.get_by_role("region", name="Cluster in figures")).to_contain_text(re.compile(r"Pods on nodes\s*1"))
    expect(band(page)).to_have_count(0)
    page.get_by_role("status").filter(has_text="Live").wait_for()
    assert figure(page, "Nodes") == 1


def test_an_attempt_leads_to_the_cluster_just_before_it(page: Page, own: Cluster) -> None:
    put(own, node("room"))
    settle(own, 0)
    put(own, pod("first"))
    settle(own, 0)
    (attempt,) = own.call("GET", "pods/default/first/attempts")["results"]
    expected = f"{attempt['rv']}.{attempt['seq'] - 1}"
    page.goto(f"{own.address}/pods/default/first")
    page.get_by_role("link", name="The cluster as it was then").click()
    expect(shown_position(page)).to_have_text(expected)
    assert shown(page) == expected and figure(page, "Pods on nodes") == 0
    page.goto(f"{own.address}/attempts/{attempt['seq']}")
    page.get_by_role("link", name="The cluster as it was then").click()
    expect(shown_position(page)).to_have_text(expected)
    assert shown(page) == expected and figure(page, "Pods on nodes") == 0


def saved(page: Page, link: Locator) -> Download:
    """The file that the link brings; it is used by the keyboard."""
    link.focus()
    with page.expect_download() as found:
        page.keyboard.press("Enter")
    assert found.value.failure() is None
    return found.value


def test_moment_saved_as_a_file_becomes_a_record(page: Page, own: Cluster, service: Service) -> None:
    put(own, node("room"), pod("placed"), pod("waits", cpu="900"))
    settle(own, 1)
    then = position(own)
    page.goto(f"{own.address}?at={then}")
    expect(shown_position(page)).to_have_text(then)
    seen = overview(page)
    put(own, pod("later"))
    settle(own, 1)

    moment = saved(page, band(page).get_by_role("link", name="Save as a file"))
    assert moment.suggested_filename.endswith(f"-{then}.history")
    band(page).get_by_role("button", name="Back to now").click()
    expect(band(page)).to_have_count(0)
    page.get_by_role("button", name="Settings").click()
    whole = saved(page, page.get_by_role("link", name="Save the history as a file"))
    assert whole.suggested_filename.endswith(f"-{position(own)}.history")
    expect(page.get_by_role("group", name="Settings")).to_have_count(0)

    page.get_by_role("button", name="Import", exact=True).click()
    dialog = page.get_by_role("dialog")
    content = {"name": moment.suggested_filename, "mimeType": "", "buffer": moment.path().read_bytes()}
    dialog.get_by_label("Choose files, or drop files and folders here").set_input_files(content)
    expect(dialog.get_by_label("A new cluster")).to_be_checked()
    name = new_name()
    into_new(dialog, name)
    start(dialog)
    expect(dialog.get_by_role("status")).to_have_text(f"Imported into {name}.")
    expect(dialog).to_contain_text("This cluster is a record")
    dialog.get_by_role("button", name=f"Open {name}").click()
    expect(page.get_by_role("banner")).to_contain_text("Record: read-only")
    page.get_by_role("status").filter(has_text="Live").wait_for()
    until(page, lambda: overview(page) == seen)
    record = Cluster(page, service.url, int(page.url.rpartition("/")[2]))
    assert position(record) == then
    clusters(page, service, "DELETE", f"/{record.id}")
