"""What level 3 knows of pods: those made here, and which of them the service has bound."""

from collections.abc import Mapping

import pytest

from tools.bench.scheduler_perf.problems import NotSupported
from tools.bench.scheduler_perf.service import BoundPods


def test_bound_pods_are_counted_by_namespace_and_labels_until_they_are_deleted() -> None:
    pods, told = BoundPods(), list[tuple[str, str, dict[str, str], int]]()

    def tell(namespace: str, name: str, labels: Mapping[str, str], now: int) -> None:
        told.append((namespace, name, dict(labels), now))

    pods.on_scheduled.append(tell)
    pods.labels |= {("a", "one"): {"x": "1", "y": "1"}, ("a", "two"): {}, ("b", "one"): {"x": "1"}}
    pods.see("a", "one", 5)
    pods.see("a", "two", 6)
    assert told == [("a", "one", {"x": "1", "y": "1"}, 5), ("a", "two", {}, 6)]
    assert (pods.scheduled("a", {}), pods.scheduled("a", {"x": "1"}), pods.scheduled("b", {})) == (2, 1, 0)
    pods.forget("a", "one")
    assert (pods.scheduled("a", {}), pods.scheduled("a", {"x": "1"})) == (1, 0)


def test_what_was_attempted_is_not_known() -> None:
    with pytest.raises(NotSupported, match="level 3: operation barrier"):
        BoundPods().attempted("a", {})
