"""The arithmetic of Deployments: how large each ReplicaSet may be, which is the new one, what its annotations say.

Pure functions over the Deployment and its ReplicaSets. Source: kubernetes v1.34.1, pkg/controller/deployment/util.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Final

from scheduler_core.api.schema.equality import mean_the_same
from scheduler_core.api.workload import Deployment, RawTemplate, ReplicaSet
from scheduler_core.controllers.workloads.fractions import scaled
from scheduler_core.controllers.workloads.hashes import POD_TEMPLATE_HASH

REVISION: Final = "deployment.kubernetes.io/revision"
REVISION_HISTORY: Final = "deployment.kubernetes.io/revision-history"
DESIRED_REPLICAS: Final = "deployment.kubernetes.io/desired-replicas"
MAX_REPLICAS: Final = "deployment.kubernetes.io/max-replicas"
_NOT_COPIED: Final = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration", "deprecated.deployment.rollback.to",
        REVISION, REVISION_HISTORY, DESIRED_REPLICAS, MAX_REPLICAS,
    }
)  # fmt: skip
_LONGEST_HISTORY: Final = 2000
_MOST: Final = 2**31 - 1  # says that there is no limit or deadline
_DIGITS: Final = 10


def wanted(deployment: Deployment) -> int:
    """Return how many replicas the Deployment should have."""
    return 1 if deployment.spec.replicas is None else deployment.spec.replicas


def size(replica_set: ReplicaSet) -> int:
    """Return how many replicas the set should have."""
    return 1 if replica_set.spec.replicas is None else replica_set.spec.replicas


def total(sets: Iterable[ReplicaSet]) -> int:
    """Return how many replicas the sets should have together."""
    return sum(map(size, sets))


def is_rolling(deployment: Deployment) -> bool:
    return deployment.spec.strategy.type == "RollingUpdate"


def fenceposts(deployment: Deployment) -> tuple[int, int]:
    """Return (how many pods may be added to those wanted, how many of these may be unavailable) during an update."""
    if not is_rolling(deployment):
        return 0, 0
    update, count = deployment.spec.strategy.rolling_update, wanted(deployment)
    surge = scaled(update.max_surge if update is not None else None, count, up=True)
    unavailable = scaled(update.max_unavailable if update is not None else None, count, up=False)
    if surge == 0 and unavailable == 0:
        unavailable = 1  # both rounded to nothing: the update has to move
    return surge, min(unavailable, count)


def in_order(sets: Iterable[ReplicaSet]) -> list[ReplicaSet]:
    """Return the sets, oldest first."""
    return sorted(sets, key=_age)


def new_set(deployment: Deployment, sets: Sequence[ReplicaSet]) -> ReplicaSet | None:
    """Return the oldest set with the Deployment's template, but for the hash."""
    template = deployment.spec.template
    return next((each for each in in_order(sets) if _is_same(each.spec.template, template)), None)


def size_of_new(deployment: Deployment, sets: Iterable[ReplicaSet], current: int) -> int:
    """Return the size the new set may grow to from `current`, which `sets` count."""
    count = wanted(deployment)
    if not is_rolling(deployment):
        return count
    room = count + fenceposts(deployment)[0] - total(sets)
    return current if room <= 0 else current + min(room, count - current)


def active_or_latest(new: ReplicaSet | None, old: Sequence[ReplicaSet]) -> ReplicaSet | None:
    """Return the only set with replicas, or the newest when none has any; None when several have."""
    active = [each for each in (*reversed(in_order(old)), *([new] if new is not None else [])) if size(each) > 0]
    if len(active) == 1:
        return active[0]
    if active:
        return None
    return new if new is not None else next(reversed(in_order(old)), None)


def is_saturated(deployment: Deployment, new: ReplicaSet | None) -> bool:
    """Return whether the new set is all the Deployment should be, and available."""
    count = wanted(deployment)
    return new is not None and count == size(new) == _number(new, DESIRED_REPLICAS) == new.status.available_replicas


def is_scaled(deployment: Deployment, sets: Iterable[ReplicaSet]) -> bool:
    """Return whether the Deployment's number was changed since its sets got their sizes."""
    found = (_number(each, DESIRED_REPLICAS) for each in sets if size(each) > 0)
    return any(desired is not None and desired != wanted(deployment) for desired in found)


