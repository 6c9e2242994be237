"""What would make a pod fit, carried out over REST: by whom, what is written, and that the pods get their nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from kschedweb.accounts.choices import Role
from kschedweb.accounts.services import role_set
from kschedweb.cluster import clock
from kschedweb.cluster.choices import LifecycleMode
from kschedweb.cluster.models import ApiObject, Cluster, Pod
from kschedweb.cluster.services import clock_set, pod_delete, requests_carry_out
from kschedweb.lifecycle import runner
from scheduler_core.apiserver.answers import Refused
from scheduler_core.apiserver.requests import Create
from tests.builders import make_manifest, make_pod
from tests.cases import cases
from tests.web.rest import logged_in, post
from tests.web.scheduling.conftest import lead, put, settle
from tests.web.scheduling.test_fits import asked, asked_of, node, owned, put_counted_quota

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("patient_fence", "nothing_kept")]


def changes_of(suggestion: Any) -> list[Any]:
    return [{name: value for name, value in each.items() if name != "step"} for each in suggestion["changes"]]


def applied_of(cluster: Cluster, suggestion: Any, status: int = 200, **more: Any) -> Any:
    body = {"changes": changes_of(suggestion), **more}
    return post(cluster, "pods/default/it/fits", body, status)


def writes(said: Any) -> list[str]:
    return [" ".join(filter(None, (each["verb"], each["kind"], each["name"]))) for each in said["writes"]]


@cases(
    "pod, objects, kind, want",
    ("uncordon", make_pod("it").req(cpu="1"), [node("n1").unschedulable()], "uncordon", ["patch Node n1"]),
    ("label", make_pod("it").req(cpu="1").node_selector(disk="ssd"), [node("n1")], "relabel", ["patch Node n1"]),
    ("node", make_pod("it").req(cpu="3"), [node("n1"), make_pod("b").req(cpu="3").on("n1")], "addNode",
     ["create Node n1-new-1"]),
    ("evict", make_pod("it").req(cpu="3"), [node("n1"), make_pod("b").req(cpu="3").on("n1")], "evict", ["evict Pod b"]),
    ("toleration", make_pod("it").req(cpu="1"), [node("n1").taint("a")], "toleration", ["patch Pod it"]),
    ("gate", make_pod("it").req(cpu="1").gate("g"), [node("n1")], "gate", ["patch Pod it"]),
    ("request", make_pod("it").req(cpu="6"), [node("n1")], "request", ["delete Pod it", "create Pod it"]),
    ("selector", make_pod("it").req(cpu="1").node_selector(disk="ssd"), [node("n1")], "nodeSelector",
     ["delete Pod it", "create Pod it"]),
    ("affinity", make_pod("it").req(cpu="1").pod_affinity("kubernetes.io/hostname", {"a": "b"}), [node("n1")],
     "podAffinity", ["delete Pod it", "create Pod it"]),
    ("skew", make_pod("it").req(cpu="1").spread("rack", {"a": "b"}, max_skew=1), [node("n1")], "spread",
     ["delete Pod it", "create Pod it"]),
    ("port", make_pod("it").req(cpu="1").host_port(80), [node("n1"), make_pod("b").host_port(80).on("n1")],
     "hostPort", ["delete Pod it", "create Pod it"]),
)  # fmt: skip
def test_suggestion_is_carried_out_and_the_pod_gets_the_node(
    cluster: Cluster, pod: Any, objects: list[Any], kind: str, want: list[str]
) -> None:
    scheduler = lead(cluster)
    put(cluster, *objects, pod)
    settle(scheduler)
    (told,) = [each for each in asked(cluster)["suggestions"] if [one["kind"] for one in each["changes"]] == [kind]]
    before = Cluster.objects.get(pk=cluster.pk).rv
    assert writes(applied_of(cluster, told, dry_run=True)) == want
    assert Cluster.objects.get(pk=cluster.pk).rv == before
    said = applied_of(cluster, told)
    assert (said["node"], writes(said)) == (told["node"], want)
    settle(scheduler)
    assert Pod.objects.get(cluster=cluster, name="it").node_name == told["node"]


def test_viewer_may_ask_and_not_carry_out(cluster: Cluster) -> None:
    """Not even to be told what would be written."""
    put(cluster, node("n1").unschedulable(), make_pod("it").req(cpu="1"))
    viewer = User.objects.create_user("vera")
    role_set(cluster=cluster, username="vera", role=Role.VIEWER, actor="test")
    client = logged_in("vera")
    assert not viewer.is_superuser
    url, before = f"/api/clusters/{cluster.pk}/pods/default/it/fits", Cluster.objects.get(pk=cluster.pk).rv
    told = client.get(url).json()["suggestions"][0]
    for dry_run in (True, False):
        answer = client.post(url, {"changes": changes_of(told), "dry_run": dry_run}, format="json")
        assert (answer.status_code, answer.json()["code"]) == (403, "permission_denied")
    assert Cluster.objects.get(pk=cluster.pk).rv == before


def test_mirror_is_not_written_to(cluster: Cluster) -> None:
    put(cluster, node("n1").unschedulable(), make_pod("it").req(cpu="1"))
    told = asked(cluster)["suggestions"][0]
    Cluster.objects.filter(pk=cluster.pk).update(is_mirror=True)
    assert "fork it" in applied_of(cluster, told, 422)["message"]


def test_suggestion_that_holds_no_longer_or_is_not_ours_to_make_is_refused(cluster: Cluster) -> None:
    put(cluster, node("n1"), make_pod("it").req(cpu="6").owner("ReplicaSet", "web"))
    (told,) = [each for each in asked(cluster)["suggestions"] if each["changes"][0]["kind"] == "request"]
    assert "web makes the pod" in applied_of(cluster, told, 422)["message"]
    told["changes"][0]["new"] = "3"
    assert applied_of(cluster, told, 409)["code"] == "conflict"


@cases(
    "field, value, message",
    ("field", "field", "spec.x", "changes[0].field: it is empty now, and spec.x in what was told"),
    ("old", "old", "1", "changes[0].old: it is empty now, and 1 in what was told"),
    ("node", "node", "n2", "changes[0].node: it is n1 now, and n2 in what was told"),
    ("pods", "pods", ["default/c"], "changes[0].pods: it is default/b now, and default/c in what was told"),
    ("more", "more", ["n2"], "changes[0].more: it is empty now, and n2 in what was told"),
    ("of", "of", "ResourceQuota/q", "changes[0].of: it is empty now, and ResourceQuota/q in what was told"),
    ("kind", "kind", "uncordon", "changes: none of these kinds makes it fit"),
)
def test_stale_suggestion_is_refused_with_what_is_otherwise_now(
    cluster: Cluster, field: str, value: Any, message: str
) -> None:
    put(cluster, node("n1"), make_pod("it").req(cpu="3"), make_pod("b").req(cpu="3").on("n1"))
    (told,) = [each for each in asked(cluster)["suggestions"] if each["changes"][0]["kind"] == "evict"]
    before = Cluster.objects.get(pk=cluster.pk).rv
    told["changes"][0][field] = value
    said = applied_of(cluster, told, 409)
    assert said["message"].startswith(message)
    assert said["extra"]["field"] == message.partition(":")[0]
    assert Cluster.objects.get(pk=cluster.pk).rv == before


def test_suggestion_for_a_pod_that_was_made_anew_since_is_refused(cluster: Cluster) -> None:
    put(cluster, node("n1").unschedulable(), make_pod("it").req(cpu="1"))
    told = asked(cluster)
    pod_delete(cluster_id=cluster.pk, namespace="default", name="it", actor="test", grace_seconds=0)
    put(cluster, make_pod("it", uid="another").req(cpu="1"))
    said = applied_of(cluster, told["suggestions"][0], 409, uid=told["uid"])
    assert (said["extra"], said["message"][:4]) == ({"field": "uid"}, "uid:")
    assert applied_of(cluster, told["suggestions"][0], uid=asked(cluster)["uid"])["node"] == "n1"


def replicas(name: str, number: int, cpu: str = "1") -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    template = {"metadata": {"labels": {"a": name}}, "spec": {"containers": [container]}}
    spec = {"replicas": number, "selector": {"matchLabels": {"a": name}}, "template": template}
    return make_manifest("ReplicaSet", name, spec=spec)


def applied_to(cluster: Cluster, name: str, suggestion: Any, status: int = 200, **more: Any) -> Any:
    body = {"changes": changes_of(suggestion), **more}
    return post(cluster, f"workloads/ReplicaSet/default/{name}/fits", body, status)


def test_quota_that_is_enlarged_lets_the_pod_in(cluster: Cluster) -> None:
    """In a frozen cluster, where no controller would say so in the quota's status."""
    scheduler = lead(cluster)
    put(cluster, node("n1"), replicas("web", 2), make_pod("a").req(cpu="1").owner("ReplicaSet", "web"))
    put_counted_quota(cluster, {"requests.cpu": "1"}, {"requests.cpu": "1"})
    (told,) = asked_of(cluster, "ReplicaSet", "web")["suggestions"]
    assert created(cluster, "b") == 403
    assert writes(applied_to(cluster, "web", told, dry_run=True)) == ["patch ResourceQuota small"]
    assert created(cluster, "b") == 403
    assert writes(applied_to(cluster, "web", told)) == ["patch ResourceQuota small"]
    assert created(cluster, "b") is None
    settle(scheduler)
    assert Pod.objects.get(cluster=cluster, name="b").node_name == "n1"
    assert created(cluster, "c") == 403


