"""Recorded steps made again are identical; what was changed in the record is named."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import msgspec
import orjson
import pytest
import zstandard
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import Sum

from kschedweb.cluster import extender_http, runner
from kschedweb.cluster.models import Cluster, Import, SchedulerConfigVersion
from kschedweb.cluster.services import scheduler_config_set
from kschedweb.common import packing
from kschedweb.mirror.forking import cluster_fork
from kschedweb.scheduling import checkpoints, retention
from kschedweb.scheduling.models import HistoryProof
from kschedweb.scheduling.past import journal, moments, proving
from kschedweb.scheduling.past.errors import NotReplayableError
from kschedweb.scheduling.past.moments import Position
from kschedweb.scheduling.past.replaying import Replay, replay_of
from kschedweb.traces.models import Attempt, Checkpoint, EngineLog, EngineStep
from scheduler_core.errors import ExtenderError
from scheduler_core.trace import codec
from tests.builders import make_manifest, make_node, make_pod
from tests.web.rest import logged_in
from tests.web.scheduling.conftest import PutObjects, lead, settle
from tests.web.scheduling.lived import live

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("patient_fence")]


@pytest.fixture(autouse=True)
def _nothing_kept() -> Iterator[None]:
    proving.forget()
    moments.forget()
    yield
    proving.forget()


def replayed(cluster: Cluster, **span: Any) -> Replay:
    replay = replay_of(cluster.pk, **span)
    replay.go()
    return replay


def cycles(cluster: Cluster) -> int:
    return int(EngineStep.objects.filter(cluster=cluster).aggregate(cycles=Sum("cycles"))["cycles"])


def test_all_of_history_is_identical(cluster: Cluster, put_objects: PutObjects) -> None:
    """Through lost engines, other leaders, other configurations, preemptions, refused bindings."""
    lived = live(cluster, put_objects)
    replay = replayed(cluster)
    assert (replay.difference, replay.unproven) == (None, 0)
    assert replay.cycles == cycles(cluster) > 100
    middle, place = lived.places[len(lived.places) // 2]
    part = replayed(cluster, first=middle)
    assert part.difference is None and 0 < part.cycles < replay.cycles
    assert replayed(cluster, last=middle).cycles + part.cycles == replay.cycles


def flip_column(name: str, value: Any) -> Callable[[Attempt], None]:
    def flip(row: Attempt) -> None:
        Attempt.objects.filter(pk=row.pk).update(**{name: value})

    return flip


def flip_matrix(row: Attempt) -> None:
    blob = bytearray(bytes(row.matrix or b""))
    blob[len(blob) // 2] ^= 1
    Attempt.objects.filter(pk=row.pk).update(matrix=bytes(blob))


def flip_log(name: str, value: Any) -> Callable[[Attempt], None]:
    def flip(row: Attempt) -> None:
        entry = EngineLog.objects.get(cluster_id=row.cluster_id, seq=row.seq)
        EngineLog.objects.filter(pk=entry.pk).update(payload=entry.payload | {name: value})

    return flip


def flip_step(row: Attempt) -> None:
    EngineStep.objects.filter(cluster_id=row.cluster_id, run=row.run, step=row.step).update(digest=b"x" * 16)


@pytest.mark.parametrize(
    ("flip", "field"),
    [
        (flip_column("node_name", "n079"), "node_name"),
        (flip_column("result", "error"), "result"),
        (flip_column("message", "odd"), "message"),
        (flip_column("feasible", 3), "feasible"),
        (flip_column("tied", 79), "tied"),
        (flip_column("refused", ["x"]), "refused"),
        (flip_column("best", []), "best"),
        (flip_column("digest", b"x" * 16), "digest"),
        (flip_matrix, "matrix"),
        (flip_log("node", "n079"), "node"),
        (flip_log("start", 79), "start"),
        (flip_step, "digest of the step"),
        (flip_column("duration_us", 1), ""),
        (flip_column("durations", {"Filter": 1}), ""),
        (flip_log("duration_us", 1), ""),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_changed_record_is_named(
    flip: Callable[[Attempt], None], field: str, cluster: Cluster, put_objects: PutObjects
) -> None:
    """What decides nothing (how long it took) is no difference."""
    put_objects(cluster, [make_node(f"n{i}").capacity(cpu="4", pods="20").manifest() for i in range(5)])
    put_objects(cluster, [make_pod(f"p{i}").req(cpu="1").manifest() for i in range(12)])
    settle(cluster, lead(cluster))
    row = Attempt.objects.filter(cluster=cluster, result="scheduled").order_by("seq")[4]
    flip(row)
    replay = replayed(cluster)
    if not field:
        assert replay.difference is None
        return
    found = replay.difference
    assert found is not None and found.field.startswith(field)
    assert (found.run, found.step) == (row.run, row.step)
    if field != "digest of the step":
        assert found.pod == f"{row.namespace}/{row.name}"
    assert found.recorded != found.replayed


def test_changed_object_is_found_where_it_first_counts(cluster: Cluster, put_objects: PutObjects) -> None:
    put_objects(cluster, [make_node("n0").capacity(cpu="4", pods="20").manifest()])
    host = lead(cluster)
    settle(cluster, host)
    put_objects(cluster, [make_pod("p").req(cpu="1").manifest()])
    settle(cluster, host)
    with connection.cursor() as cursor:
        cursor.execute("SELECT rv, object FROM cluster_change WHERE name = 'p' AND operation = 'created'")
        rv, content = cursor.fetchone()
        manifest = packing.unpacked(content)
        manifest["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "7"
        cursor.execute("UPDATE cluster_change SET object = %s WHERE rv = %s", [packing.packed(manifest), rv])
    found = replayed(cluster).difference
    assert found is not None and (found.pod, found.field) == ("default/p", "result")
    assert (found.recorded, found.replayed) == ("scheduled", "unschedulable")


def test_entry_that_is_gone_or_added_is_named(cluster: Cluster, put_objects: PutObjects) -> None:
    put_objects(cluster, [make_node("n0").capacity(cpu="4").manifest(), make_pod("p").req(cpu="1").manifest()])
    settle(cluster, lead(cluster))
    EngineLog.objects.filter(cluster=cluster, kind="cache").order_by("seq")[:1].get().delete()
    found = replayed(cluster).difference
    assert found is not None and found.field == "entries of the engine log"


def test_fork_and_import_have_histories_of_their_own(
    cluster: Cluster, put_objects: PutObjects, admin_user: User
) -> None:
    live(cluster, put_objects, rounds=2)
    copy = cluster_fork(cluster_id=cluster.pk, name="copy", lifecycle_mode="frozen", owner=admin_user, actor="test")
    for each in Import.objects.filter(cluster=copy):
        runner.import_execute(str(each.pk))
    host = lead(copy)
    settle(copy, host)
    put_objects(copy, [make_pod(f"more{i}").req(cpu="100m").manifest() for i in range(20)])
    settle(copy, host)
    replay = replayed(copy)
    assert (replay.difference, replay.unproven) == (None, 0) and replay.cycles >= 20


def test_history_that_was_cut_is_made_again_from_the_cut_on(cluster: Cluster, put_objects: PutObjects) -> None:
    live(cluster, put_objects)
    row = Checkpoint.objects.filter(cluster=cluster).latest("seq")
    retention._clear(cluster.pk, retention.Cut(row.seq, row.rv, row.at, row.run, row.step), retention.PruneReport())
    replay = replayed(cluster)
    assert (replay.difference, replay.unproven) == (None, 0)
    assert 0 < replay.cycles == sum(EngineStep.objects.filter(cluster=cluster).values_list("cycles", flat=True))


def test_steps_without_entries_after_the_cut_stay(cluster: Cluster, put_objects: PutObjects) -> None:
    """They stand where the checkpoint does in the engine's log, and are made again from it like others."""
    put_objects(cluster, [make_node("n0").capacity(cpu="4").manifest(), make_pod("a").req(cpu="1").manifest()])
    host = lead(cluster)
    settle(cluster, host)
    checkpoints.checkpoint_want(cluster_id=cluster.pk)
    host.step()
    row = Checkpoint.objects.get(cluster=cluster)
    put_objects(cluster, [make_manifest("PriorityClass", "high", value=100)])
    host.step()
    step = EngineStep.objects.filter(cluster=cluster).latest("step")
    assert step.seq_to == row.seq and step.step > row.step
    put_objects(cluster, [make_pod("b").req(cpu="1").manifest()])
    settle(cluster, host)
    retention._clear(cluster.pk, retention.Cut(row.seq, row.rv, row.at, row.run, row.step), retention.PruneReport())
    replay = replayed(cluster)
    assert (replay.difference, replay.unproven, replay.cycles) == (None, 0, 1)
    cluster.refresh_from_db()
    with moments.moment(cluster_id=cluster.pk, position=Position(cluster.rv, cluster.seq)) as found:
        assert found.scheduler is not None


