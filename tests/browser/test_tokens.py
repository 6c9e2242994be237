"""Tokens are made, shown once, and revoked in the dashboard, and on the command line of a running service."""

import os
import subprocess
import sys
import urllib.error
import urllib.request
from datetime import UTC, datetime, timedelta

from playwright.sync_api import Locator, Page, expect

from kschedweb.environment import ROOT
from tests.browser.axe import Axe
from tests.browser.conftest import Cluster, Service
from tests.waiting import HANG_SECONDS

NARROW = 390


def open_tokens(page: Page) -> Locator:
    page.get_by_role("button", name="Settings").click()
    page.get_by_role("button", name="Tokens", exact=True).click()
    dialog = page.get_by_role("dialog", name="Your tokens")
    dialog.get_by_role("listitem").first.wait_for()  # that of ./ksched is there
    return dialog


def status(service: Service, token: str) -> int:
    """What a read with the token is answered."""
    request = urllib.request.Request(f"{service.url}/api/clusters", headers={"Authorization": f"Bearer {token}"})
    try:
        with urllib.request.urlopen(request, timeout=HANG_SECONDS) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_token_is_made_shown_once_and_revoked(
    page: Page,
    cluster: Cluster,
    service: Service,
    axe: Axe,
) -> None:
    name = f"browser-{datetime.now(UTC):%H%M%S%f}"
    dialog = open_tokens(page)
    form = dialog.get_by_role("form", name="New token")
    form.get_by_label("Name").fill(name)
    form.get_by_role("button", name="Operator").click()
    form.get_by_label("Days until it ends").fill("7")
    form.get_by_role("button", name="Make the token").click()
    token = dialog.get_by_label("Token", exact=True).input_value()
    assert status(service, token) == 200
    assert token in dialog.get_by_label("Command that uses it").input_value()
    row = dialog.get_by_role("listitem").filter(has_text=name)
    expect(row).to_contain_text("Operator")
    expect(row).to_contain_text(f"…{token[-4:]}")
    ends = datetime.now(UTC) + timedelta(days=7)
    expect(row).to_contain_text(f"ends {ends:%b} {ends.day}, {ends.year}")
    dialog.get_by_role("button", name="Copy the token").wait_for()
    axe.check(page, dialog)
    page.set_viewport_size({"width": NARROW, "height": 844})
    assert dialog.evaluate("one => one.scrollWidth <= one.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW

    dialog.get_by_role("button", name="Close").click()
    dialog = open_tokens(page)
    expect(dialog.get_by_role("listitem").filter(has_text=name)).to_contain_text("last used")
    assert token not in dialog.inner_html()
    dialog.get_by_role("button", name=f"Revoke {name}").click()
    assert status(service, token) == 200
    axe.check(page, dialog)
    dialog.get_by_role("button", name="Revoke it").click()
    expect(dialog.get_by_text(f"Token “{name}” is no longer good.")).to_be_visible()
    assert status(service, token) == 401


def test_command_line_s_token_is_in_the_list(page: Page, service: Service) -> None:
    def command(*words: str) -> str:
        argv = [sys.executable, "-P", "-m", "kschedweb.ops.cli", "token", *words, "--data-dir", str(service.data)]
        environment = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "REDIS_URL")}
        environment["PYTHONPATH"] = str(ROOT)
        done = subprocess.run(argv, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    token = command("make", "--name", "from-the-terminal").removesuffix("\n")
    assert status(service, token) == 200
    row = open_tokens(page).get_by_role("listitem").filter(has_text="from-the-terminal")
    expect(row).to_contain_text(f"…{token[-4:]}")
    assert "from-the-terminal" in command("list")
    command("revoke", "--name", "from-the-terminal")
    assert status(service, token) == 401
