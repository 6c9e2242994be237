"""The table of lists: what each shows, and by which keys it is asked.

Help, completion, parser, command line, the OpenAPI document and the dashboard read it; nothing of it is written twice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Kind(StrEnum):
    """What a key is compared with, and how."""

    WORD = "word"  # one of the key's words
    NAME = "name"  # a whole name; `*` stands for any letters
    PART = "part"  # part of a text
    NUMBER = "number"
    SPAN = "span"  # a length of time


class Form(StrEnum):
    """What a column holds."""

    TEXT = "text"
    NUMBER = "number"
    MOMENT = "moment"
    DURATION = "duration"  # microseconds


@dataclass(frozen=True, slots=True)
class Key:
    """What stands before the `:`, `<` or `>` of a term."""

    name: str
    kind: Kind
    text: str

    @property
    def is_compared(self) -> bool:
        return self.kind in (Kind.NUMBER, Kind.SPAN)


@dataclass(frozen=True, slots=True)
class Column:
    """A column; `shown`: until somebody chooses columns."""

    name: str
    form: Form = Form.TEXT
    shown: bool = True


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list. `sort`: a column, after `-` downwards. `words`: those of its keys of Kind.WORD. `free`: what free words
    are part of."""

    name: str
    text: str
    columns: Sequence[Column]
    keys: Sequence[str]
    words: Mapping[str, Sequence[str]]
    free: str
    sort: str

    def column(self, name: str) -> Column | None:
        return next((column for column in self.columns if column.name == name), None)

    @property
    def sorts(self) -> Sequence[str]:
        """All orders: each column upwards and downwards."""
        return [f"{sign}{column.name}" for column in self.columns for sign in ("", "-")]


KEYS: Final[Mapping[str, Key]] = {
    key.name: key
    for key in (
        Key("status", Kind.WORD, "where it stands"),
        Key("ns", Kind.NAME, "namespace"),
        Key("node", Kind.NAME, "the node it has, was given or is"),
        Key("owner", Kind.NAME, "what controls it, or controls that: a ReplicaSet or its Deployment"),
        Key("plugin", Kind.NAME, "the plugin that rejected nodes; with reason: both of one rejection"),
        Key("reason", Kind.PART, "part of the reason for which nodes were rejected, or of an event's reason"),
        Key("profile", Kind.NAME, "the profile of the scheduler, or schedulerName"),
        Key("priority", Kind.NUMBER, "priority of the pod"),
        Key("age", Kind.SPAN, "how long ago, in the cluster's time: 90s, 10m, 1h30m, 2d"),
        Key("attempts", Kind.NUMBER, "number of the last attempt"),
        Key("result", Kind.WORD, "how the attempt, or the last one, ended"),
        Key("kind", Kind.NAME, "kind of the object, such as Pod"),
        Key("type", Kind.WORD, "type of the event"),
        Key("operation", Kind.WORD, "what was done to the object"),
        Key("actor", Kind.NAME, "who made the change: a user, the scheduler, a controller"),
    )
}

PLACES: Final = ("active", "backoff", "errorBackoff", "unschedulable", "gated", "waiting", "assumed")
POD_STATUSES: Final = (
    *("pending", *PLACES, "noProfile", "unseen"),
    *("bound", "running", "unknown", "succeeded", "failed", "deleting"),
)
NODE_STATUSES: Final = ("ready", "notReady", "cordoned")
WORKLOAD_STATES: Final = (
    *("available", "progressing", "unavailable", "stalled", "paused", "deleting"),
    *("running", "complete", "failed", "scheduled", "suspended"),
)
EVENT_TYPES: Final = ("Normal", "Warning")
OPERATIONS: Final = ("created", "updated", "deleted", "verdict", "setting")
RESULTS: Final = ("scheduled", "unschedulable", "error", "skipped", "noProfile", "proposed")

NUMBER, MOMENT, DURATION = Form.NUMBER, Form.MOMENT, Form.DURATION

