"""What would make a pod fit, as data."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from msgspec import UNSET, UnsetType

from kschedweb.views.base import AtQuery, Input, View, doc, number, text

FitKind = Literal[
    "gate",
    "quota",
    "uncordon",
    "maxSkew",
    "toleration",
    "request",
    "nodeSelector",
    "nodeAffinity",
    "spread",
    "devices",
    "deviceClass",
    "storageClass",
    "claim",
    "hostPort",
    "podAffinity",
    "podAntiAffinity",
    "relabel",
    "evict",
    "priority",
    "addNode",
]


class FitChange(View):
    """A change of one field of the pod or of a node, of the pods of a node, or of the number of nodes."""

    kind: Annotated[
        FitKind,
        doc(
            "gate: lifted; quota: enlarged, before the pods are created; uncordon: the node; maxSkew: raised;"
            " toleration: added; request: lowered; nodeSelector: a label dropped; nodeAffinity: a requirement dropped,"
            " or all of it preferred; spread: ScheduleAnyway; devices: fewer of a claim; deviceClass, storageClass:"
            " another one of a claim; claim: another one; hostPort: dropped; podAffinity, podAntiAffinity: a term"
            " preferred; relabel: the node; evict: `pods` of the node; priority: raised, so that others are preempted;"
            " addNode: one like the node `new`"
        ),
    ]
    field: Annotated[str, doc("path in the manifest of the pod, or of `node` or `of` where that is given")]
    old: Annotated[str, doc("empty: not there")]
    new: Annotated[str, doc("empty: not there any more")]
    node: Annotated[str, doc("that is changed or added, or whose pods go; empty: the pod is changed")]
    step: Annotated[str, doc("of a number: it is larger than needed by less than this")]
    pods: Annotated[Sequence[str], doc("namespace/name")]
    more: Annotated[Sequence[str], doc("further nodes that are changed likewise, for pods of an owner together")]
    of: Annotated[str, doc("kind/name of another object that is changed: a claim, or a quota")]


class FitPlace(View):
    """A pod and its node."""

    pod: Annotated[str, doc("namespace/name")]
    node: str


class FitSuggestion(View):
    """Changes with which a cycle of the engine gave the pod a node."""

    changes: Annotated[Sequence[FitChange], doc("one, or two where no single one is enough; each gate is one more")]
    node: Annotated[str, doc("that the pod got; with a priority, that it would be nominated to")]
    feasible: Annotated[int, doc("nodes that it would fit on")]
    cost: Annotated[int, doc("points, by `costs`")]
    victims: Annotated[Sequence[str], doc("pods evicted or preempted for it: namespace/name")]
    violations: Annotated[int, doc("disruptions by preemption that budgets do not allow")]
    places: Annotated[Sequence[FitPlace], doc("of several pods, the nodes that they got one after another")]


class FitPreemption(View):
    """What preemption would take for the pod as it is."""

    node: str
    victims: Annotated[Sequence[str], doc("namespace/name")]
    violations: Annotated[int, doc("disruptions that budgets do not allow")]


class PodFits(View):
    """What would make a pod fit, or all pods of an owner that have no node."""

    namespace: str
    name: Annotated[str, doc("of the pod, or the owner")]
    uid: Annotated[str, doc("of the pod; empty for an owner, and for a manifest")]
    pods: Annotated[Sequence[str], doc("namespace/name of those that are to be placed, in the order of their turns")]
    rv: Annotated[int, doc("position of the change log that it was tried at")]
    nodes: Annotated[int, doc("of the cluster")]
    node: Annotated[str, doc("that the pod gets as it is; empty: none, or that one of several pods gets none")]
    places: Annotated[
        Sequence[FitPlace], doc("of several pods, those that get a node as they are, up to one that does not")
    ]
    is_gated: Annotated[bool, doc("it has gates, and is not tried while it has")]
    preemption: Annotated[FitPreemption | None, doc("null: none, or the pod needs none")]
    suggestions: Annotated[Sequence[FitSuggestion], doc("the cheapest first; each was tried")]
    costs: Annotated[Mapping[str, int], doc("points by kind of change, of a `victim`, of a `violation`")]
    tried: Annotated[int, doc("cycles that were made for it")]


class FitWanted(Input):
    """A change of a suggestion, all of it as it was told."""

    kind: FitKind
    field: Annotated[str, text(1000, least=0)] = ""
    old: Annotated[str, text(1000, least=0)] = ""
    new: Annotated[str, text(1000, least=0)] = ""
    node: Annotated[str, text(253, least=0)] = ""
    pods: Sequence[str] = ()
    more: Sequence[str] = ()
    of: Annotated[str, text(1000, least=0)] = ""


class FitOwnerApply(Input):
    """The suggestion that is to be carried out."""

    changes: Annotated[Sequence[FitWanted], doc("all of it, in order, as it was told")]
    dry_run: Annotated[bool, doc("only say what would be written")] = False


class FitApply(FitOwnerApply):
    """The same for a pod."""

    uid: Annotated[str, text(253, "of the pod that it was told of; empty: whichever has the name", least=0)] = ""


class FitWrite(View):
    """A request to the API server."""

    verb: Literal["create", "delete", "evict", "patch"]
    kind: str
    namespace: Annotated[str, doc("empty: of the cluster")]
    name: str


class FitApplied(View):
    """What was written, or would be."""

    node: Annotated[str, doc("that the pod gets then, of several the first")]
    writes: Sequence[FitWrite]


class FitsQuery(AtQuery):
    """How much is wanted, and what it costs."""

    costs: Annotated[str, text(500, "points that differ from the table: evict=10,relabel=5", least=0)] | UnsetType = (
        UNSET
    )
    limit: Annotated[int, number(1, 100, "suggestions")] = 20
