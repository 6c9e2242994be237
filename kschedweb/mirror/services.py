"""Writes of mirrors: starting and stopping them, who follows, and what following brought.

One process follows a cluster: it takes the mirror's row by a conditional update that raises the epoch, renews it while
it follows, and every transaction that stores objects first locks the row under that epoch. Objects and the positions up
to which they are known are one transaction: whatever dies, following goes on where it was.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from django.db import connection, transaction

from kschedweb.cluster import clock
from kschedweb.cluster import services as cluster_services
from kschedweb.cluster.models import Cluster
from kschedweb.cluster.services import Copied
from kschedweb.common import wake
from kschedweb.common.errors import InvalidError, NotFoundError
from kschedweb.mirror import kubeconfig, sealing
from kschedweb.mirror.choices import MirrorState
from kschedweb.mirror.models import Mirror
from scheduler_core.api.syntax import label_problem
from scheduler_core.following.kinds import Collected

ACTOR = "mirror"
TASK = "mirror.follow"
HELD_SECONDS = 15
UNREADABLE_KEPT = 20
_TABLE = Mirror._meta.db_table


class NotHeldError(Exception):
    """Another process follows the cluster now, or nobody is to; nothing of this transaction may be written."""


@dataclass(frozen=True, slots=True)
class Held:
    """A mirror this process follows, under its epoch."""

    cluster_id: int
    epoch: int
    document: dict[str, Any]
    namespaces: tuple[str, ...]
    positions: dict[str, str]


@dataclass(slots=True)
class Progress:
    """What is told of following; counts are those since it was told last."""

    state: str = MirrorState.CONNECTING
    problem: str = ""
    collections: Mapping[str, Sequence[str]] = field(default_factory=dict)
    lag_seconds: float | None = None
    is_heard: bool = False
    lists: int = 0
    events: int = 0
    failures: int = 0


def mirror_start(
    *,
    name: str,
    content: bytes,
    context: str = "",
    namespaces: Sequence[str] = (),
    scheduler_config: bytes = b"",
    is_trusted: bool = False,
    actor: str,
) -> Cluster:
    """Make a cluster that follows the one of a kubeconfig. ConflictError for a name that is taken, InvalidError."""
    chosen = kubeconfig.choose(content, context=context, is_trusted=is_trusted)
    for namespace in namespaces:
        if problem := label_problem(namespace):
            raise InvalidError(f"namespaces: {namespace!r}: {problem}", field="namespaces")
    with transaction.atomic():
        cluster = cluster_services.cluster_create(name=name, is_mirror=True, actor=actor)
        if scheduler_config.strip():
            cluster_services.scheduler_config_set(cluster_id=cluster.pk, content=scheduler_config, actor=actor)
        Mirror.objects.create(
            cluster=cluster,
            server=chosen.server[:500],
            context=chosen.context,
            namespaces=sorted(set(namespaces)),
            credentials=sealing.sealed(orjson.dumps(chosen.document)),
            is_trusted=is_trusted,
            created_by=actor,
        )
        wake.after_commit(TASK)
    return cluster


def mirror_change(
    *, cluster_id: int, is_wanted: bool | None = None, content: bytes = b"", context: str = "", is_trusted: bool = False
) -> Mirror:
    """Stop following or go on, with other credentials if given; NotFoundError when the cluster is no mirror."""
    values: dict[str, Any] = {}
    if content:
        chosen = kubeconfig.choose(content, context=context, is_trusted=is_trusted)
        document = sealing.sealed(orjson.dumps(chosen.document))
        values |= {"server": chosen.server[:500], "context": chosen.context, "credentials": document}
        values |= {"is_trusted": is_trusted}
    if is_wanted is not None:
        values["is_wanted"] = is_wanted
        if not is_wanted:
            values |= {"state": MirrorState.STOPPED, "problem": ""}
        else:
            values |= {"state": MirrorState.CONNECTING}
    with transaction.atomic():
        mirror = Mirror.objects.select_for_update().filter(pk=cluster_id).first()
        if mirror is None:
            raise NotFoundError("the cluster is no mirror", cluster=cluster_id)
        if content and values["server"] != mirror.server:
            raise InvalidError("kubeconfig: server: is another one; make a mirror of its own", field="kubeconfig")
        for column, value in values.items():
            setattr(mirror, column, value)
        if values:
            mirror.epoch += 1  # who follows now finds out with the next transaction
            mirror.holder = ""
            mirror.held_until = None
        mirror.save()
        wake.after_commit(TASK)
    return mirror


def mirrors_take(*, holder: str) -> list[Held]:
    """Take what is to be followed and nobody follows; what cannot be opened says so and is left."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {_TABLE} SET holder = %s, epoch = epoch + 1, held_until = now() + make_interval(secs => %s)"
            f" WHERE cluster_id IN (SELECT cluster_id FROM {_TABLE} WHERE is_wanted"
            " AND (held_until IS NULL OR held_until < now()) ORDER BY cluster_id FOR UPDATE SKIP LOCKED)"
            " RETURNING cluster_id",
            [holder, HELD_SECONDS],
        )
        taken = [row[0] for row in cursor.fetchall()]
    found = []
    for mirror in Mirror.objects.filter(pk__in=taken).order_by("pk"):
        try:
            document = orjson.loads(sealing.opened(bytes(mirror.credentials)))
        except sealing.SealError as error:
            Mirror.objects.filter(pk=mirror.pk).update(state=MirrorState.PROBLEM, problem=str(error))
            continue
        found.append(Held(mirror.pk, mirror.epoch, document, tuple(mirror.namespaces), dict(mirror.positions)))
    return found


