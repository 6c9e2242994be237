"""Otter Post for two rounds of its script: engine and controllers together, in virtual time."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from scheduler_core.apiserver.requests import Delete, ReportStatus
from scheduler_core.sim.otter_post.apps import BUDGETS, MAX_PODS, SCRIPT
from scheduler_core.sim.otter_post.storage import DEN_NODE
from tests.core.sim.story import SECOND, START, Manifest, Story, app_of, patched

MINUTES = 8


@cache
def story() -> Story:
    """One run, looked at by many tests."""
    found = Story()
    found.world.run_until(START + MINUTES * 60 * SECOND)
    return found


def placed(app: str) -> list[Manifest]:
    """The app's pods that have a node and are not on their way out."""
    pods = [pod for pod in story().alive if pod["metadata"]["labels"]["app"] == app and "nodeName" in pod["spec"]]
    return [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]


def node_of(pod: Manifest) -> str:
    return str(pod["spec"]["nodeName"])


def zone_of(pod: Manifest) -> str:
    """Nodes are called by pool, letter of the zone and number."""
    return node_of(pod).split("-")[1][0]


def waiting(app: str) -> list[str]:
    """Messages of the app's pods that have no node."""
    cluster = story()
    pods = [pod for pod in cluster.alive if pod["metadata"]["labels"]["app"] == app and "nodeName" not in pod["spec"]]
    return [cluster.messages.get(f"{p['metadata']['namespace']}/{p['metadata']['name']}", "gated") for p in pods]


@pytest.mark.parametrize(
    ("app", "reasons"),
    [
        pytest.param("legacy-monolith", ["Insufficient cpu", "Insufficient memory"], id="too large"),
        pytest.param("quantum-index", ["didn't match Pod's node affinity/selector"], id="label nobody has"),
        pytest.param("vault-reader", ["untolerated taint {otterpost.example/vault: locked}"], id="taint"),
        pytest.param("lamp-lighter", ["didn't have free ports"], id="host port"),
        pytest.param("fish-tycoon", ["Insufficient nvidia.com/gpu"], id="more GPUs than a node has"),
        pytest.param("lonely-heron", ["didn't match pod anti-affinity rules"], id="nobody beside it"),
        pytest.param("even-keel", ["didn't match pod topology spread constraints"], id="uneven"),
        pytest.param("friday-deploy", ["gated"], id="gated"),
        pytest.param("bigger-model", ["gated"], id="gated by budget"),
    ],
)
def test_some_pods_of_the_sample_wait_each_for_its_own_reason(app: str, reasons: list[str]) -> None:
    messages = waiting(app)
    assert messages
    for message in messages:
        for reason in reasons:
            assert reason in message


def test_everything_else_of_the_sample_finds_a_node() -> None:
    left = {"legacy-monolith", "quantum-index", "vault-reader", "lamp-lighter", "fish-tycoon", "even-keel"}
    cluster = story()
    for service in SCRIPT.services:
        if service.name not in left and "schedulingGates" not in service.spec:
            bound = [p for p in cluster.alive if p["metadata"]["labels"]["app"] == service.name]
            assert len([p for p in bound if p["spec"].get("nodeName")]) >= service.replicas - 1, service.name


def test_pods_of_the_sample_arrive_and_complete_at_about_two_a_second() -> None:
    log = [(now, request) for now, request in story().log if now > START + 120 * SECOND]
    seconds = MINUTES * 60 - 120
    jobs = {job.name for job in SCRIPT.jobs}
    arrived = [each for _, each in log if app_of(each) in jobs]
    completed = [each for _, each in log if isinstance(each, ReportStatus) and each.status.get("phase") == "Succeeded"]
    assert 1.7 < len(arrived) / seconds < 2.4
    assert 1.7 < len(completed) / seconds < 2.6


def test_sample_stays_bounded() -> None:
    assert len(story().alive) < MAX_PODS
    # The last ones to complete in this step are not known to the garbage collection yet.
    assert len(story().pods) - len(story().alive) <= 500 + 10


def test_sample_has_a_rollout_a_drain_and_a_burst_in_every_round() -> None:
    happened: Counter[tuple[str, int]] = Counter()
    for now, request in story().log:
        round_ = (now - START) // (SCRIPT.round_seconds * SECOND)
        if "unschedulable" in (spec := patched(request, "Node").get("spec", {})):
            happened["cordon" if spec["unschedulable"] else "uncordon", round_] += 1
        if app_of(request) == SCRIPT.burst.name:
            happened["burst", round_] += 1
        if isinstance(request, Delete) and request.key.kind == "Pod" and request.grace_seconds is None:
            happened["deletion", round_] += 1
    for round_ in (0, 1):
        assert happened["cordon", round_] == happened["uncordon", round_] == 1
        assert happened["burst", round_] == 30
        assert happened["deletion", round_] >= 8


