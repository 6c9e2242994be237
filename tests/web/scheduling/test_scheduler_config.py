"""Another configuration takes effect between two steps: the engine is built anew, and who waited still waits."""

from typing import Any

import pytest

from kschedweb.cluster import follow, services
from kschedweb.cluster.models import Change, Cluster, Pod, SchedulerConfigVersion
from kschedweb.scheduling.choices import WorkStatus
from kschedweb.scheduling.models import Binding, EngineState
from kschedweb.scheduling.runner import building
from kschedweb.scheduling.runner.host import EngineHost, StepOutcome
from kschedweb.traces.models import Attempt, EngineStep, QueueState
from tests.builders import make_node, make_pod, scheduler_config
from tests.cases import cases
from tests.web.scheduling.conftest import lead, put, scheduled, settle

pytestmark = pytest.mark.django_db(transaction=True)

ONLY_FIT = {"disabled": [{"name": "*"}], "enabled": [{"name": "NodeResourcesFit"}]}
MOST = {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}
MOST_ALLOCATED = scheduler_config(profiles=[{"plugins": {"score": ONLY_FIT}, "pluginConfig": [MOST]}]).encode()
OF_GONE_PLUGIN = scheduler_config(profiles=[{"plugins": {"filter": {"enabled": [{"name": "Gone"}]}}}])
OF_OTHERS = scheduler_config(profiles=[{"schedulerName": "other-scheduler"}]).encode()


def give_a_configuration_of_a_plugin_that_is_gone(cluster: Cluster) -> None:
    """As it is when a plugin was uninstalled since: the service would refuse the upload."""
    Cluster.objects.filter(pk=cluster.pk).update(scheduler_config=OF_GONE_PLUGIN, config_version=2)
    SchedulerConfigVersion.objects.create(cluster=cluster, version=2, text=OF_GONE_PLUGIN, actor="test")


def problem_of(cluster: Cluster) -> str:
    cluster.refresh_from_db()
    return cluster.scheduler_problem


def test_new_configuration_decides_from_the_next_step_on(cluster: Cluster) -> None:
    nodes = [make_node(name).manifest() for name in ("n1", "n2")]
    held = make_pod("held").req(cpu="2", memory="2Gi").on("n1").manifest()
    hopeless = make_pod("hopeless").req(cpu="64").manifest()
    gated = make_pod("gated").req(cpu="1").spec(schedulingGates=[{"name": "example.com/later"}]).manifest()
    host = scheduled(cluster, *nodes, held, hopeless, gated, make_pod("before").req(cpu="1", memory="1Gi"))
    assert Pod.objects.get(cluster=cluster, name="before").node_name == "n2"  # the emptier one

    services.scheduler_config_set(cluster_id=cluster.pk, content=MOST_ALLOCATED, actor="test")
    put(cluster, make_pod("after").req(cpu="1", memory="1Gi"))
    settle(host)
    assert Pod.objects.get(cluster=cluster, name="after").node_name == "n1"  # the fuller one
    attempt = Attempt.objects.get(cluster=cluster, name="after")
    assert list(attempt.best[0]["scores"]) == ["NodeResourcesFit"]

    steps = list(EngineStep.objects.filter(cluster=cluster).order_by("id").values_list("run", "kind", "config_version"))
    changed = [step for step in steps if step[1] == "config"]
    assert changed == [(2, "config", 2)]
    assert {(run, version) for run, _, version in steps} == {(1, 1), (2, 2)}
    queued = dict(QueueState.objects.filter(cluster=cluster).values_list("pod_key", "queue"))
    assert queued == {"default/hopeless": "unschedulable", "default/gated": "gated"}


def test_configuration_given_back_takes_effect_as_well(cluster: Cluster) -> None:
    host = scheduled(cluster, make_node("n1"))
    for content in (MOST_ALLOCATED, b""):
        services.scheduler_config_set(cluster_id=cluster.pk, content=content, actor="test")
        settle(host)
    kinds = EngineStep.objects.filter(cluster=cluster, kind="config").order_by("id")
    assert list(kinds.values_list("config_version", flat=True)) == [2, 3]


def test_engine_goes_on_when_the_new_configuration_cannot_be_used(db: None) -> None:
    cluster = services.cluster_create(name="c")
    host = scheduled(cluster, make_node("n1"))
    give_a_configuration_of_a_plugin_that_is_gone(cluster)
    put(cluster, make_pod("a").req(cpu="1"))
    settle(host)
    assert Pod.objects.get(cluster=cluster).node_name == "n1"
    assert problem_of(cluster).startswith("version 2 of the configuration cannot be used: ")
    assert "Gone" in problem_of(cluster)
    told = Change.objects.filter(cluster=cluster, operation="setting", actor="scheduler")
    assert told.count() == 1  # once, however many steps there are
    assert {step.config_version for step in EngineStep.objects.filter(cluster=cluster)} == {1}
    services.scheduler_config_set(cluster_id=cluster.pk, content=b"", actor="test")
    settle(host)
    assert problem_of(cluster) == ""
    assert EngineState.objects.get(pk=cluster.pk).config_version == 3


