"""Copies of clusters: an ordinary cluster with the objects another one has at present."""

import gzip
import tempfile
from collections.abc import Iterator
from typing import BinaryIO, cast

import orjson
from django.contrib.auth.models import User
from django.db import transaction

from kschedweb.accounts.choices import Role
from kschedweb.accounts.services import role_set
from kschedweb.cluster import follow, selectors, services, state
from kschedweb.cluster.intake.files import Received
from kschedweb.cluster.models import Cluster
from kschedweb.mirror.selectors import missing_plugins
from scheduler_core.apiserver.kinds import KINDS

IN_MEMORY = 8 << 20


def cluster_fork(*, cluster_id: int, name: str, lifecycle_mode: str, owner: User, actor: str) -> Cluster:
    """Make a cluster with the same objects, configuration and seed; a large copy is an import that goes on.

    The owner becomes its admin. A configuration that names what is not here stays behind: no scheduler could run it.
    ConflictError when the name is taken.
    """
    with tempfile.SpooledTemporaryFile(IN_MEMORY) as spool:
        file = cast(BinaryIO, spool)
        source = _write(cluster_id, file)
        size = file.tell()
        with transaction.atomic():
            made = services.cluster_create(name=name, seed=source.seed, lifecycle_mode=lifecycle_mode, actor=actor)
            if not owner.is_superuser:
                role_set(cluster=made, username=owner.get_username(), role=Role.ADMIN, actor=actor)
            if source.scheduler_config and not missing_plugins(source):
                content = source.scheduler_config.encode()
                services.scheduler_config_set(cluster_id=made.pk, content=content, actor=actor, is_stored=True)
            if size:
                upload = Received(f"{source.name}.json.gz", file, size)
                services.import_take(
                    cluster_id=made.pk, uploads=[upload], options=services.ImportOptions(), actor=actor
                )
    return made


def _write(cluster_id: int, file: BinaryIO) -> Cluster:
    """Everything stored, as a packed list, nothing where there is nothing; the cluster as it was at that moment."""
    with transaction.atomic():
        follow.read_only_moment()
        source = selectors.cluster_get(cluster_id)
        rows = _texts(cluster_id)
        first = next(rows, None)
        if first is None:
            return source
        with gzip.GzipFile(fileobj=file, mode="wb", compresslevel=1) as packed:
            packed.write(b'{"apiVersion":"v1","kind":"List","items":[')
            packed.write(first)
            for text in rows:
                packed.write(b"," + text)
            packed.write(b"]}")
    return source


def _texts(cluster_id: int) -> Iterator[bytes]:
    for kind in (*KINDS, *state.custom_kinds(cluster_id)):
        for row in state.stored_of_kinds(cluster_id, [kind]):
            yield orjson.dumps(row.manifest)