def test_runs_of_earlier_releases_stay_unproven_and_say_why(cluster: Cluster, put_objects: PutObjects) -> None:
    live(cluster, put_objects)
    every = cycles(cluster)
    last = EngineStep.objects.filter(cluster=cluster).latest("run")
    EngineStep.objects.filter(cluster=cluster).exclude(run=last.run).update(began_from=None)
    replay = replayed(cluster)
    assert replay.difference is None
    assert replay.cycles + replay.unproven == every and replay.cycles and replay.unproven
    assert "earlier release" in replay.reason


EXTENDER = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
extenders:
- urlPrefix: http://127.0.0.1:1
  filterVerb: filter
  prioritizeVerb: prioritize
  bindVerb: bind
  weight: 5
  nodeCacheCapable: true
"""


class Moody:
    """An extender that answers as it likes: equal questions have other answers, and some none."""

    def __init__(self) -> None:
        self.draws = Random(5)

    def call(self, verb: str, payload: bytes) -> bytes:
        if self.draws.random() < 0.15:
            raise ExtenderError("it is in a bad mood")
        if verb == "bind":
            return b"{}"
        names = [name for name in orjson.loads(payload)["NodeNames"] if self.draws.random() < 0.8]
        if verb == "filter":
            return orjson.dumps({"NodeNames": names})
        return orjson.dumps([{"Host": name, "Score": self.draws.randint(0, 10)} for name in names])


def test_extenders_answer_from_the_record(
    cluster: Cluster, put_objects: PutObjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    moody = Moody()
    monkeypatch.setattr(extender_http, "connect", lambda *_: moody)
    scheduler_config_set(cluster_id=cluster.pk, content=EXTENDER.encode(), actor="test")
    put_objects(cluster, [make_node(f"n{i}").capacity(cpu="8", pods="20").manifest() for i in range(6)])
    put_objects(cluster, [make_pod(f"p{i}").req(cpu="1").manifest() for i in range(30)])
    host = lead(cluster)
    settle(cluster, host)
    asked = [
        exchange
        for row in Attempt.objects.filter(cluster=cluster)
        for exchange in codec.decode(bytes(row.matrix or b""), journal.node_names(cluster.pk, row.node_order)).exchanges
    ]
    assert {exchange.point for exchange in asked} == {"filter", "prioritize", "bind"}
    assert any(exchange.answer is None for exchange in asked)
    monkeypatch.setattr(extender_http, "connect", None)  # nobody is asked
    replay = replayed(cluster)
    assert (replay.difference, replay.unproven) == (None, 0) and replay.cycles > 20
    cluster.refresh_from_db()
    with moments.moment(cluster_id=cluster.pk, position=Position(cluster.rv, cluster.seq)) as found:
        assert found.scheduler is not None and host._engine is not None
        assert len(found.scheduler.engine.cache.assumed_pods) == len(host._engine.engine.cache.assumed_pods)
    moments.forget()
    monkeypatch.setattr(journal, "_exchanges", lambda *_: ())  # as where answers were taken out of the record
    answer = logged_in().get(f"/api/clusters/{cluster.pk}/snapshot?at={cluster.rv}.{cluster.seq}")
    assert answer.status_code == 409 and "does not go as it is recorded" in answer.json()["message"]


def test_mirror_has_nothing_to_replay(cluster: Cluster) -> None:
    Cluster.objects.filter(pk=cluster.pk).update(is_mirror=True)
    with pytest.raises(NotReplayableError, match="decides nothing"):
        replay_of(cluster.pk)


def test_record_is_proven_a_little_at_a_time(
    cluster: Cluster, put_objects: PutObjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each call a step or so, some with the engine kept and some without, as when a worker was killed meanwhile."""
    monkeypatch.setattr(checkpoints, "EVERY_ENTRIES", 200)
    live(cluster, put_objects, rounds=4)
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


