"""What reaches the engine from outside: objects as they now are, and verdicts on what it asked for.

The engine keeps its own store of objects, so a change carries the new state only; the old one it knows.
Every change has the position `rv` at which it stands in the change log (0 where there is no log).
"""

from __future__ import annotations

from dataclasses import dataclass

from scheduler_core.api.meta import KubeObject


@dataclass(frozen=True, slots=True)
class ObjectPut:
    """The object was created, or replaced by this state."""

    obj: KubeObject
    rv: int = 0


@dataclass(frozen=True, slots=True)
class ObjectDeleted:
    """The object is gone. `uid` guards against a namesake created since; empty matches any."""

    kind: str
    namespace: str
    name: str
    uid: str = ""
    rv: int = 0


@dataclass(frozen=True, slots=True)
class BindingVerdict:
    """A requested binding was made, or refused with a message. `rejected` marks a refusal that is not an error."""

    pod_uid: str
    node_name: str
    bound: bool
    message: str = ""
    rejected: bool = False
    rv: int = 0


@dataclass(frozen=True, slots=True)
class PermitVerdict:
    """Somebody allowed or rejected a pod waiting in Permit; an empty plugin allows for all of them."""

    pod_uid: str
    plugin: str
    allowed: bool
    message: str = ""
    rv: int = 0


@dataclass(frozen=True, slots=True)
class PreBindVerdict:
    """What a pod waited for before binding is there, or failed (a volume bound, a claim written)."""

    pod_uid: str
    plugin: str
    done: bool
    message: str = ""
    rv: int = 0


@dataclass(frozen=True, slots=True)
class EvictionVerdict:
    """Evictions asked for by one preemption were carried out, or failed.

    `pod_uids` are the victims answered for, empty meaning all asked for so far; `gone_uids` those of them that were
    not there any more.
    """

    preemptor_uid: str
    done: bool
    message: str = ""
    rv: int = 0
    pod_uids: tuple[str, ...] = ()
    gone_uids: tuple[str, ...] = ()


Change = ObjectPut | ObjectDeleted | BindingVerdict | PermitVerdict | PreBindVerdict | EvictionVerdict
