"""Higher priority first, then the earlier timestamp."""

from __future__ import annotations

from scheduler_core.model.types import QueuedPodInfo
from tests.builders import make_pod
from tests.core.plugins.support import make_plugin


def test_pods_are_sorted_by_priority_then_by_time() -> None:
    sort = make_plugin("PrioritySort")
    infos = [
        QueuedPodInfo(make_pod("late").priority(5).build(), timestamp=20),
        QueuedPodInfo(make_pod("none").build(), timestamp=1),
        QueuedPodInfo(make_pod("early").priority(5).build(), timestamp=10),
        QueuedPodInfo(make_pod("negative").priority(-1).build(), timestamp=0),
    ]
    assert [info.pod.name for info in sorted(infos, key=sort.sort_key)] == ["early", "late", "none", "negative"]


def test_equal_pods_have_equal_keys() -> None:
    sort = make_plugin("PrioritySort")
    a, b = (QueuedPodInfo(make_pod(name).priority(0).build(), timestamp=3) for name in "ab")
    assert sort.sort_key(a) == sort.sort_key(b)
