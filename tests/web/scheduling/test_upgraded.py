"""A history whose tables were those of an earlier release, and were migrated: what is known of it stays, and new steps
are proven."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from kschedweb.cluster import services as cluster_services
from kschedweb.cluster.models import Cluster
from kschedweb.scheduling.past import moments
from kschedweb.scheduling.past.errors import NotReplayableError
from kschedweb.traces.models import Attempt, Checkpoint, EngineStep
from tests.builders import make_pod
from tests.web import rest
from tests.web.scheduling.conftest import scheduled
from tests.web.scheduling.filed import exported
from tests.web.scheduling.lived import Lived, asked, cycles, live, replayed
from tests.web.scheduling.test_anonymised import anonymised

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("nothing_kept", "patient_fence")]

BEFORE = [("traces", "0013_attempt_tried_first")]  # no amounts, nothing of how engines began, no draws


@pytest.fixture
def upgraded(db: None) -> Iterator[Lived]:
    """It lived, and its tables are those of before and then of now."""
    lived = live(cluster_services.cluster_create(name="lived", seed=1), rounds=3)
    leaves = MigrationExecutor(connection).loader.graph.leaf_nodes()
    try:
        MigrationExecutor(connection).migrate(BEFORE)
    finally:
        MigrationExecutor(connection).migrate(leaves)
    moments.forget()
    yield lived


def test_history_of_an_earlier_release_answers_or_says_what_is_not_known(upgraded: Lived) -> None:
    cluster: Cluster = upgraded.cluster
    row = Checkpoint.objects.filter(cluster=cluster).earliest("seq")
    assert (bytes(row.digest), row.gates) == (b"", None)
    assert not EngineStep.objects.filter(cluster=cluster).exclude(began_from=None).exists()
    assert not Attempt.objects.filter(cluster=cluster, amounts__isnull=False).exists()

    # The first run, and what follows a checkpoint in its run, is known; a run whose engine is not says so.
    replay = replayed(cluster)
    assert replay.difference is None and replay.cycles and replay.unproven
    assert replay.cycles + replay.unproven == cycles(cluster)
    assert "earlier release" in replay.reason
    last = dict(upgraded.places)
    known = [(at, place) for at, place in last.items() if place[0] == row.run and place >= (row.run, row.step)]
    for at, place in known:
        asked(upgraded, at, place)
    unknown = next(at for at, place in last.items() if place[0] > row.run)
    client = rest.logged_in()
    refused = client.get(f"/api/clusters/{cluster.pk}/snapshot?at={unknown}")
    assert refused.status_code == 409 and "earlier release" in refused.json()["message"]
    assert client.get(f"/api/clusters/{cluster.pk}/objects?kind=Pod&at={unknown}").status_code == 200
    with pytest.raises(NotReplayableError, match="earlier release"):
        anonymised(exported(cluster))

    # The next engine is known again.
    before = replay.unproven
    scheduled(cluster, *(make_pod(f"after{number}").req(cpu="100m") for number in range(5)))
    replay = replayed(cluster)
    assert (replay.difference, replay.unproven) == (None, before)
    told = client.get(f"/api/clusters/{cluster.pk}/pods/default/after0/attempts").json()
    assert told["results"]
