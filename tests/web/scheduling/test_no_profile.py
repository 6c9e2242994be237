"""Pods whose schedulerName no profile has: the scheduler leaves them, and everything that counts pods says so."""

from typing import Any

import pytest

from kschedweb.cluster import services
from kschedweb.cluster.models import Cluster, Pod, SchedulerConfigVersion
from kschedweb.traces import selectors
from kschedweb.traces.models import Attempt, EngineLog
from tests.builders import PodBuilder, make_node, make_pod, scheduler_config
from tests.web.rest import logged_in
from tests.web.scheduling.conftest import lead, put, scheduled, settle

pytestmark = pytest.mark.django_db(transaction=True)

NODE = make_node("n1").manifest()


def of_volcano(name: str) -> PodBuilder:
    return make_pod(name).req(cpu="1").scheduler("volcano")


def configure(cluster: Cluster, *names: str) -> None:
    content = scheduler_config(profiles=[{"schedulerName": name} for name in names])
    services.scheduler_config_set(cluster_id=cluster.pk, content=content.encode(), actor="test")


def pending(cluster: Cluster) -> dict[str, Any]:
    """What REST tells of pending pods, which adds up, and is the same in the summary."""
    client, url = logged_in(), f"/api/clusters/{cluster.pk}"
    told: dict[str, Any] = client.get(f"{url}/pending").json()
    assert client.get(f"{url}/summary").json()["pending"] == told
    unqueued = told["unqueued"]
    outside = sum(unqueued["no_profile"].values()) + unqueued["unseen"]
    assert sum(told["queues"].values()) + outside == told["pods"]
    return told


def profiles_shown(cluster: Cluster) -> list[str]:
    """As the browser has them."""
    return list(selectors.snapshot(cluster.pk).cluster.profiles)


def test_pods_no_profile_has_are_counted_by_the_name_they_ask_for(cluster: Cluster) -> None:
    configure(cluster, "default-scheduler", "gpu")
    pods = [
        make_pod("fits").req(cpu="1"),
        make_pod("hopeless").req(cpu="64"),
        make_pod("gated").req(cpu="1").gate("example.com/later"),
        make_pod("on-gpu").req(cpu="64").scheduler("gpu"),
        of_volcano("a"),
        of_volcano("b").gate("example.com/later"),
        of_volcano("bound").on("n1"),
        make_pod("c").req(cpu="1").scheduler("yunikorn"),
    ]
    scheduled(cluster, NODE, *(pod for pod in pods))
    told = pending(cluster)
    assert (told["pods"], told["queues"]) == (6, {"gated": 1, "unschedulable": 2})
    assert told["unqueued"] == {"no_profile": {"volcano": 2, "yunikorn": 1}, "unseen": 0}
    assert told["profiles"] == profiles_shown(cluster) == ["default-scheduler", "gpu"]


def test_pods_the_engine_has_not_seen_are_no_pods_without_a_profile(cluster: Cluster) -> None:
    put(cluster, NODE, make_pod("late").req(cpu="1"), of_volcano("a"))
    assert pending(cluster)["unqueued"] == {"no_profile": {"volcano": 1}, "unseen": 1}


def test_a_profile_of_that_name_finds_its_pods_and_leaves_them_again(cluster: Cluster) -> None:
    big = make_pod("big").req(cpu="64").scheduler("volcano")
    host = scheduled(cluster, NODE, big, of_volcano("small"))
    assert pending(cluster)["unqueued"]["no_profile"] == {"volcano": 2}
    assert not Attempt.objects.filter(cluster=cluster).exists()

    configure(cluster, "default-scheduler", "volcano")
    assert profiles_shown(cluster) == ["default-scheduler", "volcano"]
    assert pending(cluster)["unqueued"] == {"no_profile": {}, "unseen": 2}  # until the engine took it
    settle(host)
    assert Pod.objects.get(cluster=cluster, name="small").node_name == "n1"
    assert set(Attempt.objects.values_list("profile", flat=True)) == {"volcano"}
    told = pending(cluster)
    assert (told["queues"], told["unqueued"]["no_profile"]) == ({"unschedulable": 1}, {})
    assert [reason["plugin"] for reason in told["reasons"]] == ["NodeResourcesFit"]

    configure(cluster, "default-scheduler")
    assert pending(cluster)["queues"] == {"unschedulable": 1}  # the engine still has it
    settle(host)
    told = pending(cluster)
    assert (told["pods"], told["queues"], told["unqueued"]["no_profile"]) == (1, {}, {"volcano": 1})
    assert told["reasons"] == []  # room on a node would not help it
    assert selectors.pending_pods(cluster.pk, plugin="", reason="", limit=10) == []
    assert selectors.snapshot(cluster.pk).queue == []
    # A bigger node wakes nobody: the engine does not know the pod.
    put(cluster, make_node("n2").capacity(cpu="128"))
    settle(host)
    assert Pod.objects.get(cluster=cluster, name="big").node_name == ""


def test_who_follows_is_told_of_the_profiles_and_that_queues_were_made_anew(cluster: Cluster) -> None:
    host = scheduled(cluster, NODE)
    start = selectors.head(cluster.pk)
    assert start is not None
    configure(cluster, "default-scheduler", "gpu")
    settle(host)
    events = [event for frame in selectors.frames_after(cluster.pk, start) for event in frame.events]
    settings = [event.cluster.profiles for event in events if hasattr(event, "cluster")]
    assert settings == [["default-scheduler", "gpu"]]
    assert "config" in [getattr(event, "kind", "") for event in events]
    assert EngineLog.objects.filter(cluster=cluster, kind="step").exists()


def test_profiles_are_those_the_scheduler_goes_on_with_when_a_configuration_cannot_be_used(cluster: Cluster) -> None:
    configure(cluster, "default-scheduler", "gpu")
    scheduled(cluster, NODE)
    # A plugin that was uninstalled since: the service would refuse the upload.
    plugins = {"filter": {"enabled": [{"name": "Gone"}]}}
    text = scheduler_config(profiles=[{"schedulerName": "volcano", "plugins": plugins}])
    Cluster.objects.filter(pk=cluster.pk).update(scheduler_config=text, config_version=3, profiles=["volcano"])
    SchedulerConfigVersion.objects.create(cluster=cluster, version=3, text=text, actor="test")
    put(cluster, of_volcano("a"))
    host = settle(lead(cluster, "new"))
    assert pending(cluster)["unqueued"]["no_profile"] == {"volcano": 1}
    assert profiles_shown(cluster) == ["default-scheduler", "gpu"]
    configure(cluster, "volcano")
    settle(host)
    assert profiles_shown(cluster) == ["volcano"]
    assert Pod.objects.get(cluster=cluster, name="a").node_name == "n1"
