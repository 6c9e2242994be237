"""Otter Post for hours, at a quieter pace than the demo's: nothing is lost, overcommitted or forgotten."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from itertools import cycle, islice

import pytest

from scheduler_core import config
from scheduler_core.api import quantity
from scheduler_core.apiserver.kinds import KINDS
from scheduler_core.apiserver.requests import Create, Patch, ReportStatus
from scheduler_core.sim.otter_post.apps import SERVICES
from scheduler_core.sim.otter_post.jobs import HAIRBALL, LAUNCH
from scheduler_core.sim.otter_post.script import SCRIPT
from tests.core.sim.story import SECOND, START, Manifest, Story, app_label, app_of, conditions, key, node_of, patched

MINUTE = 60
HOUR = 60 * MINUTE
# A pod every 20 seconds, a round every four hours; the demo has twenty times as many. A node is silent for so long that
# everything on it moves, but for the pods of DaemonSets.
QUIET = replace(
    SCRIPT,
    tick_us=20 * SECOND,
    round_seconds=4 * HOUR,
    rollout_at=20 * MINUTE,
    drain_at=80 * MINUTE,
    drain_seconds=20 * MINUTE,
    of_round=tuple(((125 + 5 * place) * MINUTE, job) for place, (_, job) in enumerate(SCRIPT.of_round)),
    stop_at=195 * MINUTE,
    stop_seconds=30 * MINUTE,
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


@pytest.mark.parametrize(
    "rounds", [pytest.param(2, id="eight hours"), pytest.param(6, id="a day", marks=pytest.mark.slow)]
)
def test_otter_post_goes_on(rounds: int) -> None:
    story = Story(QUIET, config.load(CONFIGURATION))
    objects = []
    for hour in range(1, 4 * rounds + 1):
        story.world.run_until(START + hour * HOUR * SECOND)
        assert_no_node_is_overcommitted(story)
        assert_pods_wait_for_known_reasons_only(story)
        objects.append(numbers_of_objects(story))
    assert_jobs_ended(story, rounds)
    assert_rounds_happened(story, rounds)
    # Revisions of the Deployments that are rolled out are kept, two of each.
    assert objects[-1] == objects[3] | {"ReplicaSet": objects[-1]["ReplicaSet"]}
    assert objects[-1]["ReplicaSet"] <= sum(each.kind == "Deployment" for each in SERVICES) + 2 * len(SCRIPT.rollouts)


def test_same_seed_gives_the_same_hours() -> None:
    stories = [Story(QUIET), Story(QUIET)]
    for story in stories:
        story.world.run_until(START + HOUR * SECOND)
    assert stories[0].log == stories[1].log


def numbers_of_objects(story: Story) -> dict[str, int]:
    """How many there are of each kind, but for those that come and go and the events that tell of it."""
    passing = ("Pod", "Job", "Event")
    return {
        kind: number for kind in KINDS if kind not in passing and (number := len(list(story.world.store.list(kind))))
    }


def assert_no_node_is_overcommitted(story: Story) -> None:
    asked: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for pod in story.alive:
        node = node_of(pod)
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
        assert NEVER_FIT[app_label(pod)] in story.messages.get(key(pod), "gated"), key(pod)


def assert_jobs_ended(story: Story, rounds: int) -> None:
    """All but those whose pod was evicted; none that ended is left for long."""
    created = {each.manifest["metadata"]["name"] for _, each in story.log if is_job(each)}
    assert len(created) > 4 * rounds * HOUR / 20 / 4
    ended = {name for name, condition in written_conditions(story) if condition == "Complete"}
    failed = {name for name, condition in written_conditions(story) if condition == "Failed"}
    there = story.of_kind("Job").values()
    running = {job["metadata"]["name"] for job in there if not conditions(job)}
    assert created <= ended | failed | running
    assert len(failed) == rounds
    assert all(name.startswith(HAIRBALL.name) for name in failed)
    assert len(there) < 30
    assert len(story.pods) - len(story.alive) < 100


def is_job(request: object) -> bool:
    return isinstance(request, Create) and request.manifest["kind"] == "Job"


def written_conditions(story: Story) -> set[tuple[str, str]]:
    """Names of Jobs with the conditions that were written into their statuses."""
    bodies = [(each.key.name, patched(each, "Job")) for _, each in story.log if isinstance(each, Patch)]
    found = [(name, each) for name, body in bodies for each in body.get("status", {}).get("conditions") or ()]
    return {(name, each["type"]) for name, each in found}


def assert_rounds_happened(story: Story, rounds: int) -> None:
    bodies = [(each, patched(each, "Node")) for _, each in story.log]
    cordons = [spec["unschedulable"] for _, body in bodies if "unschedulable" in (spec := body.get("spec", {}))]
    assert cordons == [True, None] * rounds
    told = Counter(name for _, body in bodies for name in body.get("metadata", {}).get("annotations") or ())
    # Asked for and come to its end; stopped, its time, and back.
    assert told["kschedweb.io/drain"] >= 2 * rounds
    assert told["kschedweb.io/kubelet"] == 2 * rounds
    assert [app_of(each) for _, each in story.log].count(LAUNCH.name) == rounds * LAUNCH.pods
    evicted = [each.key.name for _, each in story.log if is_eviction_of_kubelet(each)]
    assert len(evicted) == rounds
    rolled_out = [each.key.name for _, each in story.log if isinstance(each, Patch) and "template" in spec_of(each)]
    assert rolled_out == [each.name for each in islice(cycle(SCRIPT.rollouts), rounds)]
    for rollout in SCRIPT.rollouts:
        images = {pod["spec"]["containers"][0]["image"] for pod in story.alive if app_label(pod) == rollout.name}
        assert images == {f"{rollout.image}:{rolled_out.count(rollout.name) + 1}"}


def is_eviction_of_kubelet(request: object) -> bool:
    return isinstance(request, ReportStatus) and request.status.get("reason") == "Evicted"


def spec_of(request: Patch) -> Manifest:
    return patched(request, "Deployment").get("spec") or {}


def requested(container: Manifest, name: str) -> int:
    return milli(container["resources"]["requests"].get(name, "0"))


def milli(text: str) -> int:
    return quantity.parse(text).milli_value()
