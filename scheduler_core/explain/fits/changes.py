"""Changes that may let a pod be placed, what they cost, and the cluster as it is with them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from math import ceil
from typing import Final

import msgspec

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.node import Node, NodeSpec
from scheduler_core.api.pod import Pod, PodSpec


class Kind(StrEnum):
    """What is changed. Of equal cost the first is named first."""

    GATE = "gate"  # of the pod, lifted
    QUOTA = "quota"  # enlarged
    UNCORDON = "uncordon"  # a node
    MAX_SKEW = "maxSkew"  # of a spread constraint, raised
    TOLERATION = "toleration"  # of a taint, added
    REQUEST = "request"  # of a container or the pod, lowered
    NODE_SELECTOR = "nodeSelector"  # a label of it dropped
    NODE_AFFINITY = "nodeAffinity"  # a requirement dropped, or all of it preferred only
    SPREAD = "spread"  # a constraint: ScheduleAnyway instead of DoNotSchedule
    DEVICES = "devices"  # of a request of a claim, fewer
    DEVICE_CLASS = "deviceClass"  # another one in a request of a claim
    STORAGE_CLASS = "storageClass"  # another one of a claim
    CLAIM = "claim"  # another one, of a volume or of devices
    HOST_PORT = "hostPort"  # dropped
    POD_AFFINITY = "podAffinity"  # a term preferred only
    POD_ANTI_AFFINITY = "podAntiAffinity"  # a term preferred only
    RELABEL = "relabel"  # a node
    EVICT = "evict"  # pods of a node
    PRIORITY = "priority"  # raised, so that others are preempted
    ADD_NODE = "addNode"  # of a shape that is there


VICTIM: Final = "victim"
VIOLATION: Final = "violation"

COSTS: Final[Mapping[str, int]] = {
    Kind.GATE: 10,
    Kind.QUOTA: 20,
    Kind.UNCORDON: 20,
    Kind.MAX_SKEW: 20,
    Kind.TOLERATION: 30,
    Kind.REQUEST: 30,
    Kind.NODE_SELECTOR: 40,
    Kind.NODE_AFFINITY: 40,
    Kind.SPREAD: 40,
    Kind.DEVICES: 30,
    Kind.DEVICE_CLASS: 40,
    Kind.STORAGE_CLASS: 40,
    Kind.CLAIM: 50,
    Kind.HOST_PORT: 40,
    Kind.POD_AFFINITY: 50,
    Kind.POD_ANTI_AFFINITY: 50,
    Kind.RELABEL: 50,
    Kind.EVICT: 40,
    Kind.PRIORITY: 60,
    Kind.ADD_NODE: 150,
    VICTIM: 20,
    VIOLATION: 100,
}
"""Points of each kind of change, of each pod that goes for it, and of each budget's disruption too many.

