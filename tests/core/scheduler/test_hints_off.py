"""Older form: which waiting pods an event may help when there are no hints."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.cache.cache import Cache
from scheduler_core.model.events import ActionType, ClusterEvent, EventResource
from scheduler_core.scheduler import hints_off
from tests.builders import NodeBuilder, PodBuilder, make, make_node, make_pod
from tests.cases import cases
from tests.core.queue.rig import NODE_ADDED, T0, Refuser, Rig


@cases(
    "node, pod, want",
    ("fits", make_node(), make_pod().req(cpu="1"), True),
    ("no room", make_node().capacity(cpu="1"), make_pod().req(cpu="2"), False),
    ("asks for nothing", make_node().capacity(cpu="0"), make_pod(), True),
    ("no place", make_node().capacity(pods="0"), make_pod(), False),
    ("no such resource", make_node(), make_pod().req({"example.com/gpu": "1"}), False),
    ("other label", make_node(), make_pod().node_selector(disk="ssd"), False),
    ("other name", make_node(), make_pod().on("elsewhere"), False),
    ("port taken", make_node(), make_pod().host_port(80), False),
    ("tainted", make_node().taint("k"), make_pod(), False),
    ("tolerated", make_node().taint("k"), make_pod().toleration("k"), True),
    ("soft taint", make_node().taint("k", effect="PreferNoSchedule"), make_pod(), True),
)
def test_a_node_concerns_the_pods_it_would_take(node: NodeBuilder, pod: PodBuilder, want: bool) -> None:
    cache = Cache()
    cache.add_pod(make_pod("there").host_port(80).on("node").build())
    cache.add_node(node.build())
    assert hints_off.admits(cache.items["node"].info, pod.build()) is want


def test_a_ghost_takes_nobody() -> None:
    cache = Cache()
    cache.add_pod(make_pod("there").on("node").build())
    assert not hints_off.admits(cache.items["node"].info, make_pod().build())


@pytest.mark.parametrize(("mode", "want"), [("WaitForFirstConsumer", "backoff"), ("Immediate", "unschedulable")])
def test_a_storage_class_counts_when_it_binds_late(mode: str, want: str) -> None:
    event = ClusterEvent(EventResource.STORAGE_CLASS, ActionType.ADD)
    rig = Rig(Refuser(events=[event]), queueing_hints=False)
    rig.rejected("a")
    added: Any = make("StorageClass", "s", provisioner="p", volumeBindingMode=mode)
    hints_off.WithoutHints(rig.queue, Cache()).move_all(event, None, added, T0, None)
    assert rig.where("a") == want


def test_a_new_node_moves_only_the_pods_it_would_take() -> None:
    rig = Rig(queueing_hints=False)
    rig.rejected("small")
    rig.rejected("large", containers=[{"name": "c", "resources": {"requests": {"cpu": "64"}}}])
    cache = Cache()
    node = make_node("n").build()
    cache.add_node(node)
    hints_off.WithoutHints(rig.queue, cache).move_all(NODE_ADDED, None, node, T0, None)
    assert (rig.where("small"), rig.where("large")) == ("backoff", "unschedulable")
