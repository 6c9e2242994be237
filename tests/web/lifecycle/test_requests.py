"""Requests of controllers are carried out, and the scheduler hears of it."""

from typing import Any

import pytest

from kschedweb.cluster import clock
from kschedweb.cluster.services import cluster_create, requests_carry_out
from scheduler_core.apiserver.requests import Delete, ObjectKey, Patch, Request
from tests.cases import cases

GONE = ObjectKey("Node", "", "n1")


@pytest.mark.django_db
@cases(
    "requests, want",
    ("nothing", [], []),
    ("a node that is gone", [Patch(GONE, {"spec": {"unschedulable": True}})], ["scheduling.ensure_leader"]),
    ("a pod that is gone", [Delete(ObjectKey("Pod", "shop", "p"), uid="u")], ["scheduling.ensure_leader"]),
)
def test_scheduler_is_woken_when_something_was_requested(
    requests: list[Request], want: list[str], monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    cluster, sent = cluster_create(name="c"), list[str]()
    monkeypatch.setattr("kschedweb.common.wake.send", lambda name, **_: sent.append(name))
    with django_capture_on_commit_callbacks(execute=True):
        requests_carry_out(cluster_id=cluster.pk, requests=requests, actor="test", now=clock.now_of(cluster.pk))
    assert sent == want
