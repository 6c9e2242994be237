"""Nodes, and the pods that were rejected on one."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from kschedweb.views.attempts import CODES
from kschedweb.views.base import Moment, View, doc
from kschedweb.views.pods import PodView


class NodeView(View):
    """A node as the dashboard shows it. The browser sums up what its pods use."""

    name: str
    zone: str
    cpu_milli: int
    memory_bytes: int
    pods: int
    extended: Mapping[str, int]
    unschedulable: bool
    ready: bool
    taints: Annotated[Sequence[str], doc("key=value:Effect")]


class Node(View):
    """A node with its manifest."""

    rv: int
    manifest: Any
    allocatable: Mapping[str, int]


class NodeDetail(Node):
    """A node with the pods that count on it."""

    pods: Sequence[PodView]


class NodeRefusal(View):
    """A pod that was rejected on the node, and the newest attempt in which it was."""

    pod_uid: str
    namespace: str
    name: str
    seq: Annotated[int, doc("of the newest attempt in which it was rejected")]
    attempt: int
    result: Annotated[str, doc("of that attempt: another node may have taken the pod")]
    seen_at: Moment
    times: Annotated[int, doc("this attempt and its repeats")]
    plugin: str
    code: Annotated[str, doc(CODES)]
    reasons: Sequence[str]


class NodeRefusals(View):
    """Pods that were rejected on a node, newest first."""

    refusals: Sequence[NodeRefusal]
    examined: Annotated[int, doc("matrices opened for this answer")]
    before: Annotated[int | None, doc("null: the answer is complete; else pass it to continue")]
