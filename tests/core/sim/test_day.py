"""Otter Post for a virtual day, at a quieter pace than the demo's: nothing is lost, overcommitted or forgotten."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from scheduler_core import config
from scheduler_core.api import quantity
from scheduler_core.apiserver.requests import Delete, ReportStatus
from scheduler_core.sim.otter_post.apps import SCRIPT
from tests.core.sim.story import SECOND, START, Manifest, Story, app_of, patched

HOUR = 3600
# A job every 20 seconds, a round every four hours; the demo has forty times as many.
QUIET = replace(
    SCRIPT,
    tick_us=20 * SECOND,
    round_seconds=4 * HOUR,
    rollout_at=HOUR,
    drain_at=2 * HOUR,
    drain_seconds=1200,
    burst_at=3 * HOUR,
    burst_seconds=200,
)
CONFIGURATION = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "podMaxBackoffSeconds": 600,
}
# Apps with pods that never fit, and a part of what their messages say; gated ones have no message.
NEVER_FIT = {
    "legacy-monolith": "Insufficient cpu",
    "quantum-index": "didn't match Pod's node affinity/selector",
    "vault-reader": "untolerated taint {otterpost.example/vault: locked}",
    "lamp-lighter": "didn't have free ports",
    "lonely-heron": "didn't match pod anti-affinity rules",
    "even-keel": "didn't match pod topology spread constraints",
    "fish-tycoon": "Insufficient nvidia.com/gpu",
    "friday-deploy": "",
    "bigger-model": "",
}
RESOURCES = ("cpu", "memory", "nvidia.com/gpu")


def test_otter_post_lives_through_a_day() -> None:
    story = Story(QUIET, config.load(CONFIGURATION))
    for hour in range(1, 25):
        story.world.run_until(START + hour * HOUR * SECOND)
        assert_no_node_is_overcommitted(story)
        assert_pods_wait_for_known_reasons_only(story)
    assert_jobs_ended(story)
    assert_rounds_happened(story, 6)


def assert_no_node_is_overcommitted(story: Story) -> None:
    asked: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for pod in story.alive:
        node = pod["spec"].get("nodeName", "")
        asked[node]["pods"] += 1
        for name in RESOURCES:
            asked[node][name] += sum(requested(container, name) for container in pod["spec"]["containers"])
    for node in story.world.store.list("Node"):
        has = node["status"]["allocatable"]
        of_node = asked[node["metadata"]["name"]]
        assert all(of_node[name] <= milli(has.get(name, "0")) for name in RESOURCES), node["metadata"]["name"]
        assert of_node["pods"] <= int(has["pods"])


def assert_pods_wait_for_known_reasons_only(story: Story) -> None:
    waiting = [pod for pod in story.alive if "nodeName" not in pod["spec"]]
    assert {app_label(pod) for pod in waiting} == NEVER_FIT.keys()
    for pod in waiting:
        key = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        assert NEVER_FIT[app_label(pod)] in story.messages.get(key, "gated"), key


def assert_jobs_ended(story: Story) -> None:
    jobs = {job.name for job in (*SCRIPT.jobs, SCRIPT.burst)}
    created = {request.manifest["metadata"]["name"] for _, request in story.log if app_of(request) in jobs}
    reports = [each for _, each in story.log if isinstance(each, ReportStatus)]
    ended = {each.key.name for each in reports if each.status.get("phase") == "Succeeded"}
    drained = {each.key.name for _, each in story.log if isinstance(each, Delete) and each.grace_seconds is None}
    running = {pod["metadata"]["name"] for pod in story.alive if app_label(pod) in jobs}
    assert len(created) > 24 * HOUR / 20
    assert created <= ended | drained | running
    assert len(running) < 20
    assert all(pod["spec"].get("nodeName") for pod in story.alive if app_label(pod) in jobs)


def assert_rounds_happened(story: Story, rounds: int) -> None:
    specs = [spec for _, each in story.log if (spec := patched(each, "Node").get("spec"))]
    assert [spec["unschedulable"] for spec in specs if "unschedulable" in spec] == [True, None] * rounds
    taints = [len(spec["taints"] or ()) for spec in specs if "taints" in spec]
    assert [after - before for before, after in zip(taints[::2], taints[1::2], strict=True)] == [-1] * rounds
    assert [app_of(each) for _, each in story.log].count(SCRIPT.burst.name) == rounds * 30
    # One rollout each: the last revision of the first service is that of its last turn.
    assert {pod["metadata"]["labels"]["revision"] for pod in story.alive if app_label(pod) == "paddle-router"} == {"v3"}


def app_label(pod: Manifest) -> str:
    return str(pod["metadata"]["labels"]["app"])


def requested(container: Manifest, name: str) -> int:
    return milli(container["resources"]["requests"].get(name, "0"))


def milli(text: str) -> int:
    return quantity.parse(text).milli_value()