def test_difference_is_kept_and_told(cluster: Cluster, put_objects: PutObjects) -> None:
    put_objects(cluster, [make_node("n0").capacity(cpu="4").manifest(), make_pod("p").req(cpu="1").manifest()])
    settle(cluster, lead(cluster))
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


def test_cycles_that_are_passed_over_are_not_left(cluster: Cluster, put_objects: PutObjects) -> None:
    put_objects(cluster, [make_node("n0").capacity(cpu="4").manifest(), make_pod("p").req(cpu="1").manifest()])
    settle(cluster, lead(cluster))
    SchedulerConfigVersion.objects.update_or_create(cluster=cluster, version=1, defaults={"replayable": False})
    proving.prove()
    client = logged_in()
    told = client.get(f"/api/clusters/{cluster.pk}").json()["history"]
    assert (told["cycles"], told["unproven_cycles"], told["entries_left"], told["seq"]) == (0, 1, 0, 0)
    assert "ksched_history_left_entries 0" in client.get("/metrics").content.decode()


def test_cycles_are_counted_where_a_new_engine_cannot_read_the_checkpoints(
    cluster: Cluster, put_objects: PutObjects
) -> None:
    """As after an upgrade: no engine is known from where the prover was."""
    live(cluster, put_objects, rounds=4)
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


