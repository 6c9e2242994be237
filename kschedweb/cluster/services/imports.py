"""Imports: an upload becomes objects at once, or a row of work when it is too large for a request.

The request of a large upload only stores it, piece by piece, in the transaction that makes the row: what is answered
202 is kept, whichever process dies. A worker claims a row by a conditional update and writes a heartbeat while it
works; the sweep sends anew for rows that nobody took or whose heart stopped. The objects and the row's outcome are one
transaction, which ends only if the claim still stands: an import is done once, whatever messages say.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone
from django.utils.module_loading import import_string

from kschedweb.cluster import clock, in_vain, selectors
from kschedweb.cluster.choices import ImportStatus, LifecycleMode
from kschedweb.cluster.intake import files, limits, objects
from kschedweb.cluster.intake.files import Received, Upload
from kschedweb.cluster.intake.openb import GPU_MILLI
from kschedweb.cluster.models import Import, ImportPiece
from kschedweb.cluster.services import left_out
from kschedweb.cluster.services.clusters import lifecycle_mode_set
from kschedweb.cluster.services.given import AUTO
from kschedweb.cluster.services.objects import PutOptions, PutReport, objects_put_in_transaction
from kschedweb.common import bulk, wake
from kschedweb.common.connections import give_back
from kschedweb.common.errors import ApplicationError, InvalidError
from kschedweb.common.turns import Turns

TASK = "cluster.import_execute"
# Six heartbeats missed.
LOST_AFTER = timedelta(seconds=30)
MAX_ATTEMPTS = 3
STORED_PIECE_BYTES = 1 << 20
HISTORY_FORMAT = "history"
# So long a request waits for others of its process to be done before it leaves its work to a worker.
SYNC_WAIT_SECONDS = 2.0

_reading = Turns(limits.load().sync_at_once)
# Each holds a connection for as long as the copying takes.
STORED_AT_ONCE = 2
_storing = Turns(STORED_AT_ONCE)


@dataclass(frozen=True, slots=True)
class HistoryTaken:
    """What a history brought: how many objects of each kind it left, what to say of it, and where its log ends."""

    objects: Mapping[str, int]
    notes: Sequence[str]
    rv: int


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """What the caller may choose; see PutOptions. `lifecycle_mode` empty leaves the cluster's as it is."""

    admission: str = AUTO
    replace: bool = False
    partial: bool = False
    lifecycle_mode: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim on an import; valid until another worker claims the row."""

    import_id: Any
    attempt: int
    cluster_id: int
    actor: str
    options: ImportOptions
    uploads: list[Upload]


class ClaimLostError(Exception):
    """Another worker has taken the import over."""


def import_take(*, cluster_id: int, uploads: Sequence[Received], options: ImportOptions, actor: str) -> Import:
    """Carry a small upload out at once, queue a large one; its row. An ApplicationError leaves nothing behind."""
    selectors.cluster_check_writable(cluster_id)
    _check_history([received.is_history for received in uploads], options)
    row = Import(
        cluster_id=cluster_id,
        options=asdict(options),
        filename=", ".join(received.name for received in uploads)[:255],
        actor=actor,
    )
    give_back()  # to measure is to unpack
    if files.is_small(uploads, limits.load()):
        with _reading.within(SYNC_WAIT_SECONDS) as has_turn:
            if has_turn:
                row.started_at = timezone.now()
                content = [received.upload() for received in uploads]
                with transaction.atomic():
                    row.report = import_apply(cluster_id=cluster_id, uploads=content, options=options, actor=actor)
                    row.status, row.finished_at = ImportStatus.DONE, timezone.now()
                    row.save(force_insert=True)
                return row
    with _storing.one(), transaction.atomic():
        row.files = [received.name for received in uploads]
        row.save(force_insert=True)
        bulk.copy_rows(
            ImportPiece._meta.db_table,
            ("cluster_id", "of_import_id", "file", "content"),
            (
                (cluster_id, row.pk, number, piece)
                for number, received in enumerate(uploads)
                for piece in received.pieces(STORED_PIECE_BYTES)
            ),
        )
        wake.after_commit(TASK, import_id=str(row.pk))
    return row


def import_apply(
    *, cluster_id: int, uploads: Sequence[Upload], options: ImportOptions, actor: str, claim: Claim | None = None
) -> dict[str, Any]:
    """Read the files, put their objects in one transaction, and finish the claimed row in it; the report."""
    started = time.monotonic()
    if uploads and uploads[0].is_history:
        with transaction.atomic():
            report = _history_report(uploads[0], cluster_id, _history_take(cluster_id, uploads[0]))
            report["seconds"] = round(time.monotonic() - started, 3)
            if claim is not None:
                _finish(claim, ImportStatus.DONE, report=report)
        return report
    bounds = limits.load()
    contents = objects.read(uploads, bounds, partial=options.partial)
    with transaction.atomic():
        put = objects_put_in_transaction(
            cluster_id=cluster_id,
            items=contents.items,
            options=PutOptions(admission=options.admission, replace=options.replace, partial=options.partial),
            actor=actor,
            now=clock.now_of(cluster_id),
            refused=contents.refused,
        )
        # After the objects: it locks the cluster's own row.
        if options.lifecycle_mode and options.lifecycle_mode != selectors.cluster_get(cluster_id).lifecycle_mode:
            lifecycle_mode_set(cluster_id=cluster_id, lifecycle_mode=options.lifecycle_mode, actor=actor)
        report = _report(cluster_id, put, contents.files)
        report |= {"passed_over": +contents.passed_over, "seconds": round(time.monotonic() - started, 3)}
        if claim is not None:
            _finish(claim, ImportStatus.DONE, report=report)
        wake.after_commit("scheduling.ensure_leader", cluster_id=cluster_id)
    return report


def import_claim(*, import_id: Any) -> Claim | None:
    """Take an import that is queued, or whose worker has been silent for too long; None when there is none to take."""
    now = timezone.now()
    free = Q(status=ImportStatus.QUEUED) | Q(status=ImportStatus.RUNNING, heartbeat_at__lt=now - LOST_AFTER)
    rows = Import.objects.filter(free, pk=import_id)
    if not rows.update(status=ImportStatus.RUNNING, started_at=now, heartbeat_at=now, attempts=F("attempts") + 1):
        return None
    row = Import.objects.filter(pk=import_id).first()
    if row is None:
        return None  # it has gone with its cluster
    is_last = row.attempts > MAX_ATTEMPTS
    claim = Claim(
        import_id=row.pk,
        attempt=row.attempts,
        cluster_id=row.cluster_id,
        actor=row.actor,
        options=ImportOptions(**row.options),
        uploads=[] if is_last else [Upload(name, _stored(row, number)) for number, name in enumerate(row.files)],
    )
    if is_last:
        message = f"the worker died {MAX_ATTEMPTS} times while carrying out this import"
        import_fail(claim=claim, error={"code": "import_lost", "message": message, "extra": {}})
        return None
    return claim


def import_heartbeat(*, claim: Claim) -> None:
    _claimed(claim).update(heartbeat_at=timezone.now())


def import_fail(*, claim: Claim, error: Mapping[str, Any]) -> None:
    """Close a claimed import with the error the request would have answered."""
    _finish(claim, ImportStatus.FAILED, error=dict(error))


def error_of(error: Exception) -> dict[str, Any]:
    """What is kept of a failure: the answer of the request, or that it was a fault of the service."""
    if isinstance(error, ApplicationError):
        return error.as_dict()
    return {"code": "internal_error", "message": f"{type(error).__name__}: {error}"[:500], "extra": {}}


def _stored(row: Import, file: int) -> bytes:
    pieces = ImportPiece.objects.filter(of_import=row, file=file).order_by("id").values_list("content", flat=True)
    return b"".join(map(bytes, pieces.iterator(chunk_size=8)))


def _claimed(claim: Claim) -> Any:
    return Import.objects.filter(pk=claim.import_id, status=ImportStatus.RUNNING, attempts=claim.attempt)


def _finish(claim: Claim, status: ImportStatus, **values: Any) -> None:
    with transaction.atomic():
        if not _claimed(claim).update(status=status, files=[], finished_at=timezone.now(), **values):
            raise ClaimLostError(claim.import_id)
        ImportPiece.objects.filter(of_import=claim.import_id).delete()


def _check_history(histories: Sequence[bool], options: ImportOptions) -> None:
    """A history comes alone, and what happens to objects does not apply to it."""
    if not any(histories):
        return
    if len(histories) > 1:
        raise InvalidError("a history is imported by itself, without other files", field="file")
    if options.replace or options.partial or options.admission != AUTO:
        raise InvalidError("replace, partial and admission are about objects: a history is taken as it is")
    if options.lifecycle_mode not in ("", LifecycleMode.FROZEN):
        raise InvalidError("lifecycle: nothing happens in a history; make a copy of it to go on", field="lifecycle")


def _history_take(cluster_id: int, upload: Upload) -> HistoryTaken:
    """Give the cluster the history, within the transaction. An app above this one knows what is in it."""
    take: Callable[[int, Upload], HistoryTaken] = import_string(settings.HISTORY_TAKER)
    return take(cluster_id, upload)


def _history_report(upload: Upload, cluster_id: int, taken: HistoryTaken) -> dict[str, Any]:
    """As that of objects, which the cluster has at the end of its history."""
    kept = sum(taken.objects.values())
    file = objects.FileReport(upload.name, HISTORY_FORMAT, len(upload.content), 1, kept)
    put = PutReport(kinds={kind: Counter(created=count) for kind, count in taken.objects.items()}, kept=kept)
    report = _report(cluster_id, put, [file])
    return report | {"rv": taken.rv, "notes": [*taken.notes, *report["notes"]]}


def _report(cluster_id: int, put: PutReport, file_reports: Sequence[objects.FileReport]) -> dict[str, Any]:
    supply, demand = selectors.capacity(cluster_id)
    is_frozen = in_vain.is_frozen(selectors.cluster_get(cluster_id))
    waits = in_vain.of_cluster(cluster_id) if is_frozen else []
    return {
        "files": [asdict(report) for report in file_reports],
        "kinds": {kind: dict(counts) for kind, counts in sorted(put.kinds.items())},
        "kept": put.kept,
        "admitted": put.admitted,
        "not_understood": put.not_understood,
        "left_out": [asdict(kind) for kind in left_out.kinds(put.left_out, put.left_out_at)],
        "refused": put.refused.listed,
        "refused_total": put.refused.total,
        "resources": {
            name: {"demand": amount, "capacity": supply.get(name, 0)} for name, amount in sorted(demand.items())
        },
        "notes": [*_notes(supply, demand, put), *in_vain.notes(waits)],
        "in_vain": [{**asdict(one), "message": one.message} for one in waits],
        "rv": put.rv,
    }


def _notes(supply: Mapping[str, int], demand: Mapping[str, int], put: PutReport) -> list[str]:
    """What the numbers mean, in sentences."""
    notes = []
    if GPU_MILLI in demand and GPU_MILLI in supply:
        notes.append(
            f"GPUs: the pods ask for {demand[GPU_MILLI] / 1000:,.0f} of the {supply[GPU_MILLI] / 1000:,.0f} there are."
        )
    short = [name for name, amount in sorted(demand.items()) if amount > supply.get(name, 0)]
    if supply and demand and not short:
        notes.append(
            "In total the pods ask for no more of any resource than the nodes have: pods that stay pending for want of"
            " resources do so through fragmentation, not through a lack of capacity."
        )
    elif supply and short:
        notes.append(f"In total the pods ask for more than the nodes have of: {', '.join(short)}.")
    return notes + [f"Left out, {why}." for why in left_out.sentences(left_out.kinds(put.left_out))]
