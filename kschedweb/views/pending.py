"""Pods without a node, and why they have none."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from msgspec import UNSET, UnsetType

from kschedweb.views.amounts import Amounts
from kschedweb.views.base import AtQuery, Moment, View, doc, number, text


class PendingAmounts(View):
    """What pending pods ask of one subject of a reason, and how near the nearest of them comes. See docs/amounts.md."""

    pods: Annotated[int, doc("that this is about")]
    asked_least: Annotated[int | None, doc("how much one of them asks at least; null where nothing is counted")]
    asked_most: Annotated[int | None, doc("how much one of them asks at most")]
    pod: Annotated[str, doc("namespace/name of the pod that lacks least, or else has been pending longest")]
    amounts: Annotated[Amounts, doc("of that pod, at its last attempt")]


class PendingReason(View):
    """A reason for which a plugin rejected pods in their last attempt."""

    plugin: str
    reason: str
    pods: int
    nodes: Annotated[int, doc("rejected for it, summed over these pods")]
    share: Annotated[float, doc("of the nodes evaluated for a pod, how much it rejected, summed over these pods")]
    examples: Annotated[Sequence[str], doc("keys of the pods that have been pending longest")]
    amounts: Annotated[Sequence[PendingAmounts], doc("by subject, that of most pods first; empty: not known")] = ()


class Unqueued(View):
    """Pods without a node that the scheduler does not keep, by why."""

    no_profile: Annotated[
        Mapping[str, int],
        doc("by a schedulerName that no profile has: left to other schedulers until there is a profile of that name"),
    ]
    unseen: Annotated[int, doc("not seen by the scheduler yet")]


class Pending(View):
    """The pods without a node: how many, where the scheduler keeps them, what rejected them."""

    pods: Annotated[int, doc("without a node: the sum of those in `queues` and in `unqueued`")]
    queues: Annotated[Mapping[str, int], doc("pods by where the scheduler keeps them")]
    unqueued: Unqueued
    profiles: Annotated[Sequence[str], doc("names of the profiles the scheduler has")]
    reasons: Annotated[Sequence[PendingReason], doc("those with the largest share first")]


class PendingPod(View):
    """A pod without a node, and its newest attempt that was rejected for the reason asked for."""

    pod_uid: str
    namespace: str
    name: str
    created_at: Moment
    seq: Annotated[int, doc("of its last attempt")]
    attempt: Annotated[int, doc("number of its last attempt")]
    seen_at: Moment
    message: str
    nodes: Annotated[int, doc("rejected for the reason asked for")]


class PendingPods(View):
    """Pods without a node, longest pending first."""

    pods: Sequence[PendingPod]


class PendingQuery(AtQuery):
    """How many reasons."""

    limit: Annotated[int, number(1, 500)] = 50


class PendingPodQuery(AtQuery):
    """Which pods without a node."""

    plugin: Annotated[str, text(128, "that rejected nodes")] | UnsetType = UNSET
    reason: Annotated[str, text(1000, "for which it rejected nodes, in full")] | UnsetType = UNSET
    limit: Annotated[int, number(1, 1000)] = 100