def test_rollouts_of_the_sample_reach_every_replica() -> None:
    revisions = Counter(
        pod["metadata"]["labels"]["revision"]
        for pod in story().alive
        if pod["metadata"]["labels"]["app"] == "paddle-router"
    )
    assert revisions == {"v2": 8}


def test_no_node_of_the_sample_is_left_closed() -> None:
    assert not [node for node in story().world.store.list("Node") if node["spec"].get("unschedulable")]


def test_bursts_of_the_sample_take_the_places_of_renderers() -> None:
    cluster = story()
    for round_ in (0, 1):
        begin = START + (round_ * SCRIPT.round_seconds + SCRIPT.burst_at) * SECOND
        evicted = [key for key, at in cluster.evicted.items() if begin <= at < begin + 30 * SECOND]
        assert 5 <= len(evicted) <= 40
        assert {key.split("/")[0] for key in evicted} == {"studio"}
    for attempt in cluster.preemptions:
        assert attempt.post_filter is not None and attempt.post_filter.preemption is not None
        assert attempt.post_filter.preemption.victims
    # All of them found their place, and the renderers came back.
    launched = {attempt.pod_key for attempt in cluster.preemptions}
    assert not launched & set(cluster.messages)
    assert len(placed("whisker-renderer")) >= 40


def test_general_nodes_of_the_sample_are_busy() -> None:
    general = {pod["metadata"]["labels"]["app"] for pod in story().alive if node_of_pool(pod, "general")}
    assert "whisker-renderer" in general
    asked = sum(cpu_milli(pod) for pod in story().alive if node_of_pool(pod, "general"))
    assert 0.75 < asked / (24 * 8000) < 0.95


def node_of_pool(pod: Manifest, pool: str) -> bool:
    return str(pod["spec"].get("nodeName", "")).startswith(f"{pool}-")


def cpu_milli(pod: Manifest) -> int:
    text = str(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"])
    return int(text.removesuffix("m")) if text.endswith("m") else int(text) * 1000


def test_storefronts_of_the_sample_are_spread_over_the_zones() -> None:
    zones = Counter(zone_of(pod) for pod in placed("storefront"))
    assert len(zones) == 3
    assert max(zones.values()) - min(zones.values()) <= 1
    assert max(Counter(map(node_of, placed("storefront"))).values()) <= 2


def test_caches_of_the_sample_are_placed_beside_a_storefront_each_on_its_own_node() -> None:
    """Storefronts may have moved away since: what was there when the cache came counts."""
    caches = [node_of(pod) for pod in placed("warm-fish-cache")]
    assert len(caches) == len(set(caches)) == 4
    assert set(caches) & set(map(node_of, placed("storefront")))
    gauges = [node_of(pod) for pod in placed("river-gauge")]
    assert len(gauges) == len(set(gauges)) == 6


def test_disks_of_the_sample_are_bound_where_their_pods_are() -> None:
    cluster = story()
    claims, volumes = cluster.of_kind("PersistentVolumeClaim"), cluster.of_kind("PersistentVolume")
    (vault,) = placed("shell-vault")
    assert node_of(vault) == DEN_NODE
    indexes = placed("parcel-index")
    assert len(indexes) == len(set(map(node_of, indexes))) == 6  # one disk a node
    wanted = {f"tracking/{pod['metadata']['name']}-data": zone_of(pod) for pod in indexes}
    wanted["payments/tide-book"] = zone_of(placed("tide-book")[0])
    for key, zone in wanted.items():
        assert claims[key]["status"]["phase"] == "Bound"
        volume = volumes[claims[key]["spec"]["volumeName"]]
        (term,) = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
        assert term["matchExpressions"][0]["values"] == [f"river-{zone}"]
    # Nothing is left of disks whose pods have gone.
    assert len(claims) == len(wanted) + 1


def test_budgets_of_the_sample_know_their_pods() -> None:
    for namespace, app, least in BUDGETS:
        status = story().of_kind("PodDisruptionBudget")[f"{namespace}/{app}"]["status"]
        assert status["desiredHealthy"] == least
        assert 0 < status["disruptionsAllowed"] == status["currentHealthy"] - least
