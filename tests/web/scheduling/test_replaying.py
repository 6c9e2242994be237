"""Recorded steps made again are identical; what was changed in the record is named."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from random import Random
from typing import Any

import orjson
import pytest
import zstandard
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import Model

from kschedweb.cluster import extender_http, runner
from kschedweb.cluster.models import Change, Cluster, Import
from kschedweb.cluster.services import scheduler_config_set
from kschedweb.cluster.services.clusters import record_setting
from kschedweb.common import packing
from kschedweb.mirror.forking import cluster_fork
from kschedweb.scheduling import checkpoints
from kschedweb.scheduling.past import journal, moments
from kschedweb.scheduling.past.errors import DamagedError, NotReplayableError
from kschedweb.scheduling.past.moments import Position
from kschedweb.scheduling.past.objects import objects_at
from kschedweb.scheduling.past.replaying import replay_of
from kschedweb.traces.choices import StepKind
from kschedweb.traces.models import Attempt, Checkpoint, EngineLog, EngineStep, NodeOrder
from scheduler_core.errors import ExtenderError
from scheduler_core.queue.options import MAX_IN_UNSCHEDULABLE_US, SECOND_US
from scheduler_core.queue.scheduling_queue import LEFTOVER_FLUSH_INTERVAL_US
from scheduler_core.trace import codec
from tests.builders import make_manifest, make_node, make_pod, scheduler_config
from tests.cases import cases
from tests.web.rest import logged_in
from tests.web.scheduling.conftest import lead, put, scheduled, settle
from tests.web.scheduling.lived import cut_at, live, replayed

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("patient_fence", "nothing_kept")]

SECOND = timedelta(seconds=1)


@contextmanager
def changed(row: Model, **values: Any) -> Iterator[None]:
    """The stored row has these values meanwhile."""
    stored = type(row)._default_manager.filter(pk=row.pk)
    before = stored.values(*values).get()
    stored.update(**values)
    yield
    stored.update(**before)


def repacked(matrix: bytes) -> bytes:
    """The same, as another compressor packs it."""
    return matrix[:1] + zstandard.compress(zstandard.decompress(matrix[1:]), 9)


def test_changed_record_is_named(cluster: Cluster) -> None:
    """What decides nothing (how long it took) is no difference."""
    put(cluster, *(make_node(f"n{i}").capacity(cpu="4", pods="20") for i in range(5)))
    scheduled(cluster, *(make_pod(f"p{i}").req(cpu="1") for i in range(12)))
    row = Attempt.objects.filter(cluster=cluster, result="scheduled").order_by("seq")[4]
    entry = EngineLog.objects.get(cluster=cluster, seq=row.seq)
    step = EngineStep.objects.get(cluster=cluster, run=row.run, step=row.step)
    matrix = bytearray(bytes(row.matrix or b""))
    matrix[len(matrix) // 2] ^= 1
    columns = {
        "node_name": "n079", "result": "error", "message": "odd", "feasible": 3, "tied": 79, "refused": ["x"],
        "best": [], "digest": b"x" * 16, "matrix": bytes(matrix),
        "rv": 1, "profile": "other", "started_at": row.started_at + SECOND, "evaluated": 3, "rejections": [{}],
        "amounts": [[[0, "cpu", 1, 7_000, 4_000, "n1"]]], "preemption": {}, "devices": {}, "tried_first": True,
        "unschedulable_plugins": ["x"], "nominated_node_name": "n1",
    }  # fmt: skip
    cases: list[tuple[Model, dict[str, Any], str]] = [
        *((row, {name: value}, name) for name, value in columns.items()),
        (entry, {"payload": entry.payload | {"node": "n079"}}, "node"),
        (entry, {"payload": entry.payload | {"start": 79}}, "start"),
        (entry, {"payload": entry.payload | {"more": 1}}, "more"),
        (entry, {"rv": 1}, "rv"),
        (entry, {"at": entry.at + SECOND}, "time"),
        (entry, {"pod_uid": "x"}, "uid"),
        (step, {"digest": b"x" * 16}, "digest of the step"),
        (row, {"duration_us": 1}, ""),
        (row, {"durations": {"Filter": 1}}, ""),
        (row, {"best": row.best}, ""),  # as an earlier release stored it: names of plugins with every node
        (row, {"matrix": repacked(bytes(row.matrix or b""))}, ""),
        (entry, {"payload": entry.payload | {"duration_us": 1}}, ""),
    ]
    for stored, values, field in cases:
        with changed(stored, **values):
            found = replayed(cluster).difference
        if not field:
            assert found is None, values
            continue
        assert found is not None and found.field.startswith(field), values
        assert (found.run, found.step) == (row.run, row.step)
        assert found.pod == f"{row.namespace}/{row.name}" or stored is step
        assert found.recorded != found.replayed


def test_changed_object_is_found_where_it_first_counts(cluster: Cluster) -> None:
    host = scheduled(cluster, make_node("n0").capacity(cpu="4", pods="20"))
    put(cluster, make_pod("p").req(cpu="1"))
    settle(host)
    with connection.cursor() as cursor:
        cursor.execute("SELECT rv, object FROM cluster_change WHERE name = 'p' AND operation = 'created'")
        rv, content = cursor.fetchone()
        manifest = packing.unpacked(content)
        manifest["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "7"
        cursor.execute("UPDATE cluster_change SET object = %s WHERE rv = %s", [packing.packed(manifest), rv])
    found = replayed(cluster).difference
    assert found is not None and (found.pod, found.field) == ("default/p", "result")
    assert (found.recorded, found.replayed) == ("scheduled", "unschedulable")


def test_entry_that_is_gone_or_added_is_named(cluster: Cluster) -> None:
    scheduled(cluster, make_node("n0").capacity(cpu="4"), make_pod("p").req(cpu="1"))
    EngineLog.objects.filter(cluster=cluster, kind="cache").order_by("seq")[:1].get().delete()
    found = replayed(cluster).difference
    assert found is not None and found.field == "entries of the engine log"


def test_fork_and_import_have_histories_of_their_own(cluster: Cluster, admin_user: User) -> None:
    live(cluster, rounds=2)
    copy = cluster_fork(cluster_id=cluster.pk, name="copy", lifecycle_mode="frozen", owner=admin_user, actor="test")
    for each in Import.objects.filter(cluster=copy):
        runner.import_execute(str(each.pk))
    host = settle(lead(copy))
    put(copy, *(make_pod(f"more{i}").req(cpu="100m") for i in range(20)))
    settle(host)
    replay = replayed(copy)
    assert (replay.difference, replay.unproven) == (None, 0) and replay.cycles >= 20


VERBS = {"filterVerb": "filter", "prioritizeVerb": "prioritize", "bindVerb": "bind"}
EXTENDER = {"urlPrefix": "http://127.0.0.1:1", **VERBS, "weight": 5, "nodeCacheCapable": True}


@cases(
    "content",
    ("no packed text", b"damaged"),
    ("no JSON", packing.compressed(b'{"kind": "Pod",,}')),
    ("no object", packing.packed({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": 7}})),
)
def test_damaged_entry_of_the_change_log_is_named(content: bytes, cluster: Cluster) -> None:
    put(cluster, make_node("n1").capacity(cpu="4", pods="20"))
    scheduled(cluster, make_pod("a").req(cpu="1"), make_pod("b").req(cpu="1"))
    step = EngineStep.objects.filter(cluster=cluster, kind="apply", cycles=0).earliest("id")
    entry = Change.objects.filter(cluster=cluster, kind="Pod", rv__gt=step.log_from).earliest("rv")
    with changed(entry, object=content):
        reason = replayed(cluster).reason
        if content == b"damaged":
            with pytest.raises(DamagedError, match=f"the change log is damaged at {entry.rv}: "):
                objects_at(cluster.pk, entry.rv)
    assert reason.startswith("the change log is damaged between ")
    assert not replayed(cluster).reason


@cases("column,kind", ("of any step", "draws", StepKind.APPLY), ("of a first step", "began_from", StepKind.REBUILD))
def test_damaged_column_of_a_step_is_named(column: str, kind: StepKind, cluster: Cluster) -> None:
    put(cluster, *(make_node(f"n{i}").capacity(cpu="4", pods="20") for i in range(3)))
    scheduled(cluster, *(make_pod(f"p{i}").req(cpu="1") for i in range(3)))
    step = EngineStep.objects.filter(cluster=cluster, kind=kind).earliest("id")
    with changed(step, **{column: b"damaged"}):
        reason = replayed(cluster).reason
    assert reason.startswith(f"{column} of step {step.run}.{step.step} is damaged: ")
    assert not replayed(cluster).reason


def test_damaged_names_of_nodes_are_named(cluster: Cluster) -> None:
    put(cluster, make_node("n1").capacity(cpu="4", pods="20"))
    scheduled(cluster, make_pod("a").req(cpu="1"))
    order = NodeOrder.objects.get(cluster=cluster)
    with (
        changed(order, names=b"damaged"),
        pytest.raises(DamagedError, match=f"the names of nodes {order.digest} are damaged: "),
    ):
        journal.node_names(cluster.pk, order.digest)
    assert journal.node_names(cluster.pk, order.digest) == ("n1",)


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


def test_extenders_answer_from_the_record(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    moody = Moody()
    monkeypatch.setattr(extender_http, "connect", lambda *_: moody)
    content = scheduler_config(extenders=[EXTENDER]).encode()
    scheduler_config_set(cluster_id=cluster.pk, content=content, actor="test")
    put(cluster, *(make_node(f"n{i}").capacity(cpu="8", pods="20") for i in range(6)))
    host = scheduled(cluster, *(make_pod(f"p{i}").req(cpu="1") for i in range(30)))
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
    answered = Attempt.objects.filter(cluster=cluster).order_by("seq")[3]
    with changed(answered, matrix=b"no matrix"):
        assert f"the matrix of the attempt at {answered.seq} is damaged" in replayed(cluster).reason
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


def test_amounts_are_compared_where_they_are_kept(cluster: Cluster) -> None:
    """Attempts of earlier releases have none, which is no difference."""
    put(cluster, make_node("n1").capacity(cpu="4", pods="20"))
    scheduled(cluster, make_pod("large").req(cpu="8"))
    row = Attempt.objects.get(cluster=cluster, result="unschedulable")
    assert row.amounts and replayed(cluster).difference is None
    Attempt.objects.filter(pk=row.pk).update(amounts=[[[0, "cpu", 1, 7_000, 4_000, "n1"]]])
    found = replayed(cluster).difference
    assert found is not None and (found.field, found.pod) == ("amounts", "default/large")
    Attempt.objects.filter(pk=row.pk).update(amounts=None)
    assert replayed(cluster).difference is None


def test_steps_without_entries_after_the_cut_stay(cluster: Cluster) -> None:
    """They stand where the checkpoint does in the engine's log, and are made again from it like others."""
    host = scheduled(cluster, make_node("n0").capacity(cpu="4"), make_pod("a").req(cpu="1"))
    checkpoints.checkpoint_want(cluster_id=cluster.pk)
    host.step()
    row = Checkpoint.objects.get(cluster=cluster)
    put(cluster, make_manifest("PriorityClass", "high", value=100))
    host.step()
    step = EngineStep.objects.filter(cluster=cluster).latest("step")
    assert step.seq_to == row.seq and step.step > row.step
    put(cluster, make_pod("b").req(cpu="1"))
    settle(host)
    cut_at(row)
    replay = replayed(cluster)
    assert (replay.difference, replay.unproven, replay.cycles) == (None, 0, 1)
    cluster.refresh_from_db()
    with moments.moment(cluster_id=cluster.pk, position=Position(cluster.rv, cluster.seq)) as found:
        assert found.scheduler is not None


