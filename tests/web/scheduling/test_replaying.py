"""Recorded steps made again are identical; what was changed in the record is named."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import orjson
import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import Sum

from kschedweb.cluster import extender_http, runner
from kschedweb.cluster.models import Cluster, Import
from kschedweb.cluster.services import scheduler_config_set
from kschedweb.common import packing
from kschedweb.mirror.forking import cluster_fork
from kschedweb.scheduling import checkpoints, retention
from kschedweb.scheduling.past import journal, moments
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
    moments.forget()
    yield
    moments.forget()


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
