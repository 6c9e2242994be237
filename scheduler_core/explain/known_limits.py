"""Known faults of kube-scheduler 1.34.1, which are reproduced here: the ones that may be why a pod is pending.

Judged by the pod's rules and by what its last attempt said of them, which its condition PodScheduled keeps. Each is
named after its heading in docs/known-limits.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scheduler_core.api.pod import Pod
from scheduler_core.api.pod_affinity import NO_LABELS, AffinityTerm, affinity_terms
from scheduler_core.plugins.inter_pod_affinity.filtering import REASON_AFFINITY, REASON_ANTI_AFFINITY

NEGATIVE_SELECTOR: Final = "negative-namespaceselector"
NOT_AWAITED: Final = "namespaceselector-and-waiting"
NOT_FOUND_TWICE: Final = "not-found-not-found"
GATED_PREEMPTOR: Final = "a-gated-preemptor"

_TWICE: Final = " not found. not found"


def known_limits(pod: Pod) -> list[str]:
    """Return the names of the faults that may decide; none for a pod that is not pending."""
    message = "" if pod.is_assigned else _last_rejection(pod)
    if not message:
        return []
    terms = list(_refusing_terms(pod, message))
    found = [NEGATIVE_SELECTOR] if any(map(_picks_all, terms)) else []
    found += [NOT_AWAITED] if any(_picks_by_labels(term) and not _picks_all(term) for term in terms) else []
    # It asked for evictions, and their end is none of the events that its own term waits for.
    found += [GATED_PREEMPTOR] if NOT_AWAITED in found and pod.status.nominated_node_name else []
    return found + ([NOT_FOUND_TWICE] if message.endswith(_TWICE) else [])


def _last_rejection(pod: Pod) -> str:
    conditions = pod.status.conditions or ()
    return next((each.message for each in conditions if each.type == "PodScheduled" and each.status == "False"), "")


def _refusing_terms(pod: Pod, message: str) -> Iterator[AffinityTerm]:
    """The pod's own terms of the lists that rejected a node."""
    terms = affinity_terms(pod)
    for listed, reason in ((terms.required, REASON_AFFINITY), (terms.required_anti, REASON_ANTI_AFFINITY)):
        if reason in message:
            yield from listed


def _picks_by_labels(term: AffinityTerm) -> bool:
    """Whether the term has a namespaceSelector that asks for something."""
    return not term.namespace_selector.nothing and not term.namespace_selector.is_empty


def _picks_all(term: AffinityTerm) -> bool:
    """Whether its namespaceSelector, though it asks for something, is one that no labels at all satisfy."""
    return _picks_by_labels(term) and term.namespace_selector.matches(NO_LABELS)
