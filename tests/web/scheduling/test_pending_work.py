"""Which pending work is carried out, and what a rebuilt engine remembers of the events told before."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from kschedweb.cluster.models import Cluster, Event, Node, Pod
from kschedweb.common import hearing as hearings
from kschedweb.common import wake
from kschedweb.scheduling import leases, selectors, services
from kschedweb.scheduling.models import Binding, Eviction
from kschedweb.scheduling.remembered import SERIES_WITHIN_US
from kschedweb.scheduling.runner import bindings
from scheduler_core.api.times import microseconds
from tests.builders import make_node, make_pod
from tests.web.scheduling.conftest import put

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("patient_fence")]

NOW = timezone.now().replace(microsecond=0)
SERIES = timedelta(microseconds=SERIES_WITHIN_US)


@pytest.fixture
def pods(cluster: Cluster) -> dict[str, str]:
    """Name → uid of three unassigned pods beside a node."""
    names = ("first", "second", "third")
    put(cluster, make_node("n"), *(make_pod(name).req(cpu="1") for name in names))
    return dict(Pod.objects.filter(cluster=cluster).values_list("name", "uid"))


def work(model: Any, cluster: Cluster, name: str, uid: str, *, epoch: int, **fields: Any) -> Any:
    values = {"namespace": "default", "name": name, "pod_uid": uid, "node_name": "n", "created_at": NOW, **fields}
    return model.objects.create(cluster=cluster, epoch=epoch, **{"status": "pending", **values})


@pytest.mark.parametrize(
    ("model", "carry_out"),
    [(Binding, services.bindings_carry_out), (Eviction, services.evictions_carry_out)],
    ids=["bindings", "evictions"],
)
def test_only_pending_work_of_the_epoch_in_force_is_carried_out(
    cluster: Cluster, pods: dict[str, str], model: Any, carry_out: Any
) -> None:
    epoch = leases.fence_raise(cluster_id=cluster.pk, holder="a")
    # A writer of an old epoch that came too late leaves a row nobody inherits.
    late = work(model, cluster, "first", pods["first"], epoch=epoch - 1)
    done = work(model, cluster, "second", pods["second"], epoch=epoch, status="superseded")
    other = Cluster.objects.create(name="other")
    leases.fence_raise(cluster_id=other.pk, holder="a")
    elsewhere = work(model, other, "first", "another", epoch=epoch)
    assert carry_out(cluster_id=cluster.pk) == 0
    wanted = work(model, cluster, "third", pods["third"], epoch=epoch)
    assert carry_out(cluster_id=cluster.pk) == 1
    left = dict(model.objects.values_list("pk", "status"))
    assert left == {late.pk: "pending", done.pk: "superseded", elsewhere.pk: "pending", wanted.pk: "done"}
    if model is Binding:
        assert dict(Pod.objects.filter(cluster=cluster).values_list("name", "node_name")) == {
            "first": "", "second": "", "third": "n",
        }  # fmt: skip
    assert Node.objects.filter(cluster=cluster).count() == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("model", [Binding, Eviction], ids=["bindings", "evictions"])
def test_task_begins_with_what_was_ordered_while_none_was_under_way(
    cluster: Cluster, pods: dict[str, str], model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody heard of it, and its message waits behind those of another cluster, or is lost."""
    monkeypatch.setattr(hearings, "LINGER_SECONDS", 0.0)
    monkeypatch.setattr(bindings, "_hearing", None)
    epoch = leases.fence_raise(cluster_id=cluster.pk, holder="a")
    ordered = work(model, cluster, "third", pods["third"], epoch=epoch)
    other = Cluster.objects.create(name="other")
    bindings.listen()
    bindings.serve(wake.BINDINGS_CHANNEL, other.pk)
    ordered.refresh_from_db()
    assert ordered.status == "done"


def told(cluster: Cluster, uid: str, *, seq: int, age: timedelta, **fields: Any) -> None:
    values: dict[str, Any] = {
        "namespace": "default", "name": f"p.{seq}", "type": "Warning", "reason": "FailedScheduling",
        "action": "Scheduling", "note": "0/1", "regarding_kind": "Pod", "regarding_namespace": "default",
        "regarding_name": "p", "reporter": "default-scheduler", "count": max(seq, 1), "first_at": NOW - age,
        "last_at": NOW - age,
    }  # fmt: skip
    Event.objects.create(cluster=cluster, regarding_uid=uid, seq=seq, **(values | fields))


def test_series_of_events_goes_on_for_six_minutes_after_its_last_event(cluster: Cluster) -> None:
    told(cluster, "within", seq=3, age=SERIES)
    told(cluster, "over", seq=4, age=SERIES + timedelta(seconds=1))
    told(cluster, "begun before, seen since", seq=5, age=SERIES, first_at=NOW - 3 * SERIES)
    told(cluster, "no warning", seq=6, age=timedelta(0), type="Normal")
    told(cluster, "no event of an engine", seq=0, age=timedelta(0))
    told(Cluster.objects.create(name="other"), "of another cluster", seq=7, age=timedelta(0))
    told(cluster, "not asked for", seq=8, age=timedelta(0))
    asked = ["within", "over", "begun before, seen since", "no warning", "no event of an engine", "of another cluster"]
    found = selectors.remembered(cluster_id=cluster.pk, pod_uids=asked, now=microseconds(NOW))
    assert {key[0]: (series.seq, series.count) for key, series in found.series.items()} == {
        "within": (3, 3),
        "begun before, seen since": (5, 5),
    }


def test_series_is_that_of_its_newest_event(cluster: Cluster) -> None:
    told(cluster, "p", seq=3, age=timedelta(minutes=4))
    told(cluster, "p", seq=9, age=timedelta(minutes=1))
    told(cluster, "p", seq=11, age=timedelta(minutes=2), reason="Other")
    found = selectors.remembered(cluster_id=cluster.pk, pod_uids=["p"], now=microseconds(NOW))
    assert {key[2]: series.seq for key, series in found.series.items()} == {"FailedScheduling": 9, "Other": 11}
