"""The record is proven in the background, a little at a time; what comes of it is kept and told."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
import zstandard

from kschedweb.cluster.models import Cluster, SchedulerConfigVersion
from kschedweb.scheduling import checkpoints
from kschedweb.scheduling.models import HistoryProof
from kschedweb.scheduling.past import moments, proving
from kschedweb.scheduling.past.moments import Position
from kschedweb.traces.models import Attempt, Checkpoint, EngineStep
from tests.builders import make_node, make_pod
from tests.web.rest import logged_in
from tests.web.scheduling.conftest import scheduled
from tests.web.scheduling.lived import cut_at, cycles, live, replayed

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("patient_fence", "nothing_kept", "never_busy"),
]


def test_record_is_proven_a_little_at_a_time(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call a step or so, some with the engine kept and some without, as when a worker was killed meanwhile."""
    monkeypatch.setattr(checkpoints, "EVERY_ENTRIES", 200)
    live(cluster, rounds=4)
    had = Checkpoint.objects.filter(cluster=cluster).count()
    calls = 0
    while proving.prove(seconds=0) is not None:
        calls += 1
        if calls % 3 == 0:
            proving.forget()
        assert calls < 1_000
    proof = HistoryProof.objects.get(cluster=cluster)
    assert (proof.difference, proof.unproven, proof.cycles) == (None, 0, cycles(cluster))
    assert calls > 5
    assert Checkpoint.objects.filter(cluster=cluster).count() > had
    cluster.refresh_from_db()
    assert proof.seq == cluster.seq
    # What the prover wrote is as good as the leader's: moments come from it.
    for row in Checkpoint.objects.filter(cluster=cluster):
        moments.forget()
        with moments.moment(cluster_id=cluster.pk, position=Position(row.objects_rv, row.seq)) as found:
            assert found.scheduler is not None
    assert replayed(cluster).difference is None


def test_difference_is_kept_and_told(cluster: Cluster) -> None:
    scheduled(cluster, make_node("n0").capacity(cpu="4"), make_pod("p").req(cpu="1"))
    client = logged_in()
    assert client.get(f"/api/clusters/{cluster.pk}").json()["history"] is None
    proving.prove()
    told = client.get(f"/api/clusters/{cluster.pk}").json()["history"]
    assert (told["cycles"], told["difference"], told["entries_left"]) == (1, None, 0)
    assert "ksched_history_checked_cycles 1" in client.get("/metrics").content.decode()
    HistoryProof.objects.all().delete()
    proving.forget()
    Attempt.objects.filter(cluster=cluster).update(node_name="n9")
    proving.prove()
    told = client.get(f"/api/clusters/{cluster.pk}").json()["history"]
    assert (told["difference"]["pod"], told["difference"]["field"]) == ("default/p", "node_name")
    assert (told["difference"]["recorded"], told["difference"]["replayed"]) == ("n9", "n0")
    assert "ksched_history_differences 1" in client.get("/metrics").content.decode()
    assert proving.prove() is None


def test_cycles_that_are_passed_over_are_not_left(cluster: Cluster) -> None:
    scheduled(cluster, make_node("n0").capacity(cpu="4"), make_pod("p").req(cpu="1"))
    SchedulerConfigVersion.objects.update_or_create(cluster=cluster, version=1, defaults={"replayable": False})
    proving.prove()
    client = logged_in()
    told = client.get(f"/api/clusters/{cluster.pk}").json()["history"]
    assert (told["cycles"], told["unproven_cycles"], told["entries_left"], told["seq"]) == (0, 1, 0, 0)
    assert "ksched_history_left_entries 0" in client.get("/metrics").content.decode()


def test_cycles_are_counted_where_a_new_engine_cannot_read_the_checkpoints(cluster: Cluster) -> None:
    """As after an upgrade: no engine is known from where the prover was."""
    live(cluster, rounds=4)
    while (proof := HistoryProof.objects.filter(cluster=cluster, run__gt=1).first()) is None:
        assert proving.prove(seconds=0) == cluster.pk
    assert 0 < proof.cycles < cycles(cluster)
    EngineStep.objects.filter(cluster=cluster, run__lte=proof.run).update(began_from=None)
    Checkpoint.objects.filter(cluster=cluster).update(engine=zstandard.compress(msgspec.msgpack.encode({"version": 1})))
    proving.forget()
    while proving.prove() is not None:
        pass
    proof.refresh_from_db()
    assert proof.unproven > 0 and proof.reason and proof.difference is None
    assert proof.cycles + proof.unproven == cycles(cluster)


def test_what_retention_clears_away_before_the_prover_is_no_difference(cluster: Cluster) -> None:
    """Its engine is kept, and the step it would make next is gone."""
    live(cluster, rounds=4)
    assert proving.prove(seconds=0) == cluster.pk
    row = Checkpoint.objects.filter(cluster=cluster).latest("seq")
    cut_at(row)
    while proving.prove() is not None:
        pass
    proof = HistoryProof.objects.get(cluster=cluster)
    assert proof.difference is None and "history begins at" in proof.reason
    assert proof.cycles >= cycles(cluster) > 0


def test_proof_goes_on_behind_a_damaged_checkpoint(cluster: Cluster) -> None:
    live(cluster)
    oldest = Checkpoint.objects.filter(cluster=cluster).earliest("seq")
    cut_at(oldest)
    Checkpoint.objects.filter(pk=oldest.pk).update(engine=b"damaged")
    while proving.prove() is not None:
        pass
    proof = HistoryProof.objects.get(cluster=cluster)
    assert proof.difference is None and proof.cycles > 0
    assert f"the checkpoint of step {oldest.run}.{oldest.step} is damaged" in proof.reason


def test_cluster_that_cannot_be_proven_keeps_no_other_from_its_turn(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Cluster.objects.create(name="other", seed=1)
    for each in (cluster, other):
        scheduled(each, make_node("n0").capacity(cpu="4"), make_pod("p").req(cpu="1"))
    begun = proving._begun

    def begin(of: Cluster, *given: Any) -> Any:
        if of.pk == cluster.pk:
            raise ZeroDivisionError
        return begun(of, *given)

    monkeypatch.setattr(proving, "_begun", begin)
    with pytest.raises(ZeroDivisionError):
        proving.prove()
    assert proving.prove() == other.pk
    assert HistoryProof.objects.get(cluster=other).cycles == 1
