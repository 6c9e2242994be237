"""The change log: one writer, dense numbers, and a follower that misses nothing whatever the writers do."""

import random
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction

from kschedweb.cluster import changes
from kschedweb.cluster.choices import Operation
from kschedweb.cluster.models import Change, Cluster
from kschedweb.common.errors import NotFoundError

NOW = 1_893_456_000_000_000


def entry(name: str = "a", operation: str = Operation.UPDATED, **payload: object) -> changes.ChangeEntry:
    return changes.ChangeEntry("Node", "", name, f"uid-{name}", operation, payload, "test")


@pytest.mark.django_db
def test_changes_commit_returns_the_last_position_when_it_appends() -> None:
    cluster = Cluster.objects.create(name="c")
    with transaction.atomic():
        assert changes.changes_commit(cluster_id=cluster.pk, entries=[entry("a"), entry("b")], now=NOW) == 2
    with transaction.atomic():
        assert changes.changes_commit(cluster_id=cluster.pk, entries=[entry("c", x=1)], now=NOW) == 3
    rows = list(Change.objects.filter(cluster=cluster).order_by("rv").values_list("rv", "name"))
    assert rows == [(1, "a"), (2, "b"), (3, "c")]
    assert changes.unpack(Change.objects.get(rv=3).object) == {"x": 1}


@pytest.mark.django_db
def test_changes_commit_is_refused_when_the_cluster_is_gone() -> None:
    with pytest.raises(NotFoundError):
        changes.changes_commit(cluster_id=424242, entries=[entry()], now=NOW)


@pytest.mark.django_db(transaction=True)
def test_changes_commit_is_refused_when_there_is_no_transaction() -> None:
    cluster = Cluster.objects.create(name="c")
    with pytest.raises(transaction.TransactionManagementError):
        changes.changes_commit(cluster_id=cluster.pk, entries=[entry()], now=NOW)


class _RolledBack(Exception):
    pass


def _write(cluster_id: int, writer: int, transactions: int) -> int:
    """Transactions of random length, a fifth of them rolled back; how many entries stayed."""
    chance = random.Random(writer)
    stayed = 0
    try:
        for number in range(transactions):
            size = chance.randint(1, 12)
            try:
                with transaction.atomic():
                    with connection.cursor() as cursor:
                        cursor.execute("SELECT pg_sleep(%s)", [chance.random() * 0.004])
                    changes.changes_commit(
                        cluster_id=cluster_id,
                        entries=[entry(f"w{writer}-t{number}-{place}") for place in range(size)],
                        now=NOW,
                    )
                    # The lock is held for a while, so that others wait and readers look in between.
                    with connection.cursor() as cursor:
                        cursor.execute("SELECT pg_sleep(%s)", [chance.random() * 0.003])
                    if chance.random() < 0.2:
                        raise _RolledBack
                stayed += size
            except _RolledBack:
                pass
    finally:
        connection.close()
    return stayed


@pytest.mark.django_db(transaction=True)
def test_a_follower_sees_every_entry_in_order_when_five_writers_race() -> None:
    cluster = Cluster.objects.create(name="c")
    done = threading.Event()
    seen: list[tuple[int, str]] = []

    def follow() -> None:
        try:
            while True:
                finished = done.is_set()
                last = seen[-1][0] if seen else 0
                rows = list(
                    Change.objects.filter(cluster=cluster, rv__gt=last).order_by("rv").values_list("rv", "name")
                )
                seen.extend(rows)
                if finished and not rows:
                    return
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        reader = pool.submit(follow)
        writers = [pool.submit(_write, cluster.pk, writer, 40) for writer in range(5)]
        stayed = sum(writer.result() for writer in writers)
        done.set()
        reader.result()
    assert stayed > 500
    assert [rv for rv, _ in seen] == list(range(1, stayed + 1))
    cluster.refresh_from_db()
    assert cluster.rv == stayed
    # The entries of one transaction stand together and in the order it gave them.
    places: dict[str, list[tuple[int, int]]] = {}
    for rv, name in seen:
        group, _, place = name.rpartition("-")
        places.setdefault(group, []).append((rv, int(place)))
    for rows in places.values():
        first = rows[0][0]
        assert rows == [(first + place, place) for place in range(len(rows))]
