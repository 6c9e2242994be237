"""When a node is looked at: never while nothing can come of it, and never too late."""

from __future__ import annotations

import random

import pytest

from scheduler_core.controllers.kubelet.usage import parse_usage
from tests.core.controllers.kubelet.nodes import CRITICAL, SECOND, SMALL_ROOM, Nodes

MEMORY = "kschedweb.io/usage-memory"
STORAGE = "kschedweb.io/usage-ephemeral-storage"


def test_kernels_notice_of_memory_is_heeded_before_the_next_look() -> None:
    nodes = Nodes(room=SMALL_ROOM)
    nodes.configure("kernelMemcgNotification: true")
    nodes.pod(annotations={MEMORY: "trace(0s=0, 21s=1000Mi)"})
    nodes.run_for(24)
    assert nodes.phase() == "Failed"


def test_calm_node_is_never_looked_at() -> None:
    nodes = Nodes(room=SMALL_ROOM)
    nodes.pod(annotations={MEMORY: "sine(200Mi, 100Mi, 60s)"})
    nodes.pod("steady", annotations={MEMORY: "200Mi", STORAGE: "ramp(0, 50Gi, 1h)"})
    nodes.run_for(2)
    assert nodes.kubelet.next_due() is None


def test_node_that_may_come_under_pressure_is_looked_at_when_it_may() -> None:
    nodes = Nodes(room=SMALL_ROOM)
    nodes.pod(annotations={MEMORY: "ramp(0, 1Gi, 10h)"})
    nodes.run_for(2)
    due = nodes.kubelet.next_due()
    # 924Mi of the 1024Mi are used after nine tenths of ten hours.
    assert due is not None and 32_480 < (due - nodes.now) / SECOND < 32_500


@pytest.mark.parametrize("seed", range(25))
def test_looks_miss_nothing_that_looking_every_ten_seconds_would_see(seed: int) -> None:
    """Random usages: what is reported is as if somebody had looked at each multiple of ten seconds."""
    draw = random.Random(seed)
    nodes = Nodes(room=SMALL_ROOM)
    nodes.configure("evictionPressureTransitionPeriod: 20s")
    usages = []
    for number in range(3):
        text = draw.choice(
            [
                f"sine({draw.randrange(400)}Mi, {draw.randrange(300)}Mi, {draw.randrange(20, 500)}s)",
                f"ramp({draw.randrange(300)}Mi, {draw.randrange(600)}Mi, {draw.randrange(1, 900)}s)",
                f"trace(0s={draw.randrange(500)}Mi, {draw.randrange(1, 400)}s={draw.randrange(600)}Mi)",
            ]
        )
        usages.append(text)
        nodes.pod(f"p{number}", annotations={MEMORY: text}, **CRITICAL)
    models = [parse_usage("memory", text) for text in usages]
    nodes.run_for(1)
    started = nodes.now
    nodes.run_for(9)
    last_met = None
    for _ in range(100):
        used = sum(model.at(nodes.now - started) for model in models)
        if 1024**3 - used < 100 * 1024**2:
            last_met = nodes.now
        expected = last_met is not None and nodes.now - last_met < 20 * SECOND
        assert (nodes.node_condition("MemoryPressure")["status"] == "True") == expected
        nodes.run_for(10)
