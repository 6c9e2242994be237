"""The clock of the whole service's rate: an entry counts when a reader has seen it, not when it was written."""

import time

import pytest
from django.db import transaction

from kschedweb.cluster import clock, services
from kschedweb.cluster.changes import ChangeEntry, changes_commit
from kschedweb.ops.processes import wait_until
from tests.web.tcp import database_url
from tools.bench.level3 import Commits
from tools.bench.running import ServiceProblem


def is_seen(commits: Commits, rv: int) -> bool:
    try:
        return commits.seen(rv) > 0
    except ServiceProblem:
        return False


@pytest.mark.django_db(transaction=True)
def test_entry_is_seen_after_its_commit() -> None:
    cluster = services.cluster_create(name="c")
    entry = ChangeEntry("ConfigMap", "default", "a", "u", "created", {"kind": "ConfigMap"})
    with Commits(database_url(), cluster.pk) as commits:
        with transaction.atomic():
            first = changes_commit(cluster_id=cluster.pk, entries=[entry], now=clock.now_of(cluster.pk))
        assert wait_until(lambda: is_seen(commits, first), seconds=30)
        with transaction.atomic():
            second = changes_commit(cluster_id=cluster.pk, entries=[entry], now=clock.now_of(cluster.pk))
            written = time.time()
        assert wait_until(lambda: is_seen(commits, second), seconds=30)
        assert commits.seen(first) < written < commits.seen(second)
        with pytest.raises(ServiceProblem, match=f"no reader was told of change {second + 1}"):
            commits.seen(second + 1)