def test_quota_that_is_enlarged_lets_a_controller_make_the_pod(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "ACT_SECONDS", 0)
    Cluster.objects.filter(pk=cluster.pk).update(lifecycle_mode=LifecycleMode.SIMULATE)
    put(cluster, node("n1"), make_manifest("ResourceQuota", "small", spec={"hard": {"pods": "1"}}))
    acting(cluster, lambda: ApiObject.objects.get(cluster=cluster, kind="ResourceQuota").manifest.get("status"))
    put(cluster, replicas("web", 2))
    pods = Pod.objects.filter(cluster=cluster)
    acting(cluster, lambda: pods.count() == 1)
    (told,) = asked_of(cluster, "ReplicaSet", "web")["suggestions"]
    applied_to(cluster, "web", told)
    acting(cluster, lambda: pods.count() == 2)


def acting(cluster: Cluster, fact: Callable[[], Any]) -> None:
    """Let controllers act, a minute later each time, until the fact holds."""
    for _ in range(20):
        runner.tick(cluster.pk)
        if fact():
            return
        clock_set(cluster_id=cluster.pk, skip_seconds=60, actor="test")
    raise AssertionError("the controllers do not come to it")


def created(cluster: Cluster, name: str) -> int | None:
    """How the API server refuses the pod, which is made where it does not."""
    pod = make_pod(name).label({"a": "web"}).image("i").req(cpu="1").owner("ReplicaSet", "web").manifest()
    now = clock.now_of(cluster.pk)
    (answer,) = requests_carry_out(cluster_id=cluster.pk, requests=[Create(pod)], actor="test", now=now)
    return answer.status.code if isinstance(answer, Refused) else None


