"""Otter Post for two rounds of its script: engine and controllers together, in virtual time."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from functools import cache

import pytest

from kschedweb.ops.sample.nodes import nodes
from scheduler_core.lifecycle.effects import NodeCordon, PodCreation, PodDeletion, PodStatusWrite
from scheduler_core.lifecycle.sample import FIRST_WAVE, MAX_PODS, SAMPLE, sample_workload
from scheduler_core.lifecycle.workloads import first_wave
from tests.core.lifecycle.little_cluster import SECOND, LittleCluster

START = int(datetime(2030, 1, 1, tzinfo=UTC).timestamp()) * SECOND
MINUTES = 8


@cache
def story() -> LittleCluster:
    """One run, looked at by all tests."""
    objects = [*nodes(20), *first_wave(SAMPLE, 20, FIRST_WAVE)]
    cluster = LittleCluster(objects, sample_workload(seed=20, started_at=START), start=START)
    cluster.run(MINUTES * 60)
    return cluster


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
    left = {"legacy-monolith", "quantum-index", "vault-reader", "lamp-lighter", "fish-tycoon"}
    cluster = story()
    for service in SAMPLE.services:
        if service.name not in left and "schedulingGates" not in service.spec:
            bound = [p for p in cluster.alive if p["metadata"]["labels"]["app"] == service.name]
            assert len([p for p in bound if p["spec"].get("nodeName")]) >= service.replicas - 1, service.name


def test_pods_of_the_sample_arrive_and_complete_at_about_two_a_second() -> None:
    log = [(now, effect) for now, effect in story().log if now > START + 120 * SECOND]
    seconds = MINUTES * 60 - 120
    jobs = {job.name for job in SAMPLE.jobs}
    arrived = [e for _, e in log if isinstance(e, PodCreation) and e.manifest["metadata"]["labels"]["app"] in jobs]
    completed = [e for _, e in log if isinstance(e, PodStatusWrite) and e.phase == "Succeeded"]
    assert 1.7 < len(arrived) / seconds < 2.4
    assert 1.7 < len(completed) / seconds < 2.6


def test_sample_stays_bounded() -> None:
    assert len(story().alive) < MAX_PODS
    # The last ones to complete in this step are not known to the garbage collection yet.
    assert len(story().pods) - len(story().alive) <= 500 + 10


def test_sample_has_a_rollout_a_drain_and_a_burst_in_every_round() -> None:
    happened: Counter[tuple[str, int]] = Counter()
    for now, effect in story().log:
        round_ = (now - START) // (SAMPLE.round_seconds * SECOND)
        if isinstance(effect, NodeCordon):
            happened["cordon" if effect.unschedulable else "uncordon", round_] += 1
        if isinstance(effect, PodCreation) and effect.manifest["metadata"]["labels"]["app"] == SAMPLE.burst.name:
            happened["burst", round_] += 1
        if isinstance(effect, PodDeletion):
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
    assert not [m for (kind, _), m in story().objects.items() if kind == "Node" and m["spec"].get("unschedulable")]
