"""The clock of a cluster in the browser: it is seen, set and skipped, and what is shown goes by it."""

import re
import time
from datetime import datetime, timedelta
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.browser.axe import Axe
from tests.browser.conftest import Cluster, until
from tests.browser.test_whole import pod, put

HOUR = 3600
US = 1_000_000


def opened(page: Page) -> Locator:
    page.get_by_role("button", name=re.compile("^Time passes")).click()
    menu = page.get_by_role("group", name="Clock of the cluster")
    menu.get_by_role("heading", name="How time passes").wait_for()
    return menu


def ahead(cluster: Cluster) -> float:
    """By how many seconds the cluster is ahead of the wall."""
    found = cluster.call("GET", "clock")
    return float(found["now_us"] - found["wall_us"]) / US


def long_running(name: str, seconds: int) -> dict[str, Any]:
    made = pod(name)
    made["metadata"]["annotations"] = {"kschedweb.io/run-seconds": str(seconds)}
    return made


def test_an_hour_is_skipped_and_the_page_goes_along(page: Page, timed: Cluster) -> None:
    put(timed, long_running("watcher", 1200), pod("stays"))
    expect(page.get_by_role("region", name="Cluster in figures")).to_contain_text(re.compile(r"Pods on nodes\s*2"))
    menu = opened(page)
    menu.get_by_role("button", name="1 hour").click()
    # In an hour it may be another day, and then the day stands before the time.
    button = page.get_by_role("button", name=re.compile(r"^Time passes: 1× \S"))
    expect(button).to_be_visible()
    assert HOUR - 60 < ahead(timed) < HOUR + 300
    expect(menu).to_contain_text("On the wall it is")
    page.keyboard.press("Escape")
    expect(menu).to_have_count(0)
    page.goto(f"{timed.address}/pods/default/watcher")
    panel = page.get_by_role("complementary", name="Pod default/watcher")
    expect(panel).to_contain_text("Completed")
    page.reload()  # it ended long ago: the snapshot leaves it out
    expect(panel).to_contain_text("Completed")
    expect(panel).not_to_contain_text("no longer in the cluster")
    page.goto(f"{page.url.rpartition('/pods/')[0]}/pods/default/stays")
    expect(page.get_by_role("complementary", name="Pod default/stays")).to_contain_text(
        re.compile(r"Created\s*(1 h|60 min)")
    )


def test_a_rate_is_chosen_by_keyboard_and_time_goes_by_it(page: Page, timed: Cluster) -> None:
    page.get_by_role("button", name=re.compile("^Time passes: 1×")).focus()
    page.keyboard.press("Enter")
    menu = page.get_by_role("group", name="Clock of the cluster")
    chosen = menu.get_by_role("button", name="600×", exact=True)
    chosen.focus()
    page.keyboard.press("Enter")
    expect(chosen).to_have_attribute("aria-pressed", "true")
    shown = page.get_by_role("button", name=re.compile("^Time passes: 600× "))
    before, steps = ahead(timed), []

    def time_of_day() -> datetime:
        said = re.search(r"[\d:]+ [AP]M", shown.inner_text())
        assert said is not None
        # Of another day than on the wall it is told without seconds.
        return datetime.strptime(said[0], "%I:%M:%S %p" if said[0].count(":") == 2 else "%I:%M %p")

    def has_passed(seconds: int) -> bool:
        seen.append(time_of_day())
        steps.append((seen[-1] - seen[-2]).seconds)  # of a day: it may be over meanwhile
        return sum(steps) > seconds

    seen = [time_of_day()]
    until(page, lambda: has_passed(300))
    assert max(steps) < timedelta(hours=12).seconds, "time went back"
    assert ahead(timed) > before + 300
    menu.get_by_role("button", name="Real time").click()
    expect(page.get_by_role("button", name=re.compile("^Time passes: 1×"))).to_be_visible()


def test_time_waits_for_a_scheduler_that_is_paused(page: Page, timed: Cluster, axe: Axe) -> None:
    timed.call("POST", "pace", {"pace": "pause"})
    put(timed, pod("ready-to-go"))
    menu = opened(page)
    menu.get_by_role("button", name="As fast as possible").click()
    expect(menu.get_by_role("status")).to_contain_text("Waits for the scheduler")
    stood, since = timed.call("GET", "clock")["now_us"], time.monotonic()
    axe.check(page)
    passed = (timed.call("GET", "clock")["now_us"] - stood) / US
    # What was due in the same moment may still have happened.
    assert passed < (time.monotonic() - since) / 1000
    page.get_by_role("button", name="Run", exact=True).click()
    expect(menu.get_by_text("Waits for the scheduler.")).to_have_count(0)