def mirror_renew(*, held: Held, progress: Progress) -> None:
    """Go on holding the mirror, and tell how it goes; NotHeldError."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {_TABLE} SET held_until = now() + make_interval(secs => %s), state = %s, problem = %s,"
            " collections = %s::jsonb, lag_seconds = coalesce(%s, lag_seconds),"
            " heard_at = CASE WHEN %s THEN now() ELSE heard_at END,"
            " lists = lists + %s, events = events + %s, failures = failures + %s WHERE cluster_id = %s AND epoch = %s",
            [
                HELD_SECONDS,
                progress.state,
                progress.problem[:2000],
                orjson.dumps(progress.collections).decode(),
                progress.lag_seconds,
                progress.is_heard,
                progress.lists,
                progress.events,
                progress.failures,
                held.cluster_id,
                held.epoch,
            ],
        )
        if not cursor.rowcount:
            raise NotHeldError(held.cluster_id)


def mirror_release(*, held: Held) -> None:
    """Let another process follow at once."""
    Mirror.objects.filter(pk=held.cluster_id, epoch=held.epoch).update(holder="", held_until=None)
    wake.send(TASK)


def credentials_keep(*, held: Held, document: Mapping[str, Any]) -> None:
    """Keep credentials that were renewed."""
    content = sealing.sealed(orjson.dumps(document))
    Mirror.objects.filter(pk=held.cluster_id, epoch=held.epoch).update(credentials=content)
    connection.close()  # it is called in threads that have no other use for one


def batch_store(*, held: Held, copied: Sequence[Copied], positions: Mapping[str, str], is_synced: bool | None) -> int:
    """Store what happened in the other cluster with the positions it leads to; how many objects changed.

    `is_synced`, unless None, says from then on whether all objects are here. NotHeldError.
    """
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(
                f"UPDATE {_TABLE} SET positions = positions || %s::jsonb,"
                " synced_at = CASE WHEN %s THEN coalesce(synced_at, now()) ELSE synced_at END"
                " WHERE cluster_id = %s AND epoch = %s",
                [orjson.dumps(positions).decode(), is_synced is True, held.cluster_id, held.epoch],
            )
            if not cursor.rowcount:
                raise NotHeldError(held.cluster_id)
        changed = 0
        if copied:
            report = cluster_services.objects_copy(
                cluster_id=held.cluster_id, copied=copied, actor=ACTOR, now=clock.now_of(held.cluster_id)
            )
            changed = sum(report.changed.values())
            if report.unreadable:
                _unreadable_keep(held, report.unreadable)
        if is_synced is not None:  # after the objects: it locks the cluster's own row
            cluster_services.synced_set(cluster_id=held.cluster_id, is_synced=is_synced)
    return changed


def listed_store(
    *, held: Held, collected: Collected, listed: set[tuple[str, str]], version: str, is_synced: bool | None
) -> int:
    """A list was read to its end: delete what is stored of the collection and was not listed."""
    gone = cluster_services.missing_of(
        cluster_id=held.cluster_id, kind=collected.kind, namespace=collected.namespace, listed=listed
    )
    return batch_store(held=held, copied=gone, positions={collected.key: version}, is_synced=is_synced)


def _unreadable_keep(held: Held, unreadable: Sequence[tuple[tuple[str, str, str], str]]) -> None:
    mirror = Mirror.objects.get(pk=held.cluster_id)
    told = [[kind, f"{namespace}/{name}" if namespace else name, why] for (kind, namespace, name), why in unreadable]
    mirror.unreadable = [*mirror.unreadable, *told][-UNREADABLE_KEPT:]
    mirror.save(update_fields=["unreadable"])
