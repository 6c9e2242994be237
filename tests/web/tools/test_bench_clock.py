"""The clock of the whole service's rate: an entry counts when a reader has seen it, not when it was written."""

import time

import pytest
from django.db import transaction

from kschedweb.cluster import clock, services
from kschedweb.cluster.changes import ChangeEntry, changes_commit
from tests.waiting import eventually
from tests.web.tcp import database_url
from tools.bench.listening import CHANGES, CommitClock
from tools.bench.running import ServiceProblem

IN_AN_OBJECT = "SELECT jsonb_build_object('rv', rv) FROM cluster_cluster WHERE id = %s"


def rv_of(value: dict[str, int]) -> int:
    return value["rv"]


@pytest.mark.django_db(transaction=True)
def test_entry_is_seen_after_its_commit() -> None:
    cluster = services.cluster_create(name="c")
    entry = ChangeEntry("ConfigMap", "default", "a", "u", "created", {"kind": "ConfigMap"})
    with (
        CommitClock(database_url(), CHANGES, cluster.pk) as commits,
        CommitClock(database_url(), IN_AN_OBJECT, cluster.pk) as objects,
    ):
        with transaction.atomic():
            first = changes_commit(cluster_id=cluster.pk, entries=[entry], now=clock.now_of(cluster.pk))
        eventually(lambda: commits.has(first))
        with transaction.atomic():
            second = changes_commit(cluster_id=cluster.pk, entries=[entry], now=clock.now_of(cluster.pk))
            written = time.time()
        eventually(lambda: commits.has(second))
        assert commits.seen(first) < written < commits.seen(second)
        with pytest.raises(ServiceProblem, match=f"no reader was told of version {second + 1}"):
            commits.seen(second + 1)
        eventually(lambda: objects.has(second, rv_of))
        assert objects.seen(first, rv_of) < written < objects.seen(second, rv_of)
        assert not objects.has(second + 1, rv_of)
