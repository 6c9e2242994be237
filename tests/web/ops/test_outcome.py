"""What became of the pods of a cluster, and the digest over their first attempts."""

import itertools
from datetime import UTC, datetime
from typing import Any

import pytest

from kschedweb.cluster.models import Cluster, Pod
from kschedweb.ops import outcome
from kschedweb.ops.outcome import Outcome
from kschedweb.traces.models import Attempt

pytestmark = pytest.mark.django_db
MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
REJECTED = [{"plugin": "NodeName", "reason": "no", "code": "unschedulable", "count": 3}]


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.objects.create(name="c")


@pytest.fixture
def seqs() -> Any:
    return itertools.count(1)


def _pod(cluster: Cluster, name: str, **values: Any) -> Pod:
    standard = {"namespace": "default", "uid": f"uid-{cluster.pk}-{name}", "created_at": MOMENT, "manifest": {}}
    return Pod.objects.create(cluster=cluster, name=name, **{**standard, **values})


def _attempt(pod: Pod, seq: int, result: str, **values: Any) -> None:
    standard: dict[str, Any] = {
        "step": seq, "place": 0, "attempt": 1, "profile": "p", "digest": b"", "started_at": MOMENT,
        "last_seen_at": MOMENT,
    }  # fmt: skip
    Attempt.objects.create(
        cluster=pod.cluster, seq=seq, pod_uid=pod.uid, namespace=pod.namespace, name=pod.name, result=result,
        **{**standard, **values},
    )  # fmt: skip


def test_outcome_counts_pods_by_what_became_of_them(cluster: Cluster, seqs: Any) -> None:
    _pod(cluster, "bound", node_name="n1")
    _pod(cluster, "gated", gated=True)
    _pod(cluster, "new")
    _attempt(_pod(cluster, "pending"), next(seqs), "unschedulable")
    _attempt(_pod(cluster, "on-its-way"), next(seqs), "scheduled", node_name="n1")
    _pod(cluster, "leaving", deletion_timestamp=MOMENT)
    _pod(Cluster.objects.create(name="other"), "elsewhere")
    assert outcome.outcome(cluster.pk) == Outcome(bound=1, pending=1, gated=1, untried=2)


def test_outcome_follows_the_newest_attempt(cluster: Cluster, seqs: Any) -> None:
    pod = _pod(cluster, "p")
    _attempt(pod, next(seqs), "scheduled", node_name="n1")
    _attempt(pod, next(seqs), "unschedulable")
    assert outcome.outcome(cluster.pk) == Outcome(bound=0, pending=1, gated=0, untried=0)


def test_wait_gives_up_when_nothing_changes(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcome, "STALLED_SECONDS", 0.05)
    monkeypatch.setattr(outcome, "POLL_SECONDS", 0.01)
    _pod(cluster, "p", scheduler_name="nobody")
    assert outcome.wait_until_tried(cluster.pk).untried == 1


def _told(name: str, node: str = "n1", rejections: list[dict[str, Any]] = REJECTED, *, extra: bool = False) -> str:
    """The digest of a cluster with two pods, one of them told so."""
    cluster = Cluster.objects.create(name=name)
    seqs = itertools.count(1)
    _attempt(_pod(cluster, "a"), next(seqs), "scheduled", node_name=node)
    second = _pod(cluster, "b")
    _attempt(second, next(seqs), "unschedulable", rejections=rejections)
    if extra:
        _attempt(second, next(seqs), "scheduled", node_name="n9")
    return outcome.first_attempts_digest(cluster.pk)


def test_digest_is_equal_when_first_attempts_are() -> None:
    assert _told("x") == _told("y", extra=True)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"node": "n2"}, id="another node"),
        pytest.param({"rejections": []}, id="no reasons"),
        pytest.param({"rejections": [{**REJECTED[0], "count": 4}]}, id="another count"),
    ],
)
def test_digest_differs_when_a_first_attempt_does(change: dict[str, Any]) -> None:
    assert _told("x") != _told("y", **change)