def test_what_retention_clears_away_before_the_prover_is_no_difference(
    cluster: Cluster, put_objects: PutObjects
) -> None:
    """Its engine is kept, and the step it would make next is gone."""
    live(cluster, put_objects, rounds=4)
    assert proving.prove(seconds=0) == cluster.pk
    row = Checkpoint.objects.filter(cluster=cluster).latest("seq")
    retention._clear(cluster.pk, retention.Cut(row.seq, row.rv, row.at, row.run, row.step), retention.PruneReport())
    while proving.prove() is not None:
        pass
    proof = HistoryProof.objects.get(cluster=cluster)
    assert proof.difference is None and "history begins at" in proof.reason
    assert proof.cycles >= cycles(cluster) > 0


def test_cluster_that_cannot_be_proven_keeps_no_other_from_its_turn(
    cluster: Cluster, put_objects: PutObjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Cluster.objects.create(name="other", seed=1)
    for each in (cluster, other):
        put_objects(each, [make_node("n0").capacity(cpu="4").manifest(), make_pod("p").req(cpu="1").manifest()])
        settle(each, lead(each))
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


def test_amounts_are_compared_where_they_are_kept(cluster: Cluster, put_objects: PutObjects) -> None:
    """Attempts of earlier releases have none, which is no difference."""
    put_objects(cluster, [make_node("n1").capacity(cpu="4", pods="20").manifest()])
    put_objects(cluster, [make_pod("large").req(cpu="8").manifest()])
    settle(cluster, lead(cluster))
    row = Attempt.objects.get(cluster=cluster, result="unschedulable")
    assert row.amounts and replayed(cluster).difference is None
    Attempt.objects.filter(pk=row.pk).update(amounts=[[[0, "cpu", 1, 7_000, 4_000, "n1"]]])
    found = replayed(cluster).difference
    assert found is not None and (found.field, found.pod) == ("amounts", "default/large")
    Attempt.objects.filter(pk=row.pk).update(amounts=None)
    assert replayed(cluster).difference is None


def test_attempts_that_got_devices_are_identical(cluster: Cluster, put_objects: PutObjects) -> None:
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    slices = {"driver": "gpu.example.com", "nodeName": "n1", "pool": pool, "devices": [{"name": "gpu-0"}]}
    request = {"name": "r", "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}}
    pods = [make_pod(name).req(cpu="1").manifest() for name in ("gets", "wants")]
    for pod in pods:
        pod["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": pod["metadata"]["name"]}]
    put_objects(
        cluster,
        [
            make_node("n1").capacity(cpu="4", pods="20").manifest(),
            make_manifest("DeviceClass", "gpu", spec={}),
            make_manifest("ResourceSlice", "s", spec=slices),
            *(
                make_manifest("ResourceClaim", name, spec={"devices": {"requests": [request]}})
                for name in ("gets", "wants")
            ),
            *pods,
        ],
    )
    settle(cluster, lead(cluster))
    got, wanted = Attempt.objects.filter(cluster=cluster).order_by("name")
    assert got.devices["allocated"] and wanted.devices["tallies"]
    assert replayed(cluster).difference is None
