"""What lies behind an eviction that was no preemption: the change of the node that made its actor evict the pod.

Of a taint the entry of the change log with which it came onto the node; of a node that is gone the one with which it
went; of a drain the one that asked for it. Of the Eviction API the budgets that it was counted against.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from kschedweb.cluster import adapters
from kschedweb.cluster.choices import Operation
from kschedweb.cluster.models import Change
from kschedweb.common import packing
from scheduler_core.api.affinity import Taint
from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.controllers import drain, taint_eviction

MOST_ENTRIES = 1_000  # of a node, before the eviction
MOST_BETWEEN = 50  # entries from a budget to the eviction that was counted against it


@dataclass(frozen=True, slots=True)
class Behind:
    """An entry about the node. `taint`: key=value:effect, that the pod tolerates for `seconds`; None: not at all.

    `is_cut`: it was so already before the first entry that is stored.
    """

    entry: Change
    taint: str = ""
    seconds: int | None = None
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Spent:
    """A budget that an eviction was counted against, and how many disruptions it allowed after it."""

    namespace: str
    name: str
    left: int


def of_taint(entry: Change, node: str, pod: dict[str, Any]) -> Behind | None:
    """The taint for which the pod had to go by this entry, as the node had it last before; None: none is stored."""
    leaving = adapters.decode(pod)
    assert isinstance(leaving, Pod)
    found: Behind | None = None
    ousting: Taint | None = None
    seconds: int | None = None
    for each, manifest in _back(entry, node):
        seen = adapters.decode(manifest)
        assert isinstance(seen, Node)
        if ousting is None:
            cause = taint_eviction.ousting(leaving, seen)
            if cause is None:
                continue  # it was taken off before the pod went
            ousting, seconds = cause
        elif not any(_told(one) == _told(ousting) for one in seen.taints):
            return found and replace(found, is_cut=False)
        found = Behind(each, _told(ousting), seconds, each.operation != Operation.CREATED)
    return found


def of_drain(entry: Change, node: str) -> Behind | None:
    """The entry that asked for the node's drain; None: none is stored."""
    found: Behind | None = None
    for each, manifest in _back(entry, node):
        if drain.DRAIN not in (manifest["metadata"].get("annotations") or {}):
            return found and replace(found, is_cut=False)
        found = Behind(each, is_cut=each.operation != Operation.CREATED)
    return found


def of_missing_node(entry: Change, node: str) -> Behind | None:
    """The entry with which the node went; None: none is stored."""
    gone = _of_node(entry, node).filter(operation=Operation.DELETED).order_by("-rv").first()
    return None if gone is None else Behind(gone)


def spent(entry: Change) -> list[Spent]:
    """The budgets that the Eviction API counted this eviction against: they are written with it."""
    budgets = Change.objects.filter(
        cluster_id=entry.cluster_id, kind="PodDisruptionBudget", namespace=entry.namespace, at=entry.at,
        rv__lt=entry.rv, rv__gte=entry.rv - MOST_BETWEEN,
    )  # fmt: skip
    found: dict[str, Spent] = {}
    for each in budgets.order_by("rv"):
        status = packing.unpacked(each.object).get("status") or {}
        if entry.name in (status.get("disruptedPods") or {}):
            found[each.name] = Spent(each.namespace, each.name, status.get("disruptionsAllowed", 0))
    return list(found.values())


def _told(taint: Taint) -> str:
    return f"{taint.key}{f'={taint.value}' if taint.value else ''}:{taint.effect}"


def _of_node(entry: Change, node: str) -> Any:
    return Change.objects.filter(cluster_id=entry.cluster_id, kind=Node.kind, name=node, rv__lte=entry.rv)


def _back(entry: Change, node: str) -> Iterator[tuple[Change, dict[str, Any]]]:
    """The node as it was, from that entry back to where it was made anew."""
    for each in _of_node(entry, node).order_by("-rv")[:MOST_ENTRIES]:
        if each.operation == Operation.DELETED:
            return
        yield each, packing.unpacked(each.object)
        if each.operation == Operation.CREATED:
            return
