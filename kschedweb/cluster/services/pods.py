"""Writes to pods: bindings, their status, their deletion.

Functions that return entries lock the rows only, in the order of their ids: the caller, who may have more to do in the
same transaction, hands the entries to `changes_commit` as its last statement, which writes the rows.
Source of the refusals: kubernetes v1.34.1, pkg/registry/core/pod/storage.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol

import orjson
from django.db import transaction
from django.utils import timezone

from kschedweb.cluster import adapters
from kschedweb.cluster.changes import ChangeEntry, changes_commit
from kschedweb.cluster.choices import TERMINAL_PHASES, Operation
from kschedweb.cluster.models import Pod
from kschedweb.common import bulk, wake
from kschedweb.common.errors import ConflictError, NotFoundError

DEFAULT_GRACE_SECONDS = 30
PREEMPTION_BY_SCHEDULER = "PreemptionByScheduler"


@dataclass(slots=True)
class PodRow:
    """A locked row of the table of pods, as far as it changes after creation: many at a time, so no model."""

    pk: int
    uid: str
    namespace: str
    name: str
    node_name: str
    phase: str
    nominated_node_name: str
    gated: bool
    deletion_timestamp: datetime | None
    start_time: datetime | None
    condition_reason: str
    condition_message: str
    manifest: dict[str, Any]

    @classmethod
    def write(cls, cluster_id: int, numbered: Sequence[tuple["PodRow", int, bytes]]) -> None:
        """All columns that change after creation, in one statement; the rows are locked."""
        rows = [row for row, _, _ in numbered]
        bulk.execute(
            "UPDATE cluster_pod AS row SET rv = given.rv, node_name = n, phase = p, nominated_node_name = o,"
            " deletion_timestamp = d, start_time = s, condition_reason = r, condition_message = t, manifest = m::jsonb"
            " FROM unnest(%b::bigint[], %b::bigint[], %b::text[], %b::text[], %b::text[], %b::timestamptz[],"
            " %b::timestamptz[], %b::text[], %b::text[], %b::text[]) AS given (id, rv, n, p, o, d, s, r, t, m)"
            " WHERE row.id = given.id",
            [
                [row.pk for row in rows],
                [rv for _, rv, _ in numbered],
                [row.node_name for row in rows],
                [str(row.phase) for row in rows],
                [row.nominated_node_name for row in rows],
                [row.deletion_timestamp for row in rows],
                [row.start_time for row in rows],
                [row.condition_reason for row in rows],
                [row.condition_message for row in rows],
                [text.decode() for _, _, text in numbered],
            ],
        )


@dataclass(slots=True)
class BindOutcomes:
    """Log entries of the pods that were bound, and why the others were not, by uid."""

    entries: list[ChangeEntry] = field(default_factory=list)
    refusals: dict[str, str] = field(default_factory=dict)


class StatusPatch(Protocol):
    """The PodScheduled condition of a pod unless its status is empty, and its nomination when not None."""

    @property
    def pod_uid(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def nominated_node_name(self) -> str | None: ...


@dataclass(frozen=True, slots=True)
class StatusUpdate:
    """What the simulated kubelet reports. None leaves a field as it is; conditions are merged by type."""

    pod_uid: str
    phase: str | None = None
    reason: str | None = None
    message: str | None = None
    start_time: datetime | None = None
    conditions: Mapping[str, tuple[str, str, str]] = field(default_factory=dict)  # type: (status, reason, message)


def pods_bind(*, cluster_id: int, targets: Sequence[tuple[str, str]], actor: str) -> BindOutcomes:
    """Assign pods, given as (uid, node), to nodes where nothing speaks against it; the node need not exist."""
    outcomes = BindOutcomes()
    now = timezone.now()
    pods = _locked(cluster_id, [uid for uid, _ in targets])
    for uid, node_name in targets:
        pod = pods.get(uid)
        refusal = _binding_refusal(pod, uid)
        if refusal or pod is None:
            outcomes.refusals[uid] = refusal
            continue
        pod.node_name = node_name
        pod.manifest["spec"]["nodeName"] = node_name
        _condition_set(pod.manifest, adapters.POD_SCHEDULED, ("True", "", ""), now)
        pod.condition_reason = pod.condition_message = ""
        outcomes.entries.append(_entry(pod, Operation.UPDATED, actor))
    return outcomes


def pods_status_patch(
    *, cluster_id: int, patches: Sequence[StatusPatch], actor: str, now: datetime
) -> list[ChangeEntry]:
    """Write what the scheduler says of pods it could not place; patches that change nothing leave no entry."""
    if not patches:
        return []
    pods = _locked(cluster_id, [patch.pod_uid for patch in patches])
    changed: dict[str, PodRow] = {}
    for patch in patches:
        pod = pods.get(patch.pod_uid)
        if pod is None or pod.node_name:
            continue
        differs = False
        if patch.status:
            condition = (patch.status, patch.reason, patch.message)
            differs = _condition_set(pod.manifest, adapters.POD_SCHEDULED, condition, now)
            pod.condition_reason, pod.condition_message = patch.reason, patch.message
        nominated = patch.nominated_node_name
        if nominated is not None and nominated != pod.nominated_node_name:
            differs = True
            pod.nominated_node_name = nominated
            status = pod.manifest.setdefault("status", {})
            if nominated:
                status["nominatedNodeName"] = nominated
            else:
                status.pop("nominatedNodeName", None)
        if differs:
            changed[pod.uid] = pod
    return [_entry(pod, Operation.UPDATED, actor) for pod in changed.values()]


def pods_status_update(
    *, cluster_id: int, updates: Sequence[StatusUpdate], actor: str, now: datetime
) -> list[ChangeEntry]:
    """Write what the kubelet says of its pods; pods that are gone or have ended are passed over."""
    pods = _locked(cluster_id, [update.pod_uid for update in updates])
    changed: dict[str, PodRow] = {}
    for update in updates:
        pod = pods.get(update.pod_uid)
        if pod is None or pod.phase in TERMINAL_PHASES:
            continue
        status = pod.manifest.setdefault("status", {})
        if update.phase is not None:
            status["phase"] = pod.phase = update.phase
        if update.reason is not None:
            status["reason"] = update.reason
        if update.message is not None:
            status["message"] = update.message
        if update.start_time is not None:
            pod.start_time = update.start_time
            status["startTime"] = adapters.format_time(update.start_time)
        for name, condition in update.conditions.items():
            _condition_set(pod.manifest, name, condition, now)
        changed[pod.uid] = pod
    return [_entry(pod, Operation.UPDATED, actor) for pod in changed.values()]


def pods_remove(*, cluster_id: int, uids: Sequence[str], actor: str) -> list[ChangeEntry]:
    """End pods at once, as the kubelet does when their containers have stopped. Finalizers keep a pod."""
    pods = _locked(cluster_id, uids)
    return [
        _delete(pod, now=timezone.now(), grace_seconds=0, actor=actor) for pod in pods.values() if not _is_kept(pod)
    ]


def pods_evict(
    *, cluster_id: int, victims: Sequence[tuple[str, str, str]], now: datetime, actor: str
) -> dict[str, ChangeEntry]:
    """Mark victims, given as (uid, reason, message), with the DisruptionTarget condition and delete them gracefully.

    The entries by uid; pods that are gone or have ended have none.
    """
    pods = _locked(cluster_id, [uid for uid, _, _ in victims])
    entries: dict[str, ChangeEntry] = {}
    for uid, reason, message in victims:
        pod = pods.get(uid)
        if pod is not None and pod.phase not in TERMINAL_PHASES and uid not in entries:
            _condition_set(pod.manifest, "DisruptionTarget", ("True", reason, message), now)
            entries[uid] = _delete(pod, now=now, grace_seconds=None, actor=actor)
    return entries


def pod_delete(
    *, cluster_id: int, namespace: str, name: str, actor: str, grace_seconds: int | None = None, uid: str = ""
) -> bool:
    """Delete a pod gracefully; whether it is gone already. NotFoundError, ConflictError when the uid is another."""
    with transaction.atomic():
        pods = _rows("cluster_id = %s AND namespace = %s AND name = %s", [cluster_id, namespace, name])
        pod = next(iter(pods.values()), None)
        if pod is None:
            raise NotFoundError(f'pods "{name}" not found', namespace=namespace, name=name)
        if uid and uid != pod.uid:
            raise ConflictError(f"the UID in the precondition ({uid}) does not match the UID in record ({pod.uid})")
        entry = _delete(pod, now=timezone.now(), grace_seconds=grace_seconds, actor=actor)
        changes_commit(cluster_id=cluster_id, entries=[entry])
        wake.after_commit("scheduling.ensure_leader", cluster_id=cluster_id)
    return entry.operation == Operation.DELETED


def _delete(pod: PodRow, *, now: datetime, grace_seconds: int | None, actor: str) -> ChangeEntry:
    """One DELETE: the row goes at once when there is no grace, else it gets its time; later ones only shorten it."""
    metadata, spec = pod.manifest["metadata"], pod.manifest.get("spec", {})
    grace = grace_seconds
    if grace is None:
        given = spec.get("terminationGracePeriodSeconds")
        grace = DEFAULT_GRACE_SECONDS if given is None else given
    if grace < 0:
        grace = 1
    if not pod.node_name or pod.phase in TERMINAL_PHASES:
        grace = 0
    if grace == 0 and not _is_kept(pod):
        Pod.objects.filter(pk=pod.pk).delete()
        return _entry(pod, Operation.DELETED, actor)
    asked_at = now
    if pod.deletion_timestamp is not None:
        before = metadata.get("deletionGracePeriodSeconds") or 0
        asked_at = pod.deletion_timestamp - timedelta(seconds=before)
        grace = min(grace, before)
    else:
        metadata["generation"] = metadata.get("generation", 0) + 1
    # Whole seconds, as in manifests; rounded up, so that no grace is lost.
    pod.deletion_timestamp = _whole_second(asked_at + timedelta(seconds=grace))
    metadata["deletionTimestamp"] = adapters.format_time(pod.deletion_timestamp)
    metadata["deletionGracePeriodSeconds"] = grace
    return _entry(pod, Operation.UPDATED, actor)


def _is_kept(pod: PodRow) -> bool:
    return bool(pod.manifest["metadata"].get("finalizers"))


def _whole_second(moment: datetime) -> datetime:
    return moment.replace(microsecond=0) + timedelta(seconds=1 if moment.microsecond else 0)


def _binding_refusal(pod: PodRow | None, uid: str) -> str:
    if pod is None:
        return f"pod with uid {uid} not found"
    if pod.deletion_timestamp is not None:
        return f"pod {pod.name} is being deleted, cannot be assigned to a host"
    if pod.node_name:
        return f'pod {pod.name} is already assigned to node "{pod.node_name}"'
    if pod.gated:
        return f"pod {pod.name} has non-empty .spec.schedulingGates"
    return ""


def _locked(cluster_id: int, uids: Sequence[str]) -> dict[str, PodRow]:
    return _rows("cluster_id = %s AND uid = ANY (%b)", [cluster_id, list(uids)])


def _rows(where: str, values: Sequence[Any]) -> dict[str, PodRow]:
    """Rows by uid, locked in the order of their ids."""
    found = bulk.read_rows(
        "SELECT id, uid, namespace, name, node_name, phase, nominated_node_name, gated, deletion_timestamp,"
        f" start_time, condition_reason, condition_message, manifest::text FROM cluster_pod WHERE {where}"
        " ORDER BY id FOR UPDATE",
        values,
    )
    return {row[1]: PodRow(*(*row[:-1], orjson.loads(row[-1]))) for row in found}


def _condition_set(manifest: dict[str, Any], name: str, condition: tuple[str, str, str], now: datetime) -> bool:
    """Put one condition into the status; whether that changed anything. Its time moves with its status only."""
    status, reason, message = condition
    conditions = manifest.setdefault("status", {}).setdefault("conditions", [])
    found = next((item for item in conditions if item.get("type") == name), None)
    if found is None:
        found = {"type": name}
        conditions.append(found)
    elif (found.get("status"), found.get("reason", ""), found.get("message", "")) == condition:
        return False
    if found.get("status") != status:
        found["lastTransitionTime"] = adapters.format_time(now)
    found["status"] = status
    for key, text in (("reason", reason), ("message", message)):
        if text:
            found[key] = text
        else:
            found.pop(key, None)
    return True


def _entry(pod: PodRow, operation: Operation, actor: str) -> ChangeEntry:
    row = None if operation == Operation.DELETED else pod
    return ChangeEntry("Pod", pod.namespace, pod.name, pod.uid, operation, pod.manifest, actor, row)
