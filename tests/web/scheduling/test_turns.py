"""Pods that come one after the other are tried in that order, however many of them a step finds."""

from typing import Any

import pytest

from kschedweb.cluster.choices import Pace
from kschedweb.cluster.models import Cluster
from kschedweb.scheduling.runner import turns
from kschedweb.traces.models import Attempt, EngineStep
from tests.builders import Builder, make_manifest, make_node, make_pod
from tests.cases import cases
from tests.web.scheduling.conftest import configure, lead, put, settle
from tests.web.scheduling.extenders import ExtenderServer

pytestmark = pytest.mark.django_db(transaction=True)


def pod(name: str) -> Builder:
    """One whose class is what its name begins with."""
    return make_pod(name).req(cpu="100m").spec(priorityClassName=name.partition("-")[0])


@pytest.fixture
def roomy(cluster: Cluster) -> Cluster:
    """Room for all, and classes of priority."""
    classes = [make_manifest("PriorityClass", name, value=value) for name, value in (("low", 1), ("high", 9))]
    put(cluster, make_node("n1").capacity(cpu="16", pods="110"), *classes)
    return cluster


def tried(cluster: Cluster) -> list[list[str]]:
    """The pods in the order they were tried in, by step."""
    steps: dict[tuple[int, int], list[str]] = {}
    for run, step, name in Attempt.objects.filter(cluster=cluster).order_by("seq").values_list("run", "step", "name"):
        steps.setdefault((run, step), []).append(name)
    return list(steps.values())


@cases(
    "coming, want",
    ("a more important one waits for those before it", ["low-1", "low-2", "high-1"], [["low-1", "low-2"], ["high-1"]]),
    ("less important ones share its step", ["high-1", "low-1", "low-2"], [["high-1", "low-1", "low-2"]]),
    ("what comes at once is tried by priority", ["low-1 high-1", "low-2"], [["high-1", "low-1", "low-2"]]),
    ("and waits together", ["low-1", "low-2 high-1"], [["low-1"], ["high-1", "low-2"]]),
    ("each waits for those before it", ["low-1", "high-1", "low-2", "high-2"],
     [["low-1"], ["high-1", "low-2"], ["high-2"]]),
)  # fmt: skip
def test_order_in_which_pods_are_tried(coming: list[str], want: list[list[str]], roomy: Cluster) -> None:
    scheduler = settle(lead(roomy))
    for names in coming:
        put(roomy, *map(pod, names.split()))
    settle(scheduler)
    assert tried(roomy) == want


def test_pod_comes_when_its_gates_are_removed(roomy: Cluster) -> None:
    scheduler = settle(lead(roomy))
    put(roomy, pod("high-1").spec(schedulingGates=[{"name": "quota"}]))
    settle(scheduler)
    put(roomy, pod("low-1"))
    put(roomy, pod("high-1").spec(schedulingGates=[]))
    settle(scheduler)
    assert tried(roomy) == [["low-1"], ["high-1"]]


def test_pod_that_is_changed_before_it_was_tried_comes_once(roomy: Cluster) -> None:
    scheduler = settle(lead(roomy))
    for each in (pod("high-1"), pod("low-1"), pod("high-1").label(changed="yes")):
        put(roomy, each)
    roomy.refresh_from_db()
    scheduler.step()
    assert tried(roomy) == [["high-1", "low-1"]]
    assert EngineStep.objects.filter(cluster=roomy).latest("id").log_to == roomy.rv


def test_pods_that_a_step_had_no_time_for_are_waited_for(roomy: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    scheduler = settle(lead(roomy))
    put(roomy, pod("low-1"), pod("low-2"))
    monkeypatch.setattr("kschedweb.scheduling.runner.host.STEP_CYCLES", 1)
    scheduler.step()
    monkeypatch.undo()
    put(roomy, pod("high-1"))
    settle(scheduler)
    assert tried(roomy) == [["low-1"], ["low-2"], ["high-1"]]


def test_the_most_important_is_first_where_many_wait(roomy: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "MOST_IN_TURN", 2)
    scheduler = settle(lead(roomy))
    for name in ("low-1", "low-2", "high-1"):
        put(roomy, pod(name))
    settle(scheduler)
    assert tried(roomy) == [["high-1", "low-1", "low-2"]]


def test_the_most_important_is_first_where_extenders_are_asked(roomy: Cluster, extender: ExtenderServer) -> None:
    """Pods take as long in kube-scheduler, and wait in its queue."""
    extender.answers["/filter"] = lambda question: {"NodeNames": question["NodeNames"]}
    configure(roomy, extenders=[{"urlPrefix": extender.url, "filterVerb": "filter", "nodeCacheCapable": True}])
    scheduler = settle(lead(roomy))
    for name in ("low-1", "high-1"):
        put(roomy, pod(name))
    settle(scheduler)
    assert tried(roomy) == [["high-1", "low-1"]]


def test_the_most_important_is_first_after_a_pause(roomy: Cluster) -> None:
    scheduler = settle(lead(roomy))
    pace(roomy, pace=Pace.PAUSE)
    for name in ("low-1", "high-1"):
        put(roomy, pod(name))
        settle(scheduler)
    pace(roomy, pace=Pace.RUN)
    settle(scheduler)
    assert tried(roomy) == [["high-1", "low-1"]]


def pace(cluster: Cluster, **fields: Any) -> None:
    Cluster.objects.filter(pk=cluster.pk).update(**fields)
