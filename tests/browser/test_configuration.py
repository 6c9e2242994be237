"""The editor of a scheduler configuration: problems lead to their lines, and it says what was applied."""

from __future__ import annotations

import itertools

from playwright.sync_api import Page, expect

from tests.browser.conftest import Cluster

NUMBERS = itertools.count(1)
FAULTY = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
parallelism: many
profiles:
- schedulerName: one
  plugins:
    filter:
      enabled: [{name: Nope}]
  pluginConfig: {}
- schedulerName: one
"""
SOUND = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
- schedulerName: second
"""


def test_problems_lead_to_their_lines_and_what_was_applied_is_said(page: Page, cluster: Cluster) -> None:
    made = page.request.post(
        f"{cluster.url}/api/clusters",
        data={"name": f"configured-{next(NUMBERS)}"},
        headers={"X-CSRFToken": next(c["value"] for c in page.context.cookies() if c["name"] == "ksched_csrf")},
    ).json()
    page.goto(f"{cluster.url}/#/clusters/{made['id']}/config")
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Edit").click()
    field = dialog.get_by_role("textbox")
    # It begins with the defaults in full, which apply.
    assert "- name: TaintToleration\n        weight: 3\n" in field.input_value()
    field.fill(FAULTY)
    dialog.get_by_role("button", name="Apply").click()
    problems = dialog.get_by_role("alert")
    expect(problems.get_by_role("button")).to_have_text(["Line 3", "Line 8", "Line 9", "Line 10"])
    for words in ("expected an integer", 'FilterPlugin "Nope" does not exist', "expected a list, got an object"):
        expect(problems).to_contain_text(words)
    expect(dialog.locator(".mark")).to_have_count(4)
    expect(field).to_have_value(FAULTY)
    problems.get_by_role("button", name="Line 8").click()
    expect(field).to_be_focused()
    chosen = field.evaluate("field => field.value.slice(field.selectionStart, field.selectionEnd)")
    assert chosen == "      enabled: [{name: Nope}]"
    field.fill(SOUND)
    dialog.get_by_role("button", name="Check").click()
    expect(dialog.get_by_role("status")).to_contain_text("profiles[second]")
    dialog.get_by_role("button", name="Apply").click()
    told = dialog.get_by_role("status")
    expect(told).to_contain_text("Version 2 is saved")
    expect(told).to_contain_text("profiles[second] added")
    expect(told).to_contain_text("the scheduler decides by it now")
