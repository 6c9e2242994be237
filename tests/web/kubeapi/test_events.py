"""Events of the scheduler and of clients are one store: listed, watched, numbered in the order of the commits."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import pytest
from django.db import transaction

from kschedweb.cluster import clock
from kschedweb.cluster.history import ForgottenError, PostgresHistory
from kschedweb.cluster.models import Cluster, Event
from kschedweb.cluster.versions import rv_of, version_of, version_text
from kschedweb.kubeapi.event_history import EventHistory, read_range
from kschedweb.scheduling.adapters import StepRows
from kschedweb.scheduling.services.steps import StepPosition, step_commit
from kschedweb.traces.choices import StepKind
from kschedweb.traces.models import EngineStep
from scheduler_core.apiserver.answers import Outcome
from scheduler_core.apiserver.lists import ListQuery, Page, page
from scheduler_core.apiserver.requests import Create, Delete, ObjectKey, Patch, Request
from scheduler_core.apiserver.selection import Selection
from scheduler_core.apiserver.server import ApiServer
from scheduler_core.apiserver.store import Stored
from scheduler_core.model.effects import Effects
from tests.builders import make_node, make_pod
from tests.web.scheduling.conftest import lead, put, settle

pytestmark = pytest.mark.django_db(transaction=True)
_uids = itertools.count(1)


def history(cluster: Cluster, selector: str = "") -> EventHistory:
    return EventHistory(cluster.pk, "test", clock.now_of(cluster.pk), selector)


def carry_out(cluster: Cluster, *requests: Request) -> list[Any]:
    with transaction.atomic():
        server = ApiServer(history(cluster), lambda: f"00000000-0000-4000-8000-{next(_uids):012}", is_simulated=False)
        server.store.lock([])
        return list(server.carry_out(requests, clock.now_of(cluster.pk)))


def event(name: str) -> Stored:
    involved = {"kind": "Pod", "namespace": "default", "name": "a"}
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Event", "metadata": metadata, "involvedObject": involved, "reason": "Told"}


def node(cpu: str = "1") -> dict[str, Any]:
    return make_node("n1").capacity(cpu=cpu).manifest()


def pod(name: str, cpu: str = "1") -> dict[str, Any]:
    return make_pod(name).req(cpu=cpu, memory="1Gi").manifest()


def told_by_step(cluster: Cluster, name: str) -> None:
    """A step that tells of one event and changes no object."""
    last = EngineStep.objects.filter(cluster=cluster).order_by("-step")[0]
    seq = Cluster.objects.get(pk=cluster.pk).seq
    position = StepPosition(
        cluster_id=cluster.pk, epoch=last.epoch, run=last.run, step=last.step + 1, kind=StepKind.APPLY,
        log_from=last.log_to, log_to=last.log_to, seq_from=seq, now_us=last.now_us, now=last.now, cycles=0,
        config_version=1, next_due_at=None, pace_steps_done=0,
    )  # fmt: skip
    at = last.now
    row = (
        seq + 1,
        "default",
        f"{name}.{seq + 1:x}",
        "Normal",
        "Quiet",
        "",
        "",
        "Pod",
        "default",
        "a",
        "uid",
        "it",
        1,
        at,
        at,
    )
    step_commit(position=position, rows=StepRows(events=[row], seq_to=seq + 1), effects=Effects(), rebuilt=False)


def told(store: EventHistory) -> list[tuple[str, str]]:
    return sorted((one["involvedObject"]["name"], one["reason"]) for one in store.list("Event"))


def numbers(found: Any) -> list[int]:
    return [int(one["metadata"]["resourceVersion"]) for one in found]


@pytest.fixture
def cluster(db: None) -> Cluster:
    """Two pods, of which one was scheduled; a client's event before, between and after."""
    made = Cluster.objects.create(name="told", seed=1)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}
    put(made, node(), namespace)
    carry_out(made, Create(event("first")))
    host = lead(made)
    put(made, pod("a"))
    settle(host)
    put(made, pod("big", "64"))
    carry_out(made, Create(event("second")))  # the last change before the step that tells of `big`
    settle(host)
    carry_out(made, Create(event("third")))
    return made


def test_both_are_listed_with_versions_in_one_order(cluster: Cluster) -> None:
    store = history(cluster)
    found = store.list("Event")
    assert told(store) == [("a", "Scheduled"), ("a", "Told"), ("a", "Told"), ("a", "Told"), ("big", "FailedScheduling")]
    by_reason = {(one["metadata"]["name"].partition(".")[0], one["reason"]): one for one in found}
    order = [("first", "Told"), ("a", "Scheduled"), ("second", "Told"), ("big", "FailedScheduling"), ("third", "Told")]
    sequence = numbers(by_reason[key] for key in order)
    assert sequence == sorted(set(sequence)) and sequence[-1] == store.position()
    (refused,) = (one for one in store.list("Pod") if one["metadata"]["name"] == "big")
    (written,) = numbers([refused])  # the step that tells of it writes its status
    assert sequence[3] < written < sequence[4], "an order that other kinds share"
    scheduled = by_reason["a", "Scheduled"]
    assert (scheduled["reportingComponent"], scheduled["source"], scheduled["type"]) == (
        "default-scheduler",
        {},
        "Normal",
    )
    assert scheduled["involvedObject"]["apiVersion"] == "v1" and scheduled["eventTime"].endswith("Z")
    key = ObjectKey("Event", "default", scheduled["metadata"]["name"])
    assert store.get(key) == scheduled
    of_pod = history(cluster, f"involvedObject.uid={scheduled['involvedObject']['uid']}").list("Event")
    assert [one["reason"] for one in of_pod if one["reason"] != "Told"] == ["Scheduled"]


