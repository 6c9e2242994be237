"""Stored matrices against a second, fresh run of the same cycles.

A runner schedules a mixed cluster into PostgreSQL. Then a new engine that has never seen a database is led through the
journal: the same changes of the log, at the same times, as many cycles. Each of its attempts is compared, array by
array, with the matrix decoded from what the first run stored.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from kschedweb.cluster import follow
from kschedweb.cluster.models import Cluster
from kschedweb.scheduling.runner import bindings
from kschedweb.traces import adapters
from kschedweb.traces.choices import StepKind
from kschedweb.traces.models import Attempt, EngineLog, EngineStep, NodeOrder
from scheduler_core import build, config
from scheduler_core.model import effects
from scheduler_core.ports import SeededDraws
from scheduler_core.scheduler.scheduler import Budget
from scheduler_core.trace import codec, digest
from scheduler_core.trace.matrix import AttemptMatrix
from tests.builders import make_manifest, make_node, make_pod
from tests.web.scheduling.conftest import PutObjects, lead, settle

pytestmark = pytest.mark.django_db(transaction=True)

MATRICES = 1_000
NODES = 80
ZONE_LABEL = "topology.kubernetes.io/zone"
ZONES = ("east", "west", "north")


def nodes() -> list[dict[str, Any]]:
    made = []
    for number in range(NODES):
        node = make_node(f"n{number:03}").capacity(cpu=str(4 + number % 5 * 3), memory="32Gi", pods="40")
        node = node.label({ZONE_LABEL: ZONES[number % 3], "disk": ("ssd", "hdd")[number % 2]})
        if number % 7 == 0:
            node = node.taint("dedicated", "gpu", "NoSchedule")
        if number % 11 == 0:
            node = node.taint("slow", "", "PreferNoSchedule")
        made.append(node.manifest())
    return made


def pods(first: int, count: int) -> list[dict[str, Any]]:
    """Of many kinds: plain, choosy, spread, apart from each other, tolerant, too large, and important."""
    made = []
    for number in range(first, first + count):
        pod = make_pod(f"p{number:04}").req(cpu=f"{100 + number % 9 * 150}m", memory="256Mi")
        match number % 10:
            case 1:
                pod = pod.spec(nodeSelector={"disk": "ssd"})
            case 2:
                spread = {
                    "maxSkew": 1,
                    "topologyKey": "topology.kubernetes.io/zone",
                    "whenUnsatisfiable": "DoNotSchedule",
                }
                pod = pod.label(app="web").spec(
                    topologySpreadConstraints=[spread | {"labelSelector": {"matchLabels": {"app": "web"}}}]
                )
            case 3:
                term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "db"}}}
                pod = pod.label(app="db").spec(
                    affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
                )
            case 4:
                pod = pod.spec(tolerations=[{"key": "dedicated", "operator": "Exists"}])
            case 5:
                pod = pod.req(cpu="30")
            case 6 if number % 20 == 6:
                pod = pod.spec(priorityClassName="high").req(cpu="9")
            case _:
                pass
        made.append(pod.manifest())
    return made


def run_first(cluster: Cluster, put_objects: PutObjects) -> None:
    """The cycles as the service makes them; nodes change while pods arrive, so that walks and orders differ."""
    host = lead(cluster)
    host.step()  # empty: everything comes through the log
    put_objects(cluster, [make_manifest("PriorityClass", "high", value=100), *nodes()])
    for batch in range(6):
        put_objects(cluster, pods(batch * 200, 200))
        settle(cluster, host)
        while bindings.evictions_run(cluster.pk):
            settle(cluster, host)
        put_objects(cluster, [make_node(f"late{batch}").capacity(cpu="6", memory="32Gi", pods="40").manifest()])
    settle(cluster, host)


def run_again(cluster: Cluster) -> dict[tuple[int, int], effects.Attempt]:
    """(step, place) → attempt of a new engine led through the journal; its digests have to be the journal's."""
    engine = build.build(config.load(None), draws=SeededDraws(cluster.seed), stopwatch=lambda: 0)
    made: dict[tuple[int, int], effects.Attempt] = {}
    chain = digest.START_OF_CHAIN
    changes, _ = follow.changes_after(cluster_id=cluster.pk, rv=0)
    for step in EngineStep.objects.filter(cluster=cluster).order_by("run", "step"):
        if step.kind != StepKind.APPLY:
            assert step.log_to == 0  # the first engine began with an empty log
        taken = [change for change in changes if step.log_from < change.rv <= step.log_to]
        done = engine.step(step.now_us, taken, Budget(max_cycles=step.cycles))
        assert len(done.attempts) == step.cycles
        for place, attempt in enumerate(done.attempts):
            made[step.step, place] = attempt
        chain = digest.step_digest(chain, [(one.attempt, digest.attempt_digest(one)) for one in done.attempts])
        assert chain == bytes(step.digest), f"step {step.step}"
    return made


def assert_same(left: Any, right: Any, where: str) -> None:
    """Equality that looks into arrays."""
    if isinstance(left, msgspec.Struct):
        assert type(left) is type(right), where
        for name in left.__struct_fields__:
            assert_same(getattr(left, name), getattr(right, name), f"{where}.{name}")
    elif isinstance(left, np.ndarray):
        assert isinstance(right, np.ndarray) and left.tolist() == right.tolist(), where
    else:
        assert left == right, where


def test_stored_matrices_are_those_of_a_second_run(put_objects: PutObjects) -> None:
    cluster = Cluster.objects.create(name="twice", seed=11)
    run_first(cluster, put_objects)
    again = run_again(cluster)
    orders = {order.digest: adapters.node_names(bytes(order.names)) for order in NodeOrder.objects.all()}
    stored = list(Attempt.objects.filter(cluster=cluster, matrix__isnull=False).order_by("seq"))
    for row in stored:
        decoded = codec.decode(bytes(row.matrix), orders[row.node_order] if row.node_order else ())
        attempt = again[row.step, row.place]
        assert (row.pod_uid, row.result, row.node_name) == (attempt.pod_uid, attempt.result, attempt.node_name)
        assert_same(decoded, AttemptMatrix.of(attempt), f"{row.namespace}/{row.name} #{row.attempt}")
    assert len(stored) >= MATRICES
    results = {row.result for row in stored}
    assert {"scheduled", "unschedulable"} <= results and len(orders) > 1
    assert any(row.preemption and row.preemption["victims"] for row in stored)
    assert EngineLog.objects.filter(cluster=cluster, kind="attempt").count() == len(again)