def test_suggestion_for_all_pods_of_an_owner_is_carried_out(cluster: Cluster) -> None:
    """On all nodes that it names; what is of the pods is of their template."""
    scheduler = lead(cluster)
    put(cluster, *(node(f"n{i}").unschedulable() for i in range(3)), owned("a"), owned("b"))
    told = asked_of(cluster, "ReplicaSet", "web-1")["suggestions"]
    uncordoned = next(each for each in told if each["changes"][0]["kind"] == "uncordon")
    added = next(each for each in told if each["changes"][0]["kind"] == "addNode")
    assert writes(applied_to(cluster, "web-1", added, dry_run=True)) == [
        f"create Node {name}" for name in ("n0-new-1", "n0-new-2")
    ]
    applied_to(cluster, "web-1", uncordoned)
    settle(scheduler)
    placed = Pod.objects.filter(cluster=cluster).values_list("node_name", flat=True)
    assert sorted(placed) == sorted(each["node"] for each in uncordoned["places"])


def test_template_of_an_owner_is_not_changed(cluster: Cluster) -> None:
    put(cluster, node("n1").taint("only"), node("n2").taint("only"), owned("a"), owned("b"))
    told = asked_of(cluster, "ReplicaSet", "web-1")["suggestions"]
    (tolerated,) = [each for each in told if [change["kind"] for change in each["changes"]] == ["toleration"]]
    assert "change its template" in applied_to(cluster, "web-1", tolerated, 422)["message"]