A number that is changed costs as much again for its whole: half a request less is one and a half times the points.
"""


@dataclass(frozen=True, slots=True)
class World:
    """The pod and what is otherwise than in the engine: nodes (before, after), pods that are gone, nodes that came,
    objects of other kinds (before, after).

    `others`: pods of the same owner that are to be placed after it.
    """

    pod: Pod
    others: tuple[Pod, ...] = ()
    nodes: tuple[tuple[Node, Node], ...] = ()
    gone: tuple[Pod, ...] = ()
    added: tuple[Node, ...] = ()
    objects: tuple[tuple[KubeObject, KubeObject], ...] = ()

    @property
    def is_elsewhere(self) -> bool:
        """Whether more is otherwise on nodes than the pods."""
        return bool(self.nodes or self.gone or self.added)

    @property
    def pods(self) -> tuple[Pod, ...]:
        """All that are to be placed."""
        return (self.pod, *self.others)

    def with_spec(self, **fields: object) -> World:
        """The pod's spec with other fields, and that of the others whose fields are the same."""
        old = self.pod.spec
        return self.of_each(
            lambda spec: all(getattr(spec, name) == getattr(old, name) for name in fields),
            lambda spec: msgspec.structs.replace(spec, **fields),
        )

    def of_each(self, is_meant: Callable[[PodSpec], bool], edit: Callable[[PodSpec], PodSpec]) -> World:
        """With another spec of the pods that are meant."""
        pods = tuple(
            msgspec.structs.replace(pod, spec=edit(pod.spec)) if is_meant(pod.spec) else pod for pod in self.pods
        )
        return replace(self, pod=pods[0], others=pods[1:])

    def with_node(self, node: Node, edit: Callable[[Node], Node]) -> World:
        """With a change of a node, on top of those it has."""
        known = {before.name: (before, after) for before, after in self.nodes}
        before, after = known.get(node.name, (node, node))
        known[node.name] = before, edit(after)
        return replace(self, nodes=tuple(known.values()))

    def with_object(self, given: KubeObject, edit: Callable[[KubeObject], KubeObject]) -> World:
        """With a change of an object that is neither node nor pod, on top of those it has."""
        known = {(before.kind, before.key): (before, after) for before, after in self.objects}
        before, after = known.get((given.kind, given.key), (given, given))
        known[given.kind, given.key] = before, edit(after)
        return replace(self, objects=tuple(known.values()))


Edit = Callable[[World], World]

Place = tuple[str, str]
"""A pod, and the node that it got; empty where it got none."""


@dataclass(frozen=True, slots=True)
class Change:
    """One field, one node or the pods of one node changed.

    `field`: its path in the manifest of the pod, or of `node`, or of the object that `of` names, kind/name; `old` and
    `new`: its value, empty where it is not there. `step`: the number could be off by less than this. `share`: of a
    number, how much of it is changed, at most 1. `pods`: who is evicted. `more`: further nodes of which the same is
    changed, for pods of an owner together.
    """

    kind: Kind
    field: str
    old: str
    new: str
    edit: Edit = dataclasses.field(repr=False, compare=False)
    node: str = ""
    step: str = ""
    share: Fraction = Fraction(0)
    pods: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    of: str = ""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Changes with which a cycle gives the pod a node, that node, and how many nodes it would fit on.

    `victims`: pods evicted or preempted for it; `violations`: disruptions that budgets do not allow. `places`: of
    pods of an owner together each with the node that it got, one after another; `node` is that of the first.
    """

    changes: tuple[Change, ...]
    node: str
    feasible: int
    cost: int
    victims: tuple[str, ...] = ()
    violations: int = 0
    places: tuple[Place, ...] = ()


def cost_of(changes: tuple[Change, ...], victims: int, violations: int, costs: Mapping[str, int]) -> int:
    """Points of a suggestion."""
    points = sum((costs[each.kind] * (1 + each.share + len(each.more)) for each in changes), Fraction(0))
    return ceil(points) + victims * costs[VICTIM] + violations * costs[VIOLATION]


def with_costs(costs: Mapping[str, int]) -> dict[str, int]:
    """The table with these instead. ValueError for what it does not have, or points below 0."""
    unknown = sorted(costs.keys() - {str(kind) for kind in COSTS})
    if unknown:
        raise ValueError(f"no such cost: {', '.join(unknown)}")
    if any(points < 0 for points in costs.values()):
        raise ValueError("costs are not negative")
    return {str(kind): costs.get(kind, points) for kind, points in COSTS.items()}


def edited(node: Node, **fields: object) -> Node:
    """The node with other fields of its spec."""
    spec: NodeSpec = msgspec.structs.replace(node.spec, **fields)
    return msgspec.structs.replace(node, spec=spec)


def labelled(node: Node, labels: Mapping[str, str]) -> Node:
    """The node with these labels instead of its own."""
    return msgspec.structs.replace(node, metadata=msgspec.structs.replace(node.metadata, labels=dict(labels)))
