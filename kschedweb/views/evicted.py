"""Why a pod was evicted, as data: by whom, and of a preemption what each node would have cost and who was spared."""

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import UNSET, UnsetType

from kschedweb.views.amounts import Amounts
from kschedweb.views.attempts import Status
from kschedweb.views.base import Input, Moment, View, doc, number, text
from kschedweb.views.history import HistoryDifference
from kschedweb.views.why import PreemptionRefusal

EvictedBy = Literal["preempted", "taint", "api", "kubelet", "podGC", "deleted"]
Criterion = Literal["", "pdb_violations", "highest_priority", "sum_of_priorities", "number_of_victims", "latest_start"]


class EvictingEntry(View):
    """An entry of the change log."""

    rv: int
    operation: str
    actor: str
    at: Moment


class EvictionCause(EvictingEntry):
    """The change of the node that made the actor of an eviction do it."""

    taint: Annotated[
        str, doc("key=value:effect, which came with this entry; empty: the node went, or was to be drained")
    ]
    seconds: Annotated[int | None, doc("for which the pod tolerated the taint; null: not at all, or there is none")]
    is_cut: Annotated[bool, doc("it was so already before: earlier entries are not stored any more")]


class SpentBudget(View):
    """A budget that an eviction was counted against."""

    namespace: str
    name: str
    left: Annotated[int, doc("disruptions that it allowed after it")]


class NodeCost(View):
    """What a node would have cost, by the criteria in the order in which they are compared."""

    node: str
    victims: Annotated[Sequence[str], doc("namespace/name, the most important first")]
    pdb_violations: int
    highest_priority: Annotated[int | None, doc("of its victims; null: not made again")]
    sum_of_priorities: Annotated[int | None, doc("of its victims, 2147483648 added to each; null: not made again")]
    number_of_victims: int
    latest_start: Annotated[
        Moment | None,
        doc("when the first of its most important victims started, the latest being the best; null: not made again"),
    ]
    falls_by: Annotated[
        Criterion, doc("the first at which it costs more than the chosen node; empty: none, or not made again")
    ]
    left_out: Annotated[bool, doc("by extenders: it was not among those that were compared")]


class BudgetCount(View):
    """A disruption budget that covers a pod."""

    namespace: str
    name: str
    allowed: Annotated[int, doc("disruptions, when the search was made")]
    place: Annotated[int, doc("of the pod among those on the node that it covers, the most important being 1")]


class TriedPod(View):
    """A pod of lower priority on the chosen node, which was put back when all of them had left."""

    pod: str
    priority: int
    started_at: Annotated[Moment | None, doc("null: not yet")]
    budgets: Sequence[BudgetCount]
    violates: Annotated[bool, doc("a budget: its place is beyond what that allows")]
    spared: bool
    status: Annotated[
        Status | None, doc("what refuses the preemptor with it there, beside those spared before it; null: nothing")
    ]
    amounts: Annotated[Sequence[Amounts], doc("what that asks of the node then, and what there is")]
    alone: Annotated[bool, doc("the preemptor fits beside it when all others of lower priority go")]
    needless: Annotated[bool, doc("the preemptor fits beside it when the other victims go")]


class Preempting(View):
    """The search for victims that this pod was found by."""

    attempt: Annotated[int, doc("position of the preemptor's attempt in the engine log")]
    number: Annotated[int, doc("of that attempt")]
    at: Moment
    node: str
    priority: Annotated[int | None, doc("of the preemptor; null: not made again")]
    potential: Annotated[int, doc("nodes whose rejection evictions could lift")]
    refusals: Annotated[Sequence[PreemptionRefusal], doc("of nodes tried in vain, the most frequent first")]
    untried: Annotated[int, doc("nodes: enough candidates had been found")]
    candidates: Annotated[int, doc("nodes where the pod would fit in the place of others")]
    criterion: Annotated[Criterion, doc("that left the node alone; empty: there was one, or the first of equals")]
    tied: Annotated[int, doc("candidates that no criterion tells apart, the first of which is taken; 0: one was best")]
    asks_extenders: Annotated[bool, doc("extenders had a say in which candidates and victims were left")]
    made_again: Annotated[bool, doc("what follows is of the search made again; false: of its record")]
    costs: Annotated[Sequence[NodeCost], doc("of candidates, the best first")]
    pods: Annotated[
        Sequence[TriedPod],
        doc("on the node, in the order they were put back; empty: not made again, or extenders wanted others to go"),
    ]


class PodEvicted(View):
    """Why a pod was evicted."""

    uid: str
    node: str
    priority: int
    by: Annotated[
        EvictedBy,
        doc(
            "the reason of its condition DisruptionTarget. preempted: for a pod of higher priority; taint: one that it"
            " does not tolerate; api: the Eviction API; kubelet: its node ended it; podGC: its node is gone; deleted:"
            " there is no condition"
        ),
    ]
    message: Annotated[str, doc("of that condition")]
    entry: Annotated[EvictingEntry, doc("with which it was to go: its actor had it deleted")]
    is_cut: Annotated[bool, doc("it was to go already before: earlier entries are not stored any more")]
    gone_at: Annotated[Moment | None, doc("null: it is still there")]
    cause: Annotated[
        EvictionCause | None,
        doc("of a taint, a drain, or a node that is gone, the change of the node; null: another, or it is not stored"),
    ]
    budgets: Annotated[Sequence[SpentBudget], doc("that the Eviction API counted it against")]
    preemptor: Annotated[str, doc("namespace/name, or the uid where no pod of it is known; empty: none, or not known")]
    preemption: Annotated[Preempting | None, doc("null: none, or the attempt is not stored")]
    difference: Annotated[
        HistoryDifference | None, doc("the first thing that came out otherwise when it was made again; null: nothing")
    ]


class PodEvictedQuery(Input):
    """Which pod of the name, and how much is wanted."""

    uid: (
        Annotated[str, text(128, "of the pod; without it the newest of the name that is leaving or left")] | UnsetType
    ) = UNSET
    again: Annotated[bool, doc("make the search for victims again; false: what its record says")] = True
    limit: Annotated[int, number(1, 500, "candidates that are told of")] = 20