def test_step_that_takes_in_only_what_concerns_no_scheduling_is_made_again_as_it_went(cluster: Cluster) -> None:
    """Steps of the engine run the flush of what waits too long: what is recorded as one has to have been one."""
    base = 1_800_000_000 * SECOND_US
    assert base % LEFTOVER_FLUSH_INTERVAL_US == 0
    host = lead(cluster)
    host.clock_us = lambda: base + 6 * SECOND_US
    put(cluster, make_node("n0").capacity(cpu="4"), make_pod("big").req(cpu="9"))
    settle(settle(host))  # its status is a change too
    # Between two flushes, when the pod has waited long enough for the next one.
    host.clock_us = lambda: base + 7 * SECOND_US + MAX_IN_UNSCHEDULABLE_US
    before = EngineStep.objects.filter(cluster=cluster).count()
    with transaction.atomic():
        record_setting(cluster, "somebody")
    settle(host)
    assert EngineStep.objects.filter(cluster=cluster).count() > before
    replay = replayed(cluster)
    assert (replay.difference, replay.unproven) == (None, 0)


def test_attempts_that_got_devices_are_identical(cluster: Cluster) -> None:
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    slices = {"driver": "gpu.example.com", "nodeName": "n1", "pool": pool, "devices": [{"name": "gpu-0"}]}
    request = {"name": "r", "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}}
    pods = [make_pod(name).req(cpu="1").manifest() for name in ("gets", "wants")]
    for pod in pods:
        pod["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": pod["metadata"]["name"]}]
    scheduled(
        cluster,
        make_node("n1").capacity(cpu="4", pods="20"),
        make_manifest("DeviceClass", "gpu", spec={}),
        make_manifest("ResourceSlice", "s", spec=slices),
        *(
            make_manifest("ResourceClaim", name, spec={"devices": {"requests": [request]}})
            for name in ("gets", "wants")
        ),
        *pods,
    )
    got, wanted = Attempt.objects.filter(cluster=cluster).order_by("name")
    assert got.devices["allocated"] and wanted.devices["tallies"]
    assert replayed(cluster).difference is None
