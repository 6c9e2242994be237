"""What was asked of the nodes that were refused for one reason, and what there was: a few figures each.

Resources are integers as the engine counts them: cpu in milli units, memory and storage in bytes, others whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any, Final

import msgspec

from scheduler_core import typed

MOST_SUBJECTS: Final = 4  # of one reason
MOST_VALUES: Final = 3  # of one subject


class AmountKind(StrEnum):
    """What the figures are about. Stored by place: new ones come last."""

    RESOURCE = "resource"  # how much is asked, and the most that is free
    PODS = "pods"  # places for pods
    TAINT = "taint"  # one that is not tolerated
    CORDON = "cordon"
    LABEL = "label"  # a requirement on labels or the name of nodes, and the values they have
    PORT = "port"  # a host port, and the pod that has it
    SPREAD = "spread"  # pods by domain, the fewest, and maxSkew
    NO_KEY = "noKey"  # a topology key that nodes lack
    NEAR = "near"  # a required affinity term, and how many pods match it
    APART = "apart"  # a required anti-affinity term, and a pod that matches it
    KEPT_APART = "keptApart"  # a pod there whose anti-affinity refuses
    VOLUME = "volume"  # a volume that cannot be reached, and its node affinity
    LIMIT = "limit"  # volumes of a driver
    DISK = "disk"  # a disk, and the pod that uses it
    CLAIM = "claim"  # a claim for one pod, and the pod that uses it


class Amounts(msgspec.Struct, frozen=True, array_like=True):
    """Figures about one subject; `merged` says how those of single nodes add up.

    `nodes`: how many refused nodes they are about. `asked` of `subject`, and `there`, the most that any of them has,
    which is `node`; it has `capacity` in all. `only`: nodes that this reason and this subject alone keep the pod from,
    as far as the plugin that refused them looked; `nearest` is the most that one of these has, `nearest_node`, where it
    is another than `node`.
    `values`: what there is instead, with a count; `others`: how many more values; `without`: nodes without the label.
    `pod`: who stands against it.
    """

    kind: AmountKind
    subject: str
    nodes: int = 1
    asked: int | None = None
    there: int | None = None
    node: str = ""
    capacity: int | None = None
    only: int = 0
    nearest: int | None = None
    nearest_node: str = ""
    values: tuple[tuple[str, int], ...] = ()
    others: int = 0
    pod: str = ""
    without: int = 0

    def with_nearest(self, only: int, most: int, node: str) -> Amounts:
        """With the nodes that nothing else keeps the pod from, and what the nearest has; unchanged without any."""
        if not only:
            return self
        if node == self.node:
            return msgspec.structs.replace(self, only=only)
        return msgspec.structs.replace(self, only=only, nearest=most, nearest_node=node)

    @property
    def nearest_of_only(self) -> tuple[int | None, str]:
        """The most that one of the nodes has that nothing else keeps the pod from, and which it is."""
        if self.nearest is not None or not self.only or self.there is None:
            return self.nearest, self.nearest_node
        return self.there, self.node


RefusalKey = tuple[str, str, str]
"""Plugin, reason and name of the code."""

_KINDS: Final = tuple(AmountKind)
_DEFAULTS: Final[tuple[Any, ...]] = tuple(
    list(field.default) if field.default == () else field.default for field in msgspec.structs.fields(Amounts)
)
# Of these kinds each node brings one of the counted; of others the counts are of the cluster.
_COUNTED_BY_NODE: Final = frozenset({AmountKind.LABEL})


def packed(amounts: Iterable[Amounts]) -> list[list[Any]]:
    """As plain values, without what says nothing at the end of each."""
    found: list[list[Any]] = msgspec.to_builtins(list(amounts))
    for values in found:
        while values[-1] == _DEFAULTS[len(values) - 1]:
            values.pop()
        values[0] = stored_kind(values[0])
    return found


def stored_kind(kind: AmountKind) -> int:
    """What stands for a kind in packed values."""
    return _KINDS.index(kind)


def unpacked(values: Sequence[Any]) -> list[Amounts]:
    """What `packed` made plain values of. msgspec.ValidationError and IndexError for others."""
    return typed.convert([[_KINDS[kind], *others] for kind, *others in values], list[Amounts])


def merged(amounts: Iterable[Amounts]) -> tuple[Amounts, ...]:
    """Those of several nodes, in order, as those of all of them: one for each subject, the most nodes first.

    Of equals the first is named. `values` come by count, the most first; pods by domain, the fewest first.
    """
    by_subject: dict[tuple[str, str], Amounts] = {}
    for each in amounts:
        key = (each.kind, each.subject)
        known = by_subject.get(key)
        by_subject[key] = each if known is None else _both(known, each)
    return shortened(by_subject.values())


def shortened(amounts: Iterable[Amounts]) -> tuple[Amounts, ...]:
    """The first subjects, with their first values: what is kept."""
    found = sorted(amounts, key=lambda each: (-each.nodes, each.subject))[:MOST_SUBJECTS]
    return tuple(map(_with_few_values, found))


def _both(first: Amounts, second: Amounts) -> Amounts:
    best = second if _is_more(second.there, first.there) else first
    near, other = first.nearest_of_only, second.nearest_of_only
    if _is_more(other[0], near[0]):
        near = other
    if near[1] == best.node:
        near = (None, "")
    if first.kind in _COUNTED_BY_NODE:
        counted = Counter(dict(first.values))
        counted.update(dict(second.values))
    else:
        counted = Counter({**dict(first.values), **dict(second.values)})
    return Amounts(
        first.kind,
        first.subject,
        first.nodes + second.nodes,
        first.asked,
        best.there,
        best.node,
        best.capacity,
        first.only + second.only,
        *near,
        tuple(counted.items()),
        first.others + second.others,
        best.pod,
        first.without + second.without,
    )


def _is_more(one: int | None, other: int | None) -> bool:
    return one is not None and (other is None or one > other)


def _with_few_values(each: Amounts) -> Amounts:
    if len(each.values) < 2:
        return each
    sign = 1 if each.kind is AmountKind.SPREAD else -1
    values = sorted(each.values, key=lambda value: sign * value[1])
    more = max(len(values) - MOST_VALUES, 0)
    return msgspec.structs.replace(each, values=tuple(values[:MOST_VALUES]), others=each.others + more)
