"""A writer is frozen at every place of its work: somebody else leads all the same, and it writes nothing more."""

from __future__ import annotations

import re
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
from tests.waiting import HANG_SECONDS
from tests.web.scheduling.conftest import lead, put
from tests.web.scheduling.freezing import COMMITTED, REFUSED, freeze, places_of

pytestmark = pytest.mark.django_db(transaction=True)

LOCK_SECONDS = HANG_SECONDS
WHERE = pytest.mark.parametrize(
    "kinds",
    [
        # Under the fence, among the rows, before the commit: between two of them nothing else is locked.
        pytest.param(("SELECT epoch", "COPY", "INSERT INTO", "UPDATE bindings", "COMMIT"), id="where rows are written"),
        pytest.param(("",), id="at every statement", marks=pytest.mark.slow),
    ],
)


def crowded(name: str) -> Cluster:
    """A pod that fits, one that fits nowhere, and one for which another has to go."""
    cluster = Cluster.objects.create(name=name, seed=1)
    sizes = {"n1": "4", "n2": "1"}
    nodes = [make_node(name).capacity(cpu=cpu).manifest() for name, cpu in sizes.items()]
    low = make_pod("low").req(cpu="3").on("n1").phase("Running").manifest()
    high = make_pod("high").req(cpu="3").spec(priorityClassName="high").manifest()
    others = [make_pod("fits").req(cpu="1").manifest(), make_pod("big").req(cpu="32").manifest()]
    put(cluster, make_manifest("PriorityClass", "high", value=100), *nodes, low, *others, high)
    return cluster


def everywhere(
    name: str, prepare: Callable[[Cluster], Callable[[], object]], kinds: tuple[str, ...], *, first: int = 0
) -> list[str]:
    """Freeze the work, on a new cluster each time, at each place that begins with one of `kinds`; these places."""
    places = places_of(prepare(crowded(name)))
    chosen = [at for at in range(first, len(places)) if places[at].startswith(kinds)]
    for at in chosen:
        cluster = crowded(f"{name}-{at}")
        frozen = freeze(prepare(cluster), at)
        try:
            assert frozen.place == places[at]
            epoch = leases.fence_share(cluster_id=cluster.pk)
            assert epoch is not None
            view = next(view for view in leases.leases_list() if view.cluster_id == cluster.pk)
            taken = leases.lease_acquire(view=view, holder="b", duration_seconds=15, lock_seconds=LOCK_SECONDS)
            written = EngineStep.objects.filter(cluster=cluster).count()
            done = Binding.objects.filter(cluster=cluster, status="done").count()
        finally:
            code = frozen.thaw()
        assert taken is not None and taken[1] == epoch + 1, frozen.place
        assert EngineStep.objects.filter(cluster=cluster).count() == written, frozen.place
        assert Binding.objects.filter(cluster=cluster, status="done").count() == done, frozen.place
        assert code == REFUSED, frozen.place
    return [places[at] for at in chosen]


@pytest.fixture(autouse=True)
def _little_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "PATIENCE", 0.05 / LOCK_SECONDS)
    # A step that took too long would end early, and come to fewer places than the one before it.
    monkeypatch.setattr(host, "STEP_SECONDS", 3600.0)


@WHERE
def test_leader_frozen_in_a_step_is_replaced(kinds: tuple[str, ...]) -> None:
    places = everywhere("step", lambda cluster: lead(cluster, "old").step, kinds)
    tables = {match.group(1) for place in places if (match := re.search(r'(?:COPY "|INSERT INTO )(\w+)', place))}
    assert tables >= {"traces_enginelog", "traces_attempt", "cluster_event", "bindings", "evictions", "cluster_change"}
    assert sum("COMMIT" in place for place in places) >= 2  # the rebuild's, and that of the step


@WHERE
def test_frozen_binding_worker_keeps_nobody_from_leading(kinds: tuple[str, ...]) -> None:
    def decided(cluster: Cluster) -> Callable[[], object]:
        lead(cluster, "old").step()
        assert Binding.objects.filter(cluster=cluster, status="pending").exists()
        return lambda: services.bindings_carry_out(cluster_id=cluster.pk)

    # At place 0 it asks for the fence: frozen there it goes on under the new epoch, for a worker leads nothing.
    places = everywhere("binding", decided, kinds, first=1)
    assert any("cluster_change" in place for place in places)
    assert any("COMMIT" in place for place in places)


def test_frozen_binding_worker_is_ended_by_the_sweep_where_nobody_takes_over(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = crowded("alone")
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
            cursor.execute(f"SET lock_timeout = '{LOCK_SECONDS}s'")
        leader.step()  # it needs the cluster's counter, which the frozen worker had locked
    finally:
        connection.close()
        assert frozen.thaw() == REFUSED
    assert EngineState.objects.get(pk=cluster.pk).step > step