def test_every_range_tells_what_came_after_it_once(cluster: Cluster) -> None:
    store = history(cluster)
    whole = {one["metadata"]["name"]: one for one in store.list("Event")}
    entries = store.logged_after("Event", 0)
    assert [entry.rv for entry in entries] == sorted(numbers(whole.values()))
    assert {entry.manifest["metadata"]["name"]: entry.manifest for entry in entries} == whole
    for position in [1, *(entry.rv + more for entry in entries for more in (-1, 0, 1)), store.position()]:
        later = [entry.rv for entry in entries if entry.rv > position]
        assert [entry.rv for entry in store.logged_after("Event", position)] == later
        end, told_after = read_range(cluster.pk, position)
        assert end == max(position, store.position()) and [entry.rv for entry in told_after] == later
        then = sorted(numbers(store.list_at("Event", "", position)))
        assert then == [entry.rv for entry in entries if entry.rv <= position]


def test_an_event_of_the_scheduler_may_be_deleted_and_changed(cluster: Cluster) -> None:
    name = Event.objects.get(cluster=cluster, reason="Scheduled").name
    key = ObjectKey("Event", "default", name)
    before = history(cluster).position()
    (taken,) = carry_out(cluster, Create(event(name)))
    assert taken.status.code == 409
    (changed,) = carry_out(cluster, Patch(key, {"message": "mine"}))
    assert isinstance(changed, Outcome) and isinstance(changed.answer, dict)
    assert changed.answer["metadata"]["resourceVersion"] == version_text(rv_of(before) + 1)
    assert history(cluster).get(key) == changed.answer
    assert not Event.objects.filter(cluster=cluster, reason="Scheduled").exists()
    refused = Event.objects.get(cluster=cluster, reason="FailedScheduling").name
    carry_out(cluster, Delete(ObjectKey("Event", "default", refused)))
    assert "FailedScheduling" not in [reason for _, reason in told(history(cluster))]
    operations = [entry.operation for entry in history(cluster).logged_after("Event", before)]
    assert operations == ["updated", "deleted"]


def test_an_event_of_the_scheduler_is_shown_for_an_hour(cluster: Cluster) -> None:
    later = EventHistory(cluster.pk, "test", clock.now_of(cluster.pk) + 3_601 * 1_000_000)
    assert {reason for _, reason in told(later)} == {"Told"}


def test_repeats_are_a_series(cluster: Cluster) -> None:
    Event.objects.filter(cluster=cluster, reason="FailedScheduling").update(count=3)
    (found,) = (one for one in history(cluster).list("Event") if one["reason"] == "FailedScheduling")
    assert found["series"]["count"] == 3 and found["series"]["lastObservedTime"].endswith("Z")


def test_pages_have_both(cluster: Cluster) -> None:
    query = ListQuery(Selection("Event"), limit=3)
    first = page(history(cluster), query)
    assert isinstance(first, Page) and (len(first.items), first.remaining) == (3, 2)
    put_later = event("fourth")
    carry_out(cluster, Create(put_later))
    second = page(history(cluster), msgspec.structs.replace(query, continued=first.continued))
    assert isinstance(second, Page) and not second.continued
    shown = [one["metadata"]["name"] for one in (*first.items, *second.items)]
    assert shown == [name for name in sorted(one["metadata"]["name"] for one in history(cluster).list("Event"))
                     if name != "fourth"]  # fmt: skip


def test_steps_that_change_nothing_go_on_with_the_version(cluster: Cluster) -> None:
    """Two steps between the same two changes: each has room for its events, and their versions follow each other."""
    before = history(cluster).position()
    for seq in (1, 2):
        told_by_step(cluster, f"quiet{seq}")
    entries = history(cluster).logged_after("Event", before)
    assert [entry.rv for entry in entries] == [before + 1, before + 2] == [before + 1, history(cluster).position()]
    end, after_one = read_range(cluster.pk, before + 1)
    assert end == before + 2 and [entry.rv for entry in after_one] == [before + 2]
    assert read_range(cluster.pk, before + 2) == (before + 2, [])


def test_a_place_whose_steps_are_cut_away_is_too_old(cluster: Cluster) -> None:
    before = history(cluster).position()
    for seq in (1, 2, 3):
        told_by_step(cluster, f"quiet{seq}")
    cut = EngineStep.objects.filter(cluster=cluster).order_by("-seq_to")[1].seq_to
    EngineStep.objects.filter(cluster=cluster, seq_to__lte=cut).delete()
    Event.objects.filter(cluster=cluster, seq__lte=cut).delete()
    store = history(cluster)
    assert store.oldest_position() == before + 2
    assert read_range(cluster.pk, before + 1) == (None, [])
    with pytest.raises(ForgottenError):
        store.list_at("Event", "", before + 1)
    assert [entry.rv for entry in store.logged_after("Event", before + 2)] == [before + 3]
    assert (store.position(), max(numbers(store.list("Event")))) == (before + 3, before + 3)


def test_no_version_is_older_than_the_first_change(cluster: Cluster) -> None:
    assert history(cluster).oldest_position() == PostgresHistory(cluster.pk, "").oldest_position() == version_of(1)
