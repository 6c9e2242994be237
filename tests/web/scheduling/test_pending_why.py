"""Why a pod has no node: of its record, of its last attempt made again, and which change made it unschedulable."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from random import Random
from typing import Any

import pytest

from kschedweb.cluster.models import Change, Cluster, Pod
from kschedweb.cluster.services.requests import object_delete
from kschedweb.scheduling.past import turning
from kschedweb.traces.models import Attempt
from scheduler_core.api.times import microseconds
from tests.builders import Builder, make_manifest, make_node, make_pod
from tests.examples import seeds
from tests.waiting import HANG_SECONDS
from tests.web.rest import get
from tests.web.scheduling.conftest import lead, put, scheduled, settle

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("patient_fence", "nothing_kept")]

HOST = "kubernetes.io/hostname"
WEB = {"app": "web"}


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """How long a search may take is no matter on a busy machine."""
    monkeypatch.setattr(turning, "MOST_SECONDS", HANG_SECONDS)


def asked(cluster: Cluster, query: str = "", status: int = 200, name: str = "it") -> Any:
    return get(cluster, f"pods/default/{name}/why{query}", status)


def node(name: str) -> Any:
    return make_node(name).label({HOST: name}).capacity(cpu="4", memory="8Gi", pods="10")


def it() -> Any:
    return make_pod("it").label(WEB).req(cpu="2", memory="1Gi")


def delete(cluster: Cluster, kind: str, name: str) -> None:
    namespace = "default" if kind == "Pod" else ""
    object_delete(cluster_id=cluster.pk, kind=kind, namespace=namespace, name=name, actor="somebody", grace_seconds=0)


def last_rv(cluster: Cluster) -> int:
    return Cluster.objects.get(pk=cluster.pk).rv


def test_pod_that_was_tried(cluster: Cluster) -> None:
    host = scheduled(cluster, node("n1").unschedulable(), node("n2"), make_pod("big").req(cpu="3").on("n2"))
    put(cluster, it())
    settle(host)
    row = Attempt.objects.get(cluster=cluster, name="it")
    said = asked(cluster)
    assert (said["attempt"], said["difference"], said["rv"]) == (row.seq, None, row.rv)
    assert (said["since"]["seq"], said["since"]["attempts"], said["since"]["is_cut"]) == (row.seq, 1, False)
    judged = said["judged"]
    assert (judged["made_again"], judged["nodes"], judged["fitting"], judged["num_near"]) == (True, 2, 0, 2)
    assert {(each["plugin"], each["nodes"], each["alone"]) for each in judged["reasons"]} == {
        ("NodeResourcesFit", 1, 1),
        ("NodeUnschedulable", 1, 1),
    }
    nearest, cordoned = judged["near"]
    assert (nearest["node"], cordoned["node"]) == ("n2", "n1")
    assert (nearest["amounts"][0]["asked"], nearest["amounts"][0]["there"]) == (2_000, 1_000)
    assert said["preemption"]["outcome"] == "failed"
    assert said["preemption"]["refusals"][0]["nodes"] == said["preemption"]["potential"] == 1
    waits = said["waits"]
    assert (waits["queue"], set(waits["plugins"])) == ("unschedulable", {"NodeResourcesFit", "NodeUnschedulable"})
    assert {each["plugin"] for each in waits["wakers"]} == set(waits["plugins"])
    assert any(each["resource"] == "Node" and "Add" in each["actions"] for each in waits["wakers"])
    found = said["turning"]
    assert (found["verdict"], found["created"], found["fitted_then"]) == ("entry", last_created(cluster), False)
    turn = found["turn"]
    assert (turn["kind"], turn["name"], turn["existed"], turn["fitting"], turn["node"]) == (
        "Pod",
        "big",
        False,
        1,
        "n2",
    )
    stored = asked(cluster, "?again=false")
    assert stored == said | {"rv": None, "judged": None, "turning": None}


def last_created(cluster: Cluster) -> int:
    row = Pod.objects.get(cluster=cluster, name="it")
    return Change.objects.get(cluster=cluster, uid=row.uid, operation="created").rv


def test_retry_is_that_of_the_queue(cluster: Cluster) -> None:
    """The time that is told is when the engine has something to do next."""
    host = scheduled(cluster, node("n1").unschedulable(), it())
    said = asked(cluster, "?again=false")
    engine = host._engine.engine  # type: ignore[union-attr]
    assert microseconds(datetime.fromisoformat(said["waits"]["retried_at"])) == engine.queue.next_due()


def test_pod_is_tried_on_what_is_stored_now(cluster: Cluster) -> None:
    scheduled(cluster, node("n1").unschedulable(), it())
    put(cluster, node("n2"))
    assert asked(cluster)["judged"]["nodes"] == 1
    said = asked(cluster, "?now=true")
    assert (said["judged"]["nodes"], said["judged"]["fitting"], said["judged"]["made_again"]) == (2, 1, False)
    assert (said["turning"]["verdict"], said["turning"]["turn"], said["rv"]) == ("fits", None, last_rv(cluster))


def test_pod_that_was_never_tried(cluster: Cluster) -> None:
    scheduled(cluster, node("n1"), it().gate("hold"))
    said = asked(cluster)
    assert (said["attempt"], said["since"], said["preemption"]) == (None, None, None)
    assert (said["waits"]["queue"], said["waits"]["retried_at"]) == ("gated", None)
    assert said["waits"]["wakers"]
    assert (said["judged"]["fitting"], said["turning"]["verdict"]) == (1, "fits")


def test_pod_that_never_fitted(cluster: Cluster) -> None:
    scheduled(cluster, node("n1"), it().req(cpu="64"))
    found = asked(cluster)["turning"]
    assert (found["verdict"], found["fitted_then"], found["turn"]) == ("never", False, None)


def test_policy_that_forbids_preemption(cluster: Cluster) -> None:
    put(cluster, make_manifest("PriorityClass", "quiet", value=100, preemptionPolicy="Never"))
    scheduled(cluster, node("n1"), it().req(cpu="64").spec(priorityClassName="quiet"))
    assert asked(cluster, "?again=false")["preemption"]["outcome"] == "never"


def test_rejections_that_no_eviction_lifts(cluster: Cluster) -> None:
    scheduled(cluster, node("n1").unschedulable(), it())
    assert asked(cluster, "?again=false")["preemption"]["outcome"] == "noHelp"


def test_what_is_refused(cluster: Cluster) -> None:
    put(cluster, node("n1"), it())
    assert asked(cluster, "", 404, "nobody")["code"] == "not_found"
    settle(lead(cluster))
    assert asked(cluster, "", 422)["extra"] == {"node": "n1"}
    assert asked(cluster, "?limit=-1", 400)["code"]


def test_mirror_is_tried_on_what_was_stored(cluster: Cluster) -> None:
    scheduled(cluster, node("n1").unschedulable(), it())
    Cluster.objects.filter(pk=cluster.pk).update(is_mirror=True, lifecycle_mode="frozen")
    said = asked(cluster)
    assert (said["judged"]["made_again"], said["judged"]["num_near"]) == (False, 1)
    assert said["turning"]["verdict"] == "never"


def test_what_comes_out_otherwise_is_told(cluster: Cluster) -> None:
    scheduled(cluster, node("n1").unschedulable(), it())
    Attempt.objects.filter(cluster=cluster).update(message="other")
    assert asked(cluster)["difference"]["field"] == "message"


def test_history_that_is_cut_says_from_where_on_it_is(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    put(cluster, node("n1"))
    begins = last_rv(cluster)
    put(cluster, it().req(cpu="64"))
    monkeypatch.setattr(turning.journal, "begins", lambda _: (begins, 0))
    assert (asked(cluster)["turning"]["verdict"], asked(cluster)["turning"]["begins"]) == ("cut", begins)


def test_search_ends_when_its_time_is_over(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    put(cluster, node("n1"), it().req(cpu="64"))
    monkeypatch.setattr(turning, "MOST_SECONDS", -1.0)
    assert asked(cluster)["turning"]["verdict"] == "late"


def test_entry_that_another_engine_does_not_confirm_is_not_told(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(cluster, node("n1"), it())
    put(cluster, node("n1").unschedulable())
    assert asked(cluster)["turning"]["verdict"] == "entry"
    monkeypatch.setattr(turning, "_confirmed", lambda *_: None)
    said = asked(cluster)["turning"]
    assert (said["verdict"], said["turn"]) == ("unproven", None)


# -- planted causes ---------------------------------------------------------------------------------------------------

Plant = Callable[[Cluster], None]


def bound(name: str, **requests: str) -> Any:
    return make_pod(name).req(**requests).on("home")


CAUSES: dict[str, tuple[Plant, str]] = {
    "cordon": (lambda c: put(c, home().unschedulable()), "home"),
    "taint": (lambda c: put(c, home().taint("only", effect="NoSchedule")), "home"),
    "node deleted": (lambda c: delete(c, "Node", "home"), "home"),
    "label": (lambda c: put(c, home().label({"disk": "hdd"})), "home"),
    "capacity": (lambda c: put(c, home().capacity(cpu="1", memory="8Gi", pods="10")), "home"),
    "places for pods": (lambda c: put(c, home().capacity(cpu="4", memory="8Gi", pods="1")), "home"),
    "another pod bound": (lambda c: put(c, bound("thief", cpu="3")), "thief"),
    "anti-affinity": (lambda c: put(c, bound("hermit", cpu="1m").pod_affinity(HOST, WEB, anti=True)), "hermit"),
    "host port": (lambda c: put(c, bound("server", cpu="1m").host_port(80)), "server"),
    "companion gone": (lambda c: delete(c, "Pod", "db"), "db"),
}  # fmt: skip


def home() -> Any:
    return node("home").label({"disk": "ssd"})


def live(cluster: Cluster, draws: Random, most: int) -> None:
    """Let something happen, a few objects at a time."""
    for _ in range(draws.randrange(most) // 4):
        found = [noise(draws) for _ in range(4)]
        put(cluster, *{each.manifest()["metadata"]["name"]: each for each in found}.values())


def noise(draws: Random) -> Builder:
    """Something that neither makes room for the pod nor takes any."""
    i = draws.randrange(10**9)
    match draws.randrange(4):
        case 0:
            return node(f"full-{draws.randrange(4)}").label({"disk": "ssd"}).capacity(cpu="1", pods="99", memory="8Gi")
        case 1:
            return node(f"other-{draws.randrange(4)}").label({"disk": draws.choice(["hdd", "tape"])})
        case 2:
            return make_pod(f"small-{i}").req(cpu="1m").on(draws.choice(["full-0", "other-0"]))
    return make_pod(f"waiting-{i}").req(cpu="64")


@pytest.mark.parametrize("seed", seeds(2 * len(CAUSES), 200))
def test_planted_cause_is_found(cluster: Cluster, seed: int) -> None:
    draws = Random(seed)
    plant, name = list(CAUSES.values())[seed % len(CAUSES)]
    pod = it().node_selector(disk="ssd").host_port(80).pod_affinity(HOST, {"app": "db"})
    put(cluster, node("full-0").capacity(cpu="1"), node("other-0"), home(), bound("db", cpu="1m").label({"app": "db"}))
    is_older = draws.random() < 0.7  # the pod than its cause
    live(cluster, draws, 20)
    if is_older:
        put(cluster, pod)
    live(cluster, draws, 40)
    plant(cluster)
    planted = last_rv(cluster)
    if not is_older:
        put(cluster, pod)
    live(cluster, draws, 40)
    found = asked(cluster)["turning"]
    assert (found["verdict"], found["turn"]["rv"], found["turn"]["name"]) == ("entry", planted, name)
    assert (found["turn"]["fitting"], found["turn"]["node"], found["turn"]["existed"]) == (1, "home", is_older)
    assert found["runs"] <= turning.MOST_TRIED + last_rv(cluster).bit_length() + 4
