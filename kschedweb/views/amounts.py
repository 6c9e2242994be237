"""What was asked of nodes that rejected a pod, and what there was."""

from collections.abc import Sequence
from typing import Annotated, Literal

from kschedweb.views.base import View, doc

AmountKind = Literal[
    "resource",
    "pods",
    "taint",
    "cordon",
    "label",
    "port",
    "spread",
    "noKey",
    "near",
    "apart",
    "keptApart",
    "volume",
    "limit",
    "disk",
    "claim",
]


class AmountValue(View):
    """A value there is, and how many nodes have it, or pods of its domain count."""

    value: str
    count: int


class Amounts(View):
    """What was asked of rejecting nodes, and what there was, about one subject. See docs/amounts.md."""

    kind: AmountKind
    subject: Annotated[str, doc("the resource, taint, requirement, port, topology key, volume or claim")]
    nodes: Annotated[int, doc("rejecting nodes that this is about")]
    asked: Annotated[int | None, doc("how much; cpu in thousandths, memory and storage in bytes")]
    there: Annotated[int | None, doc("the most that any of the nodes has of it")]
    node: Annotated[str, doc("the first that has so much")]
    capacity: Annotated[int | None, doc("what that node has in all")]
    only: Annotated[int, doc("nodes that nothing else keeps the pod from, as far as the plugin looked")]
    nearest: Annotated[int | None, doc("the most that one of these has")]
    nearest_node: str
    values: Annotated[Sequence[AmountValue], doc("what there is instead: the first of them")]
    others: Annotated[int, doc("how many more values there are")]
    pod: Annotated[str, doc("namespace/name of the pod that stands against it, on `node`")]
    without: Annotated[int, doc("nodes without the label")]
