"""Nodes, and the pods that were rejected on one."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from msgspec import UNSET, UnsetType

from kschedweb.views.amounts import Amounts
from kschedweb.views.attempts import CODES, NOW, RefusalQuery
from kschedweb.views.base import Input, Moment, View, doc, number, text
from kschedweb.views.devices import NodeDevice
from kschedweb.views.in_vain import InVain
from kschedweb.views.pods import PodView

DrainState = Literal["", "requested", "draining", "drained"]


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
    drain: Annotated[DrainState, doc("how far its drain is; empty while there is none")] = ""


class Node(View):
    """A node with its manifest."""

    rv: int
    manifest: Any
    allocatable: Mapping[str, int]


class NodeDetail(Node):
    """A node with the pods that count on it."""

    pods: Sequence[PodView]
    devices: Annotated[Sequence[NodeDevice], doc("that drivers offer for claims")]
    in_vain: Annotated[Sequence[InVain], doc("what it waits for though no controller acts; empty unless frozen")]


class NodeRefusal(View):
    """A pod that was rejected on the node, and the newest attempt in which it was."""

    pod_uid: str
    namespace: str
    name: str
    seq: Annotated[int, doc("of the newest attempt in which it was rejected")]
    attempt: Annotated[int, doc("the last with this result")]
    result: Annotated[str, doc("of that attempt: another node may have taken the pod")]
    seen_at: Moment
    times: Annotated[int, doc("this attempt and its repeats")]
    plugin: str
    code: Annotated[str, doc(CODES)]
    reasons: Sequence[str]
    now: Annotated[Sequence[Amounts] | None, doc(NOW)]


class NodeRefusals(View):
    """Pods that were rejected on a node, newest first."""

    refusals: Sequence[NodeRefusal]
    examined: Annotated[int, doc("matrices opened for this answer")]
    before: Annotated[int | None, doc("null: the answer is complete; else pass it to continue")]


class Taint(Input):
    """A taint of a node."""

    key: Annotated[str, text(317)]
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]
    value: Annotated[str, text(63, least=0)] | UnsetType = UNSET


KubeletState = Literal["running", "stopped", "partitioned", "off"]


class NodeChange(Input):
    """What to change of a node; what is left out stays. `kubelet` and `drain` are for simulated clusters."""

    unschedulable: bool | UnsetType = UNSET
    taints: Annotated[Sequence[Taint], doc("all it shall have")] | UnsetType = UNSET
    kubelet: Annotated[KubeletState, doc("how the node's kubelet is from now on")] | UnsetType = UNSET
    kubelet_seconds: Annotated[int, number(1, 31_536_000, "when it comes back by itself")] | UnsetType = UNSET
    drain: Annotated[bool, doc("cordon the node and evict its pods; false ends that")] | UnsetType = UNSET


class NodeRefusalQuery(RefusalQuery, kw_only=True):
    """Which rejections on which node."""

    node: Annotated[str, text(253)]
    limit: Annotated[int, number(1, 1000)] = 100
    before: Annotated[int, number(0, description="continue an incomplete answer")] | UnsetType = UNSET
