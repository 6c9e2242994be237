"""Clusters forked, mirrored or kept by an earlier release answer the same of the past, or say what is gone."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import pytest
import zstandard
from django.contrib.auth.models import User

from kschedweb.cluster import runner
from kschedweb.cluster import services as cluster_services
from kschedweb.cluster.models import Cluster, Import
from kschedweb.mirror.forking import cluster_fork
from kschedweb.scheduling import leases
from kschedweb.scheduling.past import moments
from kschedweb.traces.models import Checkpoint, EngineStep
from tests.builders import make_pod
from tests.web import rest
from tests.web.scheduling.conftest import lead, put, settle
from tests.web.scheduling.lived import Lived, live
from tests.web.scheduling.test_at import answered, refused

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("nothing_kept")]

PATHS = ("snapshot", "pending", "summary", "objects?kind=Pod&limit=9", "lists/pods?limit=1000")
_serial = itertools.count(1)


@pytest.fixture
def lived(committed: None, monkeypatch: pytest.MonkeyPatch) -> Lived:
    monkeypatch.setattr(leases, "IDLE_IN_TRANSACTION_MS", 60_000)
    return live(cluster_services.cluster_create(name=f"moved{next(_serial)}", seed=1), rounds=3)


def told(cluster: Cluster, at: str, paths: tuple[str, ...] = PATHS) -> dict[str, Any]:
    client = rest.logged_in()
    return {path: answered(client, cluster, path, at) for path in paths}


def test_fork_has_a_past_of_its_own(lived: Lived) -> None:
    owner = User.objects.create(username=f"owner{next(_serial)}")
    name = f"fork{next(_serial)}"
    fork = cluster_fork(cluster_id=lived.cluster.pk, name=name, lifecycle_mode="frozen", owner=owner, actor="test")
    for each in Import.objects.filter(cluster=fork):
        runner.import_execute(str(each.pk))
    host, client = settle(lead(fork)), rest.logged_in()
    fork.refresh_from_db()
    at = f"{fork.rv}.{fork.seq}"
    then = {path: answered(client, fork, path) for path in PATHS}
    assert then["snapshot"]["nodes"] and then["snapshot"]["pods"]
    put(fork, *(make_pod(f"more{number}").req(cpu="100m") for number in range(5)))
    settle(host)
    assert told(fork, at) == then
    # Of what was before it, nothing is known: there it is empty.
    assert told(fork, "0.0")["snapshot"]["nodes"] == []


def test_mirror_has_lists_of_then_and_says_that_there_was_no_engine(lived: Lived) -> None:
    at = str(lived.places[len(lived.places) // 2][0])
    lists = ("lists/nodes?limit=1000", "lists/changes?limit=1000")
    then = told(lived.cluster, at, lists)
    Cluster.objects.filter(pk=lived.cluster.pk).update(is_mirror=True)
    moments.forget()
    assert told(lived.cluster, at, lists) == then
    for path in ("snapshot", "cache"):
        status, answer = refused(rest.logged_in(), lived.cluster, at, path)
        assert (status, answer["code"]) == (409, "not_replayable") and "decides nothing" in answer["message"]


def test_rows_of_an_earlier_release_answer_from_a_checkpoint_on(lived: Lived) -> None:
    """They do not say what an engine was made of, nor checkpoints what the last snapshot had changed."""
    cluster, client = lived.cluster, rest.logged_in()
    paths = (*PATHS, "cache?limit=20")
    then = {str(position): told(cluster, str(position), paths) for position, _ in dict(lived.places).items()}
    places = {str(position): place for position, place in lived.places}
    EngineStep.objects.filter(cluster=cluster).update(began_from=None)
    for row in Checkpoint.objects.filter(cluster=cluster):
        state = msgspec.msgpack.decode(zstandard.decompress(bytes(row.engine)))
        del state["snapshot"]["since"], state["snapshot"]["dropped"]
        Checkpoint.objects.filter(pk=row.pk).update(
            engine=zstandard.compress(msgspec.msgpack.encode(state)), gates=None
        )
    moments.forget()
    kept = {(row.run, row.step) for row in Checkpoint.objects.filter(cluster=cluster)}
    answers = set()
    for at, before in then.items():
        run, step = places[at]
        if run == 1 or any(each <= (run, step) and each[0] == run for each in kept):
            after = told(cluster, at, paths)
            cache, cache_before = after.pop(paths[-1]), before.pop(paths[-1])
            assert after == before
            answers.add(cache["snapshot"]["since"] is None)
            if cache["snapshot"]["since"] is None:
                for each in (cache, cache_before):
                    for name in ("since", "changed", "dropped"):
                        del each["snapshot"][name]
                    for node in each["nodes"]:
                        del node["changed"]
            assert cache == cache_before
        else:
            status, answer = refused(client, cluster, at, "snapshot")
            assert status == 409 and "earlier release" in answer["message"]
            answers.add("refused")
    assert {False, "refused"} <= answers
