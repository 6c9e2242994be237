"""A writer is frozen at every place of its work: somebody else leads all the same, and it writes nothing more."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest
from django.db import connection

from kschedweb.cluster.models import Cluster
from kschedweb.scheduling import leases, services
from kschedweb.scheduling.models import Binding, EngineState
from kschedweb.scheduling.runner import host
from kschedweb.scheduling.runner.sweep import sweep
from kschedweb.traces.models import EngineStep
from tests.builders import make_manifest, make_node, make_pod
from tests.web.scheduling.conftest import PutObjects, lead
from tests.web.scheduling.freezing import COMMITTED, REFUSED, freeze

pytestmark = pytest.mark.django_db(transaction=True)

MOST_PLACES = 200
LOCK_SECONDS = 10.0


def crowded(name: str, put_objects: PutObjects) -> Cluster:
    """A pod that fits, one that fits nowhere, and one for which another has to go."""
    cluster = Cluster.objects.create(name=name, seed=1)
    sizes = {"n1": "4", "n2": "1"}
    nodes = [make_node(name).capacity(cpu=cpu, memory="8Gi", pods="110").manifest() for name, cpu in sizes.items()]
    low = make_pod("low").req(cpu="3").on("n1").phase("Running").manifest()
    high = make_pod("high").req(cpu="3").spec(priorityClassName="high").manifest()
    others = [make_pod("fits").req(cpu="1").manifest(), make_pod("big").req(cpu="32").manifest()]
    put_objects(cluster, [make_manifest("PriorityClass", "high", value=100), *nodes, low, *others, high])
    return cluster


def everywhere(
    name: str, put_objects: PutObjects, prepare: Callable[[Cluster], Callable[[], object]], *, first: int = 0
) -> dict[str, float]:
    """Freeze the work at each of its places, of a new cluster each time; how long a takeover took there, in seconds."""
    took: dict[str, float] = {}
    for at in range(first, MOST_PLACES):
        cluster = crowded(f"{name}-{at}", put_objects)
        work = prepare(cluster)
        frozen = freeze(work, at)
        if frozen.place is None:
            assert frozen.code == COMMITTED
            return took
        epoch = leases.fence_share(cluster_id=cluster.pk)
        assert epoch is not None
        view = next(view for view in leases.leases_list() if view.cluster_id == cluster.pk)
        started = time.monotonic()
        try:
            taken = leases.lease_acquire(view=view, holder="b", duration_seconds=15, lock_seconds=LOCK_SECONDS)
            took[f"{at} {frozen.place}"] = time.monotonic() - started
            written = EngineStep.objects.filter(cluster=cluster).count()
            done = Binding.objects.filter(cluster=cluster, status="done").count()
        finally:
            code = frozen.thaw()
        assert taken is not None and taken[1] == epoch + 1, frozen.place
        assert EngineStep.objects.filter(cluster=cluster).count() == written, frozen.place
        assert Binding.objects.filter(cluster=cluster, status="done").count() == done, frozen.place
        assert code == REFUSED, frozen.place
    raise AssertionError("the work does not end")


@pytest.fixture(autouse=True)
def _little_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "PATIENCE", 0.02)
    # A step that took too long would end early, and come to fewer places than the one before it.
    monkeypatch.setattr(host, "STEP_SECONDS", 3600.0)


def test_leader_frozen_anywhere_in_a_step_is_replaced_in_time(put_objects: PutObjects) -> None:
    took = everywhere("step", put_objects, lambda cluster: lead(cluster, "old").step)
    tables = {match.group(1) for place in took if (match := re.search(r'COPY "(\w+)"', place))}
    assert tables == {"traces_enginelog", "traces_attempt", "cluster_event", "bindings", "evictions", "cluster_change"}
    assert sum("COMMIT" in place for place in took) >= 2  # the rebuild's, and that of the step


def test_binding_worker_frozen_anywhere_keeps_nobody_from_leading(put_objects: PutObjects) -> None:
    def decided(cluster: Cluster) -> Callable[[], object]:
        lead(cluster, "old").step()
        assert Binding.objects.filter(cluster=cluster, status="pending").exists()
        return lambda: services.bindings_carry_out(cluster_id=cluster.pk)

    # At place 0 it asks for the fence: frozen there it goes on under the new epoch, for a worker leads nothing.
    took = everywhere("binding", put_objects, decided, first=1)
    assert any("cluster_change" in place for place in took)
    assert any("COMMIT" in place for place in took)


def test_frozen_binding_worker_is_ended_by_the_sweep_where_nobody_takes_over(
    put_objects: PutObjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = crowded("alone", put_objects)
    leader = lead(cluster)
    leader.step()
    place, at = "", -1
    while "cluster_change" not in place:
        at += 1
        frozen = freeze(lambda: services.bindings_carry_out(cluster_id=cluster.pk), at)
        assert frozen.place is not None
        place = frozen.place
        if "cluster_change" not in place:
            assert frozen.thaw() == COMMITTED
            Binding.objects.filter(cluster=cluster).update(status="pending")
    monkeypatch.setattr(leases, "COPY_SECONDS", 0.0)
    step = EngineState.objects.get(pk=cluster.pk).step
    sweep()
    try:
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '10s'")
        leader.step()  # it needs the cluster's counter, which the frozen worker had locked
    finally:
        connection.close()
        assert frozen.thaw() == REFUSED
    assert EngineState.objects.get(pk=cluster.pk).step > step
