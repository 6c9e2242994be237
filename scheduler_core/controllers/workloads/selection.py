"""Selectors of owners, indexed so that an object is compared with few of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from scheduler_core.api.batch import CronJob, Job
from scheduler_core.api.meta import KubeObject
from scheduler_core.api.selectors import (
    NOTHING,
    LabelSelectorMatcher,
    Operator,
    SelectorError,
    parse_label_selector,
    selector_from_map,
)
from scheduler_core.api.workload import DaemonSet, Deployment, ReplicaSet, ReplicationController, StatefulSet

Pair = tuple[str, str]  # a label and its value
Place = tuple[str, Pair]  # within a namespace
_OTHER: Final = ("", "")  # label and value of selectors that name no pair

_Selecting = DaemonSet | Deployment | Job | ReplicaSet | StatefulSet


def matcher_of(owner: KubeObject) -> LabelSelectorMatcher:
    """Return the selector of a workload; one that is absent, empty or cannot be read selects nothing."""
    try:
        if isinstance(owner, CronJob):  # its jobs are never adopted
            return NOTHING
        if isinstance(owner, ReplicationController):
            found = selector_from_map(owner.spec.selector or {})
        else:
            assert isinstance(owner, _Selecting)
            found = parse_label_selector(owner.spec.selector)
    except SelectorError:
        return NOTHING
    return NOTHING if found.is_empty else found


class SelectorIndex:
    """Selectors by the uids of their owners."""

    def __init__(self) -> None:
        self._matchers: dict[str, LabelSelectorMatcher] = {}
        self._places: dict[str, Place] = {}
        self.by_namespace: dict[str, dict[Pair, dict[str, None]]] = {}  # of those that select anything

    def put(self, owner: KubeObject) -> bool:
        """Remember the owner's selector; return whether it differs from the one before."""
        matcher = matcher_of(owner)
        if self._matchers.get(owner.uid) == matcher:
            return False
        self.drop(owner.uid)
        self._matchers[owner.uid] = matcher
        if not matcher.nothing:
            namespace, pair = self._places[owner.uid] = owner.namespace, _pair(matcher)
            self.by_namespace.setdefault(namespace, {}).setdefault(pair, {})[owner.uid] = None
        return True

    def drop(self, uid: str) -> None:
        """Forget an owner's selector."""
        self._matchers.pop(uid, None)
        place = self._places.pop(uid, None)
        if place is not None:
            namespace, pair = place
            pairs = self.by_namespace[namespace]
            del pairs[pair][uid]
            if not pairs[pair]:
                del pairs[pair]
            if not pairs:
                del self.by_namespace[namespace]

    def __getitem__(self, uid: str) -> LabelSelectorMatcher:
        return self._matchers[uid]

    def selecting(self, namespace: str, labels: Mapping[str, str]) -> list[str]:
        """Return the uids of the owners in a namespace that select these labels."""
        pairs = self.by_namespace.get(namespace)
        if pairs is None:
            return []
        found: list[str] = []
        for pair in (*labels.items(), _OTHER):
            for uid in pairs.get(pair, ()):
                if self._matchers[uid].matches(labels):
                    found.append(uid)
        return found


def _pair(matcher: LabelSelectorMatcher) -> Pair:
    """A label and its value that everything selected has, if the selector names one."""
    for each in matcher.requirements:
        if each.operator == Operator.IN and len(each.values) == 1:
            return each.key, each.values[0]
    return _OTHER
