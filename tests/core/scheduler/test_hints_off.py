"""Older form: which waiting pods an event may help when there are no hints."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.cache.cache import Cache
from scheduler_core.model.events import ActionType, ClusterEvent, EventResource
from scheduler_core.scheduler import hints_off
from tests.builders import NodeBuilder, PodBuilder, make, make_node, make_pod
from tests.core.queue.rig import NODE_ADDED, T0, Refuser, Rig


@pytest.mark.parametrize(
    ("node", "pod", "want"),
    [
        pytest.param(make_node(), make_pod().req(cpu="1"), True, id="fits"),
        pytest.param(make_node().capacity(cpu="1"), make_pod().req(cpu="2"), False, id="no room"),
        pytest.param(make_node().capacity(cpu="0"), make_pod(), True, id="asks for nothing"),
        pytest.param(make_node().capacity(pods="0"), make_pod(), False, id="no place"),
        pytest.param(make_node(), make_pod().req({"example.com/gpu": "1"}), False, id="no such resource"),
        pytest.param(make_node(), make_pod().node_selector(disk="ssd"), False, id="other label"),
        pytest.param(make_node(), make_pod().on("elsewhere"), False, id="other name"),
        pytest.param(make_node(), make_pod().host_port(80), False, id="port taken"),
        pytest.param(make_node().taint("k"), make_pod(), False, id="tainted"),
        pytest.param(make_node().taint("k"), make_pod().toleration("k"), True, id="tolerated"),
        pytest.param(make_node().taint("k", effect="PreferNoSchedule"), make_pod(), True, id="soft taint"),
    ],
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