def proportional_sizes(deployment: Deployment, sets: Sequence[ReplicaSet]) -> list[tuple[ReplicaSet, int]]:
    """Return the sizes at which active sets share what a scaled Deployment may have, by their shares before."""
    count = wanted(deployment)
    allowed = count + fenceposts(deployment)[0] if count > 0 else 0
    to_add = allowed - total(sets)
    ordered = list(reversed(in_order(sets))) if to_add > 0 else in_order(sets)
    if to_add:
        ordered.sort(key=lambda each: -size(each))
    added = 0
    sizes: list[tuple[ReplicaSet, int]] = []
    for each in ordered:
        share = _share(each, deployment, to_add - added) if to_add != added else 0
        added += share
        sizes.append((each, size(each) + share))
    if sizes and to_add:
        largest, its_size = sizes[0]
        sizes[0] = largest, max(0, its_size + to_add - added)
    return sizes


def _share(replica_set: ReplicaSet, deployment: Deployment, left: int) -> int:
    fraction = _fraction(replica_set, deployment)
    return min(fraction, left) if left > 0 else max(fraction, left)


def _fraction(replica_set: ReplicaSet, deployment: Deployment) -> int:
    count = wanted(deployment)
    if count == 0:
        return -size(replica_set)
    before = _number(replica_set, MAX_REPLICAS) or deployment.status.replicas
    if before == 0:
        return 0
    exact = size(replica_set) * (count + fenceposts(deployment)[0]) / before
    return math.floor(exact + 0.5) - size(replica_set)


def size_annotations(deployment: Deployment) -> dict[str, str]:
    """Return what annotations of sets say of the Deployment's size."""
    count = wanted(deployment)
    return {DESIRED_REPLICAS: str(count), MAX_REPLICAS: str(count + fenceposts(deployment)[0])}


def new_annotations(deployment: Deployment, given: dict[str, str], old: Sequence[ReplicaSet]) -> dict[str, str]:
    """Return the annotations of the new set with the Deployment's, and with a revision above those of old sets."""
    found = {**given, **{key: value for key, value in deployment.annotations.items() if key not in _NOT_COPIED}}
    text = given.get(REVISION, "")
    before = revision_number(text)
    if text and before is None:
        return found
    revision = max(
        (number for each in old if (number := revision_number(each.annotations.get(REVISION, "")))), default=0
    )
    if (before or 0) < revision + 1:
        found[REVISION] = str(revision + 1)
        if text:
            found[REVISION_HISTORY] = _history(given.get(REVISION_HISTORY, ""), text)
    return found


def revision_number(text: str) -> int | None:
    """Return the number of a revision; None for what is none."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 2 * _DIGITS else None


def cleanable(deployment: Deployment, old: Sequence[ReplicaSet]) -> list[ReplicaSet]:
    """Return the old sets beyond the limit of the history that have no pods, those of the lowest revision first."""
    limit = deployment.spec.revision_history_limit
    if limit is None or limit == _MOST:
        return []
    there = [each for each in old if each.metadata.deletion_timestamp is None]
    there.sort(key=lambda each: (revision_number(each.annotations.get(REVISION, "")) or 0, _age(each)))
    return [
        each
        for each in there[: max(0, len(there) - limit)]
        if each.status.replicas == 0 == size(each) and each.metadata.generation <= each.status.observed_generation
    ]


def deadline_seconds(deployment: Deployment) -> int | None:
    """Return after how many seconds without progress a rollout has failed; None for never."""
    seconds = deployment.spec.progress_deadline_seconds
    return None if seconds == _MOST else seconds


def _history(before: str, revision: str) -> str:
    revisions = before.split(",") if before else []
    while revisions and len(",".join([*revisions, revision])) > _LONGEST_HISTORY:
        revisions.pop(0)
    return ",".join([*revisions, revision])


def _number(replica_set: ReplicaSet, annotation: str) -> int | None:
    text = replica_set.annotations.get(annotation, "")
    if not text.isascii() or not text.isdecimal() or len(text) > _DIGITS:
        return None
    number = int(text)
    return number if number <= _MOST else None


def _is_same(one: RawTemplate | None, other: RawTemplate | None) -> bool:
    if one is None or other is None:
        return False
    return mean_the_same(_without_hash(one), _without_hash(other), "v1.PodTemplateSpec")


def _without_hash(template: RawTemplate) -> dict[str, Any]:
    metadata = {**(template.manifest.get("metadata") or {})}
    labels = {key: value for key, value in template.labels.items() if key != POD_TEMPLATE_HASH}
    metadata.pop("creationTimestamp", None)
    metadata.pop("labels", None)
    return {**template.manifest, "metadata": {**metadata, **({"labels": labels} if labels else {})}}


def _age(replica_set: ReplicaSet) -> tuple[str, str]:
    created = replica_set.metadata.creation_timestamp
    return "" if created is None else created.isoformat(), replica_set.name
