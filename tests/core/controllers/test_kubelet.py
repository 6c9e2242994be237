"""Start, completion and end of pods, each at its time and once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec.structs import replace

from scheduler_core.api.meta import ObjectMeta
from scheduler_core.api.pod import (
    Container,
    Lifecycle,
    LifecycleHandler,
    Pod,
    PodCondition,
    PodSpec,
    PodStatus,
    SleepAction,
)
from scheduler_core.api.times import time_text
from scheduler_core.apiserver.requests import Delete, ObjectKey, ReportStatus, Request
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.kubelet.kubelet import Kubelet
from scheduler_core.model.changes import ObjectDeleted, ObjectPut
from tests.builders import make_node
from tests.cases import cases

SECOND = 1_000_000
T0 = datetime(2030, 1, 1, tzinfo=UTC)
NOW = int(T0.timestamp()) * SECOND


def pod(
    node: str = "n1",
    phase: str = "Pending",
    *,
    uid: str = "u1",
    started: datetime | None = None,
    deleted: datetime | None = None,
    grace: int | None = None,
    slept: tuple[int, ...] = (),
    **seconds: str,
) -> Pod:
    hooks = [LifecycleHandler(SleepAction(each)) for each in slept]
    containers = tuple(Container(f"c{n}", lifecycle=Lifecycle(hook)) for n, hook in enumerate(hooks))
    annotations = {f"kschedweb.io/{name}-seconds": value for name, value in seconds.items()}
    meta = ObjectMeta(
        name=uid, namespace="shop", uid=uid, annotations=annotations, deletion_timestamp=deleted,
        deletion_grace_period_seconds=grace,
    )  # fmt: skip
    return Pod(
        metadata=meta,
        spec=PodSpec(node_name=node, containers=containers),
        status=PodStatus(phase=phase, start_time=started),
    )


def after(seconds: float) -> int:
    return NOW + round(seconds * SECOND)


def feed(kubelet: Kubelet, now: int, *pods: Pod) -> list[Request]:
    return kubelet.step(now, [ObjectPut(given) for given in pods])


def phases(requests: list[Request]) -> list[str]:
    return [status_of(each)["phase"] if isinstance(each, ReportStatus) else "removed" for each in requests]


def status_of(request: Request) -> dict[str, Any]:
    assert isinstance(request, ReportStatus)
    return dict(request.status)


def kubelet_of(start_delay_us: int = SECOND) -> Kubelet:
    kubelet = Kubelet(ClusterOptions(start_delay_us))
    kubelet.step(NOW, [ObjectPut(make_node(name).build()) for name in ("n1", "n2")])
    return kubelet


@cases(
    "given, due, what",
    ("start delay of the cluster", pod(), 2.0, "Running"),
    ("start delay of its own", pod(start="0.25"), 0.25, "Running"),
    ("start delay that is no number", pod(start="soon"), 2.0, "Running"),
    ("negative start delay", pod(start="-1"), 2.0, "Running"),
    ("start delay that is not a number", pod(start="nan"), 2.0, "Running"),
    ("run time", pod(phase="Running", started=T0, run="30"), 30.0, "Succeeded"),
    ("run time, begun", pod(phase="Running", started=T0 - timedelta(seconds=20), run="30"), 10.0, "Succeeded"),
    ("stop by default", pod(phase="Running", deleted=T0 + timedelta(seconds=30), grace=30), 1.0, "removed"),
    ("stop time of its own", pod(phase="Running", deleted=T0 + timedelta(seconds=30), grace=30, stop="12.5"), 12.5,
     "removed"),
    ("grace shorter than the stop time", pod(phase="Running", deleted=T0 + timedelta(seconds=5), grace=5, stop="60"),
     5.0, "removed"),
    ("deleted before it started", pod(deleted=T0 + timedelta(seconds=30), grace=30), 1.0, "removed"),
    ("the longest sleep before the stop, and the stop",
     pod(phase="Running", deleted=T0 + timedelta(seconds=80), grace=80, slept=(5, 79)), 80.0, "removed"),
    ("grace shorter than the sleep before the stop",
     pod(phase="Running", deleted=T0 + timedelta(seconds=30), grace=30, slept=(79,)), 30.0, "removed"),
)  # fmt: skip
def test_kubelet_acts_when_the_time_has_come(given: Pod, due: float, what: str) -> None:
    kubelet = kubelet_of(2 * SECOND)
    assert feed(kubelet, NOW, given) == []
    assert kubelet.next_due() == after(due)
    assert kubelet.step(after(due) - 1, []) == []
    assert phases(kubelet.step(after(due), [])) == [what]
    assert kubelet.next_due() is None
    assert kubelet.step(after(due + 100), []) == []


@cases(
    "given",
    ("not bound", pod(node="")),
    ("over", pod(phase="Succeeded")),
    ("runs for ever", pod(phase="Running", started=T0)),
)
def test_kubelet_has_nothing_to_do_with(given: Pod) -> None:
    kubelet = kubelet_of()
    assert feed(kubelet, NOW, given) == []
    assert kubelet.next_due() is None


def test_started_pod_is_ready_and_has_a_start_time() -> None:
    (request,) = feed(kubelet_of(0), NOW, pod())
    status = status_of(request)
    assert status["startTime"] == time_text(NOW)
    assert {"type": "Ready", "status": "True", "lastTransitionTime": time_text(NOW)} in status["conditions"]


def test_completed_pod_is_no_longer_ready() -> None:
    (request,) = feed(kubelet_of(0), after(31), pod(phase="Running", started=T0, run="30"))
    status = status_of(request)
    ready = {"type": "Ready", "status": "False", "reason": "PodCompleted", "lastTransitionTime": time_text(after(31))}
    assert ready in status["conditions"]
    assert "startTime" not in status


def test_condition_that_holds_keeps_its_time_and_loses_its_reason() -> None:
    waiting = pod()
    conditions = (PodCondition("Initialized", "True"), PodCondition("Ready", "False", "Starting", "soon"))
    waiting = replace(waiting, status=replace(waiting.status, conditions=conditions))
    (request,) = feed(kubelet_of(0), NOW, waiting)
    _, initialized, ready, _ = status_of(request)["conditions"]
    assert initialized == {"type": "Initialized", "status": "True"}
    assert ready | {"reason": None, "message": None, "lastTransitionTime": time_text(NOW)} == ready


def test_change_that_moves_no_deadline_does_not_repeat_an_effect() -> None:
    kubelet = kubelet_of()
    feed(kubelet, NOW, pod())
    assert phases(kubelet.step(after(1), [])) == ["Running"]
    assert feed(kubelet, after(2), pod()) == []
    assert kubelet.next_due() is None


def test_start_counts_from_the_first_sight_of_the_bound_pod() -> None:
    kubelet = kubelet_of(2 * SECOND)
    feed(kubelet, NOW, pod())
    feed(kubelet, after(1), pod())
    assert kubelet.next_due() == after(2)


def test_deletion_replaces_what_was_due() -> None:
    kubelet = kubelet_of()
    feed(kubelet, NOW, pod(phase="Running", started=T0, run="3"))
    feed(kubelet, after(2), pod(phase="Running", started=T0, run="3", deleted=T0 + timedelta(seconds=32), grace=30))
    assert kubelet.next_due() == after(3)
    assert kubelet.step(after(10), []) == [Delete(ObjectKey("Pod", "shop", "u1"), 0, uid="u1")]


@cases(
    "after_that",
    ("it runs already, for ever", pod(phase="Running", started=T0)),
    ("it is over", pod(phase="Succeeded")),
    ("it is bound no longer", pod(node="")),
)
def test_deadline_that_no_longer_holds_strikes_nobody(after_that: Pod) -> None:
    kubelet = kubelet_of()
    feed(kubelet, NOW, pod())
    assert feed(kubelet, after(0.5), after_that) == []
    assert kubelet.next_due() is None
    assert kubelet.step(after(9), []) == []


def test_pod_bound_again_starts_from_its_first_sight_there() -> None:
    kubelet = kubelet_of(2 * SECOND)
    feed(kubelet, NOW, pod())
    feed(kubelet, after(1), pod(node=""))
    feed(kubelet, after(5), pod(node="n2"))
    assert kubelet.next_due() == after(7)


@cases(
    "uid",
    ("by uid", "u1"),
    ("by name", ""),
)
def test_pod_that_is_gone_is_forgotten(uid: str) -> None:
    kubelet = kubelet_of()
    feed(kubelet, NOW, pod())
    assert kubelet.step(after(5), [ObjectDeleted("Pod", "shop", "u1", uid)]) == []
    assert kubelet.next_due() is None


def test_several_pods_come_in_the_order_of_their_deadlines() -> None:
    kubelet = kubelet_of()
    feed(kubelet, NOW, pod(uid="b"), pod(uid="a"), pod(uid="c", start="0.5"))
    requests: list[Any] = kubelet.step(after(9), [])
    assert [each.key.name for each in requests] == ["c", "b", "a"]


def test_new_kubelet_goes_on_where_another_stopped() -> None:
    given = [pod(phase="Running", started=T0, run="30"), pod(uid="u2", deleted=T0 + timedelta(seconds=9), grace=9)]
    first, second = kubelet_of(), kubelet_of()
    early = feed(first, NOW, *given) + first.step(after(5), []) + first.step(after(40), [])
    late = feed(second, after(5), *given) + second.step(after(40), [])
    assert early == late
    assert phases(late) == ["removed", "Succeeded"]