def test_new_leader_takes_the_last_configuration_that_could_be_used(db: None) -> None:
    cluster = services.cluster_create(name="c")
    scheduled(cluster, make_node("n1"))
    give_a_configuration_of_a_plugin_that_is_gone(cluster)
    put(cluster, make_pod("a").req(cpu="1"))
    settle(lead(cluster, "new"))
    assert Pod.objects.get(cluster=cluster).node_name == "n1"
    assert problem_of(cluster).endswith("Scheduling goes on under version 1.")
    assert EngineStep.objects.filter(cluster=cluster).order_by("-id")[0].config_version == 1


def test_cluster_stands_still_without_looking_again_when_no_configuration_can_be_used(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = services.cluster_create(name="c")
    give_a_configuration_of_a_plugin_that_is_gone(cluster)
    put(cluster, make_node("n1").capacity(cpu="8"), make_pod("a").req(cpu="1"))
    host = lead(cluster)
    reads: list[object] = []
    read = building.read
    monkeypatch.setattr(building, "read", lambda **given: (reads.append(given), read(**given))[1])
    assert [host.step() for _ in range(5)] == [StepOutcome(0, 0, None, is_idle=True)] * 5
    assert len(reads) == 1
    assert "Gone" in problem_of(cluster)
    assert not EngineStep.objects.filter(cluster=cluster).exists()
    services.scheduler_config_set(cluster_id=cluster.pk, content=b"", actor="test")
    settle(host)
    assert (Pod.objects.get(cluster=cluster).node_name, problem_of(cluster)) == ("n1", "")


def test_numbers_of_attempts_and_backoff_go_on_after_a_rebuild(cluster: Cluster) -> None:
    small = make_node("n1").capacity(cpu="2").manifest()
    put(cluster, small, make_pod("big").req(cpu="16"))
    now = 1_790_000_000_000_000
    host = lead(cluster)
    host.clock_us = lambda: now
    settle(host)
    for _ in range(2):
        now += 331_000_000
        settle(host)
    again = EngineHost(cluster.pk, host.epoch, clock_us=lambda: now)
    settle(again)
    assert QueueState.objects.get(cluster=cluster).attempts == 4
    assert Attempt.objects.get(cluster=cluster).repeat_count == 3
    # The node grows in the flight's wake: the pod waits as long as its fourth failure has earned it.
    put(cluster, make_node("n1").capacity(cpu="32"))
    again.step()
    state = QueueState.objects.filter(cluster=cluster).first()
    tried = Attempt.objects.filter(cluster=cluster, result="scheduled").values_list("attempt", flat=True)
    assert (state.queue if state else "", list(tried)) in (("backoff", []), ("assumed", [5]))


def test_binding_that_failed_after_a_rebuild_is_followed_by_the_next_number(cluster: Cluster) -> None:
    put(cluster, make_node("n1").capacity(cpu="8"), make_pod("a").req(cpu="1"))
    host = lead(cluster)
    host.step()
    assert QueueState.objects.get(cluster=cluster).attempts == 1
    Binding.objects.update(status=WorkStatus.SUPERSEDED)  # nobody carried it out
    settle(EngineHost(cluster.pk, host.epoch))
    assert list(Attempt.objects.order_by("seq").values_list("attempt", flat=True)) == [1, 2]


@cases(
    "module, reading",
    ("while the engine is made", building, "read"),
    ("while a step begins", follow, "changes_after"),
)
def test_pod_that_comes_after_a_configuration_is_scheduled_by_it(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, module: Any, reading: str
) -> None:
    put(cluster, make_node("n1"))
    host = lead(cluster)
    read = getattr(module, reading)
    told: list[None] = []

    def read_and_tell(**words: Any) -> Any:
        if reading == "read":
            found = read(**words)
        if not told:
            told.append(None)
            services.scheduler_config_set(cluster_id=cluster.pk, content=OF_OTHERS, actor="test")
            put(cluster, make_pod("late").req(cpu="1"))
        return found if reading == "read" else read(**words)

    monkeypatch.setattr(module, reading, read_and_tell)
    settle(host)
    assert told and Pod.objects.get(cluster=cluster, name="late").node_name == ""
    assert not Attempt.objects.filter(cluster=cluster).exists()