LISTS: Final[Mapping[str, ListOf]] = {
    one.name: one
    for one in (
        ListOf(
            "pods",
            "Pods that are in the cluster.",
            (
                Column("namespace"),
                Column("name"),
                Column("status"),
                Column("node"),
                Column("owner", shown=False),
                Column("profile", shown=False),
                Column("priority", NUMBER, shown=False),
                Column("created", MOMENT),
                Column("attempts", NUMBER),
                Column("result", shown=False),
                Column("message"),
                Column("uid", shown=False),
            ),
            ("status", "ns", "node", "owner", "plugin", "reason", "profile", "priority", "age", "attempts", "result"),
            {"status": POD_STATUSES, "result": RESULTS},
            "namespace/name",
            "namespace",
        ),
        ListOf(
            "attempts",
            "Attempts to schedule pods; equal ones of a pod in a row are one, with the last one's number and time.",
            (
                Column("seq", NUMBER, shown=False),
                Column("seen", MOMENT),
                Column("namespace"),
                Column("name"),
                Column("attempt", NUMBER),
                Column("times", NUMBER, shown=False),
                Column("result"),
                Column("node"),
                Column("nominated", shown=False),
                Column("profile", shown=False),
                Column("evaluated", NUMBER, shown=False),
                Column("feasible", NUMBER, shown=False),
                Column("duration", DURATION),
                Column("message"),
                Column("uid", shown=False),
            ),
            ("ns", "node", "plugin", "reason", "profile", "age", "attempts", "result"),
            {"result": RESULTS},
            "namespace/name",
            "-seq",
        ),
        ListOf(
            "preemptions",
            "Attempts that searched for victims.",
            (
                Column("seq", NUMBER, shown=False),
                Column("seen", MOMENT),
                Column("namespace"),
                Column("name"),
                Column("attempt", NUMBER),
                Column("nominated"),
                Column("victims", NUMBER),
                Column("candidates", NUMBER),
                Column("tried", NUMBER, shown=False),
                Column("violations", NUMBER, shown=False),
                Column("result", shown=False),
                Column("profile", shown=False),
                Column("message"),
                Column("uid", shown=False),
            ),
            ("ns", "node", "plugin", "reason", "profile", "age", "attempts", "result"),
            {"result": RESULTS},
            "namespace/name",
            "-seq",
        ),
        ListOf(
            "nodes",
            "Nodes that are in the cluster.",
            (
                Column("name"),
                Column("status"),
                Column("zone"),
                Column("region", shown=False),
                Column("pods", NUMBER),
                Column("uid", shown=False),
            ),
            ("status", "node"),
            {"status": NODE_STATUSES},
            "name",
            "name",
        ),
        ListOf(
            "workloads",
            "Workloads that no other workload controls.",
            (
                Column("kind"),
                Column("namespace"),
                Column("name"),
                Column("status"),
                Column("wanted", NUMBER),
                Column("ready", NUMBER),
                Column("updated", NUMBER, shown=False),
                Column("available", NUMBER, shown=False),
                Column("created", MOMENT),
                Column("message"),
                Column("uid", shown=False),
            ),
            ("status", "ns", "kind", "age"),
            {"status": WORKLOAD_STATES},
            "namespace/name",
            "namespace",
        ),
        ListOf(
            "events",
            "Events of the scheduler.",
            (
                Column("id", NUMBER, shown=False),
                Column("seen", MOMENT),
                Column("type"),
                Column("reason"),
                Column("kind", shown=False),
                Column("namespace"),
                Column("name"),
                Column("times", NUMBER),
                Column("message"),
                Column("uid", shown=False),
            ),
            ("type", "ns", "kind", "reason", "age"),
            {"type": EVENT_TYPES},
            "namespace/name or message",
            "-id",
        ),
        ListOf(
            "changes",
            "Changes in the cluster's log.",
            (
                Column("rv", NUMBER),
                Column("seen", MOMENT),
                Column("operation"),
                Column("kind"),
                Column("namespace"),
                Column("name"),
                Column("actor"),
                Column("uid", shown=False),
            ),
            ("operation", "ns", "kind", "actor", "age"),
            {"operation": OPERATIONS},
            "namespace/name",
            "-rv",
        ),
    )
}


def list_of(name: str) -> ListOf | None:
    return LISTS.get(name)


def help_text(wanted: ListOf) -> str:
    """How this list is asked, for people: a line for each key."""
    lines = [f"{form_of(KEYS[name]):<14}{explained(wanted, name)}" for name in wanted.keys]
    return "\n".join([*lines, f"{'word':<14}part of {wanted.free}", *GRAMMAR])


GRAMMAR: Final = (
    "Terms with spaces between them must all hold; `-` before a term: it must not.",
    "A comma separates values of which one must hold; text with spaces, commas or colons stands in quotes.",
)


def explained(wanted: ListOf, name: str) -> str:
    """What a key means in a list, with the words it takes."""
    words = wanted.words.get(name)
    return f"{KEYS[name].text}: {', '.join(words)}" if words else KEYS[name].text


def form_of(key: Key) -> str:
    """How a term with this key begins."""
    return f"{key.name}> {key.name}<" if key.is_compared else f"{key.name}:"
